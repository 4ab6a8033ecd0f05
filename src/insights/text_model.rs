//! What the words of an English sentence say about a mention: a linear model over hashed features.
//!
//! Words, stems, pairs and triples count by zone, side, distance and negation, and wherever they stand; lexicon words by
//! their sign alone, so that a word that training never saw still speaks; the lexicon's scores in levels. Without a
//! mention the sentence as a whole is the phrase.
//!
//! `text_model.bin` is written by the example `train-polarity` from MAMS, TSA-MD and the UCI sentences (`LICENSES/`): the
//! number of features as four bytes, little end first; where each of 4,096 buckets ends (by the upper 12 bits of the
//! hash); the lower 16 bits of every hash; its weights for negative, neutral and positive. All sums are whole numbers:
//! the same text gives the same answer on every machine.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::text::{Item, Words};

/// Log-odds for negative, neutral and positive, in [`UNIT`]s.
pub type Weights = [i32; 3];

/// The weight of one step of the natural logarithm.
pub const UNIT: i32 = 64;

/// The weights of each feature that training kept, read once when first needed: about 2 MB.
pub(super) static WEIGHTS: LazyLock<HashMap<u32, [i8; 3]>> = LazyLock::new(|| {
    let (count, rest) = BYTES.split_first_chunk().expect("the file has a head");
    let (ends, rest) = rest.split_at(4096 * 2);
    let (keys, weights) = rest.split_at(u32::from_le_bytes(*count) as usize * 2);
    let (ends, keys) = (ends.as_chunks().0, keys.as_chunks().0);
    let weights = weights.as_chunks().0.iter().enumerate();
    let feature = |(at, weights): (usize, &[u8; 3])| {
        let bucket = ends.partition_point(|end| usize::from(u16::from_le_bytes(*end)) <= at);
        let hash = (bucket as u32) << 16 | u32::from(u16::from_le_bytes(keys[at]));
        (hash, weights.map(|byte| byte as i8))
    };
    weights.map(feature).collect()
});

/// The file.
pub(super) const BYTES: &[u8] = include_bytes!("text_model.bin");

/// A sentence that mentions are judged in; buffers are reused from one to the next.
#[derive(Debug, Default)]
pub struct Sentence {
    pub(super) words: Words,
    /// The first and the last item of the mention.
    target: Option<(usize, usize)>,
    features: Vec<u32>,
}

impl Sentence {
    /// Reads `sentence`, which what follows is about.
    pub fn read(&mut self, sentence: &str) {
        self.words.read(sentence);
    }

    /// Returns the features of the mention in the bytes `target` of the sentence, each once, as 28 bits that name it; of
    /// the sentence as a whole where there is no target or none of its words is looked at.
    pub fn features(&mut self, target: Option<Range<usize>>) -> &[u32] {
        self.features.clear();
        self.target = target.and_then(|range| {
            let inside = |item: &Item| item.start < range.end && item.end > range.start;
            let mut items = self.words.items().iter();
            Some((items.clone().position(inside)?, items.rposition(inside)?))
        });
        self.add(Hash::new(b'0', &[u8::from(self.target.is_some())]));
        self.add_scores();
        self.add_words();
        self.add_sequences();
        self.features.sort_unstable();
        self.features.dedup();
        &self.features
    }

    /// The lexicon's scores of sentence, phrase and clause, alone and in pairs.
    fn add_scores(&mut self) {
        let whole = level(self.words.score(|_| true));
        self.add(Hash::new(b'V', &[2, whole]));
        let Some((first, _)) = self.target else {
            return;
        };
        let of = self.words.items()[first];
        let phrase = level(self.words.score(|item| item.phrase == of.phrase));
        let clause = level(self.words.score(|item| item.clause == of.clause));
        for marks in [
            [0, phrase, 0],
            [1, clause, 0],
            [3, clause, whole],
            [4, phrase, clause],
        ] {
            self.add(Hash::new(b'V', &marks));
        }
    }

