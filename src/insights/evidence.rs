//! What a mention and a review say: the evidence of the words and the stars, added up in log-odds.
//!
//! Of a mention, with all terms in natural logarithms:
//!
//! ```text
//! negative = text(negative) - tilt / 2
//! neutral  = text(neutral)  - 1, or + 0.5 in a review of three stars
//! positive = text(positive) + tilt / 2
//! tilt     = own stars of the sentence + 1.25 x opinion of the phrase + stars(rating)
//! ```
//!
//! `text` is the output of the model in `text_model` for English, and the valence of emoji for other languages. The
//! sentences that the model learned from are neutral far more often than sentences of reviews (45 % against some 6 %),
//! and praise less often. The constants 1, and 0.5 where stars are missing, correct for this difference: they are the
//! smallest ones that give the best macro-F1 on the development data with its classes weighted as in reviews.
//! `own stars` is what the ratings of this dataset taught (`super::own_stars`). `stars(rating)` is 0.2 + 0.8 x
//! (rating - 3). It was estimated without labels from 4,000 reviews, by expectation maximisation, and rounded up.
//!
//! The largest sum wins, but praise and complaints are told only where they win by `CLEAR_POSITIVE` and
//! `CLEAR_NEGATIVE`; what is less clear counts and is listed as neutral. In a review of five stars a complaint has to
//! win by `CLEAR_ALONE` by the words around the phrase alone, without the stars.

use std::ops::Range;

use super::features::{Collector, Feature};
use super::text_model::{self, UNIT, Weights};
use crate::model::Rating;
use crate::model::insights::Polarity;

/// Judges mentions, reusing its buffers from one to the next.
#[derive(Debug, Default)]
pub struct Judge {
    pub(super) collector: Collector,
    hashes: Vec<Feature>,
}

/// What is known about a mention besides its sentence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Whether the text model speaks the language.
    pub is_english: bool,
    /// The stars of the review.
    pub rating: Option<Rating>,
    /// Sign of the phrase where it is itself an opinion ("late", "on time").
    pub opinion: i8,
    /// Log-odds of the sentence by the dataset's own stars, in [`UNIT`]s.
    pub own: i32,
}

/// A judgement, and by how much it won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The class with the largest sum.
    pub best: Polarity,
    /// What the document says: `best` where it is clear.
    pub polarity: Polarity,
    /// What `best` has more than the next, in [`UNIT`]s; 0 or more.
    pub margin: i32,
}

impl Judge {
    /// Reads `sentence`, which the next judgements are about.
    pub fn read(&mut self, sentence: &str) {
        self.collector.read(sentence);
    }

    /// Judges the mention in the bytes `target` of the sentence.
    pub fn mention(&mut self, target: Range<usize>, context: &Context) -> Judgement {
        // A phrase that is itself an opinion is no subject that words speak about.
        let target = (context.opinion == 0).then_some(target);
        let text = self.text(target, context.is_english);
        let tilt = context.own + i32::from(context.opinion) * OPINION;
        let neutral = match context.rating.map(Rating::stars) {
            Some(3) => NEUTRAL_AT_THREE,
            _ => NEUTRAL,
        };
        let judgement = judged(text, tilt + stars(context.rating), neutral);
        let is_top = context.rating == Some(Rating::MAX);
        if judgement.polarity == Polarity::Negative && is_top {
            let alone = judged(text, 0, NEUTRAL);
            if alone.best != Polarity::Negative || alone.margin < CLEAR_ALONE {
                return Judgement {
                    polarity: Polarity::Neutral,
                    ..judgement
                };
            }
        }
        judgement
    }

    /// Judges the sentence as a whole.
    pub fn whole(&mut self, context: &Context) -> Judgement {
        let text = self.text(None, context.is_english);
        judged(text, context.own + stars(context.rating), NEUTRAL)
    }

