//! Names of people whom customers thank, without a list of the people: candidates with counts, for the owner to check.
//!
//! A name is a capitalized word after an expression of thanks ("thanks to Dave", "gracias a Marta", "ask for Dave") or
//! after a title ("Herr Vogt"). The number of reviews that name it includes every capitalized use. A word is no name if
//!
//! - it often follows an article or the like ("the Team", but not "with Dave");
//! - it is also written in lower case;
//! - the taxonomy, the business or the list of other capitalized words has it;
//! - it stands before a greeting ("Liebe Grüße"), or after one, where the author signs.
//!
//! In languages without capital letters no names are found.
//!
//! A line of `thanked.txt` is a role and the words that have it: expressions of thanks, words that may stand between them
//! and a name, titles, capitalized words that are no names, greetings, and prepositions that may precede a name.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::keys::{KeyMap, key};
use super::language::{WordList, is_listed};
use super::text::{Item, TextWords};
use crate::model::Dataset;
use crate::model::insights::NameCandidate;
use crate::wire::sentence::sentences;

/// Fewest reviews that thank a candidate.
const THANKED_MIN: u32 = 3;
/// Most candidates.
const CANDIDATES_MAX: usize = 20;
/// Most reviews that a candidate links to.
const REVIEWS_SHOWN: usize = 5;
/// Most words between an expression of thanks and a name.
const BETWEEN_MAX: usize = 5;
/// Fewest letters of a name.
const NAME_CHARS_MIN: usize = 3;
/// Most letters of a name.
const NAME_CHARS_MAX: usize = 20;

/// Uses of the words that may be names, by the key of the word.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NameCounts {
    by_word: KeyMap<u64, NameCount>,
}

/// The uses of a word.
#[derive(Debug, Default, Serialize, Deserialize)]
struct NameCount {
    /// As it was first written with a capital letter.
    name: String,
    /// Reviews that write it with a capital letter.
    reviews: u32,
    /// Reviews that thank it or give it a title.
    thanked: u32,
    /// Uses with a capital letter after the first word of a sentence.
    capitalized: u32,
    /// Those of them after an article or the like.
    determined: u32,
    /// Uses in lower case.
    lower: u32,
    /// The newest reviews that name it.
    rows: Vec<u32>,
    /// The last review counted in `reviews`, as its row plus 1.
    last: u32,
    /// The last review counted in `thanked`, as its row plus 1.
    last_thanked: u32,
}

impl NameCounts {
    /// Counts the words of a sentence of the review of `row`.
    pub(super) fn count(&mut self, row: u32, words: &TextWords) {
        let determiners = WordList::named("determiner");
        for (at, item) in words.items.iter().enumerate() {
            if !item.is_capital {
                // Words that are never capitalized are not counted, to bound memory.
                if let Some(count) = self.by_word.get_mut(&item.key) {
                    count.lower += 1;
                }
                continue;
            }
            if !is_name(words, item) || is_before_greeting(words, at) {
                continue;
            }
            let is_thanked = is_thanked(words, at);
            let count = self.by_word.entry(item.key).or_default();
            if count.name.is_empty() {
                count.name = title_case(words.lower(item));
            }
            if at > 0 {
                count.capitalized += 1;
                let before = words.items[at - 1].key;
                let is_article = determiners.has(before) && !NameRole::Preposition.has(before);
                count.determined += u32::from(is_article);
            }
            if count.last != row + 1 {
                count.last = row + 1;
                count.reviews += 1;
                if count.rows.len() < REVIEWS_SHOWN {
                    count.rows.push(row);
                }
            }
            if is_thanked && count.last_thanked != row + 1 {
                count.last_thanked = row + 1;
                count.thanked += 1;
            }
        }
    }

    /// Drops the words that only one review uses, without thanks, to bound memory.
    pub(super) fn retain_frequent(&mut self) {
        self.by_word
            .retain(|_, count| count.reviews >= 2 || count.thanked > 0);
    }

    /// Adds the counts of a part, whose reviews have these `rows`.
    pub(super) fn add(&mut self, part: NameCounts, rows: &[u32]) {
        for (word, more) in part.by_word {
            let count = self.by_word.entry(word).or_default();
            if count.name.is_empty() {
                count.name = more.name;
            }
            count.reviews += more.reviews;
            count.thanked += more.thanked;
            count.capitalized += more.capitalized;
            count.determined += more.determined;
            count.lower += more.lower;
            let shown = more.rows.iter().map(|number| rows[*number as usize]);
            count.rows.extend(shown);
            count.rows.sort_unstable();
            count.rows.truncate(REVIEWS_SHOWN);
        }
    }

