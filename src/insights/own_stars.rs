//! Learns which words predict low and high stars in this dataset: a logistic regression over words and pairs of words,
//! trained on the dataset's own ratings, for each language with enough of them. Needs no lexicon and no translation.
//!
//! The classes are reviews of five stars, and of one or two; reviews of four stars contain too many complaints. Three
//! models are trained, each without a third of the rows. A review is scored by the model that was trained without it,
//! so that its own stars do not count twice. The models weigh more, the better they predict stars of unseen reviews;
//! the weight may be 0. Fixed order, basic arithmetic and roots give the same weights on every machine.

use std::num::NonZeroUsize;

use super::evidence::share;
use super::keys::{KeyMap, key};
use super::text::{entry_of, push_lower, tokens};
use super::text_model::UNIT;
use crate::dataset::chunks::{over_chunks, over_jobs};
use crate::model::Review;
use crate::wire::sentence::sentences;

/// Fewest reviews with one, two or five stars in a language.
const REVIEWS_MIN: usize = 200;
/// Fewest of each class.
const SIDE_MIN: usize = 20;
/// Most reviews of each class used for training.
const REVIEWS_MAX: usize = 10_000;
/// Most sentences used of one review.
pub(super) const SENTENCES_MAX: usize = 50;
/// Number of models, each trained without one part of the rows.
const FOLDS: usize = 3;
const EPOCHS: usize = 8;
const RATE: f32 = 0.15;
const PENALTY: f32 = 1e-3;
/// Largest log-odds of a text.
const ODDS_MAX: f32 = 4.0;

/// The weights of one language.
#[derive(Debug)]
pub(super) struct OwnStars {
    grams: KeyMap<u64, Gram>,
    /// Factor of the log-odds, above 0 and up to 2.
    trust: f32,
}

/// A word or a pair of words.
#[derive(Debug)]
struct Gram {
    /// The weight in each model. Model `i` is trained without the rows whose remainder is `i`.
    weights: [f32; FOLDS],
    /// Training reviews that contain it: of one or two stars, and of five.
    counts: [u32; 2],
}

/// Sum of the weights of the known grams of a text, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnSum {
    weight: f32,
    grams: usize,
}

impl OwnSum {
    pub(super) fn add(&mut self, other: OwnSum) {
        self.weight += other.weight;
        self.grams += other.grams;
    }
}

/// A review to train on.
struct Example {
    row: usize,
    grams: Vec<u32>,
    /// 1 if its stars are high, else 0.
    side: usize,
}

impl OwnStars {
    /// Trains on rows of one language; `None` if there are too few in total or in one class, or if words do not predict
    /// the stars.
    ///
    /// Reads at most [`REVIEWS_MAX`] reviews of each class, spread evenly, so cost and memory are bounded. The result does
    /// not depend on the number of `threads`.
    pub(super) fn learn<'r>(
        rows: impl Iterator<Item = (usize, &'r Review)>,
        threads: NonZeroUsize,
    ) -> Option<OwnStars> {
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
        // Grams are numbered in the order of their first occurrence.
        let mut numbers: KeyMap<u64, u32> = KeyMap::default();
        let mut counts: Vec<[u32; 2]> = Vec::new();
        let mut examples: Vec<Example> = Vec::new();
        for (side, reviews) in sides.iter().enumerate() {
            let step = reviews.len().div_ceil(REVIEWS_MAX);
            let read: Vec<&(usize, &Review)> = reviews.iter().step_by(step).collect();
            let keys = over_chunks(read.len(), threads, |chunk| {
                let reviews = read[chunk].iter();
                reviews
                    .map(|(_, review)| grams_of(review))
                    .collect::<Vec<_>>()
            });
            for ((row, _), keys) in read.into_iter().zip(keys.into_iter().flatten()) {
                let mut grams = Vec::with_capacity(keys.len());
                for key in keys {
                    let next = numbers.len() as u32;
                    grams.push(*numbers.entry(key).or_insert(next));
                }
                grams.sort_unstable();
                grams.dedup();
                counts.resize(numbers.len(), [0; 2]);
                for gram in &grams {
                    counts[*gram as usize][side] += 1;
                }
                examples.push(Example {
                    row: *row,
                    grams,
                    side,
                });
            }
        }
        let seen_min = if examples.len() > 2_000 { 3 } else { 2 };
        let is_frequent = |gram: &u32| counts[*gram as usize].iter().sum::<u32>() >= seen_min;
        for example in &mut examples {
            example.grams.retain(is_frequent);
        }
        // Mixes the classes, in the same order on every machine.
        examples.sort_by_key(|one| (one.row as u32).wrapping_mul(0x9e37_79b1));
        let models = over_jobs(FOLDS, threads, |unseen| {
            fit(&examples, unseen, counts.len())
        });
        let trust = trust(&examples, &models);
        numbers.retain(|_, number| is_frequent(number));
        let grams = numbers.into_iter().map(|(key, number)| {
            let weights = std::array::from_fn(|model| models[model][number as usize]);
            let counts = counts[number as usize];
            (key, Gram { weights, counts })
        });
        let grams = grams.collect();
        if trust <= 0.0 {
            return None;
        }
        Some(OwnStars { grams, trust })
    }

