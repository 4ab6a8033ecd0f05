//! Which words go with low and high stars in this very dataset: a logistic regression over words and pairs of words,
//! trained on its own ratings for each language with enough of them. It needs no lexicon and no translation.
//!
//! Reviews of five stars are set against those of one and two; four stars come with too many complaints. Three models are
//! trained, each without a third of the rows, and a review is read by the one that has not seen it, so its own stars do
//! not count twice. How well they predict the stars of unseen reviews decides how much they may say, down to nothing. The
//! order is fixed and only sums, products and roots are used, so every machine arrives at the same weights.

use std::collections::HashMap;

use super::evidence::share;
use super::text::{Words, key};
use super::text_model::UNIT;
use crate::model::Review;
use crate::wire::sentence::sentences;

/// The weights of one language.
#[derive(Debug)]
pub(super) struct OwnStars {
    grams: HashMap<u64, Gram>,
    /// Factor of the log-odds, above 0 and up to 2.
    trust: f32,
}

/// A word or a pair of words.
#[derive(Debug)]
struct Gram {
    /// The weight in each model. Model `i` has not seen the rows that leave the remainder `i`.
    weights: [f32; FOLDS],
    /// Training reviews with it: of one or two stars, and of five.
    counts: [u32; 2],
}

/// The weights of the known grams of a text added up, and how many there are.
pub(super) type OwnSum = (f32, usize);

/// A review to train on.
struct Example {
    row: usize,
    grams: Vec<u32>,
    /// 1 where its stars are high, else 0.
    side: usize,
}

impl OwnStars {
    /// Trains on rows of one language; `None` with too few of them, or of either side, and where words do not predict the
    /// stars.
    ///
    /// At most [`REVIEWS_MAX`] reviews of each side are read, spread over all, so cost and memory are bounded.
    pub(super) fn learn<'r>(rows: impl Iterator<Item = (usize, &'r Review)>) -> Option<OwnStars> {
        let mut sides: [Vec<(usize, &Review)>; 2] = Default::default();
        for (row, review) in rows {
            match review.rating.stars() {
                1 | 2 => sides[0].push((row, review)),
                5 => sides[1].push((row, review)),
                _ => {}
            }
        }
        let [low, high] = sides.each_ref().map(Vec::len);
        if low + high < REVIEWS_MIN || low.min(high) < SIDE_MIN {
            return None;
        }
        let mut words = Words::default();
        // Grams are numbered where they first stand.
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut counts: Vec<[u32; 2]> = Vec::new();
        let mut examples: Vec<Example> = Vec::new();
        for (side, reviews) in sides.iter().enumerate() {
            for &(row, review) in reviews.iter().step_by(reviews.len().div_ceil(REVIEWS_MAX)) {
                let mut grams = Vec::new();
                for range in sentences(&review.text).take(SENTENCES_MAX) {
                    words.read(&review.text[range]);
                    for key in self::grams(&words) {
                        let next = numbers.len() as u32;
                        grams.push(*numbers.entry(key).or_insert(next));
                    }
                }
                grams.sort_unstable();
                grams.dedup();
                counts.resize(numbers.len(), [0; 2]);
                for gram in &grams {
                    counts[*gram as usize][side] += 1;
                }
                examples.push(Example { row, grams, side });
            }
        }
        let seen_min = if examples.len() > 2_000 { 3 } else { 2 };
        let is_kept = |gram: &u32| counts[*gram as usize].iter().sum::<u32>() >= seen_min;
        examples
            .iter_mut()
            .for_each(|one| one.grams.retain(is_kept));
        // High and low mixed, in the same order on every machine.
        examples.sort_by_key(|one| (one.row as u32).wrapping_mul(0x9e37_79b1));
        let models: [Vec<f32>; FOLDS] =
            std::array::from_fn(|unseen| fit(&examples, unseen, counts.len()));
        let trust = trust(&examples, &models);
        let gram = |(key, number): (u64, u32)| {
            let weights = models.each_ref().map(|one| one[number as usize]);
            let counts = counts[number as usize];
            (key, Gram { weights, counts })
        };
        numbers.retain(|_, number| is_kept(number));
        let grams = numbers.into_iter().map(gram).collect();
        (trust > 0.0).then_some(OwnStars { grams, trust })
    }

    /// Adds up the weights of the grams of `words`, which are of the review of `row`.
    pub(super) fn sum(&self, row: usize, words: &Words) -> OwnSum {
        let known = grams(words)
            .into_iter()
            .filter_map(|key| self.grams.get(&key));
        let add = |sum: OwnSum, gram: &Gram| (sum.0 + gram.weights[row % FOLDS], sum.1 + 1);
        known.fold((0.0, 0), add)
    }

    /// The log-odds of high stars for a text with this sum, in [`UNIT`]s; 0 where no gram is known.
    pub(super) fn log_odds(&self, (weight, count): OwnSum) -> i32 {
        let odds = weight / norm(count) * self.trust;
        (odds.clamp(-ODDS_MAX, ODDS_MAX) * UNIT as f32).round() as i32
    }

    /// The training reviews with this word in lower case: of one or two stars, and of five.
    pub(super) fn counts(&self, word: &str) -> Option<[u32; 2]> {
        Some(self.grams.get(&key(word))?.counts)
    }
}

