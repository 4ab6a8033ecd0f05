//! Inflections: which forms of a word count as the same word when a phrase is looked for.
//!
//! Forms of number, case, gender and tense are one word ("prices" is "price", "charged" is "charge"); words of another
//! class are not, even if they share a stem ("friend" is not "friendly", "competing" is not "competent"). English and
//! Polish have rules of their own. The other languages are stemmed by Snowball, whose stems also join word classes;
//! there, two words with one stem differ if their derivational endings differ (`inflections.txt`).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use rust_stemmers::Stemmer;
use whatlang::Lang;

use super::keys::{KeyMap, key};
use super::language::{WordList, stemmer};

/// Fewest letters of an English word without its ending, and of a Polish one.
const STEM_CHARS_MIN: usize = 3;

/// Most words of a [`FormCache`], some 6 MB; when it is full, it is cleared.
const CACHED_MAX: usize = 65_536;

/// Endings that keep the class of a Polish word, the longest first.
const POLISH_ENDINGS: [&str; 38] = [
    "ościach", "ościami", "iejsza", "iejszy", "aliśmy", "ałyśmy", "iliśmy", "ymi", "imi", "ego",
    "emu", "ach", "ami", "owi", "ych", "ich", "iej", "iem", "ała", "ały", "ali", "ało", "ów", "om",
    "em", "ym", "im", "ej", "ie", "ią", "ię", "ą", "ę", "a", "e", "i", "o", "y",
];

/// A word as it is compared with the words of phrases.
#[derive(Clone, Debug)]
pub(super) struct WordForm {
    /// Equal for all forms of a word, and for some words of other classes.
    pub(super) key: Arc<str>,
    /// Hash of the key.
    pub(super) hash: u64,
    /// The derivational ending. Words of other classes with the same key differ in it.
    class: &'static str,
    /// Hash of the word itself.
    word: u64,
    /// False for a form that may be a word of another class, such as "parking" or "left". It matches other forms only
    /// within a phrase of several words.
    is_plain: bool,
}

impl WordForm {
    /// Whether both are forms of one word, as words of a phrase of several words.
    pub(super) fn is_form_of(&self, other: &WordForm) -> bool {
        self.hash == other.hash && self.key == other.key && self.class == other.class
    }

    /// Whether both are forms of one word, standing alone.
    pub(super) fn is_same_word(&self, other: &WordForm) -> bool {
        let is_plain = self.is_plain && other.is_plain;
        self.word == other.word || (is_plain && self.is_form_of(other))
    }
}

/// The forms of the words of one language.
pub(super) struct Inflections {
    lang: Option<Lang>,
    stemmer: Option<Stemmer>,
    homonyms: WordList,
    /// Differs between languages.
    salt: u64,
}

impl Inflections {
    pub(super) fn new(lang: Option<Lang>) -> Inflections {
        Inflections {
            lang,
            stemmer: lang.and_then(stemmer),
            homonyms: WordList::named("homonym"),
            salt: lang.map_or(0, |lang| key(lang.code())),
        }
    }

    /// The form of a punctuation mark, which has no other one.
    fn mark(mark: &str) -> WordForm {
        WordForm {
            key: mark.into(),
            hash: key(mark),
            class: "",
            word: key(mark),
            is_plain: true,
        }
    }

    /// The form of `lower`, a word in lower case.
    fn form(&self, lower: &str) -> WordForm {
        let bare = lower.strip_suffix("'s").unwrap_or(lower);
        let word = key(bare);
        let mut is_plain = true;
        let mut class = "";
        let form_key = match (self.lang, &self.stemmer) {
            // A homonym looks like an inflection of another word.
            (Some(_), _) if self.homonyms.has(word) => format!("={bare}"),
            (Some(Lang::Eng), _) => {
                let base = english_base(bare);
                is_plain = base.is_plain;
                base.word
            }
            (Some(Lang::Pol), _) => polish_base(bare).to_owned(),
            (Some(lang), Some(stemmer)) => {
                class = derivation(lang, bare);
                stemmer.stem(bare).into_owned()
            }
            _ => bare.to_owned(),
        };
        WordForm {
            hash: key(&form_key),
            key: form_key.into(),
            class,
            word,
            is_plain,
        }
    }
}