    /// Words and their stems; and lexicon words by sign alone: by zone and side, the nearest on each side, and how many of
    /// each sign there are.
    fn add_words(&mut self) {
        let mut nearest = [(usize::MAX, 0u8); 2];
        let mut counts = [[0u8; 2]; 4];
        for at in 0..self.words.items().len() {
            let item = self.words.items()[at];
            let (zone, side, distance) = self.place(at);
            let negated = u8::from(item.negated);
            let word = self.words.lower(&item);
            let of_word = |kind, marks: &[u8]| Hash::new(kind, marks).with(word.as_bytes());
            let of_stem = Hash::new(b'Z', &[zone, negated]).with(stem(word).as_bytes());
            let near = of_word(b'R', &[zone, side, negated]);
            let around = of_word(b'D', &[side, reach(distance)]);
            let [anywhere, zoned] = [of_word(b'S', &[negated]), of_word(b'U', &[zone, negated])];
            self.features
                .extend([anywhere, zoned, of_stem].map(Hash::finish));
            if zone <= 1 {
                self.add(near);
            }
            if (1..=8).contains(&distance) {
                self.add(around);
            }
            let Some(valence) = item.entry.valence else {
                continue;
            };
            let is_praise = (valence > 0.0) != item.negated;
            let sign = if is_praise { b'+' } else { b'-' };
            let size = if valence.abs() >= 2.0 { b'2' } else { b'1' };
            self.add(Hash::new(b'L', &[zone, side, sign, size, reach(distance)]));
            self.add(Hash::new(b'L', &[zone, sign]));
            let count = &mut counts[usize::from(zone.min(3))][usize::from(!is_praise)];
            *count = (*count + 1).min(3);
            let nearest = &mut nearest[usize::from(side.min(1))];
            if zone <= 2 && distance < nearest.0 {
                *nearest = (distance, sign);
            }
        }
        self.add(Hash::new(b'N', &nearest.map(|(_, sign)| sign)));
        for (zone, [praise, complaints]) in (0u8..).zip(counts) {
            self.add(Hash::new(b'C', &[zone, praise, complaints]));
        }
        self.add(Hash::new(b'c', &[counts[0], counts[1]].concat()));
    }

    /// Pairs and triples of neighbours, the mention standing as one item for all of its words.
    fn add_sequences(&mut self) {
        let (first, last) = self.target.unwrap_or_default();
        let items = 0..self.words.items().len();
        let shown: Vec<usize> = items.filter(|at| *at <= first || *at > last).collect();
        let target = self.target.map(|(first, _)| first);
        for (kind, length, zone_max) in [(b'B', 2, u8::MAX), (b'T', 3, 1)] {
            for window in shown.windows(length) {
                let [first, last] = [window[0], window[length - 1]].map(|at| self.place(at).0);
                let zone = first.max(last);
                self.add(self.sequence(Hash::new(b'G', &[]), window, None));
                if zone <= zone_max {
                    self.add(self.sequence(Hash::new(kind, &[zone]), window, target));
                }
            }
        }
    }

    /// The words of `window`, in which `target` stands for any mention.
    fn sequence(&self, hash: Hash, window: &[usize], target: Option<usize>) -> Hash {
        let items = self.words.items();
        let negated = items[window[window.len() - 1]].negated;
        let word = |at: &usize| match target == Some(*at) {
            true => &[0xfe],
            false => self.words.lower(&items[*at]).as_bytes(),
        };
        let add = |hash: Hash, at| hash.with(&[0xff]).with(word(at));
        window.iter().fold(hash.with(&[u8::from(negated)]), add)
    }

    /// Where an item stands towards the mention. The zone: 0 in its phrase, 1 in the next, 2 in its clause, 3 in a
    /// neighbouring clause, 4 beyond; the side: 0 before, 1 after, 2 within; the distance: items between, and one.
    fn place(&self, at: usize) -> (u8, u8, usize) {
        // A sentence without a mention is its phrase.
        let Some((first, last)) = self.target else {
            return (0, 2, 0);
        };
        let (item, of) = (self.words.items()[at], self.words.items()[first]);
        let phrases = item.phrase.abs_diff(of.phrase);
        let zone = match item.clause.abs_diff(of.clause) {
            0 => phrases.min(2) as u8,
            1 => 3,
            _ => 4,
        };
        match at {
            at if at < first => (zone, 0, first - at),
            at if at > last => (zone, 1, at - last),
            _ => (zone, 2, 0),
        }
    }

    fn add(&mut self, hash: Hash) {
        self.features.push(hash.finish());
    }
}

/// A distance in steps that grow.
fn reach(distance: usize) -> u8 {
    match distance {
        0..=3 => distance as u8,
        4..=5 => 4,
        6..=8 => 5,
        _ => 6,
    }
}

/// The word without the most common endings of English.
fn stem(word: &str) -> &str {
    let endings = ["ingly", "edly", "ing", "ed", "ly", "es", "s", "y", "e"];
    let bare = endings.iter().find_map(|ending| word.strip_suffix(ending));
    bare.filter(|bare| bare.len() >= 3).unwrap_or(word)
}

/// A score in one of nine levels.
fn level(score: i32) -> u8 {
    let bounds = [-7000, -4500, -2000, -500, 500, 2000, 4500, 7000];
    bounds.iter().filter(|&&bound| score >= bound).count() as u8
}

/// FNV-1a with a final mix.
#[derive(Clone, Copy)]
struct Hash(u32);

impl Hash {
    fn new(kind: u8, marks: &[u8]) -> Hash {
        Hash(0x811c_9dc5).with(&[kind]).with(marks)
    }

    fn with(self, bytes: &[u8]) -> Hash {
        let add = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Hash(bytes.iter().fold(self.0, add))
    }

    fn finish(self) -> u32 {
        let mixed = (self.0 ^ (self.0 >> 16)).wrapping_mul(0x7feb_352d);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x846c_a68b);
        (mixed ^ (mixed >> 16)) >> 4
    }
}
