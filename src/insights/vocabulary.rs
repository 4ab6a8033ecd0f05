//! The words that phrases are made of: those that enough reviews use, without small words and names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::Options;
use super::derive::Derived;
use super::parallel::{CHUNK_ROWS, over_chunks};
use super::sentence::sentences;
use super::words::{Item, Words};
use crate::model::{Dataset, Review};

/// Words by number, in order of how many reviews use them.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<String>,
    ids: HashMap<String, u16>,
}

/// A word, or two words in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Phrase {
    first: u16,
    /// [`ALONE`] for a single word.
    second: u16,
}

impl Vocabulary {
    /// The [`WORDS_MAX`] words that most scored reviews use, each in at least [`REVIEWS_MIN`] of them.
    pub(super) fn of(dataset: &Dataset, derived: &Derived, options: &Options) -> Vocabulary {
        let names = names(dataset);
        let count = dataset.reviews.len();
        let parts = over_chunks(count, options.threads, Words::default, |words, rows| {
            let mut uses: HashMap<String, u32> = HashMap::new();
            let mut seen: HashSet<String> = HashSet::new();
            for review in scored(dataset, derived, rows) {
                for range in sentences(&review.text) {
                    words.read(&review.text[range]);
                    for item in words.items() {
                        let word = bare(words, item);
                        if is_content(item, word) && !seen.contains(word) && !names.contains(word) {
                            seen.insert(word.to_owned());
                        }
                    }
                }
                for word in seen.drain() {
                    *uses.entry(word).or_default() += 1;
                }
            }
            // Of many chunks, each forgets what only one review of it uses: that bounds what is held at once, and
            // a word that is common anywhere is used twice somewhere.
            let keep = if count > CHUNK_ROWS { 2 } else { 1 };
            uses.retain(|_, uses| *uses >= keep);
            uses
        });
        let mut uses: BTreeMap<String, u32> = BTreeMap::new();
        for (word, count) in parts.into_iter().flatten() {
            *uses.entry(word).or_default() += count;
        }
        let mut uses: Vec<(String, u32)> = uses
            .into_iter()
            .filter(|(_, count)| *count >= REVIEWS_MIN)
            .collect();
        uses.sort_by(|(word, count), (other, more)| more.cmp(count).then_with(|| word.cmp(other)));
        uses.truncate(WORDS_MAX);
        let words: Vec<String> = uses.into_iter().map(|(word, _)| word).collect();
        let ids = words.iter().cloned().zip(0..).collect();
        Vocabulary { words, ids }
    }

    /// Puts the phrases of a sentence into `phrases`, each once, ascending.
    pub(super) fn phrases(&self, words: &Words, phrases: &mut Vec<Phrase>) {
        phrases.clear();
        let mut before: Option<u16> = None;
        for item in words.items() {
            let word = if item.is_word {
                self.ids.get(bare(words, item)).copied()
            } else {
                None
            };
            if let Some(second) = word {
                phrases.push(Phrase {
                    first: second,
                    second: ALONE,
                });
                if let Some(first) = before.filter(|first| *first != second) {
                    phrases.push(Phrase { first, second });
                }
            }
            before = word;
        }
        phrases.sort_unstable();
        phrases.dedup();
    }

    /// The words of `phrase`.
    pub(super) fn render(&self, phrase: Phrase) -> String {
        let word = |id: u16| self.words.get(usize::from(id)).map_or("", String::as_str);
        match phrase.second {
            ALONE => word(phrase.first).to_owned(),
            second => format!("{} {}", word(phrase.first), word(second)),
        }
    }
}

impl Phrase {
    /// Whether one of the phrases holds all words of the other.
    pub(super) fn overlaps(self, other: Phrase) -> bool {
        let holds = |word: u16, phrase: Phrase| {
            word == ALONE || word == phrase.first || word == phrase.second
        };
        let within =
            |small: Phrase, large: Phrase| holds(small.first, large) && holds(small.second, large);
        within(self, other) || within(other, self)
    }
}

