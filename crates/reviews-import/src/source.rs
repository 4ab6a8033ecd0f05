//! One source of an import: detects its format from its contents, and reads its records.

use std::borrow::Cow;
use std::iter::once;

use encoding_rs::Encoding;
use serde::Serialize;
use serde_json::{Map, Value};

use super::columns::{COLUMNS_MAX, Columns, Row};
use super::date::{Order, find_order};
use super::formats::{Form, SourceFormat, formats, of_columns};
use super::json::{elements, find_format};
use super::record::{Field, Found, Mapping, ReadError, Refusal};
use super::{csv, encoding, xlsx};
use reviewd_wire::date::Date;

/// The operator's settings for sources; the rest is detected from their contents.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format of the exports.
    pub format: Option<&'static SourceFormat>,
    /// The columns of fields that are not recognized by name.
    pub mapping: Mapping,
    /// The character encoding.
    pub encoding: Option<&'static Encoding>,
    /// The order of day, month and year in numeric dates.
    pub order: Option<Order>,
    /// The site where the reviews were written; exports of reviewd have it for each review.
    pub source: Option<String>,
    /// The reviews that count as verified if the source does not state it.
    pub vouched: Vouched,
    /// The current day; reviews may be dated at most one day later, as time zones differ.
    pub today: Date,
}

impl Options {
    /// Returns options for an import on this day, with which everything else is detected.
    pub fn new(today: Date) -> Options {
        Options {
            format: None,
            mapping: Mapping::new(),
            encoding: None,
            order: None,
            source: None,
            vouched: Vouched::Nothing,
            today,
        }
    }
}

/// The reviews that the operator declares verified if the source does not state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// None.
    Nothing,
    /// Those that are not stored yet.
    New,
    /// All of the source.
    All,
}

/// A source with a detected format, ready to be read.
pub struct ImportSource<'i> {
    pub(super) options: &'i Options,
    name: String,
    content: Content<'i>,
    pub(super) format: &'static SourceFormat,
    /// The columns of a table.
    columns: Columns,
    /// The order of day, month and year in numeric dates.
    pub(super) order: Option<Order>,
}

/// The detected properties of a source, and the result of its import.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceReport {
    /// The name of the source, such as that of a file.
    pub source: String,
    /// The format that was detected, such as `csv`.
    pub kind: &'static str,
    /// The character encoding; `None` for a workbook.
    pub encoding: Option<&'static str>,
    /// What separates the fields of a row; `None` if the source is no table of text.
    pub delimiter: Option<char>,
    /// The order of day, month and year, where it was needed.
    pub date_order: Option<&'static str>,
    /// Fields and their columns.
    pub columns: Map<String, Value>,
    /// Columns that are no field.
    pub unused_columns: Vec<String>,
    /// Reviews that were not stored before.
    pub added: u64,
    /// Reviews that were stored otherwise.
    pub changed: u64,
    /// Reviews that were stored as they are.
    pub unchanged: u64,
    /// Records that repeat another record of this import.
    pub repeated: u64,
    /// Records that are no valid reviews.
    pub refused: u64,
    /// Reviews on the ignore list, which are not added.
    pub ignored: u64,
}

impl SourceReport {
    /// Number of valid reviews: those imported and those on the ignore list.
    pub fn taken(&self) -> u64 {
        self.added + self.changed + self.unchanged + self.repeated + self.ignored
    }
}

enum Content<'i> {
    Workbook(Vec<Row>),
    Text(Cow<'i, str>, &'static Encoding),
}

/// Number of rows whose values decide between columns if names do not.
const SAMPLE_ROWS: usize = 50;

