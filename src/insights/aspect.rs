//! Where a sentence speaks of what the taxonomy lists.
//!
//! A phrase is found as whole words by their stems in the language of the review ("prices" is "price", "returned my
//! calls" is "return my call"); in German also as the beginning or the end of a compound ("Anwaltskosten" has "Kosten").
//! A phrase inside a longer one that fits does not count, nor does "kind" in "kind of". A sentence that names an aspect
//! several times mentions it once, where it does so first.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rust_stemmers::Stemmer;
use whatlang::Lang;

use super::language::stemmer;
use super::lexicon::LEXICON;
use super::words::Words;
use crate::model::Concept;

/// Finds aspects; cheap to ask, made once for all reviews.
pub(super) struct Finder {
    languages: HashMap<Option<Lang>, Phrases>,
}

/// The phrases of all aspects as stems of one language.
struct Phrases {
    stemmer: Option<Stemmer>,
    by_first: HashMap<String, Vec<Phrase>>,
    /// Single words of a German phrase that compounds are made of.
    parts: Vec<(String, Phrase)>,
}

#[derive(Clone, Debug)]
struct Phrase {
    rest: Vec<String>,
    aspect: u16,
    opinion: i8,
}

/// An aspect named in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Index in the taxonomy.
    pub(super) aspect: u16,
    /// Byte range in the sentence.
    pub(super) range: Range<usize>,
    /// Sign of the phrase where it is itself an opinion.
    pub(super) opinion: i8,
}

impl Finder {
    /// Reads the phrases of `aspects`, of which the first 65,535 count, for each of `languages`.
    pub(super) fn new(aspects: &[Concept], languages: &HashSet<Option<Lang>>) -> Finder {
        let opinions = opinions();
        let read = |lang: &Option<Lang>| {
            let mut phrases = Phrases {
                stemmer: lang.and_then(stemmer),
                by_first: HashMap::new(),
                parts: Vec::new(),
            };
            for (owner, aspect) in (0..u16::MAX).zip(aspects) {
                for phrase in &aspect.phrases {
                    phrases.add(phrase, owner, *lang, &opinions);
                }
            }
            (*lang, phrases)
        };
        Finder {
            languages: languages.iter().map(read).collect(),
        }
    }

    /// Puts the aspects that the sentence of `words` names into `found`, each once, in the order of the sentence.
    pub(super) fn find(&self, lang: Option<Lang>, words: &Words, found: &mut Vec<Found>) {
        found.clear();
        let Some(phrases) = self.languages.get(&lang) else {
            return;
        };
        if phrases.by_first.is_empty() {
            return;
        }
        let stems: Vec<String> = stems(words, phrases.stemmer.as_ref());
        let mut covered = 0;
        for at in 0..stems.len() {
            if at < covered {
                continue;
            }
            let starting = phrases.by_first.get(&stems[at]).into_iter().flatten();
            let fitting = starting.filter(|phrase| stems[at + 1..].starts_with(&phrase.rest));
            let longest = fitting.clone().map(|phrase| phrase.rest.len()).max();
            let is_degree =
                stems[at] == "kind" && stems.get(at + 1).is_some_and(|next| next == "of");
            let (end, owners): (usize, Vec<&Phrase>) = match longest {
                Some(0) if is_degree => continue,
                Some(rest) => (
                    at + 1 + rest,
                    fitting.filter(|one| one.rest.len() == rest).collect(),
                ),
                None => (at + 1, phrases.compounds(&stems[at])),
            };
            if !owners.is_empty() {
                covered = end;
            }
            let items = words.items();
            for phrase in owners {
                if found.iter().all(|one| one.aspect != phrase.aspect) {
                    let turn = if items[at].negated { -1 } else { 1 };
                    let range = items[at].start..items[end - 1].end;
                    found.push(Found {
                        aspect: phrase.aspect,
                        range,
                        opinion: phrase.opinion * turn,
                    });
                }
            }
        }
    }
}

impl Phrases {
    fn add(
        &mut self,
        phrase: &str,
        aspect: u16,
        lang: Option<Lang>,
        opinions: &HashMap<String, i8>,
    ) {
        let mut words = Words::default();
        words.read(phrase);
        let mut stems = stems(&words, self.stemmer.as_ref()).into_iter();
        let Some(first) = stems.next() else { return };
        let lower = phrase.trim().to_lowercase();
        let opinion = opinions.get(&lower).copied().unwrap_or_else(|| {
            let valence = LEXICON
                .entry(&lower)
                .valence
                .filter(|_| lang == Some(Lang::Eng));
            valence
                .filter(|one| one.abs() >= 1.0)
                .map_or(0, |one| one.signum() as i8)
        });
        let phrase = Phrase {
            rest: stems.collect(),
            aspect,
            opinion,
        };
        let known = self.by_first.entry(first.clone()).or_default();
        if known
            .iter()
            .any(|one| one.rest == phrase.rest && one.aspect == aspect)
        {
            return;
        }
        known.push(phrase.clone());
        if lang == Some(Lang::Deu)
            && phrase.rest.is_empty()
            && first.chars().count() >= PART_CHARS_MIN
        {
            self.parts.push((first, phrase));
        }
    }

    /// The phrases that the compound `stem` begins or ends with.
    fn compounds(&self, stem: &str) -> Vec<&Phrase> {
        let has = |part: &String| {
            stem.len() >= part.len() + 3 && (stem.ends_with(part) || stem.starts_with(part))
        };
        self.parts
            .iter()
            .filter(|(part, _)| has(part))
            .map(|(_, phrase)| phrase)
            .collect()
    }
}

/// The stem of each item, a mark being its own.
fn stems(words: &Words, stemmer: Option<&Stemmer>) -> Vec<String> {
    let stem = |item| {
        let lower = words.lower(item);
        let bare = lower.strip_suffix("'s").unwrap_or(lower);
        stemmer.map_or_else(
            || bare.to_owned(),
            |stemmer| stemmer.stem(bare).into_owned(),
        )
    };
    words.items().iter().map(stem).collect()
}

/// Phrases that are opinions themselves, with their signs.
fn opinions() -> HashMap<String, i8> {
    let mut signs = HashMap::new();
    for line in include_str!("opinions.txt").lines() {
        let sign = if line.starts_with('-') { -1 } else { 1 };
        for phrase in line[1..].split(',') {
            signs.insert(phrase.trim().to_owned(), sign);
        }
    }
    signs
}

/// Letters of a stem that compounds are looked through for.
const PART_CHARS_MIN: usize = 4;
