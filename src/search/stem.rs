//! Stems of words by language, so that "leak" and "leaking" are forms of one word.
//!
//! The stemmers of `rust-stemmers` cut some endings that make another word: the stem of "evening" would be "even". The list
//! [`APART`] has such words of English as far as reviews often have both.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// The languages with a stemmer, by their primary subtags (BCP 47).
const STEMMERS: [(&str, Algorithm); 20] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nb", Algorithm::Norwegian),
    ("nl", Algorithm::Dutch),
    ("nn", Algorithm::Norwegian),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

/// English words and their stems here, as the stemmer takes them for forms of "busi" (busy), "custom", "even", "except",
/// "hospit" (hospital), "person", "sever" (severe), "tire" and "wrong".
const APART: [(&str, &str); 15] = [
    ("business", "business"),
    ("businesses", "business"),
    ("customer", "customer"),
    ("customers", "customer"),
    ("evening", "evening"),
    ("evenings", "evening"),
    ("exceptional", "exceptional"),
    ("exceptionally", "exceptional"),
    ("hospitality", "hospitality"),
    ("personal", "personal"),
    ("personally", "personal"),
    ("several", "several"),
    ("tired", "tired"),
    ("wrongful", "wrongful"),
    ("wrongfully", "wrongful"),
];

/// Returns the algorithm for the language with this primary subtag, if there is one.
pub(super) fn algorithm_of(language: &str) -> Option<Algorithm> {
    let mut stemmers = STEMMERS.iter();
    let (_, algorithm) = stemmers.find(|(tag, _)| tag.eq_ignore_ascii_case(language))?;
    Some(*algorithm)
}

/// Returns the stem of a folded word; the word itself without an algorithm.
pub(super) fn stem(algorithm: Option<Algorithm>, word: &str) -> Cow<'_, str> {
    let Some(algorithm) = algorithm else {
        return word.into();
    };
    if algorithm == Algorithm::English
        && let Ok(at) = APART.binary_search_by_key(&word, |(apart, _)| apart)
    {
        return APART[at].1.into();
    }
    Stemmer::create(algorithm).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_words_apart_is_sorted() {
        assert!(APART.is_sorted());
    }

    #[test]
    fn each_word_apart_would_have_the_stem_of_another_word() {
        for (word, _) in APART {
            let stemmed = Stemmer::create(Algorithm::English).stem(word);
            assert_ne!(stem(Some(Algorithm::English), word), stemmed, "{word}");
        }
    }

    #[test]
    fn a_word_has_the_stem_of_its_language() {
        for (language, word, expected) in [
            ("en", "leaking", "leak"),
            ("EN", "evenings", "evening"),
            ("en", "wrongfully", "wrongful"),
            ("en", "wrongly", "wrong"),
            ("de", "rechnungen", "rechnung"),
            ("fr", "personally", "personally"),
            ("ja", "leaking", "leaking"),
        ] {
            assert_eq!(
                stem(algorithm_of(language), word),
                expected,
                "{language} {word}"
            );
        }
    }
}
