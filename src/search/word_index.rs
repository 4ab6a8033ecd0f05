//! The words of all reviews by their stems: which reviews have a form of a word, and how often. Relevance is computed
//! from it; the exact search does not use it.
//!
//! A word is stemmed in the language of its review, or in the one that most reviews have if that is not known. Languages
//! without a stemmer share one list, in which each word is its own stem. The subjects of words (`vocabulary.rs`) have
//! lists of reviews like stems.

use crate::model::Review;
use crate::search::arena::Arena;
use crate::search::filter::{WORD_BYTES_MAX, is_of_word};
use crate::search::scores::{LENGTH_AVERAGE, LENGTH_MAX};
use crate::search::stem::{algorithm_of, stem};
use crate::search::vocabulary::{SubjectNumber, subjects_len, subjects_of_stem};
use rust_stemmers::Algorithm;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The character that every kind of apostrophe is folded to.
const APOSTROPHE: char = '\'';

/// The stems of all reviews.
#[derive(Clone, Debug, Default)]
pub(super) struct WordIndex {
    languages: Vec<LanguageWords>,
    /// For each stem, the rows of the reviews that have it, ascending. A row takes one or two varints:
    ///
    /// 1. the difference to the row before, doubled, plus 1 if the second one follows;
    /// 2. how often the review has the stem, if not once.
    postings: Vec<u8>,
    /// Where the postings of each subject are in `postings`.
    subjects: Vec<Range<usize>>,
    /// The number of words of each review, relative to the average.
    lengths: Vec<u8>,
}

/// The stems of one language.
#[derive(Clone, Debug)]
struct LanguageWords {
    /// `None` if each word is its own stem.
    algorithm: Option<Algorithm>,
    /// The stems, sorted, one after the other.
    stems: String,
    /// Where each stem ends in `stems`.
    stem_ends: Vec<u32>,
    /// Where the postings of each stem end in [`WordIndex::postings`], and before that, where those of the first begin.
    postings_ends: Vec<u64>,
}

/// Returns the words of a folded text: runs of letters, digits and marks, except those of more than 32 bytes.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|character| !is_of_word(character) && character != APOSTROPHE);
    let words = runs.flat_map(words_of_run);
    words.filter(|word| (1..=WORD_BYTES_MAX).contains(&word.len()))
}

/// Returns the words of a run of letters and apostrophes, as of "l'avocat". A contraction of "not" is one word, because
/// "won't" is no form of "won".
fn words_of_run(run: &str) -> impl Iterator<Item = &str> {
    let run = run.trim_matches(APOSTROPHE);
    let is_negation = run.ends_with("n't");
    run.split(move |character| character == APOSTROPHE && !is_negation)
}

impl WordIndex {
    /// Collects the words of `reviews`, whose folded texts are in `arena`.
    pub(super) fn build(arena: &Arena, reviews: &[Review]) -> WordIndex {
        let mut builder = WordIndexBuilder::new();
        let main_language = main_language(reviews);
        for (row, review) in (0..).zip(reviews) {
            let language = primary_language(review).unwrap_or(main_language);
            let text = str::from_utf8(arena.text(row)).unwrap_or_default();
            builder.add(row, algorithm_of(language), text);
        }
        builder.finish()
    }

    /// Calls `each` with the rows of reviews that have a form of the folded `word`, and the number of such words in them.
    /// Each row comes once.
    pub(super) fn each_row(&self, word: &str, mut each: impl FnMut(u32, u32)) {
        for language in &self.languages {
            let postings = language.postings_of(word);
            let postings = postings.and_then(|range| self.postings.get(range));
            unpack_counted(postings.unwrap_or_default(), &mut each);
        }
    }

    /// Tells whether a review has a form of the folded `word`.
    pub(super) fn has(&self, word: &str) -> bool {
        let mut languages = self.languages.iter();
        languages.any(|language| language.postings_of(word).is_some())
    }

    /// Calls `each` with the rows of reviews that have a word of `subject`, and the number of such words in them.
    pub(super) fn each_row_of_subject(
        &self,
        subject: SubjectNumber,
        mut each: impl FnMut(u32, u32),
    ) {
        let range = self.subjects.get(usize::from(subject));
        let postings = range.and_then(|range| self.postings.get(range.clone()));
        unpack_counted(postings.unwrap_or_default(), &mut each);
    }

