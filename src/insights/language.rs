//! The language of a review, and what is known about languages: stems and function words.

use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use crate::model::Review;

/// Detects languages by trigrams; where a text is too short to tell, by the languages of the other reviews.
pub(super) struct Languages {
    /// Those of at least a twentieth of the reviews that tell, the most frequent first.
    usual: Vec<Lang>,
}

impl Languages {
    /// Counts what [`certain`] said of each review.
    pub(super) fn of(certain: &[Option<Lang>]) -> Languages {
        let mut counts: Vec<(usize, Lang)> = Lang::all().iter().map(|lang| (0, *lang)).collect();
        for lang in certain.iter().flatten() {
            counts[*lang as usize].0 += 1;
        }
        let told = certain.iter().flatten().count();
        counts.retain(|(count, _)| *count > 0 && count * 20 >= told);
        counts.sort_by_key(|(count, lang)| (std::cmp::Reverse(*count), *lang as usize));
        Languages {
            usual: counts.into_iter().map(|(_, lang)| lang).collect(),
        }
    }

    /// The language of `text`, of which [`certain`] said `told`; `None` without letters.
    ///
    /// Function words decide about a short text, on which trigrams guess, and else the language of most reviews.
    pub(super) fn resolve(&self, text: &str, told: Option<Lang>) -> Option<Lang> {
        let head = head(text);
        if told.is_some() || !head.chars().any(char::is_alphabetic) {
            return told;
        }
        let lower = head.to_lowercase();
        let count = |lang: Lang| {
            let words = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
            words.filter(|word| is_function_word(lang, word)).count()
        };
        // The first of equals is the most usual one.
        let best = self
            .usual
            .iter()
            .copied()
            .rev()
            .max_by_key(|lang| count(*lang));
        best.or_else(|| whatlang::detect(head).map(|info| info.lang()))
    }
}

/// The language of `review` where its tag or its words leave no doubt.
pub(super) fn certain(review: &Review) -> Option<Lang> {
    let tag = review
        .language
        .as_deref()
        .and_then(|tag| tag.split('-').next());
    let tagged = tag.and_then(|code| TAGS.iter().find(|(tag, _)| *tag == code));
    if let Some((_, lang)) = tagged {
        return Some(*lang);
    }
    let info = whatlang::detect(head(&review.text))?;
    (info.is_reliable() && review.text.len() >= 20).then(|| info.lang())
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
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
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

/// Whether `word`, in lower case, is an article, a pronoun, a preposition, an auxiliary or the like.
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
    include_str!("function_words.txt")
        .lines()
        .filter_map(line)
        .flatten()
        .collect()
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
