//! Finds the aspects of the taxonomy that a sentence names, and the words and phrases in it that are opinions.
//!
//! A phrase matches whole words in any inflection ("prices" matches "price", "returned my calls" matches "return my
//! call"; see `inflection`); in German also the beginning or the end of a compound ("Anwaltskosten" matches "Kosten"). In
//! Japanese, Chinese and Thai, which are written without blanks, it matches any part of a text. A phrase inside a longer
//! match does not count, so an aspect's "not" phrases are longer ones ("phone case"). If a sentence names an aspect several
//! times, the first one is its only mention.
//!
//! Each line of `opinions.txt` is a language with a sign, and phrases. The sign + or - marks opinions. The sign 0 marks
//! idioms such as "kind of" and "can't wait": no shorter phrase counts within them. The English lines have few single
//! words, because the lexicon has most of them, and the text model reads the rest.

use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem::Finder;
use whatlang::Lang;

use super::inflection::{Inflections, WordForm};
use super::keys::KeyMap;
use super::text::{Item, TextWords};
use crate::dataset::tag_of_language;
use crate::model::Taxonomy;

/// Fewest letters of a word that is searched for in compounds.
const PART_CHARS_MIN: usize = 4;
/// Least valence, in tenths, of a word that is an opinion by itself.
const OPINION_VALENCE_MIN: i32 = 10;
/// Languages written without blanks between words.
const UNSPACED: [Lang; 3] = [Lang::Jpn, Lang::Cmn, Lang::Tha];

const OPINIONS: &str = include_str!("opinions.txt");

/// The phrases of all aspects and the listed opinions, in one language.
pub(super) struct Phrases {
    lang: Option<Lang>,
    inflections: Inflections,
    /// By the hash of the first word's form.
    by_first: KeyMap<u64, Vec<Phrase>>,
    /// Single words that may be parts of German compounds.
    parts: Vec<Phrase>,
    /// All phrases as they are written, if the language has no blanks; the longest first.
    unspaced: Vec<UnspacedPhrase>,
}

#[derive(Clone, Debug)]
struct Phrase {
    first: WordForm,
    /// The words after the first.
    rest: Vec<WordForm>,
    /// The aspect, if it names one.
    aspect: Option<u16>,
    /// 1 or -1 if it is listed as an opinion, else 0.
    opinion: i8,
    is_idiom: bool,
}

impl Phrase {
    /// Whether these words begin with the phrase.
    fn begins(&self, forms: &[WordForm]) -> bool {
        if self.rest.is_empty() {
            return self.first.is_same_word(&forms[0]);
        }
        let following = &forms[1..];
        let mut pairs = self.rest.iter().zip(following);
        following.len() >= self.rest.len() && pairs.all(|(one, other)| one.is_form_of(other))
    }
}

/// A phrase in a language without blanks.
struct UnspacedPhrase {
    /// Finds the phrase as it is written.
    finder: Finder<'static>,
    phrase: Phrase,
}

/// What a phrase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhraseSense {
    /// A phrase of a taxonomy, also one that excludes another.
    Subject,
    /// An opinion with its sign.
    Opinion(i8),
    /// Words that mean something else together.
    Idiom,
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

/// The phrases that match at a word.
struct PhraseMatch<'p> {
    phrases: Vec<&'p Phrase>,
    /// Number of words.
    length: usize,
}

