//! The words near a phrase that many of its reviews say: what they tell of it.
//!
//! A word that a review says near a phrase may stand there by chance, as all unhappy customers use some words. So a word
//! tells something of a phrase only if several of its reviews say it, and a larger part of them than of the reviews of all
//! other phrases. "Gate: closed" tells an owner more than "gate".

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::keys::KeyMap;
use super::stance::Stance;
use super::topic_phrases::NearWord;
use crate::model::insights::Polarity;

/// Fewest reviews that say a shared word.
const SHARED_MIN: u32 = 3;
/// A shared word is said in at least a quarter of the reviews of a phrase.
const REVIEWS_PER_SHARED: u32 = 4;
/// How many times the part of the reviews that says a shared word is that of all phrases.
const TIMES_MIN: u64 = 2;
/// Most shared words of a phrase.
const SHARED_MAX: usize = 2;

/// How many reviews say each word near any phrase that they praise, and near any of which they complain.
#[derive(Default)]
pub(super) struct UsualWords {
    by_sign: [SignWords; 2],
}

#[derive(Default)]
struct SignWords {
    /// Opinions about phrases: of each phrase in each review.
    opinions: u32,
    /// Those near which the word of this form is said.
    said: KeyMap<u64, u32>,
}

/// A word that several reviews say near a phrase.
pub(super) struct SharedWord {
    form: u64,
    /// In its most frequent spelling.
    pub(super) text: String,
}

impl SharedWord {
    pub(super) fn is_in(&self, words: &[NearWord]) -> bool {
        words.iter().any(|word| word.form == self.form)
    }
}

/// The uses of a word near a phrase.
#[derive(Default)]
struct WordUses<'w> {
    reviews: u32,
    by_spelling: BTreeMap<&'w str, u32>,
}

impl UsualWords {
    pub(super) fn of<'s>(stances: impl Iterator<Item = &'s Stance>) -> UsualWords {
        let mut usual = UsualWords::default();
        for stance in stances {
            let Some(sign) = index(stance.polarity) else {
                continue;
            };
            let words = &mut usual.by_sign[sign];
            words.opinions += 1;
            for word in &stance.words {
                *words.said.entry(word.form).or_default() += 1;
            }
        }
        usual
    }

    /// The words that tell most of a phrase, from the words near it in each of its reviews of this polarity.
    pub(super) fn shared(&self, reviews: &[&[NearWord]], polarity: Polarity) -> Vec<SharedWord> {
        let Some(sign) = index(polarity) else {
            return Vec::new();
        };
        let usual = &self.by_sign[sign];
        let mut uses: BTreeMap<u64, WordUses<'_>> = BTreeMap::new();
        for word in reviews.iter().copied().flatten() {
            // Praise is not told by a word of complaint.
            if word.sign != -sign_of(polarity) {
                let uses = uses.entry(word.form).or_default();
                uses.reviews += 1;
                *uses.by_spelling.entry(&word.text).or_default() += 1;
            }
        }
        let all = reviews.len() as u32;
        let mut shared = Vec::new();
        for (form, uses) in uses {
            let said = usual.said.get(&form).copied().unwrap_or(uses.reviews);
            let is_frequent =
                uses.reviews >= SHARED_MIN && uses.reviews * REVIEWS_PER_SHARED >= all;
            let part = u64::from(uses.reviews) * u64::from(usual.opinions);
            let usual_part = u64::from(said) * u64::from(all);
            if is_frequent && part >= TIMES_MIN * usual_part {
                // The part of its uses that is here, times its uses here.
                let weight = u64::from(uses.reviews * uses.reviews) * 1000 / u64::from(said);
                shared.push((Reverse(weight), form, uses));
            }
        }
        shared.sort_by_key(|(weight, form, _)| (*weight, *form));
        shared.truncate(SHARED_MAX);
        let words = shared.into_iter().map(|(_, form, uses)| SharedWord {
            form,
            text: uses.usual_spelling(),
        });
        words.collect()
    }
}

impl WordUses<'_> {
    /// The most frequent spelling; of equally frequent ones the first.
    fn usual_spelling(&self) -> String {
        let mut best = ("", 0);
        for (spelling, uses) in &self.by_spelling {
            if *uses > best.1 {
                best = (spelling, *uses);
            }
        }
        best.0.to_owned()
    }
}

/// Whether at least [`SHARED_MIN`], and three of ten, of these reviews have an opinion of this polarity near the phrase.
pub(super) fn have_opinion(reviews: &[&[NearWord]], polarity: Polarity) -> bool {
    let sign = sign_of(polarity);
    let with_opinion = reviews
        .iter()
        .filter(|words| words.iter().any(|word| word.sign == sign));
    let with_opinion = with_opinion.count();
    with_opinion >= SHARED_MIN as usize && with_opinion * 10 >= reviews.len() * 3
}

/// 0 for praise, 1 for complaint.
fn index(polarity: Polarity) -> Option<usize> {
    match polarity {
        Polarity::Positive => Some(0),
        Polarity::Negative => Some(1),
        Polarity::Neutral => None,
    }
}

fn sign_of(polarity: Polarity) -> i8 {
    match polarity {
        Polarity::Positive => 1,
        Polarity::Negative => -1,
        Polarity::Neutral => 0,
    }
}
