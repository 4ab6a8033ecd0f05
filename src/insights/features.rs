//! What the text model looks at: hashed features of a mention within its sentence.
//!
//! Words, pairs and triples count by zone (the mention's phrase, its clause, beyond), by side and distance, and by
//! whether they are negated; words and pairs also count wherever they stand. Lexicon words count by their sign alone,
//! so that a word that training never saw still speaks, and the lexicon's scores of phrase, clause and sentence count
//! in levels. Without a mention the sentence as a whole is the phrase.

use std::ops::Range;

use super::words::{Item, Words};

/// One feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// 28 bits that name it.
    pub hash: u32,
    /// Index of the word that it is about, or `None` if it is about more than a phrase.
    pub item: Option<u16>,
}

/// Collects the features of one mention after the other, reusing its buffers.
#[derive(Debug, Default)]
pub struct Collector {
    pub(super) words: Words,
    features: Vec<Feature>,
}

/// The first and the last item of a mention.
#[derive(Clone, Copy)]
struct Target {
    first: usize,
    last: usize,
}

impl Collector {
    /// Reads `sentence`, which the next features are of.
    pub fn read(&mut self, sentence: &str) {
        self.words.read(sentence);
    }

    /// Returns the features of the mention in the bytes `target` of the sentence, or of the sentence as a whole where
    /// there is none or none of its words is looked at.
    pub fn collect(&mut self, target: Option<Range<usize>>) -> &[Feature] {
        self.features.clear();
        let target = target.and_then(|range| self.target(&range));
        self.add(b'0', &[u8::from(target.is_some())], None);
        self.add_scores(target);
        self.add_words(target);
        self.add_neighbours(target);
        self.add_signs(target);
        &self.features
    }

    fn target(&self, range: &Range<usize>) -> Option<Target> {
        let inside = |item: &Item| item.start < range.end && item.end > range.start;
        let items = self.words.items();
        let first = items.iter().position(inside)?;
        let last = items.iter().rposition(inside).unwrap_or(first);
        Some(Target { first, last })
    }

    fn add_scores(&mut self, target: Option<Target>) {
        let whole = level(self.words.score(|_| true));
        self.add(b'V', &[2, whole], None);
        let Some(target) = target else { return };
        let of = self.words.items()[target.first];
        let phrase = level(self.words.score(|item| item.phrase == of.phrase));
        let clause = level(self.words.score(|item| item.clause == of.clause));
        for marks in [
            [0, phrase, 0],
            [1, clause, 0],
            [3, clause, whole],
            [4, phrase, clause],
        ] {
            self.add(b'V', &marks, None);
        }
    }

    fn add_words(&mut self, target: Option<Target>) {
        for at in 0..self.words.items().len() {
            let place = self.place(target, at);
            let negated = u8::from(self.words.items()[at].negated);
            self.add(b'U', &[place.zone, negated], Some(at));
            self.add(b'S', &[negated], Some(at));
            self.add_stem(&[place.zone, negated], at);
            if place.zone <= 1 {
                self.add(b'R', &[place.zone, place.side, negated], Some(at));
            }
            if (1..=8).contains(&place.distance) {
                self.add(b'D', &[place.side, place.reach], Some(at));
            }
        }
    }

    /// Pairs and triples of neighbours, the mention standing as one item for all of its words.
    fn add_neighbours(&mut self, target: Option<Target>) {
        let hidden =
            |at: usize| target.is_some_and(|target| (target.first + 1..=target.last).contains(&at));
        let sequence: Vec<usize> = (0..self.words.items().len())
            .filter(|&at| !hidden(at))
            .collect();
        for (kind, length, zone_max) in [(b'B', 2, u8::MAX), (b'T', 3, 1)] {
            for window in sequence.windows(length) {
                let zone = self
                    .place(target, window[0])
                    .zone
                    .max(self.place(target, window[length - 1]).zone);
                self.add_sequence(b'G', &[], window, None);
                if zone <= zone_max {
                    self.add_sequence(kind, &[zone], window, target);
                }
            }
        }
    }

