//! Which words go with high and low stars in this very dataset: a logistic regression over words and pairs of words,
//! learnt from its own ratings for each language with enough of them. It needs no lexicon and no translation.
//!
//! Reviews of four and five stars are set against those of one and two, each side counting the same in all. A fifth
//! of the reviews is first left out of training: how far the stars of those are told decides how much the model may
//! say ([`OwnStars::trust`]), down to nothing. The order is fixed, one thread trains, and only sums, products and
//! roots are used, so every machine learns the same weights.

use std::collections::HashMap;

use super::sentence::sentences;
use super::words::Words;
use crate::model::Review;

/// The weights of one language.
#[derive(Debug, Default)]
pub(super) struct OwnStars {
    grams: HashMap<u64, Gram>,
    /// Factor of the log-odds, from 0 to 2.
    trust: f32,
}

/// A word or a pair of words.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gram {
    pub(super) weight: f32,
    /// Training reviews with it: of one or two stars, and of four or five.
    pub(super) counts: [u32; 2],
}

/// A review to learn from: the indices of its grams, and whether its stars are high.
type Example = (Vec<u32>, bool);

impl OwnStars {
    /// Learns from `reviews`, which are of one language; `None` with too few of them, or of either side.
    ///
    /// At most [`REVIEWS_MAX`] reviews of each side are read, spread over all, so cost and memory are bounded.
    pub(super) fn learn<'r>(reviews: impl Iterator<Item = &'r Review>) -> Option<OwnStars> {
        let mut sides: [Vec<&Review>; 2] = Default::default();
        for review in reviews.filter(|review| review.rating.stars() != 3) {
            sides[usize::from(review.rating.stars() > 3)].push(review);
        }
        let count: usize = sides.iter().map(Vec::len).sum();
        if count < REVIEWS_MIN || sides.iter().any(|side| side.len() < SIDE_MIN) {
            return None;
        }
        let (mut words, mut keys) = (Words::default(), Vec::new());
        let mut grams: HashMap<u64, Gram> = HashMap::new();
        let mut read: Vec<(Vec<u64>, bool)> = Vec::new();
        for (side, reviews) in sides.iter().enumerate() {
            for review in reviews.iter().step_by(reviews.len().div_ceil(REVIEWS_MAX)) {
                keys.clear();
                for range in sentences(&review.text).take(SENTENCES_MAX) {
                    words.read(&review.text[range]);
                    keys_of(&words, |_, key| keys.push(key));
                }
                keys.sort_unstable();
                keys.dedup();
                for key in &keys {
                    grams.entry(*key).or_default().counts[side] += 1;
                }
                read.push((keys.clone(), side == 1));
            }
        }
        let seen_min = if read.len() > 2_000 { 3 } else { 2 };
        grams.retain(|_, gram| gram.counts[0] + gram.counts[1] >= seen_min);
        let mut known: Vec<u64> = grams.keys().copied().collect();
        known.sort_unstable();
        let index = |key: &u64| known.binary_search(key).ok().map(|at| at as u32);
        let examples: Vec<Example> = read
            .into_iter()
            .map(|(keys, is_high)| (keys.iter().filter_map(index).collect(), is_high))
            .collect();
        let trust = trust(&examples, known.len());
        for (key, weight) in known
            .iter()
            .zip(fit(&examples.iter().collect::<Vec<_>>(), known.len()))
        {
            if let Some(gram) = grams.get_mut(key) {
                gram.weight = weight;
            }
        }
        Some(OwnStars { grams, trust })
    }

    /// The log-odds of high stars that `texts` speak for, in units of the text model; 0 where no gram is known.
    pub(super) fn score(&self, words: &Words) -> i32 {
        let mut text = OwnScore::default();
        text.add(self, words);
        text.finish(self)
    }

    /// What is known about each gram of `words`, with the index of its longest word.
    pub(super) fn grams(&self, words: &Words) -> Vec<(usize, Gram)> {
        let mut found = Vec::new();
        keys_of(words, |at, key| {
            if let Some(gram) = self.grams.get(&key) {
                found.push((
                    at,
                    Gram {
                        weight: gram.weight * self.trust,
                        ..*gram
                    },
                ));
            }
        });
        let norm = (found.len().max(1) as f32).sqrt();
        found.iter_mut().for_each(|(_, gram)| gram.weight /= norm);
        found
    }

    /// Whether it tells anything about reviews that it has not seen.
    pub(super) fn is_useful(&self) -> bool {
        self.trust > 0.0
    }
}

/// The sum over several sentences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnScore {
    sum: f32,
    count: u32,
}

