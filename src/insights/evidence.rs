//! What a mention and a review say: the evidence of the words and the stars, added up in log-odds.
//!
//! Of a mention, in natural logarithms, where `text` is the model's output for English and the emoji for other languages:
//!
//! ```text
//! negative = text(negative) - tilt / 2
//! neutral  = text(neutral)  + neutral(stars)
//! positive = text(positive) + tilt / 2
//! tilt     = own stars of the sentence + 1.25 x opinion of the phrase + stars(rating)
//! ```
//!
//! The largest sum wins, but praise and complaint are told only where they win clearly; what is less clear counts and is
//! listed as neutral.

use std::ops::Range;

use super::text_model::{Sentence, UNIT, WEIGHTS, Weights};
use crate::model::Rating;
use crate::model::insights::Polarity;

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

impl Sentence {
    /// Judges the mention in the bytes `target` of the sentence, or the sentence as a whole: what it says, and by how much
    /// the largest sum won, in [`UNIT`]s. Without stars the largest sum decides, clear or not.
    pub fn judge(&mut self, target: Option<&Range<usize>>, context: &Context) -> (Polarity, i32) {
        let [negative, neutral, positive] = self.text(target, context);
        let stars = context.rating.map(Rating::stars);
        let was_read = context.is_english || positive != negative || context.words() != 0;
        // Where nothing was read, two and four stars alone decide nothing.
        let (tilt, shift) = match stars {
            Some(2 | 4) if !was_read => (0, NEUTRAL),
            Some(3) => (context.tilt(), NEUTRAL_AT_THREE),
            _ => (context.tilt(), NEUTRAL),
        };
        let mut sums = [
            (negative - tilt / 2, Polarity::Negative),
            (positive + tilt / 2, Polarity::Positive),
            (neutral + shift, Polarity::Neutral),
        ];
        // The last of equals is the best, so neutral.
        sums.sort_by_key(|(sum, _)| *sum);
        let [_, (next, _), (largest, best)] = sums;
        let margin = largest - next;
        let clear = match (best, stars) {
            (_, None) => 0,
            (Polarity::Negative, Some(5)) => CLEAR_AT_FIVE,
            _ => CLEAR,
        };
        let is_clear = margin >= clear;
        (if is_clear { best } else { Polarity::Neutral }, margin)
    }

    /// Returns by how much praise is ahead of complaint in the mention, or in the sentence as a whole, in [`UNIT`]s.
    pub(super) fn tilt(&mut self, target: Option<&Range<usize>>, context: &Context) -> i32 {
        let [negative, _, positive] = self.text(target, context);
        positive - negative + context.tilt()
    }

    /// Returns the sums of the words about the mention, or about nothing in particular.
    fn text(&mut self, target: Option<&Range<usize>>, context: &Context) -> Weights {
        if !context.is_english {
            let emoji = self.words.items.iter().filter(|item| !item.is_word);
            let tenths: i32 = emoji.filter_map(|item| item.entry.valence).sum();
            let emoji = tenths.clamp(-40, 40) * UNIT / 40;
            return [-emoji, 0, emoji];
        }
        // A phrase that is itself an opinion is no subject.
        let subject = target.filter(|_| context.opinion == 0);
        let mut sums = [0; 3];
        for feature in self.features(subject.cloned()) {
            if let Some(weights) = WEIGHTS.get(feature) {
                (0..3).for_each(|class| sums[class] += i32::from(weights[class]));
            }
        }
        sums
    }
}

impl Context {
    /// The tilt without the text model and the stars.
    fn words(&self) -> i32 {
        self.own + i32::from(self.opinion) * OPINION
    }

    fn tilt(&self) -> i32 {
        self.words() + stars(self.rating)
    }
}

/// What the stars say about a mention, in [`UNIT`]s; nothing where none are known.
pub(super) fn stars(rating: Option<Rating>) -> i32 {
    rating.map_or(0, |rating| STARS[usize::from(rating.stars()) - 1])
}

/// Low stars weigh less than high ones, as an unhappy customer praises more often than a happy one complains. On the
/// fixtures a weight of 3.5 for five stars fits best; ours is lower, as mentions there follow the stars more closely than
/// in most reviews.
const STARS: [i32; 5] = [-112, -40, 0, 64, 160];

/// How a review sounds as a whole, from -1 to 1 in ten-thousandths: twice the probability of praise, less 1, of
/// `stars + 0.6 x the mean of its sentences + own stars`. The stars weigh 3, 2, 0, 1.5 and 3, so words can turn them,
/// and silence never does.
pub(super) fn review_score(rating: Rating, sentences: i32, own: i32) -> i32 {
    let stars = [-192, -128, 0, 96, 192][usize::from(rating.stars() - 1)];
    let words = (sentences * 6 / 10 + own).clamp(-224, 224);
    let odds = f64::from(stars + words) / f64::from(UNIT);
    ((2.0 * share(odds) - 1.0) * 10_000.0).round() as i32
}

/// The logistic function, with (1 + x/1024)^1024 for the exponential of `x`: made of sums, products and a quotient, so the
/// same on every machine.
pub(super) fn share(odds: f64) -> f64 {
    let start = 1.0 - odds.clamp(-15.0, 15.0) / 1024.0;
    1.0 / (1.0 + (0..10).fold(start, |power, _| power * power))
}

/// The sign of a review's score: an opinion from 0.3 on.
pub(super) fn sign(score: i32) -> Polarity {
    match score {
        3_000.. => Polarity::Positive,
        ..=-3_000 => Polarity::Negative,
        _ => Polarity::Neutral,
    }
}

/// Added to neutral, as the sentences that the model learned from are neutral far more often than those of reviews: on the
/// development sets, the best mean macro-F1 over shares of neutral mentions from 4 to 25 %.
const NEUTRAL: i32 = -32;
/// The same in a review of three stars, which takes no side.
const NEUTRAL_AT_THREE: i32 = 96;
/// What a phrase that is itself an opinion says.
pub(super) const OPINION: i32 = 80;
/// By how much praise and complaint have to win to be told: nine of ten complaints then are some, on the fixtures.
const CLEAR: i32 = 8;
/// The same for a complaint in a review of five stars.
const CLEAR_AT_FIVE: i32 = 64;