    /// Lexicon words by sign alone: by zone and side, the nearest on each side, and how many of each sign there are.
    fn add_signs(&mut self, target: Option<Target>) {
        let mut nearest = [(u16::MAX, 0u8); 2];
        let mut counts = [[0u8; 2]; 4];
        for at in 0..self.words.items().len() {
            let item = self.words.items()[at];
            let Some(valence) = item.entry.valence else {
                continue;
            };
            let positive = (valence > 0.0) != item.negated;
            let sign = if positive { b'+' } else { b'-' };
            let size = if valence.abs() >= 2.0 { b'2' } else { b'1' };
            let place = self.place(target, at);
            self.add_about(b'L', &[place.zone, place.side, sign, size, place.reach], at);
            self.add_about(b'L', &[place.zone, sign], at);
            let count = &mut counts[usize::from(place.zone.min(3))][usize::from(!positive)];
            *count = count.saturating_add(1).min(3);
            let side = usize::from(place.side.min(1));
            if place.zone <= 2 && place.distance < nearest[side].0 {
                nearest[side] = (place.distance, sign);
            }
        }
        self.add(b'N', &[nearest[0].1, nearest[1].1], None);
        for (zone, [positive, negative]) in counts.into_iter().enumerate() {
            self.add(b'C', &[zone as u8, positive, negative], None);
        }
        self.add(b'c', &[counts[0], counts[1]].concat(), None);
    }

    fn place(&self, target: Option<Target>, at: usize) -> Place {
        let Some(target) = target else {
            return Place {
                zone: 0,
                side: 2,
                distance: 0,
                reach: 0,
            };
        };
        let items = self.words.items();
        let (item, of) = (items[at], items[target.first]);
        let (side, distance) = match at {
            at if at < target.first => (0, target.first - at),
            at if at > target.last => (1, at - target.last),
            _ => (2, 0),
        };
        let zone = match (
            item.clause.abs_diff(of.clause),
            item.phrase.abs_diff(of.phrase),
        ) {
            (0, phrases @ 0..=2) => phrases as u8,
            (0, _) => 2,
            (1, _) => 3,
            _ => 4,
        };
        let reach = match distance {
            0..=3 => distance as u8,
            4..=5 => 4,
            6..=8 => 5,
            _ => 6,
        };
        // At most ITEMS_MAX.
        Place {
            zone,
            side,
            distance: distance as u16,
            reach,
        }
    }

    /// Adds a feature made of `marks` and, where there is one, the word at `item`.
    fn add(&mut self, kind: u8, marks: &[u8], item: Option<usize>) {
        let mut hash = Hash::new(kind, marks);
        if let Some(at) = item {
            hash.write(self.words.lower(&self.words.items()[at]).as_bytes());
        }
        self.push(hash, item);
    }

    /// Adds a feature made of `marks` alone that the word at `item` gave rise to.
    fn add_about(&mut self, kind: u8, marks: &[u8], item: usize) {
        self.push(Hash::new(kind, marks), Some(item));
    }

    fn add_stem(&mut self, marks: &[u8], at: usize) {
        let mut hash = Hash::new(b'Z', marks);
        hash.write(stem(self.words.lower(&self.words.items()[at])).as_bytes());
        self.push(hash, Some(at));
    }

    fn add_sequence(&mut self, kind: u8, marks: &[u8], places: &[usize], target: Option<Target>) {
        let items = self.words.items();
        let is_target = |at: usize| target.is_some_and(|target| target.first == at);
        let mut hash = Hash::new(kind, marks);
        hash.write(&[u8::from(items[places[places.len() - 1]].negated)]);
        for &at in places {
            hash.write(&[0xff]);
            match is_target(at) {
                true => hash.write(&[0xfe]),
                false => hash.write(self.words.lower(&items[at]).as_bytes()),
            }
        }
        // The longest word stands for the sequence where reasons are shown.
        let length = |&at: &usize| items[at].end - items[at].start;
        let item = places
            .iter()
            .copied()
            .filter(|&at| !is_target(at))
            .max_by_key(length);
        self.push(hash, item);
    }

    fn push(&mut self, hash: Hash, item: Option<usize>) {
        let item = item.and_then(|at| u16::try_from(at).ok());
        self.features.push(Feature {
            hash: hash.finish(),
            item,
        });
    }
}

/// Where an item stands towards the mention.
struct Place {
    /// 0 in its phrase, 1 in the next, 2 in its clause, 3 in a neighbouring clause, 4 beyond.
    zone: u8,
    /// 0 before, 1 after, 2 within.
    side: u8,
    /// Items between, and one.
    distance: u16,
    /// The distance in steps that grow.
    reach: u8,
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
struct Hash(u32);

impl Hash {
    fn new(kind: u8, marks: &[u8]) -> Hash {
        let mut hash = Hash(0x811c_9dc5);
        hash.write(&[kind]);
        hash.write(marks);
        hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }

    fn finish(self) -> u32 {
        let mixed = (self.0 ^ (self.0 >> 16)).wrapping_mul(0x7feb_352d);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x846c_a68b);
        (mixed ^ (mixed >> 16)) >> 4
    }
}
