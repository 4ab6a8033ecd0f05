//! Sentiment of a mention and of a review: the evidence of words and stars, added up in log-odds.
//!
//! For a mention, in natural logarithms:
//!
//! ```text
//! negative = text(negative) - tilt / 2
//! neutral  = text(neutral)  + neutral(stars)
//! positive = text(positive) + tilt / 2
//! tilt     = own stars of the sentence + 1.25 x opinion of the phrase + tilt(stars)
//! ```
//!
//! For English, `text` is the output of the text model: without stars, about the mention; with stars, three fifths about
//! the mention and two about its whole sentence. In other languages it is 0.75 for each listed opinion, plus the valences
//! of emoji. These are added up in the clause of the mention; if their sum is 0, in its sentence. In a review of one or two
//! stars, a clause with a request of the reviewer gives 1 to neutral instead.
//!
//! The largest sum decides, but praise and complaint must exceed the others by a margin (`star_weights`). Otherwise the
//! mention counts and is listed as neutral.
//!
//! The constants of each star are in `star_weights`, which `tests/fixtures/polarity/fit.py` writes: fitted on labelled
//! sentences and cross-validated.

use std::ops::Range;

use super::star_weights::{
    COMPLAINT_MARGIN_BY_STARS, NEUTRAL_BY_STARS, PRAISE_MARGIN_BY_STARS, SCALE_HUNDREDTHS,
    TILT_BY_STARS, WHOLE_TENTHS,
};
use super::text::Item;
use super::text_model::{Sentence, UNIT, Weights};
use crate::model::Rating;
use crate::model::insights::Polarity;

/// Added to the neutral sum of an English mention without stars, as neutral mentions are more frequent in the training data
/// than in reviews.
pub(super) const NEUTRAL: i32 = -28;
/// The neutral sum in languages with a list of opinions or learned words, where no model detects neutral sentences. It
/// is less than one listed opinion. Two or four stars alone do not reach it, five do: what a review of five stars tells
/// without such a word is more often praise, in words that no list has, than a plain statement.
pub(super) const NEUTRAL_WORDS: i32 = 32;
/// The same for a review of one star, which its stars alone do not reach either: half of what such a review tells without
/// an opinion, listed or learned, and without a negation is a plain statement.
pub(super) const NEUTRAL_WORDS_ONE_STAR: i32 = 46;
/// Evidence for a complaint of a negation in a review of one or two stars, where no opinion is listed: "no doctor came" is
/// one, in words that no list has.
pub(super) const NEGATION: i32 = 24;
/// Neutral evidence of a clause with a request of the reviewer, in a review of one or two stars.
pub(super) const REQUEST: i32 = 64;
/// Evidence of a phrase that is itself an opinion.
pub(super) const OPINION: i32 = 80;

/// The evidence that a language has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// The text model.
    English,
    /// A list of opinions, or words learned from the stars of the dataset's own reviews.
    Words,
    /// Only emoji and the stars, which therefore decide at two and four stars, too.
    #[default]
    Stars,
}

/// Properties of a mention other than its sentence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// The evidence that the language of the sentence has.
    pub reader: Reader,
    /// The stars of the review.
    pub rating: Option<Rating>,
    /// Sign of the phrase if it is itself an opinion ("late", "on time").
    pub opinion: i8,
    /// Log-odds of the sentence as learned from the dataset's own stars, in [`UNIT`]s.
    pub own: i32,
}

/// The classification of a mention.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// The class of the largest sum if that is clear, else neutral.
    pub polarity: Polarity,
    /// By how much the largest sum exceeds the next, in [`UNIT`]s.
    pub margin: i32,
    /// The probability that it is praise but not listed as praise, or the reverse, in ten-thousandths.
    pub doubt: u32,
}

impl Sentence {
    /// Classifies the mention in the bytes `target` of the sentence, or the whole sentence. Without stars no minimum
    /// margin applies.
    pub fn judge(&self, target: Option<&Range<usize>>, context: &Context) -> Judgement {
        judge(self.text(target, context), context)
    }