    /// Returns the number of words of the review at `row`; that of an average review is [`LENGTH_AVERAGE`], and the
    /// longest are [`LENGTH_MAX`].
    pub(super) fn length(&self, row: u32) -> u8 {
        self.lengths.get(row as usize).copied().unwrap_or_default()
    }

    /// Returns the size in bytes.
    pub(super) fn memory(&self) -> u64 {
        let mut bytes = size_of_val(&*self.postings)
            + size_of_val(&*self.subjects)
            + size_of_val(&*self.lengths);
        for language in &self.languages {
            bytes += language.stems.len()
                + size_of_val(&*language.stem_ends)
                + size_of_val(&*language.postings_ends);
        }
        bytes as u64
    }
}

impl LanguageWords {
    /// Returns the range of the postings of the stem of `word`.
    fn postings_of(&self, word: &str) -> Option<Range<usize>> {
        let stem = stem(self.algorithm, word);
        let mut low = 0;
        let mut high = self.stem_ends.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if self.stem_at(middle) < &*stem {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.stem_ends.len() || self.stem_at(low) != stem {
            return None;
        }
        Some(self.postings_ends[low] as usize..self.postings_ends[low + 1] as usize)
    }

    /// Returns the stem at this position of the sorted stems.
    fn stem_at(&self, position: usize) -> &str {
        let start = match position.checked_sub(1) {
            Some(before) => self.stem_ends[before] as usize,
            None => 0,
        };
        &self.stems[start..self.stem_ends[position] as usize]
    }
}

/// Returns the primary language of the tag of a review: "pt" of "pt-BR".
fn primary_language(review: &Review) -> Option<&str> {
    review.language.as_deref()?.split('-').next()
}

/// Returns the language of most reviews; the first in the alphabet among equals, and empty if none is known.
fn main_language(reviews: &[Review]) -> &str {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for language in reviews.iter().filter_map(primary_language) {
        *counts.entry(language).or_default() += 1;
    }
    let usual = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    usual.map_or("", |(language, _)| language)
}

/// Returns each number of words relative to the average of the reviews that have any.
fn relative_lengths(counts: &[u32]) -> Vec<u8> {
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let with_words = counts.iter().filter(|count| **count > 0).count() as u64;
    let mut lengths = Vec::with_capacity(counts.len());
    for count in counts {
        let length = u64::from(*count) * with_words * u64::from(LENGTH_AVERAGE) / total.max(1);
        lengths.push(u8::try_from(length).unwrap_or(LENGTH_MAX).min(LENGTH_MAX));
    }
    lengths
}

/// Collects the words of reviews.
struct WordIndexBuilder<'t> {
    languages: Vec<LanguageBuilder<'t>>,
    /// The postings of each subject.
    subject_lists: Vec<PostingsBuilder>,
    /// The number of words of each review.
    word_counts: Vec<u32>,
    /// The stems of a review; a buffer.
    stems: Vec<u32>,
    /// The subjects of a review; a buffer.
    subjects: Vec<SubjectNumber>,
}

impl<'t> WordIndexBuilder<'t> {
    fn new() -> WordIndexBuilder<'t> {
        let mut subject_lists = Vec::new();
        subject_lists.resize_with(subjects_len(), PostingsBuilder::default);
        WordIndexBuilder {
            languages: Vec::new(),
            subject_lists,
            word_counts: Vec::new(),
            stems: Vec::new(),
            subjects: Vec::new(),
        }
    }

    /// Adds the words of the `text` of the review at `row`, which is greater than that of the review before.
    fn add(&mut self, row: u32, algorithm: Option<Algorithm>, text: &'t str) {
        let number = self.language_number(algorithm);
        let language = &mut self.languages[number];
        self.stems.clear();
        self.stems
            .extend(words_of(text).map(|word| language.stem_of(word)));
        self.word_counts.push(self.stems.len() as u32);
        self.stems.sort_unstable();
        self.subjects.clear();
        for same in self.stems.chunk_by(|left, right| left == right) {
            let stem = same[0] as usize;
            language.lists[stem].push(row, same.len() as u32);
            let of_stem = language.subjects[stem];
            for _ in same {
                self.subjects.extend(of_stem);
            }
        }
        self.subjects.sort_unstable();
        for same in self.subjects.chunk_by(|left, right| left == right) {
            self.subject_lists[usize::from(same[0])].push(row, same.len() as u32);
        }
    }

    /// Returns the index of the language with this `algorithm`, which is added if it is new.
    fn language_number(&mut self, algorithm: Option<Algorithm>) -> usize {
        let mut languages = self.languages.iter();
        if let Some(known) = languages.position(|language| language.algorithm == algorithm) {
            return known;
        }
        self.languages.push(LanguageBuilder::new(algorithm));
        self.languages.len() - 1
    }

    /// Joins the postings of all subjects and stems.
    fn finish(self) -> WordIndex {
        let mut index = WordIndex {
            lengths: relative_lengths(&self.word_counts),
            ..WordIndex::default()
        };
        for list in self.subject_lists {
            let start = index.postings.len();
            index.postings.extend_from_slice(&list.bytes);
            index.subjects.push(start..index.postings.len());
        }
        for language in self.languages {
            let language = language.finish(&mut index.postings);
            index.languages.push(language);
        }
        index.postings.shrink_to_fit();
        index
    }
}

