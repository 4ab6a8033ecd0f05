//! The words near a phrase that many of its reviews say: what they tell of it.
//!
//! A word that a review says near a phrase may stand there by chance, as all unhappy customers use some words. So a word
//! tells something of a phrase only if several of its reviews say it, and a larger part of them than of the reviews of all
//! other phrases of its language. "Gate: closed" tells an owner more than "gate".

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use whatlang::Lang;

use super::keys::KeyMap;
use super::stance::Stance;
use super::topic_phrases::NearWord;
use crate::model::insights::Polarity;

/// Fewest reviews that say a shared word.
const SHARED_MIN: u32 = 3;
/// A shared word is said in at least a quarter of the reviews of a phrase.
const REVIEWS_PER_SHARED: u32 = 4;
/// How many times the part of the reviews that says a shared word is that of all other phrases.
const TIMES_MIN: u64 = 2;
/// Most shared words of a phrase.
const SHARED_MAX: usize = 2;

/// How many reviews say each word near any phrase that they praise, and near any of which they complain, by language.
#[derive(Default)]
pub(super) struct UsualWords {
    /// By the language of the phrases and the index of the polarity.
    said: HashMap<(Lang, usize), SignWords>,
}

#[derive(Default)]
struct SignWords {
    /// Opinions about phrases: of each phrase in each review.
    opinions: u32,
    /// Those near which the word of this form is said.
    said: KeyMap<u64, u32>,
}

impl SignWords {
    fn said(&self, form: u64) -> u32 {
        self.said.get(&form).copied().unwrap_or_default()
    }
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
    /// From what reviews say of phrases, each in the language of its phrase.
    pub(super) fn of<'s>(stances: impl Iterator<Item = (Lang, &'s Stance)>) -> UsualWords {
        let mut usual = UsualWords::default();
        for (lang, stance) in stances {
            let Some(sign) = index(stance.polarity) else {
                continue;
            };
            let words = usual.said.entry((lang, sign)).or_default();
            words.opinions += 1;
            for word in &stance.words {
                *words.said.entry(word.form).or_default() += 1;
            }
        }
        usual
    }

    /// The words that tell most of a phrase in `lang`, from the words near it in each of its reviews of this polarity.
    /// `own` has the words of this phrase only; none of `names` is shared.
    pub(super) fn shared(
        &self,
        own: &UsualWords,
        lang: Lang,
        reviews: &[&[NearWord]],
        polarity: Polarity,
        names: &HashSet<String>,
    ) -> Vec<SharedWord> {
        let Some(sign) = index(polarity) else {
            return Vec::new();
        };
        let key = (lang, sign);
        let (Some(usual), Some(own)) = (self.said.get(&key), own.said.get(&key)) else {
            return Vec::new();
        };
        let all = reviews.len() as u32;
        // Opinions about other phrases.
        let others = u64::from(usual.opinions.saturating_sub(own.opinions));
        let mut shared = Vec::new();
        for (form, uses) in word_uses(reviews, polarity, names) {
            let said = usual.said(form).max(uses.reviews);
            let said_elsewhere = u64::from(said.saturating_sub(own.said(form)));
            let is_frequent =
                uses.reviews >= SHARED_MIN && uses.reviews * REVIEWS_PER_SHARED >= all;
            // Half a use is added, as nothing is known to be never said.
            let part = 2 * u64::from(uses.reviews) * others;
            let usual_part = (2 * said_elsewhere + 1) * u64::from(all);
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

/// How many reviews of this polarity say each word, without `names`.
fn word_uses<'w>(
    reviews: &[&'w [NearWord]],
    polarity: Polarity,
    names: &HashSet<String>,
) -> BTreeMap<u64, WordUses<'w>> {
    let mut uses: BTreeMap<u64, WordUses<'_>> = BTreeMap::new();
    for word in reviews.iter().copied().flatten() {
        // Praise is not told by a word of complaint.
        if word.sign != -sign_of(polarity) && !has_name(&word.text, names) {
            let uses = uses.entry(word.form).or_default();
            uses.reviews += 1;
            *uses.by_spelling.entry(&word.text).or_default() += 1;
        }
    }
    uses
}

/// Whether one of the words of `text` is one of `names`, or the genitive of one ("mario's").
fn has_name(text: &str, names: &HashSet<String>) -> bool {
    text.split([' ', '-'])
        .any(|word| names.contains(word.trim_end_matches("'s")))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What `count` reviews say: praise, near which these words are.
    fn praise(words: &[&str], count: usize) -> Vec<Stance> {
        let words = words.iter().map(|word| NearWord {
            form: crate::insights::keys::key(word),
            text: (*word).to_owned(),
            sign: 0,
        });
        let stance = Stance {
            polarity: Polarity::Positive,
            clarity: 64,
            words: words.collect(),
        };
        vec![stance; count]
    }

    /// The words shared by the reviews of a phrase, beside those of others.
    fn shared(own: &[Stance], others: &[(Lang, Stance)], names: &[&str]) -> Vec<String> {
        let lang = Lang::Spa;
        let own_words = || own.iter().map(|stance| (lang, stance));
        let others = others.iter().map(|(lang, stance)| (*lang, stance));
        let usual = UsualWords::of(own_words().chain(others));
        let reviews: Vec<&[NearWord]> = own.iter().map(|stance| &*stance.words).collect();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let own = UsualWords::of(own_words());
        let shared = usual.shared(&own, lang, &reviews, Polarity::Positive, &names);
        shared.into_iter().map(|word| word.text).collect()
    }

    fn in_language(lang: Lang, stances: Vec<Stance>) -> Vec<(Lang, Stance)> {
        stances.into_iter().map(|stance| (lang, stance)).collect()
    }

    #[test]
    fn a_word_is_compared_within_its_language() {
        let own = praise(&["limpio"], 6);
        let mut others = in_language(Lang::Spa, praise(&["limpio"], 20));
        others.extend(in_language(Lang::Eng, praise(&["clean"], 400)));
        assert!(shared(&own, &others, &[]).is_empty());
    }

    #[test]
    fn the_most_frequent_phrase_may_have_shared_words() {
        let own = praise(&["limpio"], 20);
        let others = in_language(Lang::Spa, praise(&["amable"], 6));
        assert_eq!(shared(&own, &others, &[]), ["limpio"]);
        // Without another phrase there is nothing to compare with.
        assert!(shared(&own, &[], &[]).is_empty());
    }

    #[test]
    fn a_name_is_no_shared_word() {
        let own = praise(&["mario", "mario's", "no mario", "limpio"], 6);
        let others = in_language(Lang::Spa, praise(&["amable"], 20));
        assert_eq!(shared(&own, &others, &["mario"]), ["limpio"]);
    }
}
