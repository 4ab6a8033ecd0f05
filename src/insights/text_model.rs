//! Classifies a mention by the words of its English sentence: a linear model over hashed features.
//!
//! Features are the sequences of one to three words and marks, in which a negated word is a different word, and levels
//! and counts of lexicon valences, so that words that did not occur in training count too. Each exists for three zones:
//! the sentence, the clause of the mention, and the words near the mention. Without a mention the zones are equal.
//!
//! `text_model.bin` is written by the example `train-polarity` from MAMS, TSA-MD and the UCI sentences (`LICENSES/`): for
//! each feature its hash as four little-endian bytes, and its weights for negative, neutral and positive. All sums are
//! integers, so every machine gives the same result.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::LazyLock;

use super::keys::KeyMap;
use super::text::{Item, TextWords};

/// The integer that represents 1.0 in natural log-odds.
pub const UNIT: i32 = 64;

/// The contents of `text_model.bin`.
pub(super) const BYTES: &[u8] = include_bytes!("text_model.bin");

/// The key that replaces the words of a mention.
const ANY_MENTION: u64 = 0;
/// Number of words and marks on each side of a mention that count as near it.
const NEAR: usize = 6;
/// Levels of a sum of valences, in tenths.
const BOUNDS: [i32; 8] = [-38, -22, -12, -2, 2, 12, 22, 38];

/// Log-odds for negative, neutral and positive, in [`UNIT`]s.
pub type Weights = [i32; 3];

/// The weights of each feature that training kept, parsed on first use: about 2 MB.
static WEIGHTS: LazyLock<KeyMap<u32, [i8; 3]>> = LazyLock::new(|| {
    let (features, _) = BYTES.as_chunks::<7>();
    let features = features.iter().map(|[a, b, c, d, weights @ ..]| {
        let name = u32::from_le_bytes([*a, *b, *c, *d]);
        (name, weights.map(|byte| byte as i8))
    });
    features.collect()
});

/// A sentence in which mentions are classified.
#[derive(Debug, Default)]
pub struct Sentence {
    pub(super) words: TextWords,
    /// The sums of the sentence as a whole, once they have been needed.
    pub(super) whole: OnceCell<Weights>,
}

impl Sentence {
    /// Parses `sentence`; later calls are about it.
    pub fn read(&mut self, sentence: &str) {
        self.words.read(sentence);
        self.whole.take();
    }

    /// Returns the features of the mention in the bytes `target` of the sentence, each once, as hashes of 28 bits. Without
    /// a target, or if none of its words was parsed, returns the features of the whole sentence.
    pub fn features(&self, target: Option<Range<usize>>) -> Vec<u32> {
        let mut features = self.repeated_features(target);
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Adds up the weights of the features of the mention in `target`, each once.
    pub(super) fn weights(&self, target: Option<Range<usize>>) -> Weights {
        // Few features have weights, so it is quicker to look them up before they are sorted.
        let mut known: Vec<(u32, [i8; 3])> = Vec::new();
        for feature in self.repeated_features(target) {
            let weights = WEIGHTS.get(&feature);
            known.extend(weights.map(|weights| (feature, *weights)));
        }
        known.sort_unstable_by_key(|(feature, _)| *feature);
        known.dedup_by_key(|(feature, _)| *feature);
        let mut sums = [0; 3];
        for (_, weights) in known {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(weight);
            }
        }
        sums
    }

    /// The features of a mention, in no order, some of them several times.
    fn repeated_features(&self, target: Option<Range<usize>>) -> Vec<u32> {
        let items = &self.words.items;
        let mention = target.and_then(|range| {
            let inside = |item: &Item| item.start < range.end && item.end > range.start;
            let first = items.iter().position(inside)?;
            Some((first, items.iter().rposition(inside)?))
        });
        let (first, last) = mention.unwrap_or((0, items.len()));
        let clause = mention.map(|(first, _)| items[first].clause);
        let zones: [&dyn Fn(usize) -> bool; 3] = [
            &|_| true,
            &|at| clause.is_none_or(|clause| items[at].clause == clause),
            &|at| at + NEAR >= first && at <= last + NEAR,
        ];
        let is_mention = |at: usize| mention.is_some() && (first..=last).contains(&at);
        let word = |at: usize| {
            let item = &items[at];
            if is_mention(at) {
                ANY_MENTION
            } else if item.negated {
                !item.key
            } else {
                item.key
            }
        };
        let mut features = Vec::with_capacity(9 * items.len() + 32);
        features.push(feature(b'0', &[u8::from(mention.is_some())], &[]));
        for (zone, is_inside) in (0..).zip(zones) {
            let inside = || (0..items.len()).filter(|at| is_inside(*at));
            let shown = inside().filter(|at| *at == first || !is_mention(*at));
            let words: Vec<u64> = shown.map(word).collect();
            for length in 1..=3 {
                let sequences = words.windows(length);
                features.extend(sequences.map(|words| feature(b'W', &[zone], words)));
            }
            let valences = || inside().filter_map(|at| items[at].valence());
            let sum: i32 = valences().sum();
            // All bounds between zero and the sum, so a large sum also has the features of smaller ones.
            let passed = |bound: &i32| (sum >= *bound) == (*bound > 0);
            let bounds = (0..).zip(BOUNDS).filter(|(_, bound)| passed(bound));
            features.extend(bounds.map(|(at, _)| feature(b'V', &[zone, at], &[])));
            let count = |sign| valences().filter(|one| one.signum() == sign).count().min(2) as u8;
            features.push(feature(b'N', &[zone, count(1), count(-1)], &[]));
        }
        features
    }
}

/// Hashes a feature: its kind, its marks (always the same number for a kind), and the keys of its words.
fn feature(kind: u8, marks: &[u8], words: &[u64]) -> u32 {
    let mut name = u64::from(kind);
    for mark in marks {
        name = name << 8 | u64::from(*mark);
    }
    let mut hash = mix(0, name);
    for word in words {
        hash = mix(hash, *word);
    }
    (hash >> 36) as u32
}

/// Adds a part to a hash.
fn mix(hash: u64, part: u64) -> u64 {
    (hash.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
