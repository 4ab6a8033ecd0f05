//! Scores of reviews by BM25, in whole numbers, so that every machine gives the same order (Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework", 2009; k1 = 1.2, b = 0.75).
//!
//! A list has the reviews that have a word in one sense: itself, its subject, or a name with it. A word adds to the score
//! of a review half of what it is worth in its best sense there, and half of the sum over its senses: a second sense counts
//! only half, so that a review with two words of the search comes before one with one word in two senses.

use std::cmp::Reverse;

use crate::search::rows::{has, insert, remove, rows_of, words_for};

/// Length of an average review, in the units of the lengths that [`Scores::end_list`] takes.
pub(super) const LENGTH_AVERAGE: u8 = 16;

/// Longer reviews count as this long: four times the average.
pub(super) const LENGTH_MAX: u8 = 63;

/// A word that occurs more often counts as this often.
const COUNT_MAX: u32 = 4;

/// Fractional bits of a rarity.
const RARITY_BITS: u32 = 8;

/// Fractional bits of the factors in [`SATURATION`].
const SATURATION_BITS: u32 = 12;

/// k1 + 1, k1·(1 − b) and k1·b, in thousandths.
const K1_PLUS_1: u32 = 2_200;
const K1_WITHOUT_B: u32 = 300;
const K1_WITH_B: u32 = 900;

/// The factor of BM25: the first index is how often the review has the word, less one; the second is the review's length.
const SATURATION: [[u32; LENGTH_MAX as usize + 1]; COUNT_MAX as usize] = {
    let mut table = [[0; LENGTH_MAX as usize + 1]; COUNT_MAX as usize];
    let mut count = 0;
    while count < COUNT_MAX {
        let mut length = 0;
        while length <= LENGTH_MAX as u32 {
            let norm = K1_WITHOUT_B + K1_WITH_B * length / LENGTH_AVERAGE as u32;
            let factor =
                (((count + 1) * K1_PLUS_1) << SATURATION_BITS) / ((count + 1) * 1_000 + norm);
            table[count as usize][length as usize] = factor;
            length += 1;
        }
        count += 1;
    }
    table
};

/// Reviews with less than one part in this many of the best score are not listed: they have one of several words, and a
/// common one.
const BEST_PART_MIN: u32 = 7;

/// The largest factor by which [`Scores::fit`] multiplies the score of a row.
pub(super) const FACTOR_MAX: u32 = 8;

/// The weight of a word itself.
pub(super) const WEIGHT_MAX: u32 = 4;

/// The scores of all reviews in one search; a buffer that searches reuse.
#[derive(Debug, Default)]
pub(super) struct Scores {
    /// The score of each row.
    scores: Vec<u32>,
    /// The rows with a score, as bits: with many reviews, most have none.
    scored: Vec<u64>,
    /// What the current word has added to each row; zero between words.
    added: Vec<u32>,
    /// The rows to which the current word has added something.
    touched: Vec<u32>,
    /// The rows of the current list, as bits; none between lists.
    listed_bits: Vec<u64>,
    /// The rows of the current list, in no order.
    list: Vec<CountedRow>,
    /// The best rows that fit so far, in no order.
    best: Vec<Fitting>,
    /// The worst score of the best rows, if there are enough of them.
    worst: u32,
    /// How many rows fit.
    pub(super) fitting: u32,
}

/// A row of a list.
#[derive(Clone, Copy, Debug)]
struct CountedRow {
    row: u32,
    count: u32,
    /// Whether the review has the word only as a part of a longer one.
    is_part: bool,
}

/// A review that fits; the best is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fitting {
    score: Reverse<u32>,
    row: u32,
}

impl Scores {
    /// Starts a search in an index of `rows` reviews.
    pub(super) fn begin(&mut self, rows: u32) {
        for row in rows_of(&[&*self.scored], 0..self.scores.len() as u32) {
            self.scores[row as usize] = 0;
        }
        self.scored.clear();
        self.scored.resize(words_for(rows), 0);
        self.scores.resize(rows as usize, 0);
        self.added.resize(rows as usize, 0);
        self.listed_bits.resize(words_for(rows), 0);
        self.best.clear();
        self.worst = 0;
        self.fitting = 0;
    }

    /// Adds `row`, whose review has the word `count` times, to the current list, unless the list has it already.
    pub(super) fn list(&mut self, row: u32, count: u32) {
        self.push(CountedRow {
            row,
            count,
            is_part: false,
        });
    }

    /// Adds `row`, whose review has only a longer word that begins with the word, to the current list, unless the list has
    /// it already. The row gets half of the score.
    pub(super) fn list_part(&mut self, row: u32) {
        self.push(CountedRow {
            row,
            count: 1,
            is_part: true,
        });
    }

    fn push(&mut self, listed: CountedRow) {
        if !has(&self.listed_bits, listed.row) {
            insert(&mut self.listed_bits, listed.row);
            self.list.push(listed);
        }
    }

    /// Returns how many rows the current list has.
    pub(super) fn listed(&self) -> u64 {
        self.list.len() as u64
    }

