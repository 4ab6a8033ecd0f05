//! One source, read to its end: the reader of its form, and what all readers share.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use super::columns::Mapping;
use super::formats::{FORMATS, Form, SourceFormat};
use super::record::Sink;
use super::{RECORD_BYTES_MAX, csv, detect, json, linked, table, xlsx};

/// How a source is read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What wrote it.
    pub format: &'static SourceFormat,
    /// Columns that the operator named.
    pub mapping: Mapping,
    /// What separates the columns of a table, where the operator said it.
    pub delimiter: Option<u8>,
    /// The beginning of the text, at most `super::HEAD_BYTES` bytes of the source; empty for a workbook.
    pub head: String,
}

impl Reading {
    /// How a text is read that begins so, in a format that is found from it.
    pub fn of_text(head: String, mapping: Mapping, delimiter: Option<u8>) -> Reading {
        let mut reading = Reading {
            format: &FORMATS[0],
            mapping,
            delimiter,
            head,
        };
        let columns = || {
            let (mut rows, _) = csv::rows(reading.head.as_bytes(), &reading).ok()?;
            Some(detect::of_columns(&table::header(&mut rows).ok()?))
        };
        let format = detect::of_text(&reading.head).or_else(columns);
        reading.format = format.unwrap_or(reading.format);
        reading
    }

    /// How a workbook is read, in a format that is found from its columns.
    ///
    /// # Errors
    /// Where it is none, or is empty.
    pub fn of_workbook(bytes: &[u8], mapping: Mapping) -> Result<Reading, ReadError> {
        let names = table::header(&mut xlsx::rows(&mut xlsx::open(bytes)?)?)?;
        Ok(Reading {
            format: detect::of_columns(&names),
            mapping,
            delimiter: None,
            head: String::new(),
        })
    }
}

/// What a reader made of a source, to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// What separates the columns of a table.
    pub delimiter: Option<u8>,
    /// Field and column.
    pub used: Vec<(String, String)>,
    /// Columns that hold nothing that is published.
    pub unused: Vec<String>,
}

/// Why a source could not be read to its end.
#[derive(Debug)]
pub enum ReadError {
    /// The disk, or the network.
    Io(io::Error),
    /// The source: half a file, another kind, a record without an end.
    Source {
        /// Where, from 1; 0 for the whole.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// The result would exceed a bound.
    Full(String),
}

impl ReadError {
    /// An error of the source at a line.
    pub(super) fn at(line: u64, message: impl Into<String>) -> ReadError {
        ReadError::Source {
            line,
            message: message.into(),
        }
    }

    /// An error of the source as a whole.
    pub fn of_source(message: &str) -> ReadError {
        ReadError::at(0, message)
    }

    /// Tells an error of the disk from one that our own readers made.
    pub(super) fn of(error: io::Error, line: u64) -> ReadError {
        if error.kind() == io::ErrorKind::InvalidData {
            ReadError::at(line, error.to_string())
        } else {
            ReadError::Io(error)
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => write!(formatter, "cannot be read: {error}"),
            ReadError::Source { line: 0, message } => formatter.write_str(message),
            ReadError::Source { line, message } => write!(formatter, "line {line}: {message}"),
            ReadError::Full(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a source of UTF-8 to its end and hands on what it finds.
///
/// # Errors
/// When it cannot be read further, or `sink` wants no more.
pub fn read(
    source: impl BufRead,
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    match reading.format.form {
        Form::Table => {
            let (rows, delimiter) = csv::rows(source, reading)?;
            let mut shape = table::read(rows, reading, sink)?;
            shape.delimiter = Some(delimiter);
            return Ok(shape);
        }
        Form::Json | Form::WholeJson => json::read(source, reading, sink)?,
        Form::Linked => linked::read(source, reading, sink)?,
    }
    Ok(Shape::default())
}

/// Reads a workbook to its end and hands on what it finds.
///
/// # Errors
/// As for a source of text.
pub fn read_workbook(
    bytes: &[u8],
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    let mut book = xlsx::open(bytes)?;
    table::read(xlsx::rows(&mut book)?, reading, sink)
}

/// Why a record without an end is refused: it is 1 MiB long, and most of it is no review.
pub(super) const TOO_LONG: &str =
    "a record here is longer than 1048576 bytes; is a quotation mark or bracket never closed?";

/// How far a reader is, shared with the bytes that it reads through.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// The line of the next byte, from 1.
    line: Rc<Cell<u64>>,
    /// Bytes since the record began.
    bytes: Rc<Cell<u64>>,
}

impl Progress {
    /// At the beginning.
    pub(super) fn new() -> Progress {
        Progress {
            line: Rc::new(Cell::new(1)),
            bytes: Rc::default(),
        }
    }

    /// The line of the next byte, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line.get()
    }

    /// Notes that a record ends here.
    pub(super) fn end_record(&self) {
        self.bytes.set(0);
    }
}

/// Bytes on their way to a reader: counted, and cut where a record has no end.
pub(super) struct Counted<R> {
    source: R,
    progress: Progress,
}

impl<R: BufRead> Counted<R> {
    /// Counts into `progress`.
    pub(super) fn new(source: R, progress: &Progress) -> Counted<R> {
        Counted {
            source,
            progress: progress.clone(),
        }
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.source.fill_buf()?;
        let length = available.len().min(buffer.len());
        let taken = &available[..length];
        buffer[..length].copy_from_slice(taken);
        let feeds = memchr::memchr_iter(b'\n', taken).count() as u64;
        self.source.consume(length);
        self.progress.line.set(self.progress.line.get() + feeds);
        let bytes = self.progress.bytes.get() + length as u64;
        self.progress.bytes.set(bytes);
        if bytes > RECORD_BYTES_MAX + 1 {
            // The parser reads one byte beyond a record.
            return Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG));
        }
        Ok(length)
    }
}