/// The keys of every word and pair of neighbours.
fn grams(words: &Words) -> Vec<u64> {
    let mut grams = Vec::new();
    let mut before: Option<u64> = None;
    for item in &words.items {
        if !item.is_word && item.entry.valence.is_none() {
            before = None;
            continue;
        }
        let pair =
            |first: u64| first.rotate_left(23) ^ item.key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        grams.push(item.key);
        grams.extend(before.replace(item.key).map(pair));
    }
    grams
}

/// How well the models predict the side of examples that they were not trained on: from 0, no better than chance, to 2,
/// always right.
fn trust(examples: &[Example], models: &[Vec<f32>; FOLDS]) -> f32 {
    let sides = balance(examples.iter());
    let is_right =
        |one: &&Example| (odds(&one.grams, &models[one.row % FOLDS]) > 0.0) == (one.side == 1);
    let right = examples.iter().filter(is_right).map(|one| sides[one.side]);
    (right.sum::<f32>() / examples.len() as f32 * 4.0 - 2.0).max(0.0)
}

/// Stochastic gradient descent with steps that shrink, over the examples of the rows that do not leave the remainder
/// `unseen`.
fn fit(examples: &[Example], unseen: usize, count: usize) -> Vec<f32> {
    let mut weights = vec![0.0f32; count];
    let mut squares = vec![0.01f32; count];
    let seen = examples.iter().filter(|one| one.row % FOLDS != unseen);
    let sides = balance(seen.clone());
    for one in (0..EPOCHS).flat_map(|_| seen.clone()) {
        let share = share(odds(&one.grams, &weights).into()) as f32;
        let miss = (share - one.side as f32) * sides[one.side];
        let miss = miss / norm(one.grams.len());
        for gram in &one.grams {
            let gram = *gram as usize;
            let slope = miss + PENALTY * weights[gram];
            squares[gram] += slope * slope;
            weights[gram] -= RATE * slope / squares[gram].sqrt();
        }
    }
    weights
}

/// What an example of each side counts, so that both sides count the same.
fn balance<'e>(examples: impl Iterator<Item = &'e Example>) -> [f32; 2] {
    let mut counts = [0; 2];
    examples.for_each(|one| counts[one.side] += 1);
    let all = counts[0] + counts[1];
    counts.map(|count| all as f32 / (2 * count.max(1)) as f32)
}

fn odds(grams: &[u32], weights: &[f32]) -> f32 {
    let sum: f32 = grams.iter().map(|gram| weights[*gram as usize]).sum();
    sum / norm(grams.len())
}

/// What the sum of so many grams is divided by, so that long texts do not speak louder.
fn norm(grams: usize) -> f32 {
    (grams.max(1) as f32).sqrt()
}

/// Reviews with one, two or five stars that a language needs, and those of either side.
const REVIEWS_MIN: usize = 200;
const SIDE_MIN: usize = 20;
/// Reviews of each side that are trained on.
const REVIEWS_MAX: usize = 10_000;
/// Sentences that are read of one review.
pub(super) const SENTENCES_MAX: usize = 50;
/// Models, each of which has not seen its part of the rows.
const FOLDS: usize = 3;
const EPOCHS: usize = 8;
const RATE: f32 = 0.15;
const PENALTY: f32 = 1e-3;
/// Log-odds that a text may speak for at most.
const ODDS_MAX: f32 = 4.0;
