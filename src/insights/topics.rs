//! Phrases that set reviews of five stars and those of at most three apart, by weighted log-odds.
//!
//! Candidates are one to three words in a row without function words, names, or what the taxonomy lists already. Without
//! a tagger, a phrase passes as noun-like where it often ends as a noun phrase does: a determiner stands before it or
//! before the word before it, and a function word, a mark or nothing after it. The odds that a review
//! of one group uses it are compared with those of the other, drawn towards each other by a prior of [`PRIOR`] reviews,
//! and divided by their standard error (after Monroe, Colaresi and Quinn, 2008).

use std::collections::{HashMap, HashSet};

use whatlang::Lang;

use super::Options;
use super::aspect::{Finder, Found};
use super::derive::Derived;
use super::language::{is_determiner, is_function_word};
use super::parallel::{CHUNK_ROWS, over_chunks};
use super::sentence::sentences;
use super::words::{Item, Words};
use crate::model::insights::{Polarity, Topic};
use crate::model::{Dataset, Review};

/// How often a phrase is used.
#[derive(Clone, Debug, Default)]
struct Count {
    /// Reviews of five stars, of four, and of at most three.
    groups: [u32; 3],
    /// Uses; among them those that look like the head of a noun phrase, and those with a capital within a sentence.
    uses: u32,
    nouns: u32,
    capitals: u32,
    within: u32,
    /// The newest rows.
    rows: Vec<u32>,
}

type Counts = HashMap<(Lang, String), Count>;

/// Returns the strongest topics of each sign, praise first.
pub(super) fn topics(dataset: &Dataset, derived: &Derived, options: &Options) -> Vec<Topic> {
    let count = dataset.reviews.len();
    let parts = over_chunks(count, options.threads, Words::default, |words, rows| {
        let mut counts = Counts::new();
        for row in rows {
            if let Some(lang) = derived.basis.languages[row] {
                add(&mut counts, &dataset.reviews[row], row as u32, lang, words);
            }
        }
        // Of many chunks, each forgets what only one review of it uses: that bounds what is held at once.
        if count > CHUNK_ROWS {
            counts.retain(|_, one| one.groups.iter().sum::<u32>() >= 2);
        }
        counts
    });
    let counts = merged(parts);
    let totals = group_sizes(dataset);
    let names = names(dataset, &counts);
    let mut weighed: Vec<(i64, &(Lang, String), &Count)> = counts
        .iter()
        .filter(|((lang, phrase), one)| {
            one.groups[0] + one.groups[2] >= COUNT_MIN
                && one.nouns * 4 >= one.uses
                && (phrase.contains(' ') || one.nouns * 2 >= one.uses)
                && !phrase.split(' ').any(|word| names.contains(word))
                && !is_listed(&derived.basis.finder, *lang, phrase)
        })
        .map(|(phrase, one)| {
            let uses = [one.groups[0], one.groups[2]].map(u64::from);
            (weight(uses, totals), phrase, one)
        })
        .collect();
    let mut topics = Vec::new();
    for (polarity, sign) in [(Polarity::Positive, 1), (Polarity::Negative, -1)] {
        weighed.sort_by_key(|(weight, (lang, phrase), _)| {
            // Of equals the longer phrase says more.
            let words = phrase.split(' ').count();
            (
                -weight * sign,
                std::cmp::Reverse(words),
                phrase.clone(),
                *lang as u8,
            )
        });
        let mut kept: Vec<&str> = Vec::new();
        for (weight, (_, phrase), one) in &weighed {
            if weight * sign < WEIGHT_MIN || kept.len() == TOPICS_MAX {
                break;
            }
            if kept.iter().any(|other| overlaps(other, phrase)) {
                continue;
            }
            kept.push(phrase);
            let ids = one
                .rows
                .iter()
                .map(|row| dataset.reviews[*row as usize].id.clone());
            topics.push(Topic {
                phrase: phrase.clone(),
                polarity,
                five_star_count: one.groups[0].into(),
                low_star_count: one.groups[2].into(),
                weight: (weight * sign) as f64 / 100.0,
                review_ids: ids.collect(),
            });
        }
    }
    topics
}

/// Adds up the counts of chunks.
fn merged(parts: Vec<Counts>) -> Counts {
    let mut counts = Counts::new();
    for (phrase, part) in parts.into_iter().flatten() {
        let whole = counts.entry(phrase).or_default();
        for (group, more) in whole.groups.iter_mut().zip(part.groups) {
            *group += more;
        }
        whole.uses += part.uses;
        whole.nouns += part.nouns;
        whole.capitals += part.capitals;
        whole.within += part.within;
        // Chunks come in the order of the rows.
        whole.rows.extend(part.rows);
        whole.rows.truncate(REVIEWS_SHOWN);
    }
    counts
}

/// Reviews with text of five, and of at most three stars.
fn group_sizes(dataset: &Dataset) -> [u64; 2] {
    let of = |stars: std::ops::RangeInclusive<u8>| {
        let reviews = dataset
            .reviews
            .iter()
            .filter(|review| !review.text.is_empty());
        reviews
            .filter(|review| stars.contains(&review.rating.stars()))
            .count() as u64
    };
    [of(5..=5), of(1..=3)]
}

