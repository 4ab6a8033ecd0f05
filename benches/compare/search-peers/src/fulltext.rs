//! SQLite in memory: an FTS5 table of trigrams over the folded texts, and a table with indexes for the filters.
//!
//! The trigram tokenizer folds nothing, because the texts are already folded. Needles of one or two characters
//! have no trigram; for them every text is scanned, as SQLite's documentation says. `matched` comes from count(*),
//! and the newest rows from a second statement in the order of rowid, which FTS5 keeps; both are prepared once.
//!
//! Searches for words use another table: the runs of letters and digits of a text, without positions (`detail=none`),
//! searched by prefixes.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::plain::{names_of, range, runs, stars, tokens};
use crate::support::{Data, fold};
use crate::{Answer, Engine, PAGE};
use reviewd::search::filter::{Filter, Query, RatingSet};
use reviewd::wire::date::Date;

/// The database, and the dates that map a filter's days to rows, as in all engines.
pub(crate) struct FullText {
    connection: Connection,
    dates: Vec<Date>,
}

impl Engine for FullText {
    fn new(data: &Data, is_for_words: bool) -> FullText {
        let connection = if is_for_words {
            build_words(data)
        } else {
            build(data)
        };
        let connection = connection.expect("SQLite takes the reviews");
        connection.set_prepared_statement_cache_capacity(256);
        FullText {
            connection,
            dates: data.reviews.iter().map(|review| review.date).collect(),
        }
    }

    fn bytes(&self) -> u64 {
        let pragma = |name| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .expect("a number")
        };
        pragma("page_count").unsigned_abs() * pragma("page_size").unsigned_abs()
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        self.try_answer(&query.filter).expect("SQLite answers")
    }
}

impl FullText {
    fn try_answer(&self, filter: &Filter<'_>) -> rusqlite::Result<Answer> {
        let (row, rest, values) = self.select(filter);
        let matched = self
            .connection
            .prepare_cached(&format!("SELECT count(*) {rest}"))?
            .query_row(params_from_iter(&values), |row| row.get(0))?;
        let page = format!("SELECT {row} {rest} ORDER BY {row} LIMIT {PAGE}");
        let newest = self
            .connection
            .prepare_cached(&page)?
            .query_map(params_from_iter(&values), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Answer { matched, newest })
    }

    /// Returns the column of the row number, the SQL after the selected columns, and the values of its parameters.
    ///
    /// The needle is searched first, and the other conditions are tested on its results: otherwise the planner may run
    /// the full-text search once for each row of a filter.
    fn select(&self, filter: &Filter<'_>) -> (&'static str, String, Vec<Value>) {
        let mut values: Vec<Value> = Vec::new();
        let grams = filter.text.filter(|text| text.chars().count() >= 3);
        let grams = grams.map(|text| format!("\"{}\"", text.replace('"', "\"\"")));
        let words = filter.words.map(|words| {
            let prefixes = words.terms().map(|term| format!("\"{}\"*", term.text));
            prefixes.collect::<Vec<_>>().join(" ")
        });
        let matched = grams.or(words);
        let narrows = filter.ratings != RatingSet::ALL;
        let (row, mut rest) = match (&matched, narrows) {
            (None, _) => ("review.row", "FROM review WHERE 1".to_owned()),
            (Some(_), false) => ("texts.rowid", "FROM texts WHERE texts MATCH ?".to_owned()),
            (Some(_), true) => (
                "texts.rowid",
                "FROM texts CROSS JOIN review ON review.row = texts.rowid WHERE texts MATCH ?"
                    .to_owned(),
            ),
        };
        let is_matched = matched.is_some();
        match (matched, filter.text) {
            (Some(matched), _) => values.push(matched.into()),
            (None, Some(text)) => {
                rest.push_str(" AND instr(review.text, ?) > 0");
                values.push(text.to_owned().into());
            }
            (None, None) => {}
        }
        if filter.since.is_some() || filter.until.is_some() {
            let rows = range(&self.dates, filter);
            rest.push_str(&format!(" AND {row} >= ? AND {row} < ?"));
            values.extend([Value::from(rows.start as i64), Value::from(rows.end as i64)]);
        }
        if narrows {
            let (least, most) = stars(filter.ratings).unwrap_or((1, 0));
            rest.push_str(" AND review.rating BETWEEN ? AND ?");
            values.extend([Value::from(i64::from(least)), Value::from(i64::from(most))]);
        }
        for name in tokens(filter) {
            let sign = if is_matched { "+" } else { "" };
            rest.push_str(&format!(
                " AND {sign}{row} IN (SELECT row FROM mention WHERE name = ?)"
            ));
            values.push(name.into());
        }
        (row, rest, values)
    }
}

fn build(data: &Data) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "PRAGMA journal_mode = OFF;
         CREATE TABLE review (row INTEGER PRIMARY KEY, rating INTEGER NOT NULL, text TEXT NOT NULL);
         CREATE TABLE mention (name TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (name, row)) WITHOUT ROWID;
         CREATE VIRTUAL TABLE texts USING fts5(text, content = 'review', content_rowid = 'row',
             tokenize = 'trigram case_sensitive 1');
         INSERT INTO texts (texts, rank) VALUES ('hashsize', 268435456);",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut review = transaction.prepare("INSERT INTO review VALUES (?, ?, ?)")?;
        let mut text = transaction.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)")?;
        let mut mention = transaction.prepare("INSERT INTO mention VALUES (?, ?)")?;
        for (row, given) in data.reviews.iter().enumerate() {
            let folded = fold(&given.text);
            review.execute((row as i64, given.rating.stars(), &folded))?;
            text.execute((row as i64, &folded))?;
            for name in names_of(given, &data.taxonomy) {
                mention.execute((name, row as i64))?;
            }
        }
    }
    transaction.commit()?;
    connection.execute_batch(
        "CREATE INDEX rating ON review (rating);
         INSERT INTO texts (texts) VALUES ('optimize');
         ANALYZE;",
    )?;
    Ok(connection)
}

fn build_words(data: &Data) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    // The tokenizer `ascii` splits only at ASCII characters other than letters and digits, here only spaces.
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