    /// The sums of the words: of the mention `target`, or of the sentence.
    pub(super) fn text(&mut self, target: Option<Range<usize>>, is_english: bool) -> Weights {
        let mut sums = [0; 3];
        if is_english {
            self.hashes.clear();
            self.hashes
                .extend_from_slice(self.collector.collect(target));
            // Each feature counts once, as in training.
            self.hashes.sort_unstable_by_key(|feature| feature.hash);
            self.hashes.dedup_by_key(|feature| feature.hash);
            for weights in self
                .hashes
                .iter()
                .filter_map(|feature| text_model::find(feature.hash))
            {
                sums.iter_mut()
                    .zip(weights)
                    .for_each(|(sum, weight)| *sum += i32::from(weight));
            }
        } else {
            let emoji = self.collector.words.score(|item| !item.is_word) * UNIT / 10_000;
            sums = [-emoji, 0, emoji];
        }
        sums
    }

    /// Praise less complaint in the sentence as a whole, in [`UNIT`]s.
    pub(super) fn sentence(&mut self, is_english: bool) -> i32 {
        let [negative, _, positive] = self.text(None, is_english);
        positive - negative
    }
}

fn judged([negative, neutral, positive]: Weights, tilt: i32, shift: i32) -> Judgement {
    let sums = [negative - tilt / 2, neutral + shift, positive + tilt / 2];
    let mut best = Polarity::Neutral;
    for polarity in [Polarity::Negative, Polarity::Positive] {
        if sums[polarity as usize] > sums[best as usize] {
            best = polarity;
        }
    }
    let others = Polarity::ALL.into_iter().filter(|other| *other != best);
    let next = others.map(|other| sums[other as usize]).max().unwrap_or(0);
    let margin = sums[best as usize] - next;
    let polarity = match best {
        Polarity::Negative if margin < CLEAR_NEGATIVE => Polarity::Neutral,
        Polarity::Positive if margin < CLEAR_POSITIVE => Polarity::Neutral,
        best => best,
    };
    Judgement {
        best,
        polarity,
        margin,
    }
}

/// What the stars say about a mention, in [`UNIT`]s.
pub(super) fn stars(rating: Option<Rating>) -> i32 {
    rating.map_or(32, |rating| 13 + 51 * (i32::from(rating.stars()) - 3))
}

/// How a review sounds as a whole, from -1 to 1 in ten-thousandths: twice the probability of praise, less 1, of
/// `stars + 0.6 x the mean of its sentences + own stars`. The stars weigh 3, 2, 0, 1.5 and 3, so words can turn them,
/// and silence never does.
pub(super) fn review_score(rating: Rating, sentences: i32, own: i32) -> i32 {
    let stars = [-192, -128, 0, 96, 192][usize::from(rating.stars() - 1)];
    let words = (sentences * 6 / 10 + own).clamp(-224, 224);
    let odds = f64::from(stars + words) / f64::from(UNIT);
    // (1 + x/1024)^1024 stands for the exponential: the same on every machine.
    let mut power = 1.0 - odds / 1024.0;
    for _ in 0..10 {
        power *= power;
    }
    ((2.0 / (1.0 + power) - 1.0) * 10_000.0).round() as i32
}

/// The sign of a review's score: an opinion from 0.3 on.
pub(super) fn sign(score: i32) -> Polarity {
    match score {
        3_000.. => Polarity::Positive,
        ..=-3_000 => Polarity::Negative,
        _ => Polarity::Neutral,
    }
}

/// Added to neutral.
const NEUTRAL: i32 = -64;
/// The same in a review of three stars, which takes no side.
const NEUTRAL_AT_THREE: i32 = 32;
/// What a phrase that is itself an opinion says.
const OPINION: i32 = 80;
/// By how much praise and complaint have to win to be told.
pub(super) const CLEAR_POSITIVE: i32 = 24;
pub(super) const CLEAR_NEGATIVE: i32 = 24;
/// By how much the words alone have to complain in a review of five stars.
const CLEAR_ALONE: i32 = 192;
