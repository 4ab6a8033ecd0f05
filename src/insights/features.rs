//! What the text model looks at: hashed features of a mention within its sentence.
//!
//! Words, their stems, pairs and triples count by zone (the mention's phrase, its clause, beyond), by side and distance,
//! and by whether they are negated; words and sequences also count wherever they stand. Lexicon words count by their
//! sign alone, so that a word that training never saw still speaks, and the lexicon's scores of phrase, clause and
//! sentence count in levels. Without a mention the sentence as a whole is the phrase.

use std::ops::Range;

use super::words::{Item, Words};

/// One feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// 28 bits that name it.
    pub hash: u32,
    /// Index of the word that it is about: of a sequence the longest, of a score the strongest.
    pub item: Option<u16>,
}

/// Collects the features of one mention after the other, reusing its buffers.
#[derive(Debug, Default)]
pub struct Collector {
    pub(super) words: Words,
    features: Vec<Feature>,
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
        let items = self.words.items();
        let target = target.and_then(|range| {
            let inside = |item: &Item| item.start < range.end && item.end > range.start;
            let first = items.iter().position(inside)?;
            Some((first, items.iter().rposition(inside)?))
        });
        let mut mention = Mention {
            words: &self.words,
            items,
            target,
            features: &mut self.features,
        };
        mention.add(Hash::new(b'0', &[u8::from(target.is_some())]), None);
        mention.add_scores();
        mention.add_words();
        mention.add_sequences();
        mention.add_signs();
        &self.features
    }
}

/// A mention in its sentence.
struct Mention<'s> {
    words: &'s Words,
    items: &'s [Item],
    /// The first and the last item of the mention.
    target: Option<(usize, usize)>,
    features: &'s mut Vec<Feature>,
}

/// Where an item stands towards the mention.
struct Place {
    /// 0 in its phrase, 1 in the next, 2 in its clause, 3 in a neighbouring clause, 4 beyond.
    zone: u8,
    /// 0 before, 1 after, 2 within.
    side: u8,
    /// Items between, and one.
    distance: usize,
    /// The distance in steps that grow.
    reach: u8,
}

