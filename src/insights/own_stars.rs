//! Which words go with high and low stars in this very dataset: a logistic regression over words and pairs of words,
//! trained on its own ratings for each language with enough of them. It needs no lexicon and no translation.
//!
//! Reviews of four and five stars are set against those of one and two, each side counting the same in all. A fifth
//! of the reviews is first left out of training: how far the stars of those are predicted decides how much the model
//! may say, down to nothing. The order is fixed, one thread trains, and only sums, products and roots are used, so
//! every machine arrives at the same weights.

use std::collections::HashMap;

use super::evidence::exponential;
use super::text::{Words, sentences};
use super::text_model::UNIT;
use crate::model::Review;

/// The weights of one language.
#[derive(Debug)]
pub(super) struct OwnStars {
    grams: HashMap<u64, Gram>,
    /// Factor of the log-odds, above 0 and up to 2.
    trust: f32,
}

/// A word or a pair of words.
#[derive(Debug, Default)]
struct Gram {
    weight: f32,
    /// Training reviews with it: of one or two stars, and of four or five.
    counts: [u32; 2],
}

/// The weights of the known grams of a text added up, and how many there are.
pub(super) type OwnSum = (f32, usize);

/// A review to train on: the indices of its grams, and 1 where its stars are high, else 0.
type Example = (Vec<u32>, usize);

impl OwnStars {
    /// Trains on `reviews`, which are of one language; `None` with too few of them, or of either side, and where words
    /// do not predict the stars.
    ///
    /// At most [`REVIEWS_MAX`] reviews of each side are read, spread over all, so cost and memory are bounded.
    pub(super) fn learn<'r>(reviews: impl Iterator<Item = &'r Review>) -> Option<OwnStars> {
        let mut sides: [Vec<&Review>; 2] = Default::default();
        for review in reviews.filter(|review| review.rating.stars() != 3) {
            sides[usize::from(review.rating.stars() > 3)].push(review);
        }
        let [low, high] = sides.each_ref().map(Vec::len);
        if low + high < REVIEWS_MIN || low.min(high) < SIDE_MIN {
            return None;
        }
        let mut words = Words::default();
        let mut known: HashMap<u64, Gram> = HashMap::new();
        let mut read: Vec<(Vec<u64>, usize)> = Vec::new();
        for (side, reviews) in sides.iter().enumerate() {
            for review in reviews.iter().step_by(reviews.len().div_ceil(REVIEWS_MAX)) {
                let mut keys = Vec::new();
                for range in sentences(&review.text).take(SENTENCES_MAX) {
                    words.read(&review.text[range]);
                    keys.extend(grams(&words).into_iter().map(|(_, key)| key));
                }
                keys.sort_unstable();
                keys.dedup();
                for key in &keys {
                    known.entry(*key).or_default().counts[side] += 1;
                }
                read.push((keys, side));
            }
        }
        let seen_min = if read.len() > 2_000 { 3 } else { 2 };
        known.retain(|_, gram| gram.counts[0] + gram.counts[1] >= seen_min);
        let mut order: Vec<u64> = known.keys().copied().collect();
        order.sort_unstable();
        let index = |key: &u64| order.binary_search(key).ok().map(|at| at as u32);
        let indexed = read.into_iter();
        let examples: Vec<Example> = indexed
            .map(|(keys, side)| (keys.iter().filter_map(index).collect(), side))
            .collect();
        let trust = trust(&examples, order.len());
        let weights = fit(&examples.iter().collect::<Vec<_>>(), order.len());
        for (key, weight) in order.iter().zip(weights) {
            known.entry(*key).or_default().weight = weight;
        }
        let grams = known;
        (trust > 0.0).then_some(OwnStars { grams, trust })
    }

    /// The known grams of `words`, each with the index of its longer word.
    fn known<'s>(&'s self, words: &Words) -> impl Iterator<Item = (usize, &'s Gram)> {
        let known = |(at, key)| Some((at, self.grams.get(&key)?));
        grams(words).into_iter().filter_map(known)
    }

    /// Adds up the weights of the grams of `words`.
    pub(super) fn sum(&self, words: &Words) -> OwnSum {
        let add = |sum: OwnSum, (_, gram): (usize, &Gram)| (sum.0 + gram.weight, sum.1 + 1);
        self.known(words).fold((0.0, 0), add)
    }

    /// The log-odds of high stars for a text with this sum, in [`UNIT`]s; 0 where no gram is known.
    pub(super) fn log_odds(&self, (weight, count): OwnSum) -> i32 {
        let odds = weight / norm(count) * self.trust;
        (odds.clamp(-ODDS_MAX, ODDS_MAX) * UNIT as f32).round() as i32
    }

    /// The known grams of `words`: the index of the longer word of each, what it adds to the log-odds, in [`UNIT`]s, and
    /// the training reviews with it, of low and of high stars.
    pub(super) fn reasons(&self, words: &Words) -> Vec<(usize, i32, Option<[u32; 2]>)> {
        let factor = self.trust / norm(self.known(words).count());
        let tilt = |gram: &Gram| (gram.weight * factor * UNIT as f32) as i32;
        let reasons = self.known(words);
        reasons
            .map(|(at, gram)| (at, tilt(gram), Some(gram.counts)))
            .collect()
    }
}