    /// The candidates, ordered by the number of reviews that thank them.
    pub(super) fn candidates(&self, dataset: &Dataset) -> Vec<NameCandidate> {
        let known = known_words(dataset);
        let mut candidates = Vec::new();
        for (word, count) in &self.by_word {
            let is_lower = count.lower * 10 > count.capitalized;
            let is_determined = count.determined * 4 > count.capitalized;
            let is_other = known.contains(word) || is_no_name(*word);
            if count.thanked < THANKED_MIN || is_lower || is_determined || is_other {
                continue;
            }
            let reviews = count.rows.iter().map(|row| &dataset.reviews[*row as usize]);
            candidates.push(NameCandidate {
                name: count.name.clone(),
                review_count: count.reviews.into(),
                thanked_count: count.thanked.into(),
                review_ids: reviews.map(|review| review.id.clone()).collect(),
            });
        }
        candidates.sort_by_key(|one| {
            let counts = (Reverse(one.thanked_count), Reverse(one.review_count));
            (counts, one.name.clone())
        });
        candidates.truncate(CANDIDATES_MAX);
        candidates
    }
}

/// Returns the names that the reviews of `dataset` thank, without other insights.
#[must_use]
pub fn name_candidates(dataset: &Dataset) -> Vec<NameCandidate> {
    let mut counts = NameCounts::default();
    let mut words = TextWords::default();
    for (row, review) in (0..).zip(&dataset.reviews) {
        for range in sentences(&review.text) {
            words.read(&review.text[range]);
            counts.count(row, &words);
        }
    }
    counts.candidates(dataset)
}

/// Whether a capitalized word is no name of a person, such as "Sie", "Danke", "Grüße" or "Team".
#[must_use]
pub fn is_usual_word(word: &str) -> bool {
    let key = key(&word.to_lowercase());
    is_listed(key) || NameRole::Thanks.has(key) || is_no_name(key)
}

/// Whether a word greets, or is what the author wishes: "Grüße", "Bonne continuation".
#[must_use]
pub fn is_greeting(word: &str) -> bool {
    NameRole::Greeting.has(key(&word.to_lowercase()))
}

fn is_no_name(key: u64) -> bool {
    NameRole::Other.has(key) || NameRole::Greeting.has(key)
}

/// Whether a greeting follows the word at `at`, so that this is a part of it.
fn is_before_greeting(words: &TextWords, at: usize) -> bool {
    let next = words.items.get(at + 1);
    next.is_some_and(|next| NameRole::Greeting.has(next.key))
}

/// Whether the word at `at` follows an expression of thanks or a title.
fn is_thanked(words: &TextWords, at: usize) -> bool {
    let before = words.items[..at].iter().rev().filter(|item| item.is_word);
    for (distance, item) in before.enumerate() {
        if distance == 0 && NameRole::Title.has(item.key) {
            return true;
        }
        if NameRole::Thanks.has(item.key) {
            return true;
        }
        // After a greeting the author signs.
        if NameRole::Greeting.has(item.key) {
            return false;
        }
        // "Thanks to Dave and Marta": names may stand between, too.
        let is_other_name = item.is_capital && is_name(words, item);
        let is_between = NameRole::Between.has(item.key) || is_other_name;
        if distance == BETWEEN_MAX || !is_between {
            return false;
        }
    }
    false
}

/// Whether a word has the form of a name, and is neither a function word nor an opinion.
fn is_name(words: &TextWords, item: &Item) -> bool {
    let lower = words.lower(item);
    let count = lower.chars().count();
    let is_long = (NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&count);
    let is_usual = is_listed(item.key) || item.entry.valence.is_some();
    is_long && !is_usual && lower.chars().all(char::is_alphabetic)
}

fn title_case(lower: &str) -> String {
    let mut letters = lower.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// The keys of the words that name the business, its people, services and places.
fn known_words(dataset: &Dataset) -> HashSet<u64> {
    let taxonomy = &dataset.taxonomy;
    let business = &dataset.business;
    let mut texts = vec![
        &business.name,
        &business.address.locality,
        &business.address.region,
    ];
    for person in &taxonomy.technicians {
        texts.push(&person.name);
        texts.extend(&person.aliases);
    }
    for concept in taxonomy.services.iter().chain(&taxonomy.service_areas) {
        texts.push(&concept.label);
        texts.extend(&concept.phrases);
    }
    let mut known = HashSet::new();
    for text in texts {
        for word in text.split(|letter: char| !letter.is_alphabetic()) {
            known.insert(key(&word.to_lowercase()));
        }
    }
    known
}

/// What a word of `thanked.txt` is.
#[derive(Clone, Copy, Debug)]
enum NameRole {
    Thanks = 1,
    Between = 2,
    Title = 4,
    Other = 8,
    Preposition = 16,
    Greeting = 32,
}

impl NameRole {
    fn has(self, key: u64) -> bool {
        ROLES.get(&key).is_some_and(|roles| roles & self as u8 != 0)
    }
}

/// The roles of each word.
static ROLES: LazyLock<KeyMap<u64, u8>> = LazyLock::new(|| {
    let mut roles: KeyMap<u64, u8> = KeyMap::default();
    for line in include_str!("thanked.txt").lines() {
        let (name, words) = line.split_once(' ').unwrap_or_default();
        let role = match name {
            "thanks" => NameRole::Thanks,
            "between" => NameRole::Between,
            "title" => NameRole::Title,
            "preposition" => NameRole::Preposition,
            "greeting" => NameRole::Greeting,
            _ => NameRole::Other,
        };
        for word in words.split(' ') {
            *roles.entry(key(word)).or_default() |= role as u8;
        }
    }
    roles
});
