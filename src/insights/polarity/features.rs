//! What the model looks at: hashed signs of a mention within its sentence.
//!
//! Words count by where they stand: in the phrase of the mention, in its clause, or beyond a turn of thought; before
//! or after it; and whether they are negated. Words of the lexicon also count by their sign alone, so that a word
//! that training never saw still speaks, and the scores of the phrase, the clause and the sentence count by size.

use super::super::sentiment::Scorer;
use super::super::words::{Item, Words};

/// One sign: the hash that names it, and the item of the sentence that it is about, for the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// 28 bits.
    pub hash: u32,
    /// Place among the items of the sentence, or `None` if it is about more than one word.
    pub item: Option<u16>,
}

/// The scores, in ten-thousandths, of what surrounds a mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scores {
    pub(super) phrase: i32,
    pub(super) clause: i32,
    pub(super) sentence: i32,
}

/// Collects the features of one mention after the other, reusing its buffers.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) words: Words,
    pub(super) scores: Scores,
    scorer: Scorer,
    plain: String,
    features: Vec<Feature>,
}

/// Where the mention is: its first and last item.
#[derive(Clone, Copy)]
struct Mention {
    first: usize,
    last: usize,
}

impl Collector {
    /// The features of the mention in the bytes `from..to` of `sentence`; none if no word that is looked at is there.
    pub(super) fn collect(&mut self, sentence: &str, from: usize, to: usize) -> &[Feature] {
        self.features.clear();
        self.words.read(sentence);
        let items = self.words.items();
        let inside = |item: &Item| item.start < to && item.end > from;
        let Some(first) = items.iter().position(inside) else {
            self.scores = Scores::default();
            return &self.features;
        };
        let last = items.iter().rposition(inside).unwrap_or(first);
        let mention = Mention { first, last };
        self.score(sentence, mention);
        self.add(b'0', 0, &[], None);
        self.add_scores();
        self.add_words(mention);
        self.add_neighbours(mention);
        self.add_signs(mention);
        &self.features
    }

    /// The features collected last.
    pub(super) fn features(&self) -> &[Feature] {
        &self.features
    }

    fn score(&mut self, sentence: &str, mention: Mention) {
        let of = self.words.items()[mention.first];
        self.scores = Scores {
            phrase: self.span(sentence, |item| item.phrase == of.phrase),
            clause: self.span(sentence, |item| item.clause == of.clause),
            sentence: self.compound(sentence),
        };
    }

    /// The score of the items that `belongs` accepts, which stand together.
    fn span(&mut self, sentence: &str, belongs: impl Fn(&Item) -> bool) -> i32 {
        let items = self.words.items();
        let first = items.iter().find(|item| belongs(item));
        let last = items.iter().rfind(|item| belongs(item));
        match (first, last) {
            (Some(first), Some(last)) => self.compound(&sentence[first.start..last.end]),
            _ => 0,
        }
    }

    fn compound(&mut self, text: &str) -> i32 {
        if text.contains('’') {
            self.plain.clear();
            self.plain.extend(
                text.chars()
                    .map(|character| if character == '’' { '\'' } else { character }),
            );
            return self.scorer.compound(&self.plain);
        }
        self.scorer.compound(text)
    }

    fn add_scores(&mut self) {
        let Scores {
            phrase,
            clause,
            sentence,
        } = self.scores;
        let [phrase, clause, sentence] = [phrase, clause, sentence].map(level);
        self.add(b'V', 0, &[phrase], None);
        self.add(b'V', 1, &[clause], None);
        self.add(b'V', 2, &[sentence], None);
        self.add(b'V', 3, &[clause, sentence], None);
        self.add(b'V', 4, &[phrase, clause], None);
    }

    /// Each word by zone, by side and distance, and by its presence alone.
    fn add_words(&mut self, mention: Mention) {
        for at in 0..self.words.items().len() {
            let place = self.place(mention, at);
            let negated = self.negated(at);
            self.add(b'U', place.zone, &[negated], Some(at));
            self.add(b'S', 0, &[negated], Some(at));
            self.add_stem(b'Z', &[place.zone, negated], at);
            if place.zone <= 1 {
                self.add(b'R', place.zone, &[place.side, negated], Some(at));
            }
            if (1..=8).contains(&place.distance) {
                self.add(b'D', place.side, &[place.reach], Some(at));
            }
        }
    }