/// Every word and pair of neighbours: the index of its longer word, and its key.
fn grams(words: &Words) -> Vec<(usize, u64)> {
    let length = |at: usize| words.items()[at].end - words.items()[at].start;
    let mut grams = Vec::new();
    let mut before: Option<(usize, u64)> = None;
    for (at, item) in words.items().iter().enumerate() {
        if !item.is_word && item.entry.valence.is_none() {
            before = None;
            continue;
        }
        let add = |key: u64, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let key = words.lower(item).bytes().fold(0xcbf2_9ce4_8422_2325, add);
        grams.push((at, key));
        if let Some((place, first)) = before {
            let pair = first.rotate_left(23) ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let longer = if length(place) > length(at) {
                place
            } else {
                at
            };
            grams.push((longer, pair));
        }
        before = Some((at, key));
    }
    grams
}

/// How far weights trained on four fifths of the examples predict the rest: the factor with the least squared error.
fn trust(examples: &[Example], count: usize) -> f32 {
    let part = |is_held: bool| {
        let examples = examples.iter().enumerate();
        let part = examples.filter(|(at, _)| (at % 5 == 0) == is_held);
        part.map(|(_, one)| one).collect::<Vec<_>>()
    };
    let (held, weights) = (part(true), fit(&part(false), count));
    let sides = balance(&held);
    let error = |factor: f32| -> f32 {
        let loss = held.iter().map(|(grams, side)| {
            let miss = share(odds(grams, &weights) * factor) - *side as f32;
            miss * miss * sides[*side]
        });
        loss.sum()
    };
    let errors = FACTORS.map(|factor| (error(factor), factor));
    // The first of equals is the smallest.
    let least = |best: (f32, f32), one| if one < best { one } else { best };
    errors.into_iter().fold((f32::INFINITY, 0.0), least).1
}

/// Stochastic gradient descent with steps that shrink.
fn fit(examples: &[&Example], count: usize) -> Vec<f32> {
    let mut weights = vec![0.0f32; count];
    let mut squares = vec![0.01f32; count];
    let sides = balance(examples);
    // A stride that shares no factor with the count visits every example once, high and low mixed.
    let stride = (examples.len() * 5 / 8 + 1..).find(|stride| gcd(*stride, examples.len()) == 1);
    for epoch in 0..EPOCHS {
        let mut at = epoch;
        for _ in 0..examples.len() {
            at = (at + stride.unwrap_or(1)) % examples.len();
            let (grams, side) = examples[at];
            let miss = (share(odds(grams, &weights)) - *side as f32) * sides[*side];
            let miss = miss / norm(grams.len());
            for gram in grams {
                let gram = *gram as usize;
                let slope = miss + PENALTY * weights[gram];
                squares[gram] += slope * slope;
                weights[gram] -= RATE * slope / squares[gram].sqrt();
            }
        }
    }
    weights
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What an example of each side counts, so that both sides count the same.
fn balance(examples: &[&Example]) -> [f32; 2] {
    let high: usize = examples.iter().map(|(_, side)| side).sum();
    let sides = [examples.len() - high, high];
    sides.map(|side| examples.len() as f32 / (2 * side.max(1)) as f32)
}

fn odds(grams: &[u32], weights: &[f32]) -> f32 {
    let sum: f32 = grams.iter().map(|gram| weights[*gram as usize]).sum();
    sum / norm(grams.len())
}

/// What the sum of so many grams is divided by, so that long texts do not speak louder.
fn norm(grams: usize) -> f32 {
    (grams.max(1) as f32).sqrt()
}

/// The logistic function.
fn share(odds: f32) -> f32 {
    (1.0 / (1.0 + exponential(-f64::from(odds.clamp(-15.0, 15.0))))) as f32
}

/// Reviews with one, two, four or five stars that a language needs, and those of either side.
const REVIEWS_MIN: usize = 200;
const SIDE_MIN: usize = 20;
/// Reviews of each side that are trained on.
const REVIEWS_MAX: usize = 10_000;
/// Sentences that are read of one review.
pub(super) const SENTENCES_MAX: usize = 50;
const EPOCHS: usize = 8;
const RATE: f32 = 0.15;
const PENALTY: f32 = 1e-3;
/// Log-odds that a text may speak for at most.
const ODDS_MAX: f32 = 4.0;
/// Factors that are tried.
const FACTORS: [f32; 7] = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0];