impl Phrases {
    /// Reads the phrases of the first 65,535 aspects, and the opinions, for texts in `lang`. A phrase of a starter list
    /// in other languages is left out, as its words may mean something else: Italian "cara" is dear, Spanish "cara" a face, and
    /// Danish "bil" no bill but a car.
    pub(super) fn new(taxonomy: &Taxonomy, lang: Option<Lang>) -> Phrases {
        let mut phrases = Phrases {
            lang,
            inflections: Inflections::new(lang),
            by_first: KeyMap::default(),
            parts: Vec::new(),
            unspaced: Vec::new(),
        };
        for (aspect, concept) in (0..u16::MAX).zip(&taxonomy.aspects) {
            for phrase in &concept.phrases {
                if is_meant_for(taxonomy, phrase, lang) {
                    phrases.add(phrase, Some(aspect), PhraseSense::Subject);
                }
            }
            for phrase in &concept.not_phrases {
                if is_meant_for(taxonomy, phrase, lang) {
                    phrases.add(phrase, None, PhraseSense::Subject);
                }
            }
        }
        for line in OPINIONS.lines() {
            let (key, listed) = line.split_once(' ').unwrap_or_default();
            let sense = match key.chars().last() {
                Some('+') => PhraseSense::Opinion(1),
                Some('-') => PhraseSense::Opinion(-1),
                _ => PhraseSense::Idiom,
            };
            if lang.is_some_and(|lang| key.starts_with(lang.code())) {
                for phrase in listed.split(',') {
                    phrases.add(phrase, None, sense);
                }
            }
        }
        // The longest first.
        phrases
            .unspaced
            .sort_by_key(|phrase| Reverse(phrase.finder.needle().len()));
        phrases
    }

    fn add(&mut self, text: &str, aspect: Option<u16>, sense: PhraseSense) {
        let mut words = TextWords::default();
        words.read(text);
        let mut forms = self.forms(&mut words).into_iter();
        let Some(first) = forms.next() else { return };
        let phrase = Phrase {
            first,
            rest: forms.collect(),
            aspect,
            opinion: if let PhraseSense::Opinion(sign) = sense {
                sign
            } else {
                0
            },
            is_idiom: sense == PhraseSense::Idiom,
        };
        if self.is_unspaced() {
            let finder = Finder::new(text.trim()).into_owned();
            self.unspaced.push(UnspacedPhrase { finder, phrase });
            return;
        }
        let is_part = phrase.rest.is_empty() && phrase.first.key.chars().count() >= PART_CHARS_MIN;
        if self.lang == Some(Lang::Deu) && is_part && aspect.is_some() {
            self.parts.push(phrase.clone());
        }
        let first = phrase.first.hash;
        self.by_first.entry(first).or_default().push(phrase);
    }

    fn is_unspaced(&self) -> bool {
        self.lang.is_some_and(|lang| UNSPACED.contains(&lang))
    }

    /// Returns the aspects that the sentence of `words` names, each once, in the order of the sentence. In languages
    /// other than English, replaces the valences of words from the lexicon with those from `opinions.txt`.
    pub(super) fn find(&self, words: &mut TextWords) -> Vec<Found> {
        let is_english = self.lang == Some(Lang::Eng);
        let forms = self.forms(words);
        for (item, form) in words.items.iter_mut().zip(&forms) {
            item.form = form.hash;
            if !is_english && item.is_word {
                item.entry.valence = None;
            }
        }
        if self.is_unspaced() {
            return self.find_unspaced(words);
        }
        let mut found: Vec<Found> = Vec::new();
        let mut at = 0;
        while at < forms.len() {
            let PhraseMatch { phrases, length } = self.at(&forms[at..]);
            let listed = phrases.iter().map(|phrase| phrase.opinion).sum::<i8>();
            if listed != 0 && !is_english {
                words.items[at].entry.valence = Some(i32::from(listed.signum()) * 20);
            }
            let is_idiom = !phrases.is_empty() && phrases.iter().all(|phrase| phrase.is_idiom);
            for item in &mut words.items[at..at + length] {
                item.is_idiom |= is_idiom;
            }
            let items = &words.items[at..at + length];
            let opinion = if listed == 0 {
                opinion_of(items)
            } else {
                listed.signum()
            };
            for aspect in phrases.iter().filter_map(|phrase| phrase.aspect) {
                if found.iter().all(|one| one.aspect != aspect) {
                    found.push(Found {
                        aspect,
                        range: items[0].start..items[length - 1].end,
                        opinion: if items[0].negated { -opinion } else { opinion },
                    });
                }
            }
            // An opinion may contain an aspect: "aucune réponse" contains "réponse".
            let is_opinion = listed != 0 && phrases.iter().all(|phrase| phrase.aspect.is_none());
            at += if is_opinion { 1 } else { length };
        }
        found
    }

