//! Tables, of text or of a workbook: the first row names the columns, every further one is a review.

use super::columns::Columns;
use super::read::{ReadError, Reading, Shape};
use super::record::{Field, Found, Sink};
use super::text::quote;

/// More columns than this are no table of reviews.
const COLUMNS_MAX: usize = 1_000;

/// The rows that are looked at before the first is read, where names of columns do not decide: 50, or fewer that hold
/// 256 KiB.
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

impl Row {
    fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| cell.trim().is_empty())
    }
}

/// What gives rows.
pub(super) trait Rows {
    /// Reads the next row, and says whether there was one.
    ///
    /// # Errors
    /// When the table cannot be read further.
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError>;
}

/// Why a row is refused, or the table: where a mark is missing, columns and rows have run together.
const MISPLACED: &str = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";

/// Reads the names of the columns.
///
/// # Errors
/// Where there are none, or too many.
pub(super) fn header(rows: &mut impl Rows) -> Result<Vec<String>, ReadError> {
    let mut row = Row::default();
    while row.is_blank() {
        if !rows.next(&mut row)? {
            let message = "is empty: a table begins with a row that names its columns";
            return Err(ReadError::at(0, message));
        }
    }
    if let Some(opened) = row.misplaced {
        return Err(ReadError::at(opened, MISPLACED));
    }
    match row.cells.len() {
        ..=COLUMNS_MAX => Ok(row.cells),
        count => {
            let message = format!("has {count} columns, more than {COLUMNS_MAX}");
            Err(ReadError::at(row.line, message))
        }
    }
}

/// Reads a table to its end.
///
/// # Errors
/// When it cannot hold reviews, or cannot be read further.
pub(super) fn read(
    mut rows: impl Rows,
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    let names = header(&mut rows)?;
    let mut sample = Vec::new();
    let mut bytes = 0;
    let mut is_whole = false;
    while sample.len() < SAMPLE_ROWS && bytes < SAMPLE_BYTES && !is_whole {
        let mut row = Row::default();
        is_whole = !rows.next(&mut row)?;
        bytes += row.cells.iter().map(String::len).sum::<usize>();
        sample.push(row);
    }
    let columns = find(&names, &sample, reading)?;
    let mut hand_on = |row: &Row| match found(row, names.len(), &columns) {
        Some(found) => sink(found).map_err(ReadError::Full),
        None => Ok(()),
    };
    sample.iter().try_for_each(&mut hand_on)?;
    let mut row = Row::default();
    while !is_whole && rows.next(&mut row)? {
        hand_on(&row)?;
    }
    let name = |at: usize| names[at].trim().to_owned();
    let held = columns.used.iter().map(|(field, found)| {
        let columns = found.iter().flatten().map(|at| name(*at));
        (field.to_string(), columns.collect::<Vec<_>>().join(" or "))
    });
    let unused = (0..names.len()).filter(|at| !columns.uses(*at));
    Ok(Shape {
        delimiter: None,
        used: held.collect(),
        unused: unused.map(name).collect(),
    })
}

/// Finds the columns, and refuses a table that cannot hold reviews.
fn find(names: &[String], sample: &[Row], reading: &Reading) -> Result<Columns, ReadError> {
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows: Vec<&[String]> = sample.iter().map(|row| row.cells.as_slice()).collect();
    let columns = Columns::find(&header, &rows, &reading.mapping, reading.format);
    let columns = columns.map_err(|message| ReadError::at(1, message))?;
    let required = [Field::Author, Field::Rating, Field::Date];
    let Some(field) = required.into_iter().find(|field| !columns.has(*field)) else {
        return Ok(columns);
    };
    let names: Vec<String> = names.iter().take(30).map(|name| quote(name)).collect();
    let message = format!(
        "no column is known to hold the {field}: name it with --map {field}=COLUMN; the columns are {}",
        names.join(", ")
    );
    Err(ReadError::at(1, message))
}

/// Makes a record of a row, or says why it is none; a spreadsheet's empty rows are nothing.
fn found(row: &Row, width: usize, columns: &Columns) -> Option<Found> {
    let line = row.line;
    let refused = |reason| Some(Found::Refused { line, reason });
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
    let mut extra = row.cells.iter().skip(width);
    if extra.any(|value| !value.trim().is_empty()) {
        let count = row.cells.len();
        return refused(format!("has {count} columns, and the header {width}"));
    }
    Some(Found::Record(columns.record(&row.cells, line)))
}
