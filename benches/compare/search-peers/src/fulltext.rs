//! SQLite in memory: an FTS5 table of trigrams over the folded texts, and a table with indexes for the filters.
//!
//! The trigram tokenizer is told to fold nothing, as the texts are folded already. Needles of one or two characters
//! have no trigram; for them every text is looked at, as SQLite's own documentation says. `matched` comes from count(*),
//! and the newest rows from a second statement in the order of rowid, which FTS5 keeps; both are prepared once.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::plain::{names_of, range, stars, tokens};
use crate::support::{Data, fold};
use crate::{Answer, PAGE};
use reviewd::search::filter::{Filter, Query, RatingSet};
use reviewd::wire::date::Date;

/// The database, and the dates by which a filter's days become rows, as for all engines.
pub(crate) struct FullText {
    connection: Connection,
    dates: Vec<Date>,
}

impl FullText {
    pub(crate) fn new(data: &Data) -> FullText {
        let connection = build(data).expect("SQLite takes the reviews");
        connection.set_prepared_statement_cache_capacity(256);
        FullText {
            connection,
            dates: data.reviews.iter().map(|review| review.date).collect(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        bytes_of(&self.connection)
    }

    pub(crate) fn answer(&self, query: &Query<'_>) -> Answer {
        self.try_answer(&query.filter).expect("SQLite answers")
    }

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

    /// Returns the name of the row's number, all that follows the selected columns, and the values of its parameters.
    ///
    /// A needle is looked up first, and the other conditions tested on what it selects: left to itself, the planner
    /// may ask the full text once for each row of a filter.
    fn select(&self, filter: &Filter<'_>) -> (&'static str, String, Vec<Value>) {
        let mut values: Vec<Value> = Vec::new();
        let grams = filter.text.filter(|text| text.chars().count() >= 3);
        let narrows = filter.ratings != RatingSet::ALL;
        let (row, mut rest) = match (grams, narrows) {
            (None, _) => ("review.row", "FROM review WHERE 1".to_owned()),
            (Some(_), false) => ("texts.rowid", "FROM texts WHERE texts MATCH ?".to_owned()),
            (Some(_), true) => (
                "texts.rowid",
                "FROM texts CROSS JOIN review ON review.row = texts.rowid WHERE texts MATCH ?"
                    .to_owned(),
            ),
        };
        match (grams, filter.text) {
            (Some(text), _) => {
                values.push(format!("\"{}\"", text.replace('"', "\"\"")).into());
            }
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
            let sign = if grams.is_some() { "+" } else { "" };
            rest.push_str(&format!(
                " AND {sign}{row} IN (SELECT row FROM mention WHERE name = ?)"
            ));
            values.push(name.into());
        }
        (row, rest, values)
    }
}

/// Returns what the database takes in memory.
pub(crate) fn bytes_of(connection: &Connection) -> u64 {
    let pragma = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .expect("a number")
    };
    pragma("page_count").unsigned_abs() * pragma("page_size").unsigned_abs()
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
