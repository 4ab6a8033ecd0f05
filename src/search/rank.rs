//! Ranked search: lists reviews by how well they fit the words, also those that lack some of them.
//!
//! The score of a review is the sum of BM25 over the words (`scores.rs`), each mostly in its best sense:
//!
//! - A review has a word as often as it has forms with the same stem in its language.
//! - In languages that write compounds as one word, it has the word once if a longer word contains it.
//! - It counts half if only a longer word begins with the word, as "shower" with "show".
//! - A mention of a person, a service or an aspect with the word in its name counts like the word.
//! - Another word of its subject (`vocabulary.rs`) counts half as much.
//!
//! Two words side by side count like a third. Two words that mean one thing together, as "show up", count as one word.
//! Words such as "good" count half. Words of complaint or praise prefer few or many stars. A negation only adds to reviews
//! that fit otherwise. The newest comes first among equals.
//!
//! Filters, phrases, excluded words and `query` stay exact. Function words, and words that only ask for reviews, are left
//! out, unless there are no others.

use std::borrow::Cow;

use crate::model::{Rating, Row};
use crate::search::filter::{Filter, Query, Sort, Term, Words};
use crate::search::index::Index;
use crate::search::question::question_word;
use crate::search::run::{Page, Scratch, each_match, run};
use crate::search::scores::{FACTOR_MAX, LENGTH_AVERAGE, Scores, WEIGHT_MAX};
use crate::search::stem::{algorithm_of, stem};
use crate::search::vocabulary::{
    SubjectNumber, is_function_word, languages_of_function_word, phrases_of, subject_of_phrase,
    subjects_of,
};
use crate::search::word_index::words_of;
use crate::search::work::ROW;

/// Characters from which a word also stands for longer words that begin with it.
const PREFIX_CHARS_MIN: usize = 4;

/// Bytes from which a stem also stands for the compounds that contain it.
const COMPOUND_BYTES_MIN: usize = 5;

/// Bytes of a superlative before "est", so that "test" is none.
const POSITIVE_BYTES_MIN: usize = 3;

/// Languages that write compounds as one word.
const COMPOUND_LANGUAGES: [&str; 9] = ["de", "nl", "da", "sv", "nb", "nn", "no", "fi", "hu"];

/// A word that ranks, or two that do so together.
struct RankingWord<'b> {
    text: Cow<'b, str>,
    kind: RankingKind,
    /// Of [`WEIGHT_MAX`].
    weight: u32,
}

/// What a ranking word finds besides the reviews with just its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankingKind {
    /// Reviews with a form of it, or a longer word that begins with it.
    Word,
    /// Nothing: it may be anywhere in a text, as in scripts without spaces.
    Anywhere,
    /// Reviews with another phrase or a word of this subject, as it is a phrase of the vocabulary, such as "show up".
    Phrase(SubjectNumber),
}

/// The stars that the words of a search prefer.
#[derive(Clone, Copy)]
enum Preference {
    Few,
    Many,
    None,
}

/// Tells whether `words` has a word that ranks, besides phrases and excluded words.
pub fn can_rank(words: &Words<'_>) -> bool {
    words.terms().any(|term| is_ranking(&term))
}

fn is_ranking(term: &Term<'_>) -> bool {
    !term.is_excluded && !term.is_quoted
}

/// Runs `query` in any order, with an exact count of the reviews that match it.
pub fn search(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    match query.sort {
        Sort::Relevance => rank(index, query, scratch),
        _ => run(index, query, scratch),
    }
}

fn rank(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    let newest = Query {
        sort: Sort::Newest,
        cursor: None,
        ..*query
    };
    let mut page = run(index, &newest, scratch);
    page.next = None;
    page.ranked = Some(page.matched);
    let Some(words) = query.filter.words else {
        return page;
    };
    let mut scores = std::mem::take(&mut scratch.scores);
    scores.begin(index.len());
    let ranking = ranking_words(words);
    for word in &ranking {
        match positive_of(index, word) {
            Some(positive) => {
                let positive = RankingWord {
                    text: positive.into(),
                    ..*word
                };
                score_word(index, &positive, &mut scores, scratch);
            }
            None => score_word(index, word, &mut scores, scratch),
        }
    }
    let terms: Vec<Term<'_>> = words.terms().filter(is_ranking).collect();
    for pair in terms.windows(2) {
        score_pair(index, pair, &ranking, &mut scores, scratch);
    }
    for term in words.terms().filter(is_scored_negation) {
        score_negation(index, term.text, &mut scores, scratch);
    }
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    let preference = preference_of(words);
    let factor = |row| factor_of(preference, index.rating(Row(row)));
    let exact = exact_words(words);
    let filter = Filter {
        words: exact.as_deref().and_then(Words::parse),
        ..query.filter
    };
    if filter == Filter::default() {
        scores.fit_all(limit, factor);
    } else {
        each_match(index, &filter, scratch, |row| {
            scores.fit(row, limit, factor)
        });
    }
    scratch.work().spend(u64::from(index.len()) / 2);
    // Without any, as for a part of a word of two letters, the reviews with all words are listed.
    if scores.fitting > 0 {
        page.ranked = Some(scores.fitting);
        page.rows = scores.best(limit).map(Row).collect();
    }
    scratch.scores = scores;
    page
}