    /// Adds up the weights of the grams of a sentence, in the model that was trained without `row`.
    pub(super) fn sum(&self, row: usize, sentence: &str, reader: &mut GramReader) -> OwnSum {
        let mut sum = OwnSum::default();
        for key in reader.read(sentence) {
            if let Some(gram) = self.grams.get(key) {
                sum.weight += gram.weights[row % FOLDS];
                sum.grams += 1;
            }
        }
        sum
    }

    /// The log-odds of high stars for a text with this sum, in [`UNIT`]s; 0 if no gram is known.
    pub(super) fn log_odds(&self, sum: OwnSum) -> i32 {
        let odds = sum.weight / norm(sum.grams) * self.trust;
        (odds.clamp(-ODDS_MAX, ODDS_MAX) * UNIT as f32).round() as i32
    }

    /// Numbers of training reviews with `word`, given in lower case: of one or two stars, and of five.
    pub(super) fn counts(&self, word: &str) -> Option<[u32; 2]> {
        Some(self.grams.get(&key(word))?.counts)
    }
}

/// Returns the keys of all words and emoji of a review, and of all pairs of neighbours in its sentences.
fn grams_of(review: &Review) -> Vec<u64> {
    let mut reader = GramReader::default();
    let mut all = Vec::new();
    for range in sentences(&review.text).take(SENTENCES_MAX) {
        all.extend(reader.read(&review.text[range]));
    }
    all
}

/// Reads the grams of sentences; its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct GramReader {
    lower: String,
    grams: Vec<u64>,
}

impl GramReader {
    /// Returns the keys of all words and emoji of a sentence, and of all pairs of neighbours.
    fn read(&mut self, sentence: &str) -> &[u64] {
        self.grams.clear();
        let mut before: Option<u64> = None;
        for token in tokens(sentence) {
            self.lower.clear();
            push_lower(&mut self.lower, &sentence[token.start..token.end]);
            if !token.is_word && entry_of(&self.lower).valence.is_none() {
                before = None;
                continue;
            }
            let key = key(&self.lower);
            self.grams.push(key);
            if let Some(first) = before.replace(key) {
                let pair = first.rotate_left(23) ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                self.grams.push(pair);
            }
        }
        &self.grams
    }
}

/// Measures how well the models predict the class of examples that they were not trained on: from 0 (no better than
/// chance) to 2 (always right).
fn trust(examples: &[Example], models: &[Vec<f32>]) -> f32 {
    let sides = balance(examples.iter());
    let is_right =
        |one: &&Example| (odds(&one.grams, &models[one.row % FOLDS]) > 0.0) == (one.side == 1);
    let right = examples.iter().filter(is_right).map(|one| sides[one.side]);
    (right.sum::<f32>() / examples.len() as f32 * 4.0 - 2.0).max(0.0)
}

/// Trains by stochastic gradient descent with a decreasing learning rate, without the examples whose row has the
/// remainder `unseen`.
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

/// Returns a weight for the examples of each class, so that both classes have the same total weight.
fn balance<'e>(examples: impl Iterator<Item = &'e Example>) -> [f32; 2] {
    let mut counts = [0; 2];
    for one in examples {
        counts[one.side] += 1;
    }
    let all = counts[0] + counts[1];
    counts.map(|count| all as f32 / (2 * count.max(1)) as f32)
}

fn odds(grams: &[u32], weights: &[f32]) -> f32 {
    let sum: f32 = grams.iter().map(|gram| weights[*gram as usize]).sum();
    sum / norm(grams.len())
}

/// Divisor of a sum of `grams` weights, so that long texts do not get more weight.
fn norm(grams: usize) -> f32 {
    (grams.max(1) as f32).sqrt()
}