/// Forms of words that were read before: most words of a dataset occur often.
#[derive(Debug, Default)]
pub(super) struct FormCache {
    by_word: KeyMap<u64, WordForm>,
}

impl FormCache {
    /// The form of `lower`, a word in lower case or a mark, with the key `word`.
    pub(super) fn form(
        &mut self,
        inflections: &Inflections,
        word: u64,
        lower: &str,
        is_word: bool,
    ) -> WordForm {
        if self.by_word.len() >= CACHED_MAX {
            self.by_word.clear();
        }
        let form = self.by_word.entry(word ^ inflections.salt);
        let form = form.or_insert_with(|| {
            if is_word {
                inflections.form(lower)
            } else {
                Inflections::mark(lower)
            }
        });
        form.clone()
    }
}

struct EnglishBase {
    word: String,
    is_plain: bool,
}

/// Removes the endings of number, person and tense, and a final "e", which some of them replace.
fn english_base(word: &str) -> EnglishBase {
    if let Some(base) = IRREGULAR.get(word) {
        return EnglishBase {
            word: without_e(base).to_owned(),
            is_plain: false,
        };
    }
    let mut is_plain = true;
    let mut base = word.to_owned();
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| is_stem(stem)) {
        base = format!("{stem}y");
    } else if let Some(stem) = word.strip_suffix("ied").filter(|stem| is_stem(stem)) {
        base = format!("{stem}y");
    } else if let Some(stem) = sibilant_stem(word) {
        base = stem.to_owned();
    } else if let Some(stem) = word.strip_suffix("ed").filter(|stem| is_verb_stem(stem)) {
        base = undoubled(stem).to_owned();
    } else if let Some(stem) = word.strip_suffix("ing").filter(|stem| is_verb_stem(stem)) {
        base = undoubled(stem).to_owned();
        is_plain = false;
    } else if let Some(stem) = word.strip_suffix('s')
        && is_stem(stem)
        && !stem.ends_with(['s', 'u', 'i'])
    {
        base = stem.to_owned();
    }
    EnglishBase {
        word: without_e(&base).to_owned(),
        is_plain,
    }
}

/// The word before "es", if it ends in a sound that takes it ("boxes", "dishes").
fn sibilant_stem(word: &str) -> Option<&str> {
    let stem = word.strip_suffix("es")?;
    for end in ["ss", "x", "ch", "sh", "zz"] {
        if stem.ends_with(end) {
            return Some(stem);
        }
    }
    None
}

/// Whether enough is left of a word, with a vowel.
fn is_stem(stem: &str) -> bool {
    let is_long = stem.chars().count() >= STEM_CHARS_MIN || stem.len() == 2 && stem.ends_with('y');
    is_long && stem.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// The same before "ed" and "ing"; "need" and "being" are words without an ending.
fn is_verb_stem(stem: &str) -> bool {
    is_stem(stem) && !stem.ends_with('e')
}

/// Removes the second of two equal consonants, as in "planned".
fn undoubled(stem: &str) -> &str {
    let mut letters = stem.chars().rev();
    match (letters.next(), letters.next()) {
        (Some(last), Some(other)) if last == other && !"aeiolsz".contains(last) => {
            &stem[..stem.len() - last.len_utf8()]
        }
        _ => stem,
    }
}

fn without_e(word: &str) -> &str {
    match word.strip_suffix('e') {
        Some(stem) if stem.len() >= STEM_CHARS_MIN => stem,
        _ => word,
    }
}

/// Removes one ending of case, gender, number or tense.
fn polish_base(word: &str) -> &str {
    for ending in POLISH_ENDINGS {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.chars().count() >= STEM_CHARS_MIN
        {
            return stem;
        }
    }
    word
}

/// The derivational ending of a word, as the first of its forms; empty if there is none.
fn derivation(lang: Lang, word: &str) -> &'static str {
    let Some(endings) = DERIVATIONS.get(lang.code()) else {
        return "";
    };
    let mut found: Option<&Suffix> = None;
    for ending in endings {
        let is_longer = found.is_none_or(|known| ending.text.len() > known.text.len());
        if is_longer && word.len() > ending.text.len() && word.ends_with(ending.text) {
            found = Some(ending);
        }
    }
    found.map_or("", |ending| ending.class)
}