    /// Pairs and triples of neighbours, with the mention as one item that stands for all of its words.
    fn add_neighbours(&mut self, mention: Mention) {
        let count = self.words.items().len();
        let masked = |at: usize| (mention.first..=mention.last).contains(&at);
        let mut sequence: Vec<usize> = Vec::with_capacity(count);
        sequence.extend((0..count).filter(|&at| !masked(at) || at == mention.first));
        for window in sequence.windows(2) {
            let zone = self
                .place(mention, window[0])
                .zone
                .max(self.place(mention, window[1]).zone);
            self.add_sequence(b'B', zone, window, mention);
        }
        for window in sequence.windows(3) {
            let zone = self
                .place(mention, window[0])
                .zone
                .max(self.place(mention, window[2]).zone);
            if zone <= 1 {
                self.add_sequence(b'T', zone, window, mention);
            }
        }
    }

    /// Words of the lexicon by sign alone: zone, side, and whether they come before or after a turn.
    fn add_signs(&mut self, mention: Mention) {
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
            let place = self.place(mention, at);
            self.add_plain(
                b'L',
                &[place.zone, place.side, sign, size, place.reach],
                Some(at),
            );
            self.add_plain(b'L', &[place.zone, sign], Some(at));
            let count = &mut counts[usize::from(place.zone.min(3))][usize::from(!positive)];
            *count = count.saturating_add(1).min(3);
            let side = usize::from(place.side.min(1));
            if place.zone <= 2 && place.distance < nearest[side].0 {
                nearest[side] = (place.distance, sign);
            }
        }
        self.add_plain(b'N', &[0, nearest[0].1, nearest[1].1], None);
        for (zone, [positive, negative]) in counts.into_iter().enumerate() {
            self.add_plain(b'C', &[zone as u8, positive, negative], None);
        }
        self.add_plain(
            b'c',
            &[counts[0][0], counts[0][1], counts[1][0], counts[1][1]],
            None,
        );
    }

    fn place(&self, mention: Mention, at: usize) -> Place {
        let items = self.words.items();
        let (item, of) = (items[at], items[mention.first]);
        let (side, distance) = match at {
            at if at < mention.first => (0, mention.first - at),
            at if at > mention.last => (1, at - mention.last),
            _ => (2, 0),
        };
        let zone = match (
            item.clause.abs_diff(of.clause),
            item.phrase.abs_diff(of.phrase),
        ) {
            (0, 0) => 0,
            (0, 1) => 1,
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
        Place {
            zone,
            side,
            // At most ITEMS_MAX.
            distance: distance as u16,
            reach,
        }
    }

    fn negated(&self, at: usize) -> u8 {
        u8::from(self.words.items()[at].negated)
    }

    /// Adds a feature about `marks` and, where there is one, the word at `item`.
    fn add(&mut self, kind: u8, zone: u8, marks: &[u8], item: Option<usize>) {
        let mut hash = Hash::new(kind);
        hash.write(&[zone]);
        hash.write(marks);
        if let Some(at) = item {
            hash.write(self.words.lower(&self.words.items()[at]).as_bytes());
        }
        self.push(hash, item);
    }

    /// Adds a feature about `marks` that the word at `item` gave rise to without being a part of it.
    fn add_plain(&mut self, kind: u8, marks: &[u8], item: Option<usize>) {
        let mut hash = Hash::new(kind);
        hash.write(marks);
        self.push(hash, item);
    }

    fn add_stem(&mut self, kind: u8, marks: &[u8], at: usize) {
        let mut hash = Hash::new(kind);
        hash.write(marks);
        hash.write(stem(self.words.lower(&self.words.items()[at])).as_bytes());
        self.push(hash, Some(at));
    }

    fn add_sequence(&mut self, kind: u8, zone: u8, places: &[usize], mention: Mention) {
        let mut hash = Hash::new(kind);
        hash.write(&[zone, self.negated(places[places.len() - 1])]);
        for &at in places {
            hash.write(&[0xff]);
            match at == mention.first {
                true => hash.write(&[0xfe]),
                false => hash.write(self.words.lower(&self.words.items()[at]).as_bytes()),
            }
        }
        self.push(hash, places.iter().copied().find(|&at| at != mention.first));
    }

    fn push(&mut self, hash: Hash, item: Option<usize>) {
        self.features.push(Feature {
            hash: hash.finish(),
            item: item.and_then(|at| u16::try_from(at).ok()),
        });
    }
}

/// Where an item stands towards the mention.
struct Place {
    /// 0 in its phrase, 1 in the next, 2 in its clause, 3 in the clause before or after, 4 beyond.
    zone: u8,
    /// 0 before, 1 after, 2 within.
    side: u8,
    /// Items between, and one.
    distance: u16,
    /// The distance in steps that grow.
    reach: u8,
}

/// The word without the most common endings.
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

/// FNV-1a with a final mix: 28 bits that name a feature.
struct Hash(u32);

impl Hash {
    fn new(kind: u8) -> Hash {
        let mut hash = Hash(0x811c_9dc5);
        hash.write(&[kind]);
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
