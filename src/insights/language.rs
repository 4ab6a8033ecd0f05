//! Language detection, and linguistic data of each language: stems, function words, determiners.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use crate::dataset::chunks::over_chunks;
use crate::model::Review;
use crate::wire::text::{LANGUAGES, truncate};

/// Detects the language of each of `reviews`, `None` if that is not possible; returns `None` if `cancelled`.
///
/// Uses the language tag, or else trigrams. If these are not reliable, the candidates are the languages of at least a
/// twentieth of the other reviews. The one with most function words in the text wins; in a tie, the most frequent one.
pub(super) fn detect_all(
    reviews: &[Review],
    threads: NonZeroUsize,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Option<Lang>>> {
    let detect = |rows| {
        let reviews: &[Review] = &reviews[rows];
        (!cancelled()).then(|| reviews.iter().map(detect).collect::<Vec<_>>())
    };
    let parts = over_chunks(reviews.len(), threads, detect).into_iter();
    let mut languages = parts.collect::<Option<Vec<_>>>()?.concat();
    let told = languages.iter().flatten().count();
    let count = |lang: &Lang| {
        let same = languages.iter().filter(|one| **one == Some(*lang));
        same.count()
    };
    // The most frequent language is last; of equally frequent ones, the first in the list of the crate.
    let mut usual: Vec<Lang> = Lang::all().iter().rev().copied().collect();
    usual.retain(|lang| count(lang) * 20 >= told.max(1));
    usual.sort_by_cached_key(count);
    for (lang, review) in languages.iter_mut().zip(reviews) {
        *lang = lang.or_else(|| guess(truncate(&review.text, HEAD_BYTES), &usual));
    }
    Some(languages)
}

/// The language of `review` if its tag is known or its trigrams are reliable.
fn detect(review: &Review) -> Option<Lang> {
    let tag = review.language.as_deref().unwrap_or_default();
    let language = tag.split('-').next();
    let tagged = LANGUAGES.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let code = fields.next()?;
        (fields.next() == language).then(|| Lang::from_code(code))?
    });
    tagged.or_else(|| {
        let info = whatlang::detect(truncate(&review.text, HEAD_BYTES))?;
        (info.is_reliable() && review.text.len() >= 20).then(|| info.lang())
    })
}

/// Guesses the language of `text` by function words; `usual` has the candidates, the most frequent last.
fn guess(text: &str, usual: &[Lang]) -> Option<Lang> {
    let lower = text.to_lowercase();
    let count = |lang: &&Lang| {
        let words = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        words.filter(|word| is_function_word(**lang, word)).count()
    };
    let best = usual.iter().max_by_key(count).copied();
    let best = best.or_else(|| whatlang::detect_lang(text));
    best.filter(|_| text.contains(char::is_alphabetic))
}

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

/// Bytes of a text that are used to detect its language.
const HEAD_BYTES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_languages_have_a_stemmer() {
        let with_stemmer = Lang::all().iter().filter(|lang| stemmer(**lang).is_some());
        assert_eq!(with_stemmer.count(), 18);
    }
}
