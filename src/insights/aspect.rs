//! Where a sentence speaks of what the taxonomy lists.
//!
//! A phrase is found as whole words by their stems in the language of the review ("prices" is "price", "returned my
//! calls" is "return my call"); in German also as the beginning or the end of a compound ("Anwaltskosten" has "Kosten").
//! A phrase inside a longer one that fits does not count, nor does "kind" in "kind of". A sentence that names an aspect
//! several times mentions it once, where it does so first.

use std::collections::HashMap;
use std::ops::Range;

use rust_stemmers::Stemmer;
use whatlang::Lang;

use super::language::stemmer;
use super::text::{Words, entry};
use crate::model::Concept;

/// The phrases of all aspects as stems of one language.
pub(super) struct Phrases {
    stemmer: Option<Stemmer>,
    by_first: HashMap<String, Vec<Phrase>>,
    /// Single words that German compounds are made of.
    parts: Vec<(String, Phrase)>,
}

#[derive(Clone, Debug)]
struct Phrase {
    /// The stems after the first.
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

impl Phrases {
    /// Reads the phrases of `aspects`, of which the first 65,535 count, for texts in `lang`.
    pub(super) fn new(aspects: &[Concept], lang: Option<Lang>) -> Phrases {
        let mut phrases = Phrases {
            stemmer: lang.and_then(stemmer),
            by_first: HashMap::new(),
            parts: Vec::new(),
        };
        let mut words = Words::default();
        for (aspect, concept) in (0..u16::MAX).zip(aspects) {
            for phrase in &concept.phrases {
                words.read(phrase);
                let mut stems = phrases.stems(&words).into_iter();
                let Some(first) = stems.next() else { continue };
                let phrase = Phrase {
                    rest: stems.collect(),
                    aspect,
                    opinion: opinion(phrase, lang),
                };
                let is_part = phrase.rest.is_empty() && first.chars().count() >= PART_CHARS_MIN;
                if lang == Some(Lang::Deu) && is_part {
                    phrases.parts.push((first.clone(), phrase.clone()));
                }
                phrases.by_first.entry(first).or_default().push(phrase);
            }
        }
        phrases
    }

    /// The aspects that the sentence of `words` names, each once, in the order of the sentence.
    pub(super) fn find(&self, words: &Words) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let (items, stems) = (&words.items, self.stems(words));
        let mut at = 0;
        while at < stems.len() {
            let (owners, length) = self.at(&stems[at..]);
            for phrase in owners {
                if found.iter().all(|one| one.aspect != phrase.aspect) {
                    let sign = if items[at].negated { -1 } else { 1 };
                    found.push(Found {
                        aspect: phrase.aspect,
                        range: items[at].start..items[at + length - 1].end,
                        opinion: phrase.opinion * sign,
                    });
                }
            }
            at += length;
        }
        found
    }

    /// The longest phrases that `stems` begin with, and how many of the stems they take, at least one.
    fn at(&self, stems: &[String]) -> (Vec<&Phrase>, usize) {
        let starting = self.by_first.get(&stems[0]).into_iter().flatten();
        let fitting = starting.filter(|phrase| stems[1..].starts_with(&phrase.rest));
        let Some(longest) = fitting.clone().map(|phrase| phrase.rest.len()).max() else {
            let has = |part: &str| {
                let is_edge = stems[0].ends_with(part) || stems[0].starts_with(part);
                is_edge && stems[0].len() >= part.len() + 3
            };
            let compounds = self.parts.iter().filter(|(part, _)| has(part));
            return (compounds.map(|(_, phrase)| phrase).collect(), 1);
        };
        if longest == 0 && stems[0] == "kind" && stems.get(1).is_some_and(|next| next == "of") {
            return (Vec::new(), 1);
        }
        let owners = fitting.filter(|phrase| phrase.rest.len() == longest);
        (owners.collect(), longest + 1)
    }

    /// The stem of each item, a mark being its own.
    fn stems(&self, words: &Words) -> Vec<String> {
        let stem = |item| {
            let lower = words.lower(item);
            let bare = lower.strip_suffix("'s").unwrap_or(lower);
            match &self.stemmer {
                Some(stemmer) => stemmer.stem(bare).into_owned(),
                None => bare.to_owned(),
            }
        };
        words.items.iter().map(stem).collect()
    }
}

/// The sign of `phrase` where it is itself an opinion, by our list or, in English, by the lexicon.
fn opinion(phrase: &str, lang: Option<Lang>) -> i8 {
    let lower = phrase.trim().to_lowercase();
    let lists = |line: &&str| line[1..].split(',').any(|one| one.trim() == lower);
    let valence = entry(&lower).valence.unwrap_or_default();
    match include_str!("opinions.txt").lines().find(lists) {
        Some(line) if line.starts_with('-') => -1,
        Some(_) => 1,
        None if lang == Some(Lang::Eng) && valence.abs() >= 10 => valence.signum() as i8,
        None => 0,
    }
}

/// Letters of a stem that compounds are looked through for.
const PART_CHARS_MIN: usize = 4;