    /// Returns the margin of praise over complaint in the mention, or in the whole sentence, in [`UNIT`]s.
    pub(super) fn tilt(&self, target: Option<&Range<usize>>, context: &Context) -> i32 {
        let [negative, _, positive] = self.text(target, context);
        positive - negative + context.tilt()
    }

    /// Returns the evidence of the text for each class, about the mention or about the whole sentence, which does not depend
    /// on the own stars of `context`.
    pub(super) fn text(&self, target: Option<&Range<usize>>, context: &Context) -> Weights {
        if context.reader != Reader::English {
            if is_low(context.rating) && context.opinion == 0 && self.is_request(target) {
                return [0, REQUEST, 0];
            }
            let mut praise = self.valence_near(target).clamp(-60, 60) * UNIT * 3 / 80;
            if praise == 0 && is_low(context.rating) && self.words.has_negation() {
                praise = -NEGATION;
            }
            return [-praise, 0, praise];
        }
        // If the phrase is itself an opinion, the whole sentence is classified, including the phrase.
        if context.opinion != 0 {
            return self.whole();
        }
        let Some(subject) = target else {
            return self.whole();
        };
        let mention = self.weights(Some(subject.clone()));
        if context.rating.is_none() {
            return mention;
        }
        let whole = self.whole();
        let mention_tenths = 10 - WHOLE_TENTHS;
        std::array::from_fn(|class| {
            (mention_tenths * mention[class] + WHOLE_TENTHS * whole[class]) / 10
        })
    }

    /// Returns the evidence of the text model about the whole sentence, computed at the first call.
    fn whole(&self) -> Weights {
        *self.whole.get_or_init(|| self.weights(None))
    }

    /// Adds up the valences, in tenths, of the clause with the mention; those of the whole sentence if that has none.
    fn valence_near(&self, target: Option<&Range<usize>>) -> i32 {
        if let Some(clause) = self.clause(target) {
            let near = self.valence(|other| other.clause == clause);
            if near != 0 {
                return near;
            }
        }
        self.valence(|_| true)
    }

    /// Whether the clause with the mention has a request of the reviewer, and no opinion, negation or repetition.
    fn is_request(&self, target: Option<&Range<usize>>) -> bool {
        let clause = self.clause(target);
        clause.is_some_and(|clause| self.words.is_request(clause))
    }

    /// The clause with the mention.
    fn clause(&self, target: Option<&Range<usize>>) -> Option<u16> {
        let range = target?;
        let mut items = self.words.items.iter();
        Some(items.find(|item| item.end > range.start)?.clause)
    }

    /// Adds up the valences, in tenths, of the words and marks for which `counts` is true; a negation inverts them.
    fn valence(&self, counts: impl Fn(&Item) -> bool) -> i32 {
        let items = self.words.items.iter().filter(|item| counts(item));
        items.filter_map(Item::valence).sum()
    }
}

/// Classifies a mention by the evidence of its text and its `context`.
pub(super) fn judge(text: Weights, context: &Context) -> Judgement {
    let [negative, neutral, positive] = text;
    let tilt = context.tilt();
    let mut sums = [
        (negative - tilt / 2, Polarity::Negative),
        (positive + tilt / 2, Polarity::Positive),
        (neutral + context.neutral(), Polarity::Neutral),
    ];
    // The sort is stable and neutral comes last, so neutral wins a tie.
    sums.sort_by_key(|(sum, _)| *sum);
    let [_, (next, _), (largest, best)] = sums;
    let margin = largest - next;
    let is_clear = margin >= context.margin_min(best);
    let polarity = if is_clear { best } else { Polarity::Neutral };
    let praise = praise_probability(&sums);
    let doubt = if polarity == Polarity::Positive {
        1.0 - praise
    } else {
        praise
    };
    Judgement {
        polarity,
        margin,
        doubt: (doubt * 10_000.0).round() as u32,
    }
}

