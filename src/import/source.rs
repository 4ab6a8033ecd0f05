//! One source: what it is, found from its contents, and the reading of it, which is done anew for each pass.
//!
//! [`ImportSource::open`] finds encoding, format, columns and the order of dates; [`ImportSource::read`] hands on the
//! records. Bytes come from a function of the caller, since nothing here opens a file.

use std::fmt;
use std::io::{self, Read};
use std::mem::take;

use encoding_rs::{Encoding, UTF_8};
use serde_json::Map;

use super::columns::{Columns, Mapping};
use super::date::{Evidence, Order};
use super::encoding::{self, Utf8};
use super::formats::{Form, SourceFormat, formats};
use super::merge::SourceReport;
use super::record::{Field, Sink};
use super::table::{self, OnRow, TableHead};
use super::xlsx::{MAGIC, WORKBOOK_BYTES_MAX};
use super::{csv, detect, json, linked, xlsx};
use crate::wire::date::Date;

/// What the operator says of sources; the rest is found from their contents.
#[derive(Clone, Debug)]
pub struct Options {
    /// What wrote them.
    pub format: Option<&'static SourceFormat>,
    pub(crate) mapping: Mapping,
    /// What separates the columns of a table.
    pub(crate) delimiter: Option<u8>,
    pub(crate) encoding: Option<&'static Encoding>,
    /// How dates of numbers are read.
    pub(crate) order: Option<Order>,
    /// Where reviews were left; another reviewd says it for each.
    pub(crate) source: Option<String>,
    pub(crate) vouched: Vouched,
    /// Whether a review is taken for the stored one with the same source, author and text.
    pub(crate) merges_same_text: bool,
    /// The day; a review cannot be from the day after tomorrow, whatever the zone.
    pub(crate) today: Date,
}

impl Options {
    /// Options of an import on this day that leave everything else to be found.
    pub fn new(today: Date) -> Options {
        Options {
            format: None,
            mapping: Mapping::new(),
            delimiter: None,
            encoding: None,
            order: None,
            source: None,
            vouched: Vouched::Nothing,
            merges_same_text: false,
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

/// Opens the bytes of a source at their beginning.
pub type Opener<'i> = dyn Fn() -> io::Result<Box<dyn Read + 'i>> + 'i;

/// A source that is ready to be read.
pub struct ImportSource<'i> {
    pub(super) options: &'i Options,
    name: String,
    open: &'i Opener<'i>,
    /// The bytes of a workbook; other sources are streamed.
    workbook: Option<Vec<u8>>,
    encoding: &'static Encoding,
    /// The beginning of a text.
    pub(super) head: String,
    format: &'static SourceFormat,
    /// Of a table.
    columns: Columns,
    /// What decides about the order of dates.
    evidence: Evidence,
}

impl<'i> ImportSource<'i> {
    /// Finds what a source is; reports call it `name`.
    ///
    /// # Errors
    /// When it cannot be read, or cannot hold reviews.
    pub fn open(
        name: &str,
        options: &'i Options,
        open: &'i Opener<'i>,
    ) -> Result<ImportSource<'i>, ReadError> {
        let mut magic = Vec::new();
        open()?.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        let mut source = ImportSource {
            options,
            name: name.to_owned(),
            open,
            workbook: None,
            encoding: options.encoding.unwrap_or(UTF_8),
            head: String::new(),
            format: options.format.unwrap_or(&formats()[0]),
            columns: Columns::default(),
            evidence: Evidence::default(),
        };
        if magic == MAGIC {
            source.workbook = Some(workbook(open()?)?);
        } else {
            if options.encoding.is_none() {
                source.encoding = encoding::detect(open()?)?;
            }
            source.head = encoding::head(open()?, source.encoding)?;
            if let Some(why) = detect::foreign(&source.head) {
                return Err(ReadError::whole(why));
            }
            let found = options.format.or_else(|| detect::of_text(&source.head));
            source.format = found.unwrap_or(source.format);
        }
        if source.is_table() {
            source.find_columns()?;
        }
        if options.order.is_none() && matches!(source.format.form, Form::Table | Form::Json) {
            source.evidence = source.find_evidence()?;
        }
        Ok(source)
    }

    fn find_columns(&mut self) -> Result<(), ReadError> {
        let mut table = TableHead::default();
        self.rows(&mut |row| table.take(row))?;
        if table.names.is_empty() {
            return Err(ReadError::whole(
                "is empty: a table begins with a row that names its columns",
            ));
        }
        if self.options.format.is_none() {
            self.format = detect::of_columns(&table.names);
        }
        let columns = Columns::find(
            &table.names,
            &table.sample,
            &self.options.mapping,
            self.format,
        );
        self.columns = columns.map_err(|message| ReadError::at(1, message))?;
        table::require(&self.columns)
    }

    /// Reads it once for its dates alone.
    fn find_evidence(&self) -> Result<Evidence, ReadError> {
        let mut evidence = Evidence::default();
        self.read(&mut |found| {
            if let Ok(record) = found {
                for field in [Field::Date, Field::ReplyDate] {
                    evidence.note(record.filled(field).unwrap_or_default(), record.line);
                }
            }
            Ok(())
        })?;
        Ok(evidence)
    }

    /// Reads it to its end and hands on what it finds.
    ///
    /// # Errors
    /// When it cannot be read further, or `sink` wants no more.
    pub fn read(&self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if self.is_table() {
            let mut is_header = true;
            return self.rows(&mut |row| {
                if is_header {
                    is_header = row.is_blank();
                } else if let Some(found) = table::found(&row, &self.columns) {
                    sink(found).map_err(ReadError::whole)?;
                }
                Ok(true)
            });
        }
        match self.format.form {
            Form::Linked => linked::read(self, sink),
            _ => json::read(self, sink),
        }
    }

    fn is_table(&self) -> bool {
        self.workbook.is_some() || self.format.form == Form::Table
    }

    fn rows(&self, on: &mut OnRow<'_>) -> Result<(), ReadError> {
        if let Some(bytes) = &self.workbook {
            return xlsx::rows(bytes, on);
        }
        // Excel's own line that names the delimiter is no row.
        let mut skips = csv::separator_line(&self.head).is_some();
        csv::rows(
            self.text()?,
            self.delimiter(),
            &mut |row| match take(&mut skips) {
                true => Ok(true),
                false => on(row),
            },
        )
    }

    /// The source as UTF-8.
    pub(super) fn text(&self) -> io::Result<Utf8<Box<dyn Read + 'i>>> {
        Ok(Utf8::new((self.open)()?, self.encoding))
    }

