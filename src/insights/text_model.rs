//! Classifies a mention by the words of its English sentence: a linear model over hashed features.
//!
//! Features are words, stems, pairs and triples, each alone and with its zone, side and negation; the sign of lexicon
//! words, so that words that did not occur in training count too; and the sums of their valences in levels. Without a
//! mention, the whole sentence counts as the phrase.
//!
//! `text_model.bin` is written by the example `train-polarity` from MAMS, TSA-MD and the UCI sentences (`LICENSES/`): for
//! each feature its hash as four little-endian bytes, and its weights for negative, neutral and positive. All sums are
//! integers, so every machine gives the same result.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::text::{Item, Words, key};

/// Log-odds for negative, neutral and positive, in [`UNIT`]s.
pub type Weights = [i32; 3];

/// The weight of one step of the natural logarithm.
pub const UNIT: i32 = 64;

/// The weights of each feature that training kept, read once when first needed: about 2 MB.
pub(super) static WEIGHTS: LazyLock<HashMap<u32, [i8; 3]>> = LazyLock::new(|| {
    let (features, _) = BYTES.as_chunks::<7>();
    let feature = |[a, b, c, d, weights @ ..]: &[u8; 7]| {
        let name = u32::from_le_bytes([*a, *b, *c, *d]);
        (name, weights.map(|byte| byte as i8))
    };
    features.iter().map(feature).collect()
});

/// The file.
pub(super) const BYTES: &[u8] = include_bytes!("text_model.bin");

/// A sentence in which mentions are classified.
#[derive(Debug, Default)]
pub struct Sentence {
    pub(super) words: Words,
    /// The first and the last item of the mention.
    target: Option<(usize, usize)>,
}

impl Sentence {
    /// Parses `sentence`, to which later calls refer.
    pub fn read(&mut self, sentence: &str) {
        self.words.read(sentence);
    }

    /// Returns the features of the mention in the bytes `target` of the sentence, each once, as hashes of 28 bits. Without
    /// a target, or if none of its words was parsed, returns the features of the whole sentence.
    pub fn features(&mut self, target: Option<Range<usize>>) -> Vec<u32> {
        self.target = target.and_then(|range| {
            let inside = |item: &Item| item.start < range.end && item.end > range.start;
            let mut items = self.words.items.iter();
            Some((items.clone().position(inside)?, items.rposition(inside)?))
        });
        let mut features = vec![feature(b'0', &[u8::from(self.target.is_some())], &[])];
        self.add_words(&mut features);
        self.add_sequences(&mut features);
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Words and their stems; and lexicon words by their sign alone, and their sums in phrase, clause and sentence.
    fn add_words(&self, features: &mut Vec<u32>) {
        let mut sums = [0; 3];
        for (at, item) in self.words.items.iter().enumerate() {
            let (zone, side) = self.place(at);
            let negated = u8::from(item.negated);
            let stem = key(stem(self.words.lower(item)));
            features.extend([
                feature(b'S', &[negated], &[item.key]),
                feature(b'U', &[zone, negated], &[item.key]),
                feature(b'Z', &[zone, negated], &[stem]),
            ]);
            if zone <= 1 {
                features.push(feature(b'R', &[zone, side, negated], &[item.key]));
            }
            if let Some(valence) = item.entry.valence {
                let valence = if item.negated { -valence } else { valence };
                let reached = [0, 1, 1, 2, 2][usize::from(zone)];
                sums[reached..].iter_mut().for_each(|sum| *sum += valence);
                let sign = u8::from(valence > 0);
                let size = u8::from(valence.abs() >= 20);
                features.push(feature(b'L', &[zone, sign, size], &[]));
                features.push(feature(b'l', &[zone, sign], &[]));
            }
        }
        let [phrase, clause, whole] = sums.map(level);
        features.extend([
            feature(b'V', &[2, whole, 0], &[]),
            feature(b'V', &[0, phrase, 0], &[]),
            feature(b'V', &[1, clause, 0], &[]),
            feature(b'V', &[3, clause, whole], &[]),
            feature(b'V', &[4, phrase, clause], &[]),
        ]);
    }

    /// Pairs and triples of adjacent items, unchanged and, near the mention, with a placeholder for the mention.
    fn add_sequences(&self, features: &mut Vec<u32>) {
        let (first, last) = self.target.unwrap_or_default();
        let items = &self.words.items;
        let is_shown = |at: &usize| *at <= first || *at > last;
        let shown: Vec<usize> = (0..items.len()).filter(is_shown).collect();
        let is_mention = |at: &usize| self.target == Some((*at, last));
        for length in [2, 3] {
            for window in shown.windows(length) {
                let end = window[length - 1];
                let zone = self.place(window[0]).0.max(self.place(end).0);
                let negated = u8::from(items[end].negated);
                let mut words = [0; 3];
                for (word, at) in words.iter_mut().zip(window) {
                    *word = items[*at].key;
                }
                features.push(feature(b'G', &[negated], &words[..length]));
                if length == 2 || zone <= 1 {
                    if let Some(at) = window.iter().position(is_mention) {
                        words[at] = ANY_MENTION;
                    }
                    features.push(feature(b'B', &[zone, negated], &words[..length]));
                }
            }
        }
    }

    /// The position of an item relative to the mention. The zone: 0 in its phrase, 1 in the next, 2 in its clause, 3 in a
    /// neighbouring clause, 4 beyond; the side: 0 before, 1 after, 2 within.
    fn place(&self, at: usize) -> (u8, u8) {
        // A sentence without a mention is its phrase.
        let Some((first, last)) = self.target else {
            return (0, 2);
        };
        let (item, of) = (self.words.items[at], self.words.items[first]);
        let zone = match item.clause.abs_diff(of.clause) {
            0 => item.phrase.abs_diff(of.phrase).min(2) as u8,
            1 => 3,
            _ => 4,
        };
        match at {
            at if at < first => (zone, 0),
            at if at > last => (zone, 1),
            _ => (zone, 2),
        }
    }
}

/// The word without the most common endings of English.
fn stem(word: &str) -> &str {
    let endings = ["ingly", "edly", "ing", "ed", "ly", "es", "s", "y", "e"];
    let bare = endings.iter().find_map(|ending| word.strip_suffix(ending));
    bare.filter(|bare| bare.len() >= 3).unwrap_or(word)
}

/// A sum of valences in one of nine levels.
fn level(sum: i32) -> u8 {
    let bounds = [-40, -20, -10, -2, 2, 10, 20, 40];
    bounds.iter().filter(|&&bound| sum >= bound).count() as u8
}

/// Hash of a feature of this kind from its marks, whose number depends only on the kind, and the keys of its words.
fn feature(kind: u8, marks: &[u8], words: &[u64]) -> u32 {
    let mix =
        |hash: u64, part: u64| (hash.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let add = |name: u64, mark: &u8| name << 8 | u64::from(*mark);
    let name = marks.iter().fold(u64::from(kind), add);
    let add_word = |hash: u64, word: &u64| mix(hash, *word);
    (words.iter().fold(mix(0, name), add_word) >> 36) as u32
}

/// Stands for the words of any mention.
const ANY_MENTION: u64 = 0;