/// The stems of one language while reviews are read.
struct LanguageBuilder<'t> {
    algorithm: Option<Algorithm>,
    /// The number of the stem of each word.
    words: HashMap<&'t str, u32>,
    stems: HashMap<String, u32>,
    /// The postings of each stem.
    lists: Vec<PostingsBuilder>,
    /// The subjects of each stem.
    subjects: Vec<&'static [SubjectNumber]>,
}

impl<'t> LanguageBuilder<'t> {
    fn new(algorithm: Option<Algorithm>) -> LanguageBuilder<'t> {
        LanguageBuilder {
            algorithm,
            words: HashMap::new(),
            stems: HashMap::new(),
            lists: Vec::new(),
            subjects: Vec::new(),
        }
    }

    /// Returns the number of the stem of `word`.
    fn stem_of(&mut self, word: &'t str) -> u32 {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let stem = stem(self.algorithm, word).into_owned();
        let seen = self.stems.get(&stem).copied();
        let number = seen.unwrap_or(self.lists.len() as u32);
        if seen.is_none() {
            let subjects = self.algorithm.map(|one| subjects_of_stem(one, &stem));
            self.subjects.push(subjects.unwrap_or_default());
            self.lists.push(PostingsBuilder::default());
            self.stems.insert(stem, number);
        }
        self.words.insert(word, number);
        number
    }

    /// Sorts the stems, and appends their postings to `postings`.
    fn finish(self, postings: &mut Vec<u8>) -> LanguageWords {
        let mut sorted: Vec<(String, u32)> = self.stems.into_iter().collect();
        sorted.sort_unstable();
        let mut language = LanguageWords {
            algorithm: self.algorithm,
            stems: String::new(),
            stem_ends: Vec::with_capacity(sorted.len()),
            postings_ends: vec![postings.len() as u64],
        };
        for (stem, number) in sorted {
            language.stems.push_str(&stem);
            language.stem_ends.push(language.stems.len() as u32);
            postings.extend_from_slice(&self.lists[number as usize].bytes);
            language.postings_ends.push(postings.len() as u64);
        }
        language
    }
}

/// The postings of one stem.
#[derive(Default)]
struct PostingsBuilder {
    bytes: Vec<u8>,
    last_row: u32,
}

impl PostingsBuilder {
    /// Appends a row greater than the last one, which has `count` words.
    fn push(&mut self, row: u32, count: u32) {
        let delta = u64::from(row - self.last_row);
        self.last_row = row;
        push_varint(&mut self.bytes, delta << 1 | u64::from(count > 1));
        if count > 1 {
            push_varint(&mut self.bytes, u64::from(count));
        }
    }
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a varint from the beginning of `bytes`; `None` at their end.
fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
        if shift > 56 {
            return None;
        }
    }
}

/// Calls `each` with every row of `postings` and its number of words.
fn unpack_counted(mut postings: &[u8], each: &mut impl FnMut(u32, u32)) {
    let mut row = 0_u32;
    while let Some(first) = take_varint(&mut postings) {
        row = row.wrapping_add((first >> 1) as u32);
        let count = if first & 1 == 1 {
            take_varint(&mut postings).unwrap_or(1)
        } else {
            1
        };
        each(row, count as u32);
    }
}
