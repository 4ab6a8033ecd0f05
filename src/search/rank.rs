//! Ranked search: lists reviews by how well they fit the words, also those that lack some of them.
//!
//! The score of a review is the sum of BM25 over the words (`scores.rs`). A review has a word as often as it has forms with the same stem in its language, or once if a longer word begins with it. A person,
//! a service or an aspect with the word in its name counts like another word. The newest comes first among equals.
//!
//! Filters, phrases, excluded words and `query` stay exact. Function words are left out, unless there are no others.

use crate::model::Row;
use crate::search::filter::{Filter, Query, Sort, Term, Words};
use crate::search::index::Index;
use crate::search::run::{Page, Scratch, each_match, run};
use crate::search::scores::{LENGTH_AVERAGE, Scores};
use crate::search::word_index::words_of;
use crate::search::work::ROW;
use crate::wire::text::LANGUAGES;

/// Characters from which a word also stands for longer words that begin with it.
const PREFIX_CHARS_MIN: usize = 3;

/// A word that ranks.
struct RankingWord<'b> {
    text: &'b str,
    /// Whether reviews with a form of it, or a longer word, also have it; otherwise it may be anywhere in a text, as in
    /// scripts without spaces.
    is_word: bool,
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
    let words = query.filter.words.map(ranking_words).unwrap_or_default();
    let newest = Query {
        sort: Sort::Newest,
        cursor: None,
        ..*query
    };
    let mut page = run(index, &newest, scratch);
    page.next = None;
    page.ranked = Some(page.matched);
    let mut scores = std::mem::take(&mut scratch.scores);
    scores.begin(index.len());
    for word in &words {
        score_word(index, word, &mut scores, scratch);
    }
    let exact = exact_words(query.filter.words);
    let filter = Filter {
        words: exact.as_deref().and_then(Words::parse),
        ..query.filter
    };
    each_match(index, &filter, scratch, |row| scores.fit(row));
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    scores.sort_best(limit);
    scratch.work().spend(scores.fitting.len() as u64 * ROW * 2);
    // Without any, as for a part of a word of two letters, the reviews with all words are listed.
    if !scores.fitting.is_empty() {
        page.ranked = Some(scores.fitting.len() as u32);
        let best = scores.fitting.iter().take(limit);
        page.rows = best.map(|fitting| Row(fitting.row)).collect();
    }
    scratch.scores = scores;
    page
}

/// Returns the terms of `words` that are exact in a ranked search too, as a text; `None` if there are none.
fn exact_words(words: Option<Words<'_>>) -> Option<String> {
    let terms = words.iter().flat_map(Words::terms);
    let exact: Vec<String> = terms
        .filter(|term| !is_ranking(term))
        .map(|term| term.to_string())
        .collect();
    if exact.is_empty() {
        None
    } else {
        Some(exact.join(" "))
    }
}

/// Returns the words that rank, each once: the parts of terms, without function words unless there are no others.
fn ranking_words(words: Words<'_>) -> Vec<RankingWord<'_>> {
    let terms: Vec<Term<'_>> = words.terms().filter(is_ranking).collect();
    let language = language_of(&terms);
    let told: Vec<Term<'_>> = terms
        .iter()
        .filter(|term| !has_word(language, term.text))
        .copied()
        .collect();
    let told = if told.is_empty() { terms } else { told };
    let mut ranking: Vec<RankingWord<'_>> = Vec::new();
    for term in told {
        let known = ranking.len();
        for part in words_of(term.text) {
            push_once(&mut ranking, part, true);
        }
        if ranking.len() == known && words_of(term.text).next().is_none() {
            push_once(&mut ranking, term.text, false);
        }
    }
    ranking
}

fn push_once<'b>(ranking: &mut Vec<RankingWord<'b>>, text: &'b str, is_word: bool) {
    if ranking.iter().all(|known| known.text != text) {
        ranking.push(RankingWord { text, is_word });
    }
}

/// Returns the function words of the language that has most of `terms` among them.
fn language_of(terms: &[Term<'_>]) -> &'static str {
    let common = |language: &&str| {
        let of_language = terms.iter().filter(|term| has_word(language, term.text));
        of_language.count()
    };
    LANGUAGES
        .lines()
        .rev()
        .max_by_key(common)
        .unwrap_or_default()
}

fn has_word(language: &str, word: &str) -> bool {
    language.split(' ').any(|known| known == word)
}

/// Adds the score of a word, and that of the names with it.
fn score_word(index: &Index, word: &RankingWord<'_>, scores: &mut Scores, scratch: &mut Scratch) {
    if word.is_word {
        let count = |row, count| scores.count(row, count);
        index.words.each_row(word.text, count);
    }
    if !word.is_word || word.text.chars().count() >= PREFIX_CHARS_MIN {
        let filter = Filter {
            words: Words::parse(word.text),
            ..Filter::default()
        };
        each_match(index, &filter, scratch, |row| scores.count_once(row));
    }
    scratch.work().spend(scores.counted() * ROW * 4);
    scores.add(|row| index.words.length(row));
    if !word.is_word {
        return;
    }
    let aspects = index.aspects.as_ref();
    let aspects = aspects.map(|aspects| aspects.of_any_polarity());
    let names = [Some(&index.technicians), Some(&index.services), aspects];
    for names in names.into_iter().flatten() {
        names.each_row_with_word(word.text, |row| scores.count_once(row));
        scratch.work().spend(scores.counted() * ROW * 2);
        scores.add(|_| LENGTH_AVERAGE);
    }
}
