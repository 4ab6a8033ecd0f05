//! Phrases that are typical of reviews of five stars, or of reviews of at most three, by weighted log-odds.
//!
//! Candidates are one to three consecutive words without function words, names, or phrases of the taxonomy. There is no
//! part-of-speech tagger: a phrase counts as a noun phrase if enough of its uses look like one. In these, a determiner
//! is one or two words before it, and no content word follows; in German its last word is capitalized. The weight is
//! the difference of the log-odds of using the phrase in the two groups of reviews, smoothed by a prior of [`PRIOR`]
//! reviews, divided by its standard error (after Monroe, Colaresi and Quinn, 2008).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use whatlang::Lang;

use super::aspect::Phrases;
use super::language::{is_function_word, lists};
use super::text::{Item, TextWords};
use crate::model::insights::{InsightsTopic, Polarity};
use crate::model::{Dataset, Review};

/// The uses of a phrase.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    /// Reviews of five stars, and of at most three.
    groups: [u32; 2],
    uses: u32,
    /// Uses that look like a noun phrase.
    nouns: u32,
    /// Uses after the first word of a sentence, and how many of these are capitalized.
    within: u32,
    capitals: u32,
    /// Rows of the newest reviews that use it, and the last row counted.
    rows: Vec<u32>,
    last: Option<u32>,
}

impl Count {
    /// Adds the count of later rows.
    pub(super) fn add(&mut self, later: Count) {
        (0..2).for_each(|group| self.groups[group] += later.groups[group]);
        self.uses += later.uses;
        self.nouns += later.nouns;
        self.within += later.within;
        self.capitals += later.capitals;
        self.rows.extend(later.rows);
        self.rows.truncate(REVIEWS_SHOWN);
    }

    pub(super) fn reviews(&self) -> u32 {
        self.groups.iter().sum()
    }
}

/// Counts of phrases in lower case, by language.
pub(super) type Counts = HashMap<(Lang, String), Count>;

/// Counts the phrases of a sentence of the review of `row`.
pub(super) fn count(counts: &mut Counts, row: u32, review: &Review, lang: Lang, words: &TextWords) {
    let (items, Some(group)) = (&words.items, group(review)) else {
        return;
    };
    let is_content = |item: &Item| {
        let lower = words.lower(item);
        let is_word = item.is_word && (3..=WORD_BYTES_MAX).contains(&lower.len());
        is_word && !is_function_word(lang, lower)
    };
    let content: Vec<bool> = items.iter().map(is_content).collect();
    let is_determined = |at: usize| at > 0 && lists("determiner", words.lower(&items[at - 1]));
    let bare = |item: &Item| words.lower(item).trim_end_matches("'s");
    for last in 0..items.len() {
        let is_end = !content.get(last + 1).is_some_and(|is_content| *is_content);
        let is_noun = is_end && (lang != Lang::Deu || items[last].is_capital);
        for first in (last.saturating_sub(2)..=last).rev() {
            if !content[first] {
                break;
            }
            let phrase: Vec<&str> = items[first..=last].iter().map(bare).collect();
            let starts = is_determined(first)
                || (first > 0 && content[first - 1] && is_determined(first - 1));
            let count = counts.entry((lang, phrase.join(" "))).or_default();
            count.uses += 1;
            count.nouns += u32::from(is_noun && starts);
            count.within += u32::from(first > 0);
            count.capitals += u32::from(first > 0 && items[first].is_capital);
            if count.last.replace(row) != Some(row) {
                count.groups[group] += 1;
                if count.rows.len() < REVIEWS_SHOWN {
                    count.rows.push(row);
                }
            }
        }
    }
}

/// 0 for reviews of five stars, 1 for those of at most three, `None` for those of four.
fn group(review: &Review) -> Option<usize> {
    match review.rating.stars() {
        5 => Some(0),
        4 => None,
        _ => Some(1),
    }
}

