//! Phrases that set one group of texts apart from the rest, by weighted log-odds.
//!
//! For each phrase the odds in the group are compared with the odds outside it, drawn towards what both share by a
//! prior as large as [`PRIOR`] phrases, and divided by their standard error (Monroe, Colaresi and Quinn, 2008). What
//! is counted is reviews for topics and sentences for aspects, so that one review that repeats itself counts once.

use std::collections::HashMap;

use super::Options;
use super::derive::{Derived, Mention};
use super::parallel::{CHUNK_ROWS, over_chunks};
use super::polarity::Polarity;
use super::sentence::sentences;
use super::vocabulary::{Phrase, Vocabulary};
use super::words::Words;
use crate::model::{Dataset, Review};

/// A phrase that sets reviews of five stars and those of at most three apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Topic {
    pub(super) phrase: String,
    /// Positive if it belongs to five stars.
    pub(super) polarity: Polarity,
    /// Scored reviews with the phrase: of five stars, and of at most three.
    pub(super) high: u32,
    pub(super) low: u32,
    /// Hundredths of a standard error.
    pub(super) weight: i64,
}

/// What the phrases say.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    /// The strongest of each sign, praise first.
    pub(super) topics: Vec<Topic>,
    /// For each aspect of the taxonomy, the phrases of the sentences that mention it.
    pub(super) aspects: Vec<Vec<String>>,
}

impl Phrases {
    /// Counts the phrases of all scored reviews and weighs them.
    pub(super) fn of(dataset: &Dataset, derived: &Derived, options: &Options) -> Phrases {
        let vocabulary = Vocabulary::of(dataset, derived, options);
        let count = dataset.reviews.len();
        let parts = over_chunks(count, options.threads, Buffers::default, |buffers, rows| {
            let mut counts = Counts::default();
            let start = derived
                .mentions
                .partition_point(|mention| (mention.row as usize) < rows.start);
            let mut mentions = &derived.mentions[start..];
            for row in rows {
                let own = mentions.partition_point(|mention| mention.row as usize <= row);
                let (of_review, rest) = mentions.split_at(own);
                mentions = rest;
                if derived.outcomes[row].score().is_some() {
                    counts.add(&dataset.reviews[row], of_review, &vocabulary, buffers);
                }
            }
            if count > CHUNK_ROWS {
                counts.aspects.retain(|_, sentences| *sentences >= 2);
            }
            counts
        });
        let mut counts = Counts::default();
        parts.into_iter().for_each(|part| counts.merge(part));
        let aspects = counts.of_aspects(dataset, &vocabulary);
        Phrases {
            topics: counts.topics(&vocabulary),
            aspects,
        }
    }
}

#[derive(Default)]
struct Buffers {
    words: Words,
    of_sentence: Vec<Phrase>,
    of_review: Vec<Phrase>,
}

/// How often phrases are used.
#[derive(Default)]
struct Counts {
    /// Reviews of five stars, and of at most three.
    reviews: HashMap<Phrase, [u32; 2]>,
    sentences: HashMap<Phrase, u32>,
    /// Sentences that mention the aspect.
    aspects: HashMap<(u16, Phrase), u32>,
}

impl Counts {
    fn add(
        &mut self,
        review: &Review,
        mentions: &[Mention],
        vocabulary: &Vocabulary,
        buffers: &mut Buffers,
    ) {
        let Buffers {
            words,
            of_sentence,
            of_review,
        } = buffers;
        of_review.clear();
        let mut mentions = mentions.iter().peekable();
        for (number, range) in sentences(&review.text).enumerate() {
            words.read(&review.text[range]);
            vocabulary.phrases(words, of_sentence);
            of_review.extend_from_slice(of_sentence);
            for phrase in of_sentence.iter() {
                *self.sentences.entry(*phrase).or_default() += 1;
            }
            while let Some(mention) =
                mentions.next_if(|mention| mention.sentence as usize <= number)
            {
                for phrase in of_sentence.iter() {
                    *self.aspects.entry((mention.aspect, *phrase)).or_default() += 1;
                }
            }
        }
        let group = match review.rating.stars() {
            5 => 0,
            1..=3 => 1,
            _ => return,
        };
        of_review.sort_unstable();
        of_review.dedup();
        for phrase in of_review.iter() {
            self.reviews.entry(*phrase).or_default()[group] += 1;
        }
    }

    fn merge(&mut self, other: Counts) {
        for (phrase, [high, low]) in other.reviews {
            let counts = self.reviews.entry(phrase).or_default();
            counts[0] += high;
            counts[1] += low;
        }
        for (phrase, count) in other.sentences {
            *self.sentences.entry(phrase).or_default() += count;
        }
        for (key, count) in other.aspects {
            *self.aspects.entry(key).or_default() += count;
        }
    }