/// The scored reviews of `rows`.
fn scored<'d>(
    dataset: &'d Dataset,
    derived: &Derived,
    rows: Range<usize>,
) -> impl Iterator<Item = &'d Review> {
    let outcomes = &derived.outcomes[rows.clone()];
    let pairs = dataset.reviews[rows].iter().zip(outcomes);
    pairs
        .filter(|(_, outcome)| outcome.score().is_some())
        .map(|(review, _)| review)
}

/// The word without a possessive ending.
fn bare<'w>(words: &'w Words, item: &Item) -> &'w str {
    let word = words.lower(item);
    word.strip_suffix("'s").unwrap_or(word)
}

fn is_content(item: &Item, word: &str) -> bool {
    item.is_word
        && word.len() >= 3
        && word.len() <= WORD_BYTES_MAX
        && STOP_WORDS.binary_search(&word).is_err()
}

/// The words of the names of people and of the business, which are no topics.
fn names(dataset: &Dataset) -> HashSet<String> {
    let people = dataset.taxonomy.technicians.iter();
    let known = people.flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let listed = dataset
        .business
        .technicians
        .iter()
        .map(|person| &person.name);
    let mut words = Words::default();
    let mut names = HashSet::new();
    for name in known.chain(listed).chain([&dataset.business.name]) {
        words.read(name);
        names.extend(
            words
                .items()
                .iter()
                .map(|item| bare(&words, item).to_owned()),
        );
    }
    names
}

/// Words that phrases may be made of: with two of them in a phrase there are at most four million phrases.
const WORDS_MAX: usize = 2_048;
/// Reviews that have to use a word.
const REVIEWS_MIN: u32 = 3;
/// A longer word is none.
const WORD_BYTES_MAX: usize = 40;
/// Marks a phrase of one word; no number of a word, as there are [`WORDS_MAX`].
const ALONE: u16 = u16::MAX;

/// Words that say nothing by themselves, sorted: looking through all of them for each word took an eighth of the time.
const STOP_WORDS: [&str; 153] = [
    "about",
    "above",
    "actually",
    "after",
    "again",
    "all",
    "almost",
    "already",
    "also",
    "always",
    "and",
    "another",
    "any",
    "anyone",
    "anything",
    "are",
    "aren't",
    "around",
    "asked",
    "back",
    "because",
    "been",
    "before",
    "being",
    "between",
    "both",
    "but",
    "came",
    "can",
    "can't",
    "come",
    "could",
    "couldn't",
    "did",
    "didn't",
    "does",
    "doesn't",
    "doing",
    "don't",
    "done",
    "down",
    "each",
    "else",
    "even",
    "ever",
    "every",
    "everyone",
    "everything",
    "few",
    "first",
    "for",
    "from",
    "get",
    "getting",
    "give",
    "goes",
    "going",
    "got",
    "had",
    "hadn't",
    "has",
    "hasn't",
    "have",
    "haven't",
    "having",
    "her",
    "here",
    "hers",
    "him",
    "his",
    "how",
    "i'd",
    "i'll",
    "i'm",
    "i've",
    "into",
    "isn't",
    "it's",
    "its",
    "just",
    "know",
    "last",
    "let",
    "like",
    "made",
    "make",
    "many",
    "may",
    "more",
    "most",
    "much",
    "myself",
    "not",
    "now",
    "off",
    "once",
    "one",
    "only",
    "other",
    "our",
    "out",
    "over",
    "own",
    "put",
    "said",
    "same",
    "say",
    "see",
    "she",
    "should",
    "since",
    "some",
    "someone",
    "something",
    "such",
    "take",
    "tell",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "through",
    "told",
    "too",
    "took",
    "two",
    "until",
    "upon",
    "very",
    "was",
    "wasn't",
    "way",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "would",
    "you",
];

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn words_that_say_nothing_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
