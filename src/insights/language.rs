//! Linguistic data of each language: stems, function words, determiners.

use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use crate::wire::text::LANGUAGES;

/// The stemmer of a language, if there is one.
pub(super) fn stemmer(lang: Lang) -> Option<Stemmer> {
    // Both crates name languages in English.
    let name = match lang {
        Lang::Nob => "Norwegian",
        other => other.eng_name(),
    };
    let algorithm: Algorithm = serde_json::from_value(name.into()).ok()?;
    Some(Stemmer::create(algorithm))
}

/// Whether `word`, in lower case, is a number, an article, a pronoun, a preposition, an auxiliary or the like.
pub(super) fn is_function_word(lang: Lang, word: &str) -> bool {
    word.parse::<u64>().is_ok() || lists(lang.code(), word)
}

/// Whether the list `name` has `word`. "determiner" lists words that may precede a noun phrase and are not part of it;
/// "homonym" lists words that share a stem with a word of another meaning, as Spanish "como" with "comida".
pub(super) fn lists(name: &str, word: &str) -> bool {
    WORDS.contains(&(name, word))
}

/// Function words by code, determiners and homonyms.
static WORDS: LazyLock<HashSet<(&str, &str)>> = LazyLock::new(|| {
    let lines = LANGUAGES.lines().filter_map(|line| line.split_once(' '));
    let words = |(code, words): (&'static str, &'static str)| {
        words.split(' ').skip(1).map(move |word| (code, word))
    };
    lines.flat_map(words).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_languages_have_a_stemmer() {
        let with_stemmer = Lang::all().iter().filter(|lang| stemmer(**lang).is_some());
        assert_eq!(with_stemmer.count(), 18);
    }
}