impl<'i> ImportSource<'i> {
    /// Detects the format of a source, which is called `name` in reports.
    ///
    /// # Errors
    /// If it cannot be read, or cannot contain reviews.
    pub fn open(
        name: &str,
        bytes: &'i [u8],
        options: &'i Options,
    ) -> Result<ImportSource<'i>, ReadError> {
        let mut found = None;
        let content = match bytes {
            [b'P', b'K', 3, 4, ..] => Content::Workbook(xlsx::rows(bytes)?),
            [0x1f, 0x8b, ..] => return Err(ReadError::whole("is compressed: unpack it")),
            _ => {
                let (text, encoding) = encoding::decode(bytes, options.encoding)?;
                if let Some(why) = foreign(&text) {
                    return Err(ReadError::whole(why));
                }
                found = find_format(&text);
                Content::Text(text, encoding)
            }
        };
        let mut source = ImportSource {
            options,
            name: name.to_owned(),
            content,
            format: options.format.or(found).unwrap_or(&formats()[0]),
            columns: Columns::default(),
            order: options.order,
        };
        if source.is_table() {
            source.find_columns()?;
        }
        if source.order.is_none() && source.format.form != Form::WholeJson {
            let records = source.records().filter_map(|found| found.ok()?.ok());
            let dates = records.flat_map(|record| {
                let date = |field| record.filled(field).map(str::to_owned);
                [date(Field::Date), date(Field::OwnerReplyDate)]
            });
            source.order = find_order(dates.flatten());
        }
        Ok(source)
    }

    fn find_columns(&mut self) -> Result<(), ReadError> {
        let mut rows = self.rows().skip_while(is_blank).take(1 + SAMPLE_ROWS);
        let header = rows.next().unwrap_or_else(|| {
            Err(ReadError::whole(
                "is empty: a table begins with a row that names its columns",
            ))
        })?;
        let sample: Vec<Row> = rows.filter_map(Result::ok).collect();
        if let Some(opened) = header.misplaced {
            return Err(ReadError::at(opened, MISPLACED));
        }
        if header.cells.len() > COLUMNS_MAX {
            let count = header.cells.len();
            let message = format!("has {count} columns, more than {COLUMNS_MAX}");
            return Err(ReadError::at(header.line, message));
        }
        if self.options.format.is_none() {
            self.format = of_columns(&header.cells);
        }
        let mapping = &self.options.mapping;
        let columns =
            Columns::find(&header.cells, &sample, mapping, self.format).and_then(Columns::complete);
        self.columns = columns.map_err(|message| ReadError::at(header.line, message))?;
        Ok(())
    }

    /// Returns the records in their order. An error of the source is the last item.
    pub fn records(&self) -> Box<dyn Iterator<Item = Result<Found, ReadError>> + '_> {
        let text = match &self.content {
            Content::Text(text, _) if !self.is_table() => text,
            _ => {
                let rows = self.rows().skip_while(is_blank).skip(1);
                let rows = rows.filter(|row| !is_blank(row));
                return Box::new(rows.map(|row| Ok(self.row(&row?))));
            }
        };
        let mapping = &self.options.mapping;
        match elements(text, mapping) {
            Ok(elements) => {
                Box::new(elements.map(|element| Ok(element.record(self.format, mapping))))
            }
            Err(error) => Box::new(once(Err(error))),
        }
    }

    fn is_table(&self) -> bool {
        matches!(self.content, Content::Workbook(_)) || self.format.form == Form::Table
    }

    fn rows(&self) -> Box<dyn Iterator<Item = Result<Row, ReadError>> + '_> {
        match &self.content {
            Content::Workbook(rows) => Box::new(rows.iter().cloned().map(Ok)),
            Content::Text(text, _) => Box::new(csv::rows(text, csv::find_delimiter(text))),
        }
    }

    /// Makes a record of a row, or returns why the row is refused.
    fn row(&self, row: &Row) -> Found {
        let (line, width) = (row.line, self.columns.names.len());
        let refused = |reason| Err(Refusal { line, reason });
        match row.misplaced {
            Some(opened) if opened == line => return refused(MISPLACED.to_owned()),
            Some(opened) => return refused(format!("line {opened}: {MISPLACED}")),
            None => {}
        }
        // A row may have fewer cells than the header, when its last cells are empty. A row with more cells is an error:
        // most likely a quotation mark is missing.
        let mut extra = row.cells.iter().skip(width);
        if extra.any(|value| !value.trim().is_empty()) {
            let count = row.cells.len();
            return refused(format!("has {count} columns, but the header has {width}"));
        }
        Ok(self.columns.record(&row.cells, line))
    }

    /// Returns a report with the detected properties.
    pub(super) fn report(&self) -> SourceReport {
        let (encoding, delimiter) = match &self.content {
            Content::Workbook(_) => (None, None),
            Content::Text(text, encoding) => {
                let delimiter = self.is_table().then(|| csv::find_delimiter(text).into());
                (Some(encoding.name()), delimiter)
            }
        };
        let (columns, unused_columns) = self.columns.report();
        SourceReport {
            source: self.name.clone(),
            kind: &self.format.title,
            encoding,
            delimiter,
            date_order: self.order.map(Order::name),
            columns: Map::from_iter(columns),
            unused_columns,
            ..SourceReport::default()
        }
    }
}

fn is_blank(row: &Result<Row, ReadError>) -> bool {
    let row = row.as_ref();
    row.is_ok_and(|row| row.cells.iter().all(|cell| cell.trim().is_empty()))
}

/// Returns why a text cannot be an export, for files that are often mistaken for one.
fn foreign(text: &str) -> Option<&'static str> {
    let start = text.trim_start();
    let has = |key: &str| text.contains(key);
    if start.starts_with('<') {
        Some("is a web page or XML: export the reviews as a table or as JSON")
    } else if start.starts_with('{') && has("\"features\"") && has("\"geometry\"") {
        Some(
            "is Google Maps' list of the reviews that you wrote about others: in Takeout choose \
             \"Google Business Profile\" instead, signed in as the owner of the place",
        )
    } else if has("\0") {
        Some("contains zero bytes, so it is not text in a known encoding: set --encoding")
    } else {
        None
    }
}

/// Why a row or a table is refused: after a missing quotation mark, columns and rows are merged.
const MISPLACED: &str = "a quotation mark that opens here closes in the middle of a column; is one missing, or not doubled?";