impl OwnScore {
    pub(super) fn add(&mut self, model: &OwnStars, words: &Words) {
        keys_of(words, |_, key| {
            if let Some(gram) = model.grams.get(&key) {
                self.sum += gram.weight;
                self.count += 1;
            }
        });
    }

    pub(super) fn finish(self, model: &OwnStars) -> i32 {
        let odds = self.sum / (self.count.max(1) as f32).sqrt() * model.trust;
        (odds.clamp(-ODDS_MAX, ODDS_MAX) * super::text_model::UNIT as f32).round() as i32
    }
}

/// Calls `each` with every word and pair of neighbours: the index of its longer word, and its key.
fn keys_of(words: &Words, mut each: impl FnMut(usize, u64)) {
    let mut before: Option<(usize, u64)> = None;
    for (at, item) in words.items().iter().enumerate() {
        if !item.is_word && item.entry.valence.is_none() {
            before = None;
            continue;
        }
        let mut key = 0xcbf2_9ce4_8422_2325_u64;
        for byte in words.lower(item).bytes() {
            key = (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        each(at, key);
        if let Some((place, first)) = before {
            let length = |at: usize| words.items()[at].end - words.items()[at].start;
            let longer = if length(place) > length(at) {
                place
            } else {
                at
            };
            each(
                longer,
                first.rotate_left(23) ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            );
        }
        before = Some((at, key));
    }
}

/// How far weights learnt from four fifths of the examples tell the rest: the factor with the least squared error.
fn trust(examples: &[Example], count: usize) -> f32 {
    let part = |held: bool| -> Vec<&Example> {
        examples
            .iter()
            .enumerate()
            .filter(|(at, _)| (at % 5 == 0) == held)
            .map(|(_, one)| one)
            .collect()
    };
    let (held, rest) = (part(true), part(false));
    let weights = fit(&rest, count);
    let sides = balance(&held);
    let error = |factor: f32| -> f32 {
        let loss = held.iter().map(|(grams, is_high)| {
            let miss = share(odds(grams, &weights) * factor) - f32::from(u8::from(*is_high));
            miss * miss * sides[usize::from(*is_high)]
        });
        loss.sum()
    };
    FACTORS
        .into_iter()
        .fold((0.0, error(0.0)), |best, factor| {
            let error = error(factor);
            if error < best.1 {
                (factor, error)
            } else {
                best
            }
        })
        .0
}

/// Stochastic gradient descent with steps that shrink.
fn fit(examples: &[&Example], count: usize) -> Vec<f32> {
    let mut weights = vec![0.0f32; count];
    let mut squares = vec![0.01f32; count];
    let sides = balance(examples);
    // A stride that shares no factor with the count visits every example once, high and low mixed.
    let stride = (1..)
        .map(|step| examples.len() * 5 / 8 + step)
        .find(|step| gcd(*step, examples.len()) == 1)
        .unwrap_or(1);
    for epoch in 0..EPOCHS {
        let mut at = epoch;
        for _ in 0..examples.len() {
            at = (at + stride) % examples.len().max(1);
            let (grams, is_high) = examples[at];
            let side = usize::from(*is_high);
            let miss = (share(odds(grams, &weights)) - side as f32) * sides[side]
                / (grams.len().max(1) as f32).sqrt();
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
    let high = examples.iter().filter(|(_, is_high)| *is_high).count();
    let sides = [examples.len() - high, high];
    sides.map(|side| examples.len() as f32 / (2 * side.max(1)) as f32)
}

fn odds(grams: &[u32], weights: &[f32]) -> f32 {
    let sum: f32 = grams.iter().map(|gram| weights[*gram as usize]).sum();
    sum / (grams.len().max(1) as f32).sqrt()
}

/// The logistic function, with (1 + x/1024)^1024 for the exponential: the same on every machine.
fn share(odds: f32) -> f32 {
    let mut power = 1.0 - odds.clamp(-15.0, 15.0) / 1024.0;
    for _ in 0..10 {
        power *= power;
    }
    1.0 / (1.0 + power)
}

/// Reviews with one, two, four or five stars that a language needs, and those of either side.
const REVIEWS_MIN: usize = 200;
const SIDE_MIN: usize = 20;
/// Reviews of each side that are learnt from.
const REVIEWS_MAX: usize = 10_000;
/// Sentences that are read of one review.
const SENTENCES_MAX: usize = 50;
const EPOCHS: usize = 8;
const RATE: f32 = 0.15;
const PENALTY: f32 = 1e-3;
/// Log-odds that a text may speak for at most.
const ODDS_MAX: f32 = 4.0;
/// Factors that are tried.
const FACTORS: [f32; 6] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0];
