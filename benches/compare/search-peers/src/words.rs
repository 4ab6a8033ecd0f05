//! Three words that must all occur, each as a word or the beginning of one: SQLite FTS5 and tantivy.
//!
//! A word is a run of letters and digits as reviewd sees them, so that all engines have the same ones. SQLite gets the
//! runs alone, keeps which review has which (`detail=none`), and is asked for prefixes. tantivy gets every beginning of
//! every run as a term of its own, so that a word is one term.

use std::collections::BTreeSet;

use reviewd::search::filter::{Query, is_of_word};
use reviewd::search::query::Buffers;
use rusqlite::{Connection, params};
use tantivy::query::{BooleanQuery, Query as Wanted, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyDocument, Term};

use crate::ngrams::{newest_and_count, searcher, tokens_of, writer};
use crate::support::{Data, Search, Searches, fold};
use crate::{Answer, PAGE};

/// Longest beginning of a word in characters that tantivy gets as a term; longer words are not drawn.
const PREFIX_MAX: usize = 32;

/// Draws `count` searches for three random words of the texts.
pub(crate) fn draw(searches: &mut Searches<'_>, count: usize) -> Vec<Search> {
    let is_run = |word: &str| word.len() <= PREFIX_MAX && word.chars().all(is_of_word);
    let drawn = std::iter::repeat_with(|| searches.draw("three words"));
    drawn
        .filter(|search| words_of(&search.query(&mut Buffers::default())).all(is_run))
        .take(count)
        .collect()
}

fn words_of<'q>(query: &Query<'q>) -> impl Iterator<Item = &'q str> + use<'q> {
    let words = query.filter.words.expect("a search for words");
    words.terms().map(|term| term.text)
}

fn runs(folded: &str) -> impl Iterator<Item = &str> {
    let runs = folded.split(|character| !is_of_word(character));
    runs.filter(|run| !run.is_empty())
}

/// An FTS5 table of the runs, without the texts.
pub(crate) struct FullText(Connection);

impl FullText {
    pub(crate) fn new(data: &Data) -> FullText {
        FullText(full_text(data).expect("SQLite takes the reviews"))
    }

    pub(crate) fn bytes(&self) -> u64 {
        crate::fulltext::bytes_of(&self.0)
    }

    pub(crate) fn answer(&self, query: &Query<'_>) -> Answer {
        self.try_answer(query).expect("SQLite answers")
    }

    fn try_answer(&self, query: &Query<'_>) -> rusqlite::Result<Answer> {
        let wanted: Vec<String> = words_of(query).map(|word| format!("\"{word}\"*")).collect();
        let wanted = wanted.join(" ");
        let matched = self
            .0
            .prepare_cached("SELECT count(*) FROM texts WHERE texts MATCH ?")?
            .query_row([&wanted], |row| row.get(0))?;
        let newest = self
            .0
            .prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid LIMIT ?")?
            .query_map(params![wanted, PAGE as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Answer { matched, newest })
    }
}

fn full_text(data: &Data) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    // The tokenizer `ascii` takes everything but ASCII's signs for parts of words, and there are no signs but spaces.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF;
         CREATE VIRTUAL TABLE texts USING fts5(text, content = '', detail = none, columnsize = 0,
             tokenize = 'ascii');
         INSERT INTO texts (texts, rank) VALUES ('hashsize', 268435456);",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)")?;
        for (given, row) in data.reviews.iter().zip(0_i64..) {
            let folded = fold(&given.text);
            insert.execute((row, runs(&folded).collect::<Vec<_>>().join(" ")))?;
        }
    }
    transaction.commit()?;
    connection.execute_batch("INSERT INTO texts (texts) VALUES ('optimize');")?;
    Ok(connection)
}

/// Which review has which beginnings of words.
pub(crate) struct Prefixes {
    searcher: Searcher,
    field: Field,
    reviews: u32,
}

impl Prefixes {
    pub(crate) fn new(data: &Data) -> Prefixes {
        prefixes(data).expect("tantivy takes the reviews")
    }

    pub(crate) fn bytes(&self) -> u64 {
        let usage = self.searcher.space_usage().expect("tantivy knows its size");
        usage.total().get_bytes()
    }

    pub(crate) fn answer(&self, query: &Query<'_>) -> Answer {
        let terms: Vec<Box<dyn Wanted>> = words_of(query)
            .map(|word| -> Box<dyn Wanted> {
                let term = Term::from_field_text(self.field, word);
                Box::new(TermQuery::new(term, IndexRecordOption::Basic))
            })
            .collect();
        let wanted = BooleanQuery::intersection(terms);
        newest_and_count(&self.searcher, &wanted, 0..self.reviews).expect("tantivy answers")
    }
}

fn prefixes(data: &Data) -> tantivy::Result<Prefixes> {
    let (mut writer, [field]) = writer([("words", IndexRecordOption::Basic)])?;
    for review in &data.reviews {
        let folded = fold(&review.text);
        let all: BTreeSet<&str> = runs(&folded).flat_map(beginnings).collect();
        let mut document = TantivyDocument::new();
        document.add_pre_tokenized_text(field, tokens_of(all.into_iter().map(|text| (0, text))));
        writer.add_document(document)?;
    }
    Ok(Prefixes {
        searcher: searcher(writer)?,
        field,
        reviews: data.reviews.len() as u32,
    })
}

/// Returns the beginnings of `run` of up to [`PREFIX_MAX`] characters.
fn beginnings(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().skip(1).map(|(at, _)| at);
    let ends = ends.chain([run.len()]).take(PREFIX_MAX);
    ends.map(|end| &run[..end])
}
