//! Finds what reviews say of a phrase: the words that many of them have near it.
//!
//! "Gate: closed" tells an owner more than "gate". But a word may be near a phrase by chance, as unhappy customers use some
//! words everywhere. So two things are asked of it: several reviews say it near this phrase, and the share of reviews that do
//! so is at least twice that near the other phrases of the language.

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
/// The share of reviews that say a shared word near its phrase is at least this many times the share near other phrases.
const TIMES_MIN: u64 = 2;
/// Most shared words of a phrase.
const SHARED_MAX: usize = 2;

/// How often each word is near a phrase that reviews praise, and how often near one that they criticize, in each language.
#[derive(Default)]
pub(super) struct UsualWords {
    /// The key is the language of the phrases, and 1 for praise or -1 for complaint.
    by_sign: HashMap<(Lang, i8), WordCounts>,
}

#[derive(Default)]
struct WordCounts {
    /// Number of opinions. The opinion of a review about one phrase counts once.
    opinions: u32,
    /// How many of these opinions have a word near the phrase, by the form of the word.
    with_word: KeyMap<u64, u32>,
}

impl WordCounts {
    fn with_word(&self, form: u64) -> u32 {
        self.with_word.get(&form).copied().unwrap_or_default()
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
    /// Counts the words of `stances`, each of which comes with the language of its phrase.
    pub(super) fn of<'s>(stances: impl Iterator<Item = (Lang, &'s Stance)>) -> UsualWords {
        let mut usual = UsualWords::default();
        for (lang, stance) in stances {
            if stance.polarity == Polarity::Neutral {
                continue;
            }
            let key = (lang, sign_of(stance.polarity));
            let counts = usual.by_sign.entry(key).or_default();
            counts.opinions += 1;
            for word in &stance.words {
                *counts.with_word.entry(word.form).or_default() += 1;
            }
        }
        usual
    }

    /// Returns the words that tell most of a phrase in `lang`, at most [`SHARED_MAX`]. `reviews` has, for each review with
    /// this opinion of the phrase, the words near it; `own` has the counts of this phrase alone. Words of `names` are left out.
    pub(super) fn shared(
        &self,
        own: &UsualWords,
        lang: Lang,
        reviews: &[&[NearWord]],
        polarity: Polarity,
        names: &HashSet<String>,
    ) -> Vec<SharedWord> {
        let key = (lang, sign_of(polarity));
        let Some(usual) = self.by_sign.get(&key) else {
            return Vec::new();
        };
        let Some(own) = own.by_sign.get(&key) else {
            return Vec::new();
        };
        let all = reviews.len() as u32;
        // Opinions about other phrases.
        let others = u64::from(usual.opinions.saturating_sub(own.opinions));
        let mut shared = Vec::new();
        for (form, uses) in word_uses(reviews, polarity, names) {
            let uses_everywhere = usual.with_word(form).max(uses.reviews);
            let uses_elsewhere = u64::from(uses_everywhere.saturating_sub(own.with_word(form)));
            let is_frequent =
                uses.reviews >= SHARED_MIN && uses.reviews * REVIEWS_PER_SHARED >= all;
            // Both shares are multiplied by `2 * all * others`, so that they are whole numbers. Elsewhere half a use is added: a
            // word that was not seen there may still be used.
            let share_here = 2 * u64::from(uses.reviews) * others;
            let share_elsewhere = (2 * uses_elsewhere + 1) * u64::from(all);
            if is_frequent && share_here >= TIMES_MIN * share_elsewhere {
                // The number of its uses near this phrase, times their share of all its uses.
                let squared = u64::from(uses.reviews) * u64::from(uses.reviews);
                let weight = squared * 1000 / u64::from(uses_everywhere);
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
        .filter(|words| words.iter().any(|word| word.sign == sign))
        .count();
    with_opinion >= SHARED_MIN as usize && with_opinion * 10 >= reviews.len() * 3
}

/// 1 for praise, -1 for complaint.
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