/// A form of a derivational ending.
struct Suffix {
    text: &'static str,
    /// The first form of the ending.
    class: &'static str,
}

/// Derivational endings by language, of lines such as `spa mente dad/dades`.
static DERIVATIONS: LazyLock<HashMap<&str, Vec<Suffix>>> = LazyLock::new(|| {
    let mut by_language: HashMap<&str, Vec<Suffix>> = HashMap::new();
    for line in include_str!("inflections.txt").lines() {
        let (language, endings) = line.split_once(' ').unwrap_or_default();
        // This line has words instead of endings: see `IRREGULAR`.
        if language == "irregular" {
            continue;
        }
        for forms in endings.split(' ') {
            let class = forms.split('/').next().unwrap_or_default();
            let endings = forms.split('/').map(|text| Suffix { text, class });
            by_language.entry(language).or_default().extend(endings);
        }
    }
    by_language
});

/// Irregular English forms, of the line `irregular paid=pay ...`.
static IRREGULAR: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("inflections.txt").lines();
    let pairs = lines.filter_map(|line| line.strip_prefix("irregular "));
    let pairs = pairs.flat_map(|pairs| pairs.split(' '));
    pairs.filter_map(|pair| pair.split_once('=')).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn are_one_word(lang: Lang, one: &str, other: &str) -> bool {
        let inflections = Inflections::new(Some(lang));
        let form = inflections.form(one);
        form.is_same_word(&inflections.form(other))
    }

    #[test]
    fn forms_of_number_case_and_tense_are_one_word() {
        for (lang, one, other) in [
            (Lang::Eng, "price", "prices"),
            (Lang::Eng, "price", "priced"),
            (Lang::Eng, "delay", "delayed"),
            (Lang::Eng, "dish", "dishes"),
            (Lang::Eng, "delivery", "deliveries"),
            (Lang::Eng, "plan", "planned"),
            (Lang::Eng, "parking", "parking"),
            (Lang::Eng, "attorney", "attorney's"),
            (Lang::Deu, "freundlich", "freundlichen"),
            (Lang::Deu, "termin", "termine"),
            (Lang::Spa, "amable", "amables"),
            (Lang::Spa, "factura", "facturas"),
            (Lang::Fra, "attente", "attentes"),
            (Lang::Ita, "prezzo", "prezzi"),
            (Lang::Por, "preço", "preços"),
            (Lang::Nld, "vriendelijk", "vriendelijke"),
            (Lang::Pol, "cena", "cenami"),
            (Lang::Pol, "obsługa", "obsługi"),
        ] {
            assert!(are_one_word(lang, one, other), "{one} {other}");
        }
    }

    #[test]
    fn words_of_another_class_are_other_words() {
        for (lang, one, other) in [
            (Lang::Eng, "friendly", "friends"),
            (Lang::Eng, "competent", "competing"),
            (Lang::Eng, "responsive", "responsible"),
            (Lang::Eng, "work", "working"),
            (Lang::Eng, "park", "parking"),
            (Lang::Eng, "service", "serve"),
            (Lang::Deu, "freundlich", "freunde"),
            (Lang::Spa, "amable", "amablemente"),
            (Lang::Fra, "propre", "proprement"),
        ] {
            assert!(!are_one_word(lang, one, other), "{one} {other}");
        }
    }
}