impl Mention<'_> {
    /// The lexicon's scores of sentence, phrase and clause, alone and in pairs.
    fn add_scores(&mut self) {
        let items = self.items.iter().enumerate();
        let valences = items.filter_map(|(at, item)| Some((item.entry.valence?.abs(), at)));
        let strongest = valences.max_by(|one, other| one.0.total_cmp(&other.0));
        let strongest = strongest.map(|(_, at)| at);
        let whole = level(self.words.score(|_| true));
        self.add(Hash::new(b'V', &[2, whole]), strongest);
        let Some((first, _)) = self.target else {
            return;
        };
        let of = self.items[first];
        let phrase = level(self.words.score(|item| item.phrase == of.phrase));
        let clause = level(self.words.score(|item| item.clause == of.clause));
        for marks in [
            [0, phrase, 0],
            [1, clause, 0],
            [3, clause, whole],
            [4, phrase, clause],
        ] {
            self.add(Hash::new(b'V', &marks), strongest);
        }
    }

    fn add_words(&mut self) {
        let (words, items) = (self.words, self.items);
        for (at, item) in items.iter().enumerate() {
            let place = self.place(at);
            let negated = u8::from(item.negated);
            let word = words.lower(item);
            let mut add = |kind: u8, marks: &[u8], word: &str| {
                self.add(Hash::new(kind, marks).with(word.as_bytes()), Some(at));
            };
            add(b'U', &[place.zone, negated], word);
            add(b'S', &[negated], word);
            add(b'Z', &[place.zone, negated], stem(word));
            if place.zone <= 1 {
                add(b'R', &[place.zone, place.side, negated], word);
            }
            if (1..=8).contains(&place.distance) {
                add(b'D', &[place.side, place.reach], word);
            }
        }
    }

    /// Pairs and triples of neighbours, the mention standing as one item for all of its words.
    fn add_sequences(&mut self) {
        let is_hidden = |at: &usize| {
            self.target
                .is_some_and(|(first, last)| *at > first && *at <= last)
        };
        let shown: Vec<usize> = (0..self.items.len()).filter(|at| !is_hidden(at)).collect();
        for (kind, length, zone_max) in [(b'B', 2, u8::MAX), (b'T', 3, 1)] {
            for window in shown.windows(length) {
                let (first, last) = (self.place(window[0]), self.place(window[length - 1]));
                let zone = first.zone.max(last.zone);
                self.add_sequence(Hash::new(b'G', &[]), window, None);
                if zone <= zone_max {
                    let target = self.target.map(|(first, _)| first);
                    self.add_sequence(Hash::new(kind, &[zone]), window, target);
                }
            }
        }
    }

    /// Adds the words of `window`, in which `target` stands for any mention.
    fn add_sequence(&mut self, mut hash: Hash, window: &[usize], target: Option<usize>) {
        let last = window[window.len() - 1];
        hash = hash.with(&[u8::from(self.items[last].negated)]);
        for &at in window {
            let word = self.words.lower(&self.items[at]).as_bytes();
            let word = if target == Some(at) { &[0xfe] } else { word };
            hash = hash.with(&[0xff]).with(word);
        }
        let others = window.iter().copied().filter(|at| target != Some(*at));
        let length = |at: &usize| self.items[*at].end - self.items[*at].start;
        self.add(hash, others.max_by_key(length));
    }

    /// Lexicon words by sign alone: by zone and side, the nearest on each side, and how many of each sign there are.
    fn add_signs(&mut self) {
        let items = self.items;
        let mut nearest = [(usize::MAX, 0u8); 2];
        let mut counts = [[0u8; 2]; 4];
        for (at, item) in items.iter().enumerate() {
            let Some(valence) = item.entry.valence else {
                continue;
            };
            let positive = (valence > 0.0) != item.negated;
            let sign = if positive { b'+' } else { b'-' };
            let size = if valence.abs() >= 2.0 { b'2' } else { b'1' };
            let place = self.place(at);
            let marks = [place.zone, place.side, sign, size, place.reach];
            self.add(Hash::new(b'L', &marks), Some(at));
            self.add(Hash::new(b'L', &[place.zone, sign]), Some(at));
            let count = &mut counts[usize::from(place.zone.min(3))][usize::from(!positive)];
            *count = count.saturating_add(1).min(3);
            let nearest = &mut nearest[usize::from(place.side.min(1))];
            if place.zone <= 2 && place.distance < nearest.0 {
                *nearest = (place.distance, sign);
            }
        }
        self.add(Hash::new(b'N', &[nearest[0].1, nearest[1].1]), None);
        for (zone, [positive, negative]) in (0u8..).zip(counts) {
            self.add(Hash::new(b'C', &[zone, positive, negative]), None);
        }
        self.add(Hash::new(b'c', &[counts[0], counts[1]].concat()), None);
    }

    fn place(&self, at: usize) -> Place {
        // A sentence without a mention is its phrase.
        let (first, last) = self.target.unwrap_or((0, self.items.len()));
        let (item, of) = (self.items[at], self.items[first]);
        let (side, distance) = match at {
            at if at < first => (0, first - at),
            at if at > last => (1, at - last),
            _ => (2, 0),
        };
        let phrases = item.phrase.abs_diff(of.phrase);
        let zone = match item.clause.abs_diff(of.clause) {
            _ if self.target.is_none() => 0,
            0 => phrases.min(2) as u8,
            1 => 3,
            _ => 4,
        };
        let reach = match distance {
            0..=3 => distance as u8,
            4..=5 => 4,
            6..=8 => 5,
            _ => 6,
        };
        Place {
            zone,
            side,
            distance,
            reach,
        }
    }

    fn add(&mut self, hash: Hash, item: Option<usize>) {
        self.features.push(Feature {
            hash: hash.finish(),
            item: item.and_then(|at| u16::try_from(at).ok()),
        });
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