    fn delimiter(&self) -> u8 {
        self.options
            .delimiter
            .unwrap_or_else(|| csv::find_delimiter(&self.head))
    }

    /// What wrote it.
    pub(super) fn format(&self) -> &'static SourceFormat {
        self.format
    }

    /// How dates of numbers are read.
    pub(super) fn order(&self) -> Option<Order> {
        self.options
            .order
            .or(self.evidence.order().map(|(order, _)| order))
    }

    /// What it was taken for.
    pub(super) fn report(&self) -> SourceReport {
        let is_text_table = self.is_table() && self.workbook.is_none();
        let (columns, unused_columns) = self.columns.report();
        SourceReport {
            source: self.name.clone(),
            kind: &self.format.title,
            encoding: self.workbook.is_none().then(|| self.encoding.name()),
            delimiter: is_text_table.then(|| self.delimiter().into()),
            date_order: self.order().map(Order::name),
            order_line: self.evidence.order().map(|(_, line)| line),
            undecided_line: self.evidence.ambiguous().filter(|_| self.order().is_none()),
            columns: Map::from_iter(columns),
            unused_columns,
            ..SourceReport::default()
        }
    }
}

/// Reads a workbook, which is held in memory.
fn workbook(source: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source
        .take(WORKBOOK_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0..=WORKBOOK_BYTES_MAX => Ok(bytes),
        _ => Err(ReadError::whole(format!(
            "is a workbook of more than {WORKBOOK_BYTES_MAX} bytes: save the sheet as CSV"
        ))),
    }
}

/// Why a record without an end is refused: it is 1 MiB long, and most of it is no review.
pub(super) const TOO_LONG: &str =
    "a record here is longer than 1048576 bytes; is a quotation mark or bracket never closed?";

/// Why a source could not be read to its end.
#[derive(Debug)]
pub enum ReadError {
    /// The disk, or the network.
    Io(io::Error),
    /// The source: half a file, another kind, a record without an end; or it is more than the result may hold. With the
    /// line from 1, or 0 for the whole.
    Source(u64, String),
}

impl ReadError {
    pub(super) fn at(line: u64, message: impl Into<String>) -> ReadError {
        ReadError::Source(line, message.into())
    }

    /// An error of the source as a whole.
    pub(super) fn whole(message: impl Into<String>) -> ReadError {
        ReadError::at(0, message)
    }

    /// Tells an error of the disk from one that our own readers made.
    pub(super) fn of(error: io::Error, line: u64) -> ReadError {
        match error.kind() {
            io::ErrorKind::InvalidData => ReadError::at(line, error.to_string()),
            _ => ReadError::Io(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => write!(formatter, "cannot be read: {error}"),
            ReadError::Source(0, message) => formatter.write_str(message),
            ReadError::Source(line, message) => write!(formatter, "line {line}: {message}"),
        }
    }
}

impl std::error::Error for ReadError {}
