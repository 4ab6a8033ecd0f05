//! One source: what it is, found from its contents, and the records that it holds.

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
use crate::wire::date::Date;

/// What the operator says of sources; the rest is found from their contents.
#[derive(Clone, Debug)]
pub struct Options {
    /// What wrote them.
    pub format: Option<&'static SourceFormat>,
    pub(crate) mapping: Mapping,
    pub(crate) encoding: Option<&'static Encoding>,
    /// How dates of numbers are read.
    pub(crate) order: Option<Order>,
    /// Where reviews were left; another reviewd says it for each.
    pub(crate) source: Option<String>,
    pub(crate) vouched: Vouched,
    /// The day; a review cannot be from the day after tomorrow, whatever the zone.
    pub(crate) today: Date,
}

impl Options {
    /// Options of an import on this day that leave everything else to be found.
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

/// The reviews that the operator declares verified, where the source does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vouched {
    Nothing,
    /// Those that are not stored yet.
    New,
    All,
}

/// A source that is ready to be read.
pub struct ImportSource<'i> {
    pub(super) options: &'i Options,
    name: String,
    content: Content<'i>,
    pub(super) format: &'static SourceFormat,
    /// Of a table.
    columns: Columns,
    /// How dates of numbers are read.
    pub(super) order: Option<Order>,
}

/// What a source was taken for, and what came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct SourceReport {
    pub(crate) source: String,
    pub(crate) kind: &'static str,
    /// None for a workbook.
    pub(crate) encoding: Option<&'static str>,
    pub(crate) delimiter: Option<char>,
    pub(crate) date_order: Option<&'static str>,
    /// Fields and their columns.
    pub(crate) columns: Map<String, Value>,
    pub(crate) unused_columns: Vec<String>,
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) unchanged: u64,
    /// Records that say again what another record of this import says.
    pub(crate) repeated: u64,
    pub(crate) refused: u64,
    /// Reviews on the ignore list, which are not added.
    pub(crate) ignored: u64,
}

impl SourceReport {
    /// Records that are valid reviews: those taken into the file and those on the ignore list.
    pub(crate) fn taken(&self) -> u64 {
        self.added + self.changed + self.unchanged + self.repeated + self.ignored
    }
}

enum Content<'i> {
    Workbook(Vec<Row>),
    Text(Cow<'i, str>, &'static Encoding),
}

/// The rows by whose values columns are found, where names do not decide.
const SAMPLE_ROWS: usize = 50;

impl<'i> ImportSource<'i> {
    /// Finds what a source is; reports call it `name`.
    ///
    /// # Errors
    /// When it cannot be read, or cannot hold reviews.
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
                [date(Field::Date), date(Field::ReplyDate)]
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

    /// What it holds, in its order. After an error of the source there is nothing more.
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

    /// Makes a record of a row, or says why it is none.
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
            return refused(format!("has {count} columns, and the header {width}"));
        }
        Ok(self.columns.record(&row.cells, line))
    }

    /// What it was taken for.
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

/// Why a text cannot be read whatever its format: files that are often taken for an export.
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
        Some("holds zero bytes, as no text does: if it is one, name its --encoding")
    } else {
        None
    }
}

/// Why a row is refused, or the table: where a mark is missing, columns and rows have run together.
const MISPLACED: &str = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";
