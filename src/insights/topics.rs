//! Phrases that set reviews of five stars and those of at most three apart, by weighted log-odds.
//!
//! Candidates are one to three words in a row without function words, names, or what the taxonomy lists already. Without
//! a tagger, a phrase passes as noun-like where it often ends as a noun phrase does: a determiner stands before it or
//! before the word before it, and a function word, a mark or nothing after it. The odds that a review
//! of one group uses it are compared with those of the other, drawn towards each other by a prior of [`PRIOR`] reviews,
//! and divided by their standard error (after Monroe, Colaresi and Quinn, 2008).

use std::cmp::Reverse;
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
    /// Reviews of five stars, and of at most three.
    groups: [u32; 2],
    uses: u32,
    /// Uses that look like a noun phrase.
    nouns: u32,
    /// Uses after the first word of a sentence, and those of them with a capital.
    within: u32,
    capitals: u32,
    /// The newest rows.
    rows: Vec<u32>,
}

impl Count {
    /// Adds the count of later rows.
    fn add(&mut self, later: Count) {
        (0..2).for_each(|group| self.groups[group] += later.groups[group]);
        self.uses += later.uses;
        self.nouns += later.nouns;
        self.within += later.within;
        self.capitals += later.capitals;
        self.rows.extend(later.rows);
        self.rows.truncate(REVIEWS_SHOWN);
    }

    /// Whether it is used often enough, and mostly as nouns are.
    fn is_candidate(&self, phrase: &str) -> bool {
        let part = if phrase.contains(' ') { 4 } else { 2 };
        self.groups[0] + self.groups[1] >= COUNT_MIN && self.nouns * part >= self.uses
    }
}

type Counts = HashMap<(Lang, String), Count>;

/// Returns the strongest topics of each sign, praise first.
pub(super) fn topics(dataset: &Dataset, derived: &Derived, options: &Options) -> Vec<Topic> {
    let counts = counts(dataset, derived, options);
    let mut totals = [0; 2];
    for review in dataset.reviews.iter().filter(|one| !one.text.is_empty()) {
        if let Some(group) = group(review) {
            totals[group] += 1;
        }
    }
    let names = names(dataset, &counts);
    let is_topic = |lang: Lang, phrase: &str| {
        let is_named = phrase.split(' ').any(|word| names.contains(word));
        !is_named && !is_listed(&derived.basis.finder, lang, phrase)
    };
    let mut weighed: Vec<(i64, &str, Lang, &Count)> = Vec::new();
    for ((lang, phrase), count) in &counts {
        if count.is_candidate(phrase) && is_topic(*lang, phrase) {
            weighed.push((weight(count.groups, totals), phrase, *lang, count));
        }
    }
    let mut topics: Vec<Topic> = Vec::new();
    for (polarity, sign) in [(Polarity::Positive, 1), (Polarity::Negative, -1)] {
        // Of equals the longer phrase says more.
        weighed.sort_by_key(|(weight, phrase, lang, _)| {
            let words = phrase.split(' ').count();
            (Reverse(weight * sign), Reverse(words), *phrase, *lang as u8)
        });
        let first = topics.len();
        let mut single_words = 0;
        for (weight, phrase, _, count) in &weighed {
            if weight * sign < WEIGHT_MIN || topics.len() == first + TOPICS_MAX {
                break;
            }
            if topics[first..]
                .iter()
                .any(|one| overlaps(&one.phrase, phrase))
            {
                continue;
            }
            if !phrase.contains(' ') {
                single_words += 1;
                if single_words > SINGLE_WORDS_MAX {
                    continue;
                }
            }
            let id = |row: &u32| dataset.reviews[*row as usize].id.clone();
            topics.push(Topic {
                phrase: (*phrase).to_owned(),
                polarity,
                five_star_count: count.groups[0].into(),
                low_star_count: count.groups[1].into(),
                weight: (weight * sign) as f64 / 100.0,
                review_ids: count.rows.iter().map(id).collect(),
            });
        }
    }
    topics
}

/// Counts the phrases of all reviews.
fn counts(dataset: &Dataset, derived: &Derived, options: &Options) -> Counts {
    let rows = dataset.reviews.len();
    let parts = over_chunks(rows, options.threads, Words::default, |words, chunk| {
        let mut counts = Counts::new();
        for row in chunk {
            let review = &dataset.reviews[row];
            if let (Some(lang), Some(group)) = (derived.basis.languages[row], group(review)) {
                add(&mut counts, review, (row as u32, group), lang, words);
            }
        }
        // Of many chunks, each drops what only one review of it uses: that bounds what is held at once.
        if rows > CHUNK_ROWS {
            counts.retain(|_, one| one.groups[0] + one.groups[1] >= 2);
        }
        counts
    });
    let mut counts = Counts::new();
    for (phrase, part) in parts.into_iter().flatten() {
        counts.entry(phrase).or_default().add(part);
    }
    counts
}

