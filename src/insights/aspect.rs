//! Finds the aspects of the taxonomy that a sentence names, and the words and phrases in it that are opinions.
//!
//! A phrase matches whole words by their stems in the language of the review ("prices" matches "price", "returned my
//! calls" matches "return my call"); in German also the beginning or the end of a compound ("Anwaltskosten" matches
//! "Kosten"). A phrase inside a longer match does not count. If a sentence names an aspect several times, the first one
//! is its only mention.
//!
//! Each line of `opinions.txt` is a language with a sign, and phrases: for + and - opinions, for 0 idioms in which no
//! shorter phrase counts, such as "kind of" and "can't wait". The English lines have few single words, because the
//! lexicon has most of them, and the text model reads the rest.

use std::collections::HashMap;
use std::ops::Range;

use rust_stemmers::Stemmer;
use whatlang::Lang;

use super::language::{lists, stemmer};
use super::text::Words;
use crate::model::Concept;

/// The phrases of all aspects and the listed opinions, as stems in one language.
pub(super) struct Phrases {
    lang: Option<Lang>,
    stemmer: Option<Stemmer>,
    by_first: HashMap<String, Vec<Phrase>>,
    /// Single words that may be parts of German compounds.
    parts: Vec<(String, Phrase)>,
}

#[derive(Clone, Debug)]
struct Phrase {
    /// The stems after the first.
    rest: Vec<String>,
    /// The aspect, if it names one.
    aspect: Option<u16>,
    /// 1 or -1 if it is listed as an opinion, else 0.
    opinion: i8,
}

/// An aspect named in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Index in the taxonomy.
    pub(super) aspect: u16,
    /// Byte range in the sentence.
    pub(super) range: Range<usize>,
    /// Sign of the phrase if it is itself an opinion.
    pub(super) opinion: i8,
}

impl Phrases {
    /// Reads the phrases of the first 65,535 `aspects`, and the opinions, for texts in `lang`.
    pub(super) fn new(aspects: &[Concept], lang: Option<Lang>) -> Phrases {
        let mut phrases = Phrases {
            lang,
            stemmer: lang.and_then(stemmer),
            by_first: HashMap::new(),
            parts: Vec::new(),
        };
        for (aspect, concept) in (0..u16::MAX).zip(aspects) {
            for phrase in &concept.phrases {
                phrases.add(phrase, Some(aspect), 0);
            }
        }
        for line in include_str!("opinions.txt").lines() {
            let (key, listed) = line.split_once(' ').unwrap_or_default();
            let opinion = i8::from(key.ends_with('+')) - i8::from(key.ends_with('-'));
            if lang.is_some_and(|lang| key.starts_with(lang.code())) {
                let listed = listed.split(',');
                listed.for_each(|phrase| phrases.add(phrase, None, opinion));
            }
        }
        phrases
    }

    fn add(&mut self, phrase: &str, aspect: Option<u16>, opinion: i8) {
        let mut words = Words::default();
        words.read(phrase);
        let mut stems = self.stems(&words).into_iter();
        let Some(first) = stems.next() else { return };
        let phrase = Phrase {
            rest: stems.collect(),
            aspect,
            opinion,
        };
        let is_part = phrase.rest.is_empty() && first.chars().count() >= PART_CHARS_MIN;
        if self.lang == Some(Lang::Deu) && is_part && aspect.is_some() {
            self.parts.push((first.clone(), phrase.clone()));
        }
        self.by_first.entry(first).or_default().push(phrase);
    }

    /// Returns the aspects that the sentence of `words` names, each once, in the order of the sentence. In languages
    /// other than English, replaces the valences of words from the lexicon with those from `opinions.txt`.
    pub(super) fn find(&self, words: &mut Words) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let stems = self.stems(words);
        let items = &mut words.items;
        let is_english = self.lang == Some(Lang::Eng);
        for item in items.iter_mut().filter(|item| item.is_word && !is_english) {
            item.entry.valence = None;
        }
        let mut at = 0;
        while at < stems.len() {
            let (owners, length) = self.at(&stems[at..]);
            let listed = owners.iter().map(|phrase| phrase.opinion).sum::<i8>();
            if listed != 0 && !is_english {
                items[at].entry.valence = Some(i32::from(listed.signum()) * 20);
            }
            let (item, end) = (items[at], items[at + length - 1].end);
            let opinion = match item.entry.valence {
                Some(valence) if length == 1 && valence.abs() >= 10 => valence.signum() as i8,
                _ => listed.signum(),
            };
            for aspect in owners.iter().filter_map(|phrase| phrase.aspect) {
                if found.iter().all(|one| one.aspect != aspect) {
                    found.push(Found {
                        aspect,
                        range: item.start..end,
                        opinion: if item.negated { -opinion } else { opinion },
                    });
                }
            }
            // An opinion may contain an aspect: "aucune réponse" contains "réponse".
            let is_opinion = listed != 0 && owners.iter().all(|phrase| phrase.aspect.is_none());
            at += if is_opinion { 1 } else { length };
        }
        found
    }

    /// Returns the longest phrases at the start of `stems`, else those in its compound, and how many stems to advance.
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
        let owners = fitting.filter(|phrase| phrase.rest.len() == longest);
        (owners.collect(), longest + 1)
    }

    /// Returns the stem of each item. A homonym has its own stem, as it only looks like an inflection of another word.
    fn stems(&self, words: &Words) -> Vec<String> {
        let stem = |item| {
            let lower = words.lower(item);
            let bare = lower.strip_suffix("'s").unwrap_or(lower);
            match &self.stemmer {
                Some(_) if lists("homonym", bare) => format!("={bare}"),
                Some(stemmer) => stemmer.stem(bare).into_owned(),
                None => bare.to_owned(),
            }
        };
        words.items.iter().map(stem).collect()
    }
}

/// Whether opinions of this language are listed. English ones are few, as the text model reads English.
pub(super) fn has_opinions(lang: Lang) -> bool {
    let mut lines = include_str!("opinions.txt").lines();
    lines.any(|line| line.starts_with(lang.code()))
}

/// Fewest letters of a stem that is searched for in compounds.
const PART_CHARS_MIN: usize = 4;