    fn topics(&self, vocabulary: &Vocabulary) -> Vec<Topic> {
        let total = |group: usize| {
            self.reviews
                .values()
                .map(|counts| u64::from(counts[group]))
                .sum::<u64>()
        };
        let totals = [total(0), total(1)];
        let weighed: Vec<(i64, Phrase, [u32; 2])> = self
            .reviews
            .iter()
            .filter(|(_, counts)| counts[0] + counts[1] >= COUNT_MIN)
            .map(|(phrase, counts)| {
                (
                    weight([counts[0].into(), counts[1].into()], totals),
                    *phrase,
                    *counts,
                )
            })
            .collect();
        let mut topics = Vec::new();
        for (polarity, sign) in [(Polarity::Positive, 1), (Polarity::Negative, -1)] {
            let signed = weighed
                .iter()
                .map(|(weight, phrase, counts)| (weight * sign, *phrase, *counts));
            topics.extend(strongest(signed, TOPICS_MAX).into_iter().map(
                |(weight, phrase, [high, low])| Topic {
                    phrase: vocabulary.render(phrase),
                    polarity,
                    high,
                    low,
                    weight,
                },
            ));
        }
        topics
    }

    fn of_aspects(&self, dataset: &Dataset, vocabulary: &Vocabulary) -> Vec<Vec<String>> {
        let count = dataset.taxonomy.aspects.len();
        let mut inside: Vec<Vec<(Phrase, u32)>> = vec![Vec::new(); count];
        for ((aspect, phrase), sentences) in &self.aspects {
            inside[usize::from(*aspect)].push((*phrase, *sentences));
        }
        let all: u64 = self.sentences.values().map(|count| u64::from(*count)).sum();
        let of_aspect = |(aspect, phrases): (usize, Vec<(Phrase, u32)>)| {
            let total: u64 = phrases.iter().map(|(_, count)| u64::from(*count)).sum();
            // Its own phrases say nothing new about an aspect.
            let own = dataset.taxonomy.aspects[aspect]
                .phrases
                .join("\n")
                .to_lowercase();
            let weighed = phrases
                .into_iter()
                .filter(|(_, count)| *count >= COUNT_MIN)
                .filter_map(|(phrase, count)| {
                    let others = self
                        .sentences
                        .get(&phrase)
                        .copied()
                        .unwrap_or(count)
                        .saturating_sub(count);
                    let weight = weight(
                        [count.into(), others.into()],
                        [total, all.saturating_sub(total)],
                    );
                    (!own.contains(&vocabulary.render(phrase))).then_some((
                        weight,
                        phrase,
                        [count, others],
                    ))
                });
            let strongest = strongest(weighed, ASPECT_PHRASES_MAX);
            strongest
                .into_iter()
                .map(|(_, phrase, _)| vocabulary.render(phrase))
                .collect()
        };
        inside.into_iter().enumerate().map(of_aspect).collect()
    }
}

/// The phrases with the largest weights, at least [`WEIGHT_MIN`], none of which is within another.
fn strongest(
    weighed: impl Iterator<Item = (i64, Phrase, [u32; 2])>,
    max: usize,
) -> Vec<(i64, Phrase, [u32; 2])> {
    let mut weighed: Vec<_> = weighed
        .filter(|(weight, ..)| *weight >= WEIGHT_MIN)
        .collect();
    weighed.sort_unstable_by_key(|&(weight, phrase, _)| (std::cmp::Reverse(weight), phrase));
    let mut kept: Vec<(i64, Phrase, [u32; 2])> = Vec::new();
    for candidate in weighed {
        if kept.len() == max {
            break;
        }
        if kept
            .iter()
            .all(|(_, phrase, _)| !phrase.overlaps(candidate.1))
        {
            kept.push(candidate);
        }
    }
    kept
}

/// The log-odds of a phrase used `counts` times among `totals`, in hundredths of its standard error; above 0 where
/// the first group uses it more.
fn weight(counts: [u64; 2], totals: [u64; 2]) -> i64 {
    let whole = (totals[0] + totals[1]) as f64;
    let prior = PRIOR * (counts[0] + counts[1]) as f64 / whole;
    let [first, second] = [0, 1].map(|group| {
        let uses = counts[group] as f64 + prior;
        (
            uses,
            (uses / (totals[group] as f64 + PRIOR - uses).max(1.0)).ln(),
        )
    });
    let error = (1.0 / first.0 + 1.0 / second.0).sqrt();
    // Rounded before anything is compared, so that the last digits of a logarithm decide nothing.
    ((first.1 - second.1) / error * 100.0).round() as i64
}

/// Phrases that the prior is worth.
const PRIOR: f64 = 100.0;
/// Reviews or sentences that have to use a phrase.
const COUNT_MIN: u32 = 3;
/// The least weight shown: what chance exceeds in one direction once in twenty phrases.
const WEIGHT_MIN: i64 = 164;
/// Topics of each sign.
const TOPICS_MAX: usize = 10;
/// Phrases of an aspect.
const ASPECT_PHRASES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_odds_and_the_counts() {
        assert_eq!(weight([10, 10], [1_000, 1_000]), 0);
        assert!(weight([20, 2], [1_000, 1_000]) > WEIGHT_MIN);
        assert_eq!(
            weight([20, 2], [1_000, 1_000]),
            -weight([2, 20], [1_000, 1_000])
        );
        assert!(weight([200, 20], [1_000, 1_000]) > weight([20, 2], [1_000, 1_000]));
        assert!(weight([1, 0], [1, 0]) < WEIGHT_MIN);
    }
}