    /// The same in a language without blanks, where an item is a run of letters between marks.
    fn find_unspaced(&self, words: &mut TextWords) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        for at in 0..words.items.len() {
            let item = words.items[at];
            let run = words.lower(&item);
            // Aspects only compete with aspects, and opinions with opinions: one may contain the other.
            let mut aspects: Vec<Range<usize>> = Vec::new();
            let mut opinions: Vec<Range<usize>> = Vec::new();
            let mut valence = 0;
            for UnspacedPhrase { finder, phrase } in &self.unspaced {
                let taken = if phrase.opinion == 0 {
                    &aspects
                } else {
                    &opinions
                };
                let length = finder.needle().len();
                let starts = finder.find_iter(run.as_bytes());
                let ranges = starts.map(|start| start..start + length);
                let mut free = ranges.filter(|range| !overlaps_any(taken, range));
                let Some(range) = free.next() else { continue };
                valence += i32::from(phrase.opinion) * 20;
                if let Some(aspect) = phrase.aspect
                    && found.iter().all(|one| one.aspect != aspect)
                {
                    found.push(Found {
                        aspect,
                        range: item.start + range.start..item.start + range.end,
                        opinion: 0,
                    });
                }
                let is_idiom = phrase.opinion == 0 && phrase.aspect.is_none();
                if phrase.opinion != 0 || is_idiom {
                    opinions.push(range.clone());
                }
                if phrase.opinion == 0 {
                    aspects.push(range);
                }
            }
            if valence != 0 {
                words.items[at].entry.valence = Some(valence);
            }
        }
        found.sort_by_key(|one| one.range.start);
        found
    }

    /// Returns the longest phrases at the start of `forms`, else those in its compound.
    fn at(&self, forms: &[WordForm]) -> PhraseMatch<'_> {
        let listed = self.by_first.get(&forms[0].hash);
        let starting = listed.into_iter().flatten();
        let fitting: Vec<&Phrase> = starting.filter(|phrase| phrase.begins(forms)).collect();
        let Some(longest) = fitting.iter().map(|phrase| phrase.rest.len()).max() else {
            return self.in_compound(&forms[0]);
        };
        let longest_ones = fitting.into_iter().filter(|one| one.rest.len() == longest);
        PhraseMatch {
            phrases: longest_ones.collect(),
            length: longest + 1,
        }
    }

    /// The words that a German compound begins or ends with.
    fn in_compound(&self, form: &WordForm) -> PhraseMatch<'_> {
        let mut phrases = Vec::new();
        for phrase in &self.parts {
            let part = &*phrase.first.key;
            let is_edge = form.key.ends_with(part) || form.key.starts_with(part);
            if is_edge && form.key.len() >= part.len() + 3 {
                phrases.push(phrase);
            }
        }
        PhraseMatch { phrases, length: 1 }
    }

    fn forms(&self, words: &mut TextWords) -> Vec<WordForm> {
        let mut cache = std::mem::take(&mut words.forms);
        let mut forms = Vec::with_capacity(words.items.len());
        for item in &words.items {
            forms.push(cache.form(&self.inflections, item.key, words.lower(item), item.is_word));
        }
        words.forms = cache;
        forms
    }
}

/// Whether texts in `lang` are searched for `phrase`. Texts in no known language are searched for all.
fn is_meant_for(taxonomy: &Taxonomy, phrase: &str, lang: Option<Lang>) -> bool {
    let Some(languages) = taxonomy.phrase_languages.get(phrase) else {
        return true;
    };
    lang.is_none_or(|lang| languages.contains(tag_of_language(lang)))
}

/// The sign of the words of a phrase that are opinions by themselves ("fair price"); 0 if there are none or both.
fn opinion_of(items: &[Item]) -> i8 {
    let mut sign = 0;
    for valence in items.iter().filter_map(|item| item.entry.valence) {
        if valence.abs() >= OPINION_VALENCE_MIN {
            sign += valence.signum();
        }
    }
    sign.signum() as i8
}

fn overlaps_any(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|one| one.start < range.end && range.start < one.end)
}

/// Whether opinions of this language are listed. English ones are few, as the text model reads English.
pub(super) fn has_opinions(lang: Lang) -> bool {
    OPINIONS.lines().any(|line| line.starts_with(lang.code()))
}