/// 0 for reviews of five stars, 1 for those of at most three.
fn group(review: &Review) -> Option<usize> {
    match review.rating.stars() {
        5 => Some(0),
        4 => None,
        _ => Some(1),
    }
}

fn add(
    counts: &mut Counts,
    review: &Review,
    (row, group): (u32, usize),
    lang: Lang,
    words: &mut Words,
) {
    let mut seen: HashSet<String> = HashSet::new();
    for range in sentences(&review.text) {
        let sentence = &review.text[range];
        words.read(sentence);
        let items = words.items();
        let is_content = |item: &Item| {
            let lower = words.lower(item);
            let is_word = item.is_word && (3..=WORD_BYTES_MAX).contains(&lower.len());
            is_word && !is_function_word(lang, lower)
        };
        let is_determined = |at: usize| at > 0 && is_determiner(words.lower(&items[at - 1]));
        for last in 0..items.len() {
            let ends = items.get(last + 1).is_none_or(|next| !is_content(next));
            for first in (last.saturating_sub(2)..=last).rev() {
                if !is_content(&items[first]) {
                    break;
                }
                let bare = |item: &Item| words.lower(item).trim_end_matches("'s");
                let phrase: Vec<&str> = items[first..=last].iter().map(bare).collect();
                let phrase = phrase.join(" ");
                let starts = is_determined(first)
                    || (first > 0 && is_content(&items[first - 1]) && is_determined(first - 1));
                let is_capital = sentence[items[first].start..].starts_with(char::is_uppercase);
                let is_new = seen.insert(phrase.clone());
                let mut one = Count {
                    uses: 1,
                    nouns: u32::from(ends && starts),
                    within: u32::from(first > 0),
                    capitals: u32::from(first > 0 && is_capital),
                    rows: if is_new { vec![row] } else { Vec::new() },
                    ..Count::default()
                };
                one.groups[group] = u32::from(is_new);
                counts.entry((lang, phrase)).or_default().add(one);
            }
        }
    }
}

/// Words that name people: those of the taxonomy, the business and the authors; and, but in German, words that are
/// mostly written with a capital within sentences.
fn names(dataset: &Dataset, counts: &Counts) -> HashSet<String> {
    let (taxonomy, business) = (&dataset.taxonomy, &dataset.business);
    let people = taxonomy.technicians.iter();
    let known = people.flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let listed = business.technicians.iter().map(|person| &person.name);
    let authors = dataset.reviews.iter().map(|review| &review.author);
    let all = known.chain(listed).chain(authors).chain([&business.name]);
    let words = all.flat_map(|name| name.split(|letter: char| !letter.is_alphanumeric()));
    let mut names: HashSet<String> = words
        .filter(|word| word.starts_with(char::is_uppercase))
        .map(str::to_lowercase)
        .collect();
    let is_name = |lang: Lang, one: &Count| {
        lang != Lang::Deu && one.within > 0 && one.capitals * 10 >= one.within * 6
    };
    let single = counts
        .iter()
        .filter(|((_, phrase), _)| !phrase.contains(' '));
    let capital = single.filter(|((lang, _), one)| is_name(*lang, one));
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
    let is_within = |small: &str, large: &str| {
        let mut words = small.split(' ');
        words.all(|word| large.split(' ').any(|same| same == word))
    };
    is_within(one, other) || is_within(other, one)
}

/// The log-odds of a phrase that `counts` of `totals` reviews use, in hundredths of its standard error; above 0 where
/// the first group uses it more.
fn weight(counts: [u32; 2], totals: [u32; 2]) -> i64 {
    let uses = counts.map(|count| f64::from(count) + PRIOR);
    let odds = |group: usize| {
        let others = f64::from(totals[group]) + 2.0 * PRIOR - uses[group];
        (uses[group] / others.max(PRIOR)).ln()
    };
    let error = (1.0 / uses[0] + 1.0 / uses[1]).sqrt();
    // Rounded before anything is compared, so that the last digits of a logarithm decide nothing.
    ((odds(0) - odds(1)) / error * 100.0).round() as i64
}

/// Reviews with and without the phrase that the prior is worth, each.
const PRIOR: f64 = 0.5;
/// Reviews of five or at most three stars that have to use a phrase.
const COUNT_MIN: u32 = 3;
/// The least weight shown: what chance exceeds in one direction once in twenty phrases.
const WEIGHT_MIN: i64 = 164;
/// Topics of each sign.
const TOPICS_MAX: usize = 10;
/// Single words among them, the strongest: longer phrases say more.
const SINGLE_WORDS_MAX: u32 = 4;
/// Reviews that a topic links to.
const REVIEWS_SHOWN: usize = 5;
/// Bytes of a word; longer ones are no words.
const WORD_BYTES_MAX: usize = 40;