/// The probability of praise, from the sums of the three classes.
fn praise_probability(sums: &[(i32, Polarity); 3]) -> f64 {
    let of_praise = sums.iter().find(|(_, class)| *class == Polarity::Positive);
    let praise = of_praise.map_or(0, |(sum, _)| *sum);
    let mut all = 1.0;
    for (sum, class) in sums {
        if *class != Polarity::Positive {
            let odds = f64::from((praise - sum) * SCALE_HUNDREDTHS) / f64::from(UNIT * 100);
            // The odds of the other class against praise, by exp(-odds) = 1 / share - 1.
            all += 1.0 / share(odds) - 1.0;
        }
    }
    1.0 / all
}

impl Context {
    /// Returns the margin of praise over complaint from all evidence except the text.
    fn tilt(&self) -> i32 {
        self.own + i32::from(self.opinion) * OPINION + stars(self.rating)
    }

    /// Added to the neutral sum.
    fn neutral(&self) -> i32 {
        match (self.reader, self.rating) {
            (Reader::English, Some(rating)) => of_stars(NEUTRAL_BY_STARS, rating),
            (Reader::English, None) => NEUTRAL,
            (Reader::Words, Some(rating)) if rating.stars() == 1 => NEUTRAL_WORDS_ONE_STAR,
            (Reader::Words, _) => NEUTRAL_WORDS,
            (Reader::Stars, _) => 0,
        }
    }

    /// The least margin with which a mention is listed as `polarity`.
    fn margin_min(&self, polarity: Polarity) -> i32 {
        match (polarity, self.rating) {
            (_, None) | (Polarity::Neutral, _) => 0,
            (Polarity::Negative, Some(rating)) => of_stars(COMPLAINT_MARGIN_BY_STARS, rating),
            (Polarity::Positive, Some(rating)) => of_stars(PRAISE_MARGIN_BY_STARS, rating),
        }
    }
}

/// The evidence of the stars about a mention, in [`UNIT`]s; 0 without a rating.
pub(super) fn stars(rating: Option<Rating>) -> i32 {
    rating.map_or(0, |rating| of_stars(TILT_BY_STARS, rating))
}

/// Whether these are one or two stars.
fn is_low(rating: Option<Rating>) -> bool {
    rating.is_some_and(|rating| rating.stars() <= 2)
}

/// The number of `rating` in a list from one to five stars.
fn of_stars(numbers: [i32; 5], rating: Rating) -> i32 {
    numbers[usize::from(rating.stars()) - 1]
}

/// Sentiment of a whole review, from -1 to 1 in ten-thousandths: twice the probability of praise, minus 1. Its log-odds
/// are `stars + 0.6 x mean of the sentences + own stars`. The stars add -3, -2, 0, 1.5 or 3, the rest at most 3.5: so
/// words can change the sign, and a review without text has the sign of its stars.
pub(super) fn review_score(rating: Rating, sentences: i32, own: i32) -> i32 {
    let stars = [-192, -128, 0, 96, 192][usize::from(rating.stars() - 1)];
    let words = (sentences * 6 / 10 + own).clamp(-224, 224);
    let odds = f64::from(stars + words) / f64::from(UNIT);
    ((2.0 * share(odds) - 1.0) * 10_000.0).round() as i32
}

/// The logistic function, with (1 + x/1024)^1024 for the exponential of `x`: computed with sums, products and one
/// division, so that every machine gives the same result.
pub(super) fn share(odds: f64) -> f64 {
    let mut power = 1.0 - odds.clamp(-15.0, 15.0) / 1024.0;
    // Squared ten times, it is the 1024th power.
    for _ in 0..10 {
        power *= power;
    }
    1.0 / (1.0 + power)
}

/// The sign of a review's score; neutral below an absolute value of 0.3.
pub(super) fn sign(score: i32) -> Polarity {
    match score {
        3_000.. => Polarity::Positive,
        ..=-3_000 => Polarity::Negative,
        _ => Polarity::Neutral,
    }
}
