//! Tables, of text or of a workbook: the first row names the columns, every further one is a review.

use super::columns::Columns;
use super::record::{Field, Found, Refusal};
use super::source::ReadError;
use super::text::quote;

/// A table of reviews has at most so many columns.
pub(super) const COLUMNS_MAX: usize = 1_000;

/// The rows by whose values columns are found, where names do not decide: 50, or fewer that hold 256 KiB.
const SAMPLE_ROWS: usize = 50;
const SAMPLE_BYTES: usize = 256 << 10;

/// One row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Where it begins, from 1.
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
    /// The line of a quotation mark that closes in the middle of a value.
    pub(super) misplaced: Option<u64>,
}

/// Takes a row, and says whether more are wanted.
pub(super) type OnRow<'o> = dyn FnMut(Row) -> Result<bool, ReadError> + 'o;

impl Row {
    pub(super) fn at(line: u64) -> Row {
        Row {
            line,
            ..Row::default()
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| cell.trim().is_empty())
    }
}

/// Why a row is refused, or the table: where a mark is missing, columns and rows have run together.
const MISPLACED: &str = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";

/// The beginning of a table: its header, and the rows by whose values columns are found.
#[derive(Debug, Default)]
pub(super) struct TableHead {
    pub(super) names: Vec<String>,
    pub(super) sample: Vec<Row>,
    bytes: usize,
}

impl TableHead {
    /// Takes the next row, and says whether more are wanted.
    ///
    /// # Errors
    /// Where a header cannot be one.
    pub(super) fn take(&mut self, row: Row) -> Result<bool, ReadError> {
        if !self.names.is_empty() {
            self.bytes += row.cells.iter().map(String::len).sum::<usize>();
            self.sample.push(row);
            return Ok(self.sample.len() < SAMPLE_ROWS && self.bytes < SAMPLE_BYTES);
        }
        if row.is_blank() {
            return Ok(true);
        }
        if let Some(opened) = row.misplaced {
            return Err(ReadError::at(opened, MISPLACED));
        }
        if row.cells.len() > COLUMNS_MAX {
            let count = row.cells.len();
            return Err(ReadError::at(
                row.line,
                format!("has {count} columns, more than {COLUMNS_MAX}"),
            ));
        }
        self.names = row.cells;
        Ok(true)
    }
}

/// Refuses a table that cannot hold reviews.
pub(super) fn require(columns: &Columns) -> Result<(), ReadError> {
    let required = [Field::Author, Field::Rating, Field::Date];
    let Some(field) = required.into_iter().find(|field| !columns.has(*field)) else {
        return Ok(());
    };
    let names: Vec<String> = columns
        .names
        .iter()
        .take(30)
        .map(|name| quote(name))
        .collect();
    let message = format!(
        "no column is known to hold the {field}: name it with --map {field}=COLUMN; the columns are {}",
        names.join(", ")
    );
    Err(ReadError::at(1, message))
}

/// Makes a record of a row, or says why it is none; a spreadsheet's empty rows are nothing.
pub(super) fn found(row: &Row, columns: &Columns) -> Option<Found> {
    let line = row.line;
    let refused = |reason| Some(Err(Refusal { line, reason }));
    if row.is_blank() {
        return None;
    }
    match row.misplaced {
        Some(opened) if opened == line => return refused(MISPLACED.to_owned()),
        Some(opened) => return refused(format!("line {opened}: {MISPLACED}")),
        None => {}
    }
    // A row may have fewer cells than the header, when its last cells are empty. A row with more cells is an error: most
    // likely a quotation mark is missing.
    let width = columns.names.len();
    let mut extra = row.cells.iter().skip(width);
    if extra.any(|value| !value.trim().is_empty()) {
        let count = row.cells.len();
        return refused(format!("has {count} columns, and the header {width}"));
    }
    Some(Ok(columns.record(&row.cells, line)))
}