/// Returns the terms of `words` that are exact in a ranked search too, as a text; `None` if there are none.
fn exact_words(words: Words<'_>) -> Option<String> {
    let exact: Vec<String> = words
        .terms()
        .filter(|term| !is_ranking(term))
        .map(|term| term.to_string())
        .collect();
    if exact.is_empty() {
        None
    } else {
        Some(exact.join(" "))
    }
}

/// Returns what ranks, each once: the phrases of the vocabulary, and the parts of the other terms, without function words
/// and words that only ask, unless nothing else is left. A word with a subject is no function word.
fn ranking_words(words: Words<'_>) -> Vec<RankingWord<'_>> {
    let terms: Vec<Term<'_>> = words.terms().filter(is_ranking).collect();
    let language = language_bit_of(&terms);
    let mut ranking: Vec<RankingWord<'_>> = Vec::new();
    let mut others: Vec<Term<'_>> = Vec::new();
    let mut rest = terms.iter().peekable();
    while let Some(term) = rest.next() {
        let next = rest.peek().map_or("", |next| next.text);
        if let Some(subject) = subject_of_phrase(term.text, next) {
            let phrase = format!("{} {next}", term.text);
            push_once(&mut ranking, phrase.into(), RankingKind::Phrase(subject));
            rest.next();
        } else if is_telling(term, language) {
            others.push(*term);
        }
    }
    if ranking.is_empty() && others.is_empty() {
        others = terms;
    }
    for term in others {
        let mut parts = words_of(term.text).peekable();
        if parts.peek().is_none() {
            push_once(&mut ranking, term.text.into(), RankingKind::Anywhere);
        }
        for part in parts {
            push_once(&mut ranking, part.into(), RankingKind::Word);
        }
    }
    ranking
}

/// Returns `terms` without function words and words that only ask for reviews; all of them if nothing else is left.
pub fn telling_terms(terms: Vec<Term<'_>>) -> Vec<Term<'_>> {
    let language = language_bit_of(&terms);
    let telling = terms.iter().filter(|term| is_telling(term, language));
    let telling: Vec<Term<'_>> = telling.copied().collect();
    if telling.is_empty() { terms } else { telling }
}

/// Tells whether `term` says what the reviews should be about. A phrase always does. A word does not if it is a function
/// word of the language with this bit, or only asks for reviews.
fn is_telling(term: &Term<'_>, language: u32) -> bool {
    term.is_quoted || !(is_function_word(term.text, language) || question_word(term.text).asks)
}

fn push_once<'b>(ranking: &mut Vec<RankingWord<'b>>, text: Cow<'b, str>, kind: RankingKind) {
    if ranking.iter().any(|known| known.text == text) {
        return;
    }
    let weight = if question_word(&text).judges {
        WEIGHT_MAX / 2
    } else {
        WEIGHT_MAX
    };
    ranking.push(RankingWord { text, kind, weight });
}

/// Tells whether `term` negates other words of the search, so that reviews with it score higher. Unlike
/// [`is_negation`](super::question::is_negation), this excludes contractions such as "didn't", which negate their own verb.
fn is_scored_negation(term: &Term<'_>) -> bool {
    is_ranking(term) && question_word(term.text).negates
}

/// Returns the stars that `words` prefer: none if they both complain and praise.
fn preference_of(words: Words<'_>) -> Preference {
    let mut is_complaint = false;
    let mut is_praise = false;
    for term in words.terms().filter(is_ranking) {
        let word = question_word(term.text);
        is_complaint |= word.complains;
        is_praise |= word.praises;
    }
    match (is_complaint, is_praise) {
        (true, false) => Preference::Few,
        (false, true) => Preference::Many,
        _ => Preference::None,
    }
}

/// Returns the factor of a review with this rating.
fn factor_of(preference: Preference, rating: Rating) -> u32 {
    let distance = match preference {
        Preference::None => 0,
        Preference::Few => u32::from(rating.stars()) - 1,
        Preference::Many => 5 - u32::from(rating.stars()),
    };
    FACTOR_MAX - distance.saturating_sub(1).min(2)
}

/// Returns the bit of the language that has most of `terms` among its function words; the first among equals.
fn language_bit_of(terms: &[Term<'_>]) -> u32 {
    let mut counts = [0_u32; u32::BITS as usize];
    for term in terms {
        let languages = languages_of_function_word(term.text);
        for (bit, count) in counts.iter_mut().enumerate() {
            *count += languages >> bit & 1;
        }
    }
    let mut language = 0;
    for (bit, count) in counts.iter().enumerate() {
        if *count > counts[language] {
            language = bit;
        }
    }
    1 << language
}

/// Returns the form of an English superlative that reviews have, such as "rude" for "rudest", which has a stem of its own;
/// `None` for other words, and if reviews have the superlative, or no such form.
fn positive_of(index: &Index, word: &RankingWord<'_>) -> Option<String> {
    let start = word.text.strip_suffix("est")?;
    let is_word = word.kind == RankingKind::Word;
    if !is_word || start.len() < POSITIVE_BYTES_MIN || index.words.has(&word.text) {
        return None;
    }
    let mut forms = vec![format!("{start}e"), start.to_owned()];
    if let Some(start) = start.strip_suffix('i') {
        forms.push(format!("{start}y"));
    }
    let mut letters = start.chars().rev();
    let last = letters.next()?;
    if letters.next() == Some(last) {
        forms.push(start[..start.len() - last.len_utf8()].to_owned());
    }
    forms.into_iter().find(|form| index.words.has(form))
}

/// Adds the score of a word, in the best of its senses.
fn score_word(index: &Index, word: &RankingWord<'_>, scores: &mut Scores, scratch: &mut Scratch) {
    list_word(index, word, scores, scratch);
    scratch.work().spend(scores.listed() * ROW * 2);
    scores.end_list(word.weight, |row| index.words.length(row));
    let subjects = match word.kind {
        RankingKind::Word => subjects_of(&word.text),
        RankingKind::Anywhere => Vec::new(),
        RankingKind::Phrase(subject) => vec![subject],
    };
    for subject in subjects {
        let list = |row, count| scores.list(row, count);
        index.words.each_row_of_subject(subject, list);
        scratch.work().spend(scores.listed() * ROW * 2);
        scores.end_list(word.weight / 2, |row| index.words.length(row));
    }
    if word.kind == RankingKind::Word {
        let aspects = index.aspects.as_ref();
        let aspects = aspects.map(|aspects| aspects.of_any_polarity());
        let technicians = Some(&*index.technicians);
        let services = Some(&*index.services);
        let names = [technicians, services, aspects];
        for names in names.into_iter().flatten() {
            names.each_row_with_word(&word.text, |row| scores.list(row, 1));
            scratch.work().spend(scores.listed() * ROW * 2);
            scores.end_list(word.weight, |_| LENGTH_AVERAGE);
        }
    }
    scores.end_word();
}

/// Adds the score of two words side by side, if one of them ranks: half if the other does not.
fn score_pair(
    index: &Index,
    pair: &[Term<'_>],
    ranking: &[RankingWord<'_>],
    scores: &mut Scores,
    scratch: &mut Scratch,
) {
    let ranks = |term: &Term<'_>| ranking.iter().any(|word| word.text == term.text);
    let weight = match pair.iter().filter(|term| ranks(term)).count() {
        0 => return,
        1 => WEIGHT_MAX / 2,
        _ => WEIGHT_MAX,
    };
    let texts: Vec<&str> = pair.iter().map(|term| term.text).collect();
    let phrase = format!("\"{}\"", texts.join(" "));
    let filter = Filter {
        words: Words::parse(&phrase),
        ..Filter::default()
    };
    each_match(index, &filter, scratch, |row| scores.list(row, 1));
    scratch.work().spend(scores.listed() * ROW * 2);
    scores.end_list(weight, |row| index.words.length(row));
    scores.end_word();
}

/// Lists the reviews that have a word.
fn list_word(index: &Index, word: &RankingWord<'_>, scores: &mut Scores, scratch: &mut Scratch) {
    if let RankingKind::Phrase(subject) = word.kind {
        for phrase in phrases_of(subject) {
            let quoted = format!("\"{phrase}\"");
            let phrase = Filter {
                words: Words::parse(&quoted),
                ..Filter::default()
            };
            each_match(index, &phrase, scratch, |row| scores.list(row, 1));
        }
        return;
    }
    let words = Filter {
        words: Words::parse(&word.text),
        ..Filter::default()
    };
    if word.kind == RankingKind::Anywhere {
        each_match(index, &words, scratch, |row| scores.list(row, 1));
        return;
    }
    let list = |row, count| scores.list(row, count);
    index.words.each_row(&word.text, list);
    for language in COMPOUND_LANGUAGES {
        if index.languages.rows_of_whole(language).is_none() {
            continue;
        }
        let stem = stem(algorithm_of(language), &word.text);
        if stem.len() >= COMPOUND_BYTES_MIN {
            let filter = Filter {
                text: Some(&stem),
                language: Some(language),
                ..Filter::default()
            };
            each_match(index, &filter, scratch, |row| scores.list(row, 1));
        }
    }
    if word.text.chars().count() >= PREFIX_CHARS_MIN {
        each_match(index, &words, scratch, |row| scores.list_part(row));
    }
}

/// Adds the score of a negation to the reviews that have a score.
fn score_negation(index: &Index, text: &str, scores: &mut Scores, scratch: &mut Scratch) {
    let list = |row, count| scores.list(row, count);
    index.words.each_row(text, list);
    scratch.work().spend(scores.listed() * ROW * 2);
    scores.end_list_of_bonus(WEIGHT_MAX, |row| index.words.length(row));
}
