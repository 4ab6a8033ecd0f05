//! Scores of reviews by BM25, in whole numbers, so that every machine gives the same order (Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework", 2009; k1 = 1.2, b = 0.75).

use std::cmp::Reverse;

/// Length of an average review, in the units of [`Scores::add`].
pub(super) const LENGTH_AVERAGE: u32 = 256;

/// Fractional bits of a rarity.
const RARITY_BITS: u32 = 8;

/// k1 + 1, k1·(1 − b) and k1·b, in thousandths.
const K1_PLUS_1: u64 = 2_200;
const K1_WITHOUT_B: u64 = 300;
const K1_WITH_B: u64 = 900;

/// The scores of all reviews in one search; a buffer that searches reuse.
#[derive(Debug, Default)]
pub(super) struct Scores {
    /// The score of each row.
    scores: Vec<u32>,
    /// How often each row has the current word; zero in between.
    counts: Vec<u16>,
    /// The rows that have the current word, in no order.
    counted: Vec<u32>,
    /// The rows that fit, with their scores.
    pub(super) fitting: Vec<Fitting>,
}

/// A review that fits; the best is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fitting {
    score: Reverse<u32>,
    pub(super) row: u32,
}

impl Scores {
    /// Starts a search in an index of `rows` reviews.
    pub(super) fn begin(&mut self, rows: u32) {
        self.scores.clear();
        self.scores.resize(rows as usize, 0);
        self.counts.clear();
        self.counts.resize(rows as usize, 0);
        self.counted.clear();
        self.fitting.clear();
    }

    /// Records that `row` has the current word `count` more times.
    pub(super) fn count(&mut self, row: u32, count: u32) {
        let Some(known) = self.counts.get_mut(row as usize) else {
            return;
        };
        if *known == 0 {
            self.counted.push(row);
        }
        *known = known.saturating_add(u16::try_from(count).unwrap_or(u16::MAX));
    }

    /// Records that `row` has the current word, if that is not known.
    pub(super) fn count_once(&mut self, row: u32) {
        if self.counts.get(row as usize) == Some(&0) {
            self.count(row, 1);
        }
    }

    /// Adds the score of the current word to each row that has it, and forgets the word. `length` returns the length of
    /// a review.
    pub(super) fn add(&mut self, length: impl Fn(u32) -> u32) {
        let rarity = rarity(self.scores.len() as u32, self.counted.len() as u32);
        for row in self.counted.drain(..) {
            let at = row as usize;
            let score = bm25(rarity, self.counts[at].into(), length(row));
            self.scores[at] = self.scores[at].saturating_add(score);
            self.counts[at] = 0;
        }
    }

    /// Returns how many rows have the current word.
    pub(super) fn counted(&self) -> u64 {
        self.counted.len() as u64
    }

    /// Adds `row` to those that fit, if it has a score.
    pub(super) fn fit(&mut self, row: u32) {
        let score = self.scores.get(row as usize).copied().unwrap_or(0);
        if score > 0 {
            let score = Reverse(score);
            self.fitting.push(Fitting { score, row });
        }
    }

    /// Puts the best `limit` rows that fit first, in their order.
    pub(super) fn sort_best(&mut self, limit: usize) {
        let best = self.fitting.len().min(limit);
        if self.fitting.len() > limit {
            self.fitting.select_nth_unstable(limit);
        }
        self.fitting[..best].sort_unstable();
    }
}

/// Returns the rarity of a word that `having` of `total` reviews have: log2((total + 1) / (having + ½)), in units of
/// 1/256.
fn rarity(total: u32, having: u32) -> u32 {
    log2(2 * (u64::from(total) + 1)) - log2(2 * u64::from(having) + 1)
}

/// Returns the binary logarithm of `number`, which is not 0, in units of 1/256, rounded down.
fn log2(number: u64) -> u32 {
    let whole = number.max(1).ilog2();
    // From 2^31 to 2^32: the number divided by the greatest power of two in it.
    let mut rest = (number.max(1) << (63 - whole)) >> 32;
    let mut bits = whole;
    for _ in 0..RARITY_BITS {
        rest = (rest * rest) >> 31;
        let bit = rest >> 32;
        rest >>= bit;
        bits = bits << 1 | bit as u32;
    }
    bits
}

/// Returns the score of a review that has a word of this rarity `count` times.
fn bm25(rarity: u32, count: u64, length: u32) -> u32 {
    let norm = K1_WITHOUT_B + K1_WITH_B * u64::from(length) / u64::from(LENGTH_AVERAGE);
    let score = u64::from(rarity) * count * K1_PLUS_1 / (count * 1_000 + norm);
    u32::try_from(score).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_rounded_down_to_a_256th() {
        for (number, expected) in [
            (1_u64, 0.0),
            (2, 1.0),
            (3, 1.58496),
            (1_000, 9.96578),
            (u64::from(u32::MAX), 32.0),
        ] {
            let found = f64::from(log2(number)) / 256.0;
            let error = expected - found;
            assert!((0.0..0.0079).contains(&error), "{number}: {found}");
        }
    }

    #[test]
    fn a_rarer_word_and_a_shorter_review_score_more() {
        assert!(rarity(1_000, 10) > rarity(1_000, 100));
        assert_eq!(rarity(1_000, 1_000), 0);
        let average = bm25(1_000, 1, LENGTH_AVERAGE);
        assert_eq!(average, 1_000);
        assert!(bm25(1_000, 2, LENGTH_AVERAGE) > average);
        assert!(bm25(1_000, 1, LENGTH_AVERAGE / 2) > average);
        assert!(bm25(1_000, 1, LENGTH_AVERAGE * 2) < average);
    }
}