/// Returns the strongest topics of each sign, praise first; `listed` returns the taxonomy's phrases in a language.
pub(super) fn topics<'p>(
    dataset: &Dataset,
    counts: &Counts,
    listed: impl Fn(Lang) -> &'p Phrases,
) -> Vec<InsightsTopic> {
    let mut totals = [0; 2];
    let with_text = dataset.reviews.iter().filter(|one| !one.text.is_empty());
    for group in with_text.filter_map(group) {
        totals[group] += 1;
    }
    let names = names(dataset, counts);
    let mut known = TextWords::default();
    let mut weighed: Vec<(i64, &str, Lang, &Count)> = Vec::new();
    for ((lang, phrase), count) in counts {
        let weight = weight(count.groups, totals);
        let (part, weight_min) = match phrase.contains(' ') {
            true => (4, WEIGHT_MIN),
            false => (2, SINGLE_WEIGHT_MIN),
        };
        if weight.abs() < weight_min
            || count.reviews() < COUNT_MIN
            || count.nouns * part < count.uses
            || phrase.split(' ').any(|word| names.contains(word))
        {
            continue;
        }
        // Drops phrases that the taxonomy lists, in any inflection.
        known.read(phrase);
        let found = listed(*lang).find(&mut known);
        if found.iter().all(|one| one.range != (0..phrase.len())) {
            weighed.push((weight, phrase, *lang, count));
        }
    }
    // Of phrases with equal weight the longer one is more specific.
    weighed.sort_by_key(|(weight, phrase, lang, _)| {
        let words = phrase.split(' ').count();
        (Reverse(weight.abs()), Reverse(words), *phrase, *lang as u8)
    });
    let mut topics: [Vec<InsightsTopic>; 2] = Default::default();
    for (weight, phrase, _, count) in weighed {
        let (told, polarity) = match weight > 0 {
            true => (&mut topics[0], Polarity::Positive),
            false => (&mut topics[1], Polarity::Negative),
        };
        let is_new = told.iter().all(|one| !overlaps(&one.phrase, phrase));
        if is_new && told.len() < TOPICS_MAX {
            let id = |row: &u32| dataset.reviews[*row as usize].id.clone();
            told.push(InsightsTopic {
                phrase: phrase.to_owned(),
                polarity,
                five_star_count: count.groups[0].into(),
                low_star_count: count.groups[1].into(),
                weight: weight.abs() as f64 / 100.0,
                review_ids: count.rows.iter().map(id).collect(),
            });
        }
    }
    topics.concat()
}

/// Words that name people: from the taxonomy, the business and the authors; and, except in German, words that are
/// mostly capitalized within sentences.
fn names(dataset: &Dataset, counts: &Counts) -> HashSet<String> {
    let (taxonomy, business) = (&dataset.taxonomy, &dataset.business);
    let people = taxonomy.technicians.iter();
    let names = people.flat_map(|one| one.aliases.iter().chain([&one.name]));
    let names = names.chain([&business.name]);
    let names = names.chain(dataset.reviews.iter().map(|review| &review.author));
    let words = names.flat_map(|name| name.split(|letter: char| !letter.is_alphanumeric()));
    let words = words.filter(|word| word.starts_with(char::is_uppercase));
    let mut names: HashSet<String> = words.map(str::to_lowercase).collect();
    for ((lang, phrase), count) in counts {
        let is_capital = count.within > 0 && count.capitals * 10 >= count.within * 6;
        if is_capital && *lang != Lang::Deu && !phrase.contains(' ') {
            names.insert(phrase.clone());
        }
    }
    names
}

/// Whether one of the two phrases contains all words of the other.
fn overlaps(one: &str, other: &str) -> bool {
    let is_within = |small: &str, large: &str| {
        let mut words = small.split(' ');
        words.all(|word| large.split(' ').any(|same| same == word))
    };
    is_within(one, other) || is_within(other, one)
}

/// The difference of the log-odds of a phrase that `counts` of `totals` reviews use, in hundredths of its standard
/// error; positive if the first group uses it more.
fn weight(counts: [u32; 2], totals: [u32; 2]) -> i64 {
    let uses = counts.map(|count| f64::from(count) + PRIOR);
    let odds = |group: usize| {
        let others = f64::from(totals[group]) + 2.0 * PRIOR - uses[group];
        (uses[group] / others.max(PRIOR)).ln()
    };
    let error = (1.0 / uses[0] + 1.0 / uses[1]).sqrt();
    // Rounded before any comparison, so that rounding errors of the logarithm have no effect.
    ((odds(0) - odds(1)) / error * 100.0).round() as i64
}

/// The prior: this many reviews with the phrase, and this many without it.
const PRIOR: f64 = 0.5;
/// Fewest reviews of five or at most three stars that use a topic.
const COUNT_MIN: u32 = 3;
/// Least weight of a phrase and of a single word, in hundredths. The bounds are one-sided, as praise and complaint are two
/// lists: of phrases that both groups of reviews use equally, 1 in 20, or 1 in 100 words, get into each list by chance.
const WEIGHT_MIN: i64 = 164;
const SINGLE_WEIGHT_MIN: i64 = 233;
/// Most topics of each sign.
const TOPICS_MAX: usize = 10;
/// Most reviews that a topic links to.
const REVIEWS_SHOWN: usize = 5;
/// Most bytes of a word of a phrase; a longer one ends the phrase.
const WORD_BYTES_MAX: usize = 40;