    /// Ends the list of rows for one sense of the current word, and adds its scores. In a row, a word is worth half of its
    /// best sense plus half of the sum of all its senses. `weight` says how much the sense counts, from 0 to
    /// [`WEIGHT_MAX`]. `length` returns the length of the review in a row.
    pub(super) fn end_list(&mut self, weight: u32, length: impl Fn(u32) -> u8) {
        let rarity = self.rarity_of_list(weight);
        self.clear_listed();
        for listed in self.list.drain(..) {
            let at = listed.row as usize;
            let score = bm25(rarity, listed.count, length(listed.row));
            let score = if listed.is_part { score / 2 } else { score };
            let added = self.added[at];
            if added == 0 {
                self.touched.push(listed.row);
                insert(&mut self.scored, listed.row);
            }
            self.scores[at] += score / 2;
            if score > added {
                self.added[at] = score;
                self.scores[at] += (score - added) / 2;
            }
        }
    }

    /// Ends the current list, and adds its score only to rows that have one already.
    pub(super) fn end_list_of_bonus(&mut self, weight: u32, length: impl Fn(u32) -> u8) {
        let rarity = self.rarity_of_list(weight);
        self.clear_listed();
        for listed in self.list.drain(..) {
            let score = bm25(rarity, listed.count, length(listed.row));
            let row_score = &mut self.scores[listed.row as usize];
            if *row_score > 0 {
                *row_score += score;
            }
        }
    }

    /// Removes the rows of the current list from the bits: one by one if there are fewer rows than words of 64 bits.
    fn clear_listed(&mut self) {
        if self.list.len() >= self.listed_bits.len() {
            self.listed_bits.fill(0);
            return;
        }
        for listed in &self.list {
            remove(&mut self.listed_bits, listed.row);
        }
    }

    fn rarity_of_list(&self, weight: u32) -> u32 {
        rarity(self.scores.len() as u32, self.list.len() as u32) * weight / WEIGHT_MAX
    }

    /// Ends the current word.
    pub(super) fn end_word(&mut self) {
        for row in self.touched.drain(..) {
            self.added[row as usize] = 0;
        }
    }

    /// Adds `row` to those that fit, if it has a score. Rows must come in ascending order, so that of equal scores an
    /// earlier one is better. `factor` returns a factor of at most [`FACTOR_MAX`] for the row, and `limit` is how many of
    /// the best are wanted.
    pub(super) fn fit(&mut self, row: u32, limit: usize, factor: impl Fn(u32) -> u32) {
        let at = row as usize;
        let score = self.scores.get(at).copied().unwrap_or(0);
        if score == 0 {
            return;
        }
        self.fitting += 1;
        if score.saturating_mul(FACTOR_MAX) <= self.worst {
            return;
        }
        let score = score.saturating_mul(factor(row));
        if score > self.worst {
            let score = Reverse(score);
            self.best.push(Fitting { score, row });
        }
        let limit = limit.max(1);
        if self.best.len() >= limit * 4 {
            self.best.select_nth_unstable(limit - 1);
            self.best.truncate(limit);
            self.worst = self.best[limit - 1].score.0;
        }
    }

    /// Adds all rows to those that fit, as [`Scores::fit`] does.
    pub(super) fn fit_all(&mut self, limit: usize, factor: impl Fn(u32) -> u32) {
        let scored = std::mem::take(&mut self.scored);
        for row in rows_of(&[&*scored], 0..self.scores.len() as u32) {
            self.fit(row, limit, &factor);
        }
        self.scored = scored;
    }

    /// Returns the best `limit` rows that fit, in their order, without those that fit much worse than the first.
    pub(super) fn best(&mut self, limit: usize) -> impl Iterator<Item = u32> {
        self.best.sort_unstable();
        let least = self
            .best
            .first()
            .map_or(0, |best| best.score.0 / BEST_PART_MIN);
        let listed = self.best.iter().take(limit);
        let listed = listed.take_while(move |fitting| fitting.score.0 >= least);
        listed.map(|fitting| fitting.row)
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
    // The number divided by the greatest power of two in it, from 1 to 2, with 31 fractional bits.
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

/// Returns the score of a review of this length that has a word of this rarity `count` times.
fn bm25(rarity: u32, count: u32, length: u8) -> u32 {
    let of_count = &SATURATION[(count.clamp(1, COUNT_MAX) - 1) as usize];
    (rarity * of_count[usize::from(length.min(LENGTH_MAX))]) >> SATURATION_BITS
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
        assert_eq!(bm25(1_000, 4, 0), bm25(1_000, 5, 0));
        assert_eq!(bm25(1_000, 1, 63), bm25(1_000, 1, 64));
    }

    #[test]
    fn the_best_rows_are_those_of_a_sort() {
        let mut scores = Scores::default();
        for limit in [1, 2, 7, 100] {
            scores.begin(500);
            for row in 0..500 {
                scores.scores[row] = (row as u32 * 7_919) % 97;
                insert(&mut scores.scored, row as u32);
            }
            let mut expected: Vec<u32> = (0..500).filter(|row| row * 7_919 % 97 > 0).collect();
            assert_eq!(expected.len(), 494);
            expected.sort_by_key(|row| (Reverse(row * 7_919 % 97), *row));
            expected.retain(|row| row * 7_919 % 97 >= 96 / 7);
            expected.truncate(limit);
            scores.fit_all(limit, |_| FACTOR_MAX);
            assert_eq!(scores.fitting, 494);
            assert_eq!(scores.best(limit).collect::<Vec<u32>>(), expected);
        }
    }
}
