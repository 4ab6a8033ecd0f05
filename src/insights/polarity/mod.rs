//! What a sentence says about one thing in it: positive, neutral or negative.
//!
//! A linear model adds up what the signs of a mention weigh ([`features`], [`table`]) and what the review's stars say
//! beforehand; the largest sum wins. It was trained on restaurant reviews with several opinions in one sentence, so it
//! has learnt which words speak about which thing, and the scores of the lexicon carry it to other subjects. All sums
//! are whole numbers: the same text gives the same answer on every machine.

pub mod features;
pub mod table;

use std::collections::BTreeMap;

use super::explain::{Cause, Reason};
use crate::model::Rating;
use features::{Collector, Feature};
use table::Weights;

/// The sign of what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Polarity {
    /// A complaint.
    Negative,
    /// No opinion.
    Neutral,
    /// Praise.
    Positive,
}

impl Polarity {
    /// All three, in order.
    pub const ALL: [Polarity; 3] = [Polarity::Negative, Polarity::Neutral, Polarity::Positive];

    /// The word that documents use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Polarity::Negative => "negative",
            Polarity::Neutral => "neutral",
            Polarity::Positive => "positive",
        }
    }
}

/// An answer, and by how much it won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The answer.
    pub polarity: Polarity,
    /// What the answer has more than the next, in [`table::UNIT`]s of the logarithm of odds; 0 or more.
    pub margin: i32,
}

impl Judgement {
    fn of(sums: Weights) -> Judgement {
        let [negative, neutral, positive] = sums;
        let (polarity, best) = match () {
            () if negative > positive && negative >= neutral => (Polarity::Negative, 0),
            () if positive > negative && positive >= neutral => (Polarity::Positive, 2),
            () => (Polarity::Neutral, 1),
        };
        let next = (0..3)
            .filter(|&class| class != best)
            .map(|class| sums[class])
            .max();
        Judgement {
            polarity,
            // Where praise and complaint tie above neutral, the answer has less than both.
            margin: (sums[best] - next.unwrap_or(0)).max(0),
        }
    }
}

/// Judges mentions, reusing its buffers from one to the next.
#[derive(Debug, Default)]
pub struct Judge {
    collector: Collector,
}

impl Judge {
    /// What `sentence` says about its bytes `from..to`, in a review with `rating`.
    pub fn judge(
        &mut self,
        sentence: &str,
        from: usize,
        to: usize,
        rating: Option<Rating>,
    ) -> Judgement {
        let mut sums = prior(rating);
        for feature in self.collector.collect(sentence, from, to) {
            table::add(feature.hash, &mut sums);
        }
        Judgement::of(sums)
    }

    /// Like [`Judge::judge`], with the up to four things that spoke most for the answer.
    pub fn explain(
        &mut self,
        sentence: &str,
        from: usize,
        to: usize,
        rating: Option<Rating>,
    ) -> (Judgement, Vec<Reason>) {
        let judgement = self.judge(sentence, from, to, rating);
        let answer = judgement.polarity as usize;
        let lead = |weights: Weights| weights[answer] * 3 - weights.iter().sum::<i32>();
        let mut leads: BTreeMap<Cause, i32> = BTreeMap::new();
        leads.insert(Cause::Stars, lead(prior(rating)));
        let words = &self.collector.words;
        for feature in self.collector.features() {
            let Some(weights) = table::find(feature.hash) else {
                continue;
            };
            let item = feature
                .item
                .and_then(|at| words.items().get(usize::from(at)));
            let cause = match item.map(|item| (item.is_word, words.lower(item))) {
                Some((true, "0")) => Cause::Number,
                Some((true, word)) => Cause::Word(word.to_owned()),
                Some((false, _)) => continue,
                None => Cause::Tone,
            };
            *leads.entry(cause).or_default() += lead(weights.map(i32::from));
        }
        // What an answer has more than the mean of the other two is half as much again as what it has more than
        // the mean of all three.
        let tenths = |lead: i32| lead * 10 / (2 * table::UNIT);
        let mut reasons: Vec<Reason> = leads
            .into_iter()
            .map(|(cause, lead)| Reason {
                cause,
                tenths: tenths(lead),
            })
            .filter(|reason| reason.tenths > 0)
            .collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.tenths));
        reasons.truncate(REASONS_MAX);
        (judgement, reasons)
    }

    /// The features of a mention, as training needs them.
    pub fn features(&mut self, sentence: &str, from: usize, to: usize) -> &[Feature] {
        self.collector.collect(sentence, from, to)
    }
}

/// Reasons that an explanation gives.
const REASONS_MAX: usize = 4;

/// What the stars alone say, as weights: odds of 7 to 1 between praise and complaint at one and five stars.
///
/// Our choice: the data that the model is trained on has no stars, so this was set beforehand and not fitted.
fn prior(rating: Option<Rating>) -> Weights {
    match rating.map(Rating::stars) {
        Some(1) => [64, 0, -64],
        Some(2) => [48, 0, -48],
        Some(4) => [-32, 0, 32],
        Some(5) => [-64, 0, 64],
        _ => [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sentence: &str, aspect: &str, stars: u8) -> Polarity {
        let from = sentence
            .find(aspect)
            .expect("the aspect stands in the sentence");
        Judge::default()
            .judge(sentence, from, from + aspect.len(), Rating::new(stars))
            .polarity
    }

    #[test]
    fn two_things_in_one_sentence_are_told_apart() {
        let sentence =
            "The lawyer was friendly and helpful but the waiting room was dirty and loud.";
        assert_eq!(judged(sentence, "lawyer", 3), Polarity::Positive);
        assert_eq!(judged(sentence, "waiting room", 3), Polarity::Negative);
    }

    #[test]
    fn stars_decide_where_words_are_silent() {
        assert_eq!(
            judged("It was over by noon.", "over", 1),
            Polarity::Negative
        );
        assert_eq!(
            judged("It was over by noon.", "over", 5),
            Polarity::Positive
        );
    }

    #[test]
    fn a_mention_beyond_what_is_looked_at_is_left_to_the_stars() {
        let sentence = "fee ".repeat(300);
        let (from, to) = (sentence.len() - 4, sentence.len() - 1);
        assert_eq!(
            Judge::default().judge(&sentence, from, to, None).polarity,
            Polarity::Neutral
        );
        assert_eq!(
            Judge::default()
                .judge(&sentence, from, to, Rating::new(1))
                .polarity,
            Polarity::Negative
        );
        assert_eq!(
            Judge::default().judge("", 0, 0, None).polarity,
            Polarity::Neutral
        );
    }

    #[test]
    fn the_table_stays_below_its_size() {
        assert!(include_bytes!("table.bin").len() <= 256 * 1024);
    }
}
