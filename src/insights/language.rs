//! The languages of reviews, and what is known about each: stems, function words, determiners.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use super::parallel::over_chunks;
use crate::model::Review;
use crate::wire::text::truncate;

/// Detects the language of each of `reviews`, `None` without letters; nothing once `cancelled`.
///
/// The tag of a review counts, then trigrams. A text that is too short for them gets, of the languages of at least a
/// twentieth of the other reviews, the one with most function words in it, and of equals the most frequent.
pub(super) fn detect_all(
    reviews: &[Review],
    threads: NonZeroUsize,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Option<Lang>>> {
    let detect = |_: &mut (), rows| {
        let reviews: &[Review] = &reviews[rows];
        (!cancelled()).then(|| reviews.iter().map(detect).collect::<Vec<_>>())
    };
    let parts = over_chunks(reviews.len(), threads, || (), detect);
    let certain = parts.into_iter().collect::<Option<Vec<_>>>()?.concat();
    let mut counts: Vec<(usize, Lang)> = Lang::all().iter().map(|lang| (0, *lang)).collect();
    for lang in certain.iter().flatten() {
        counts[*lang as usize].0 += 1;
    }
    let told = certain.iter().flatten().count();
    counts.retain(|(count, _)| *count > 0 && count * 20 >= told);
    counts.sort_by_key(|(count, lang)| (*count, std::cmp::Reverse(*lang as usize)));
    let usual: Vec<Lang> = counts.into_iter().map(|(_, lang)| lang).collect();
    let guess = |(review, certain): (&Review, Option<Lang>)| {
        certain.or_else(|| guess(head(&review.text), &usual))
    };
    Some(reviews.iter().zip(certain).map(guess).collect())
}

/// The language of `review` where its tag or its words leave no doubt.
fn detect(review: &Review) -> Option<Lang> {
    let tag = review.language.as_deref().unwrap_or_default();
    let code = tag.split('-').next().unwrap_or_default();
    if let Some((_, lang)) = TAGS.iter().find(|(known, _)| *known == code) {
        return Some(*lang);
    }
    let info = whatlang::detect(head(&review.text))?;
    (info.is_reliable() && review.text.len() >= 20).then(|| info.lang())
}

/// The language of `text`, by the function words of the `usual` languages, of which the last is the most frequent.
fn guess(text: &str, usual: &[Lang]) -> Option<Lang> {
    if !text.contains(char::is_alphabetic) {
        return None;
    }
    let lower = text.to_lowercase();
    let count = |lang: &Lang| {
        let words = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        words.filter(|word| is_function_word(*lang, word)).count()
    };
    let best = usual.iter().copied().max_by_key(count);
    best.or_else(|| whatlang::detect(text).map(|info| info.lang()))
}

/// BCP 47 tags of languages that reviews are often in; others are detected.
const TAGS: [(&str, Lang); 7] = [
    ("en", Lang::Eng),
    ("es", Lang::Spa),
    ("de", Lang::Deu),
    ("fr", Lang::Fra),
    ("it", Lang::Ita),
    ("pt", Lang::Por),
    ("nl", Lang::Nld),
];

/// The part of a text that tells its language.
fn head(text: &str) -> &str {
    truncate(text, HEAD_BYTES)
}

/// The stemmer of a language, if there is one.
pub(super) fn stemmer(lang: Lang) -> Option<Stemmer> {
    let algorithm = match lang {
        Lang::Ara => Algorithm::Arabic,
        Lang::Dan => Algorithm::Danish,
        Lang::Nld => Algorithm::Dutch,
        Lang::Eng => Algorithm::English,
        Lang::Fin => Algorithm::Finnish,
        Lang::Fra => Algorithm::French,
        Lang::Deu => Algorithm::German,
        Lang::Ell => Algorithm::Greek,
        Lang::Hun => Algorithm::Hungarian,
        Lang::Ita => Algorithm::Italian,
        Lang::Nob => Algorithm::Norwegian,
        Lang::Por => Algorithm::Portuguese,
        Lang::Ron => Algorithm::Romanian,
        Lang::Rus => Algorithm::Russian,
        Lang::Spa => Algorithm::Spanish,
        Lang::Swe => Algorithm::Swedish,
        Lang::Tam => Algorithm::Tamil,
        Lang::Tur => Algorithm::Turkish,
        _ => return None,
    };
    Some(Stemmer::create(algorithm))
}

/// Whether `word`, in lower case, is a number, an article, a pronoun, a preposition, an auxiliary or the like.
pub(super) fn is_function_word(lang: Lang, word: &str) -> bool {
    word.parse::<u64>().is_ok() || FUNCTION_WORDS.contains(&(lang, word))
}

/// Whether `word` may stand before a noun phrase and is not part of it.
pub(super) fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(word)
}

static FUNCTION_WORDS: LazyLock<HashSet<(Lang, &str)>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let (code, words) = line.split_once(' ')?;
        let lang = Lang::from_code(code)?;
        Some(words.split(' ').map(move |word| (lang, word)))
    };
    let lines = include_str!("function_words.txt").lines();
    lines.filter_map(line).flatten().collect()
});

static DETERMINERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a an the my your his her our their this that these those its any every some each no of with for \
     el la los las un una unos unas mi mis su sus este esta estos estas de del al con sin por \
     der die das den dem des ein eine einen einem einer mein meine meinen unser unsere ihr ihre kein keine keinen \
     im am zum zur beim vom le les une mon ma mes notre nos leur leurs ce cette ces du au aux l d"
        .split_whitespace()
        .collect()
});

/// Bytes of a text that tell its language.
const HEAD_BYTES: usize = 1_000;