fn add(counts: &mut Counts, review: &Review, row: u32, lang: Lang, words: &mut Words) {
    let group = match review.rating.stars() {
        5 => 0,
        4 => 1,
        _ => 2,
    };
    let mut seen: HashSet<String> = HashSet::new();
    for range in sentences(&review.text) {
        let sentence = &review.text[range];
        words.read(sentence);
        let items = words.items();
        let is_content = |item: &Item| {
            let lower = words.lower(item);
            item.is_word
                && lower.len() >= 3
                && lower.len() <= WORD_BYTES_MAX
                && !is_function_word(lang, lower)
        };
        for last in 0..items.len() {
            let ends = items.get(last + 1).is_none_or(|next| !is_content(next));
            for first in (last.saturating_sub(2)..=last).rev() {
                if !is_content(&items[first]) {
                    break;
                }
                let phrase: Vec<&str> = items[first..=last]
                    .iter()
                    .map(|item| bare(words, item))
                    .collect();
                let phrase = phrase.join(" ");
                let determined = |at: usize| {
                    at.checked_sub(1)
                        .is_some_and(|at| is_determiner(words.lower(&items[at])))
                };
                let starts = determined(first)
                    || (first > 0 && is_content(&items[first - 1]) && determined(first - 1));
                let one = counts.entry((lang, phrase.clone())).or_default();
                one.uses += 1;
                one.nouns += u32::from(ends && starts);
                one.within += u32::from(first > 0);
                let is_capital = sentence[items[first].start..].starts_with(char::is_uppercase);
                one.capitals += u32::from(first > 0 && is_capital);
                if seen.insert(phrase) {
                    one.groups[group] += 1;
                    if one.rows.len() < REVIEWS_SHOWN {
                        one.rows.push(row);
                    }
                }
            }
        }
    }
}

/// The word without a possessive ending.
fn bare<'w>(words: &'w Words, item: &Item) -> &'w str {
    let word = words.lower(item);
    word.strip_suffix("'s").unwrap_or(word)
}

/// Words that name people: those of the taxonomy, the business and the authors; and, but in German, words that are
/// mostly written with a capital within sentences.
fn names(dataset: &Dataset, counts: &Counts) -> HashSet<String> {
    let taxonomy = dataset.taxonomy.technicians.iter();
    let known = taxonomy.flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let listed = dataset
        .business
        .technicians
        .iter()
        .map(|person| &person.name);
    let authors = dataset.reviews.iter().map(|review| &review.author);
    let parts = known
        .chain(listed)
        .chain(authors)
        .chain([&dataset.business.name]);
    let words = parts.flat_map(|name| name.split(|letter: char| !letter.is_alphanumeric()));
    let mut names: HashSet<String> = words
        .filter(|word| word.starts_with(char::is_uppercase))
        .map(str::to_lowercase)
        .collect();
    let capital = counts.iter().filter(|((lang, phrase), one)| {
        *lang != Lang::Deu
            && !phrase.contains(' ')
            && one.within > 0
            && one.capitals * 10 >= one.within * 6
    });
    names.extend(capital.map(|((_, phrase), _)| phrase.clone()));
    names
}

/// Whether the taxonomy lists the phrase, in whichever inflection.
fn is_listed(finder: &Finder, lang: Lang, phrase: &str) -> bool {
    let (mut words, mut found): (Words, Vec<Found>) = Default::default();
    words.read(phrase);
    finder.find(Some(lang), &words, &mut found);
    found.iter().any(|one| one.range == (0..phrase.len()))
}

/// Whether one phrase holds all words of the other.
fn overlaps(one: &str, other: &str) -> bool {
    let within = |small: &str, large: &str| {
        small
            .split(' ')
            .all(|word| large.split(' ').any(|same| same == word))
    };
    within(one, other) || within(other, one)
}

/// The log-odds of a phrase that `counts` of `totals` reviews use, in hundredths of its standard error; above 0 where
/// the first group uses it more.
fn weight(counts: [u64; 2], totals: [u64; 2]) -> i64 {
    let odds = |group: usize| {
        let uses = counts[group] as f64 + PRIOR;
        (
            uses,
            (uses / (totals[group] as f64 + 2.0 * PRIOR - uses).max(PRIOR)).ln(),
        )
    };
    let (first, second) = (odds(0), odds(1));
    let error = (1.0 / first.0 + 1.0 / second.0).sqrt();
    // Rounded before anything is compared, so that the last digits of a logarithm decide nothing.
    ((first.1 - second.1) / error * 100.0).round() as i64
}

/// Reviews with and without the phrase that the prior is worth, each.
const PRIOR: f64 = 0.5;
/// Reviews of five or at most three stars that have to use a phrase.
const COUNT_MIN: u32 = 3;
/// The least weight shown: what chance exceeds in one direction once in twenty phrases.
const WEIGHT_MIN: i64 = 164;
/// Topics of each sign.
const TOPICS_MAX: usize = 10;
/// Reviews that a topic links to.
const REVIEWS_SHOWN: usize = 5;
/// Bytes of a word; longer ones are no words.
const WORD_BYTES_MAX: usize = 40;
