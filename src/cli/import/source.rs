//! One source: a file, or an address, a workbook or standard input, which are held in memory; opened once for each
//! look at it.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use encoding_rs::{Encoding, UTF_8};

use super::ImportArgs;
use super::fetch::fetch;
use crate::cli::exit::{Failure, Status};
use crate::import::date::{Evidence, Order};
use crate::import::detect::foreign;
use crate::import::encoding::{Utf8, detect, head};
use crate::import::formats::{Form, SourceFormat};
use crate::import::merge::Merge;
use crate::import::normalise::Rules;
use crate::import::record::{Field, Found, Sink};
use crate::import::xlsx::{MAGIC, WORKBOOK_BYTES_MAX};
use crate::import::{ReadError, Reading, Shape, read, read_workbook};

/// A source that is there.
pub(super) struct Source {
    name: String,
    bytes: u64,
    contents: Contents,
}

enum Contents {
    File(PathBuf),
    Memory(Vec<u8>),
    Workbook(Vec<u8>),
}

/// What a source turned out to be.
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) format: &'static SourceFormat,
    /// How it is written; none for a workbook.
    pub(super) encoding: Option<&'static Encoding>,
    pub(super) shape: Shape,
    /// How dates of numbers were read, and the line that decided it.
    pub(super) order: Option<(Order, Option<u64>)>,
    /// The line of a date that nothing decided.
    pub(super) undecided: Option<u64>,
}

impl Source {
    /// Looks for a file, fetches an address, or reads standard input (`-`).
    pub(super) fn open(name: &str, args: &ImportArgs) -> Result<Source, Failure> {
        let failure = |status, message: &str| Failure::new(status, format!("{name}: {message}"));
        let io_failure = |error: io::Error| failure(Status::Io, &error.to_string());
        let limit = args.data_file_bytes;
        if name == "-" {
            let bytes = bounded(io::stdin().lock(), limit).map_err(io_failure)?;
            let too_large = || format!("is larger than {limit} bytes (--data-file-bytes)");
            let bytes = bytes.ok_or_else(|| failure(Status::Data, &too_large()))?;
            return Ok(Source::in_memory("standard input", bytes));
        }
        if name.starts_with("https://") {
            let body = fetch(name, args.ca.as_deref(), limit)?;
            return Ok(Source::in_memory(name, body));
        }
        if name.starts_with("http://") {
            let message = "plain http is refused: use https, or save the answer to a file";
            return Err(failure(Status::Usage, message));
        }
        let path = PathBuf::from(name);
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(failure(Status::NoInput, "there is no such file"));
            }
            Err(error) => return Err(io_failure(error)),
        };
        if !metadata.is_file() {
            // It is read more than once, so a pipe will not do.
            let message =
                "is not a regular file; a pipe can be standard input, with - as the source";
            return Err(failure(Status::NoInput, message));
        }
        let file = File::open(&path).map_err(io_failure)?;
        let magic = bounded(file.take(MAGIC.len() as u64), u64::MAX).map_err(io_failure)?;
        if magic.as_deref() == Some(&MAGIC) {
            let file = File::open(&path).map_err(io_failure)?;
            let bytes = bounded(file, WORKBOOK_BYTES_MAX).map_err(io_failure)?;
            let too_large = format!(
                "is a workbook of more than {WORKBOOK_BYTES_MAX} bytes: save the sheet as CSV"
            );
            let bytes = bytes.ok_or_else(|| failure(Status::Data, &too_large))?;
            return Ok(Source::in_memory(name, bytes));
        }
        Ok(Source {
            name: name.to_owned(),
            bytes: metadata.len(),
            contents: Contents::File(path),
        })
    }

    fn in_memory(name: &str, bytes: Vec<u8>) -> Source {
        Source {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            contents: match bytes.starts_with(&MAGIC) {
                true => Contents::Workbook(bytes),
                false => Contents::Memory(bytes),
            },
        }
    }

    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Finds out what it is, reads it to its end, and merges what it holds.
    pub(super) fn import(
        &self,
        args: &ImportArgs,
        merge: &mut Merge<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Shown, Failure> {
        self.try_import(args, merge, progress).map_err(|error| {
            let status = match error {
                ReadError::Io(_) => Status::Io,
                ReadError::Source { .. } | ReadError::Full(_) => Status::Data,
            };
            let message = format!("{}: {error}; nothing was written", self.name);
            Failure::new(status, message)
        })
    }

    fn try_import(
        &self,
        args: &ImportArgs,
        merge: &mut Merge<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Shown, ReadError> {
        let (encoding, mut reading) = self.reading(args)?;
        reading.format = args.from.unwrap_or(reading.format);
        let (order, undecided) = match args.date_format {
            Some(order) => (Some((order, None)), None),
            None if matches!(reading.format.form, Form::Table | Form::Json) => {
                let evidence = self.evidence(encoding, &reading)?;
                let order = evidence.order();
                let undecided = evidence.ambiguous().filter(|_| order.is_none());
                (order.map(|(order, line)| (order, Some(line))), undecided)
            }
            None => (None, None),
        };
        let rules = Rules {
            format: reading.format,
            source: args.source.clone(),
            vouched: args.vouched(),
            merges_same_text: args.merge_same_text,
            order: order.map(|(order, _)| order),
            today: crate::clock::now().date(),
        };
        merge.begin();
        let count = Cell::new(0);
        let shape = self.read(encoding, &reading, &count, &mut |found| {
            progress(count.get());
            merge.take(found, &rules)
        })?;
        Ok(Shown {
            name: self.name.clone(),
            format: reading.format,
            encoding,
            shape,
            order,
            undecided,
        })
    }

    /// Finds out how it is to be read.
    fn reading(
        &self,
        args: &ImportArgs,
    ) -> Result<(Option<&'static Encoding>, Reading), ReadError> {
        let mapping = args.map.as_ref().map(|map| map.0.clone());
        let mapping = mapping.unwrap_or_default();
        if let Contents::Workbook(bytes) = &self.contents {
            return Ok((None, Reading::of_workbook(bytes, mapping)?));
        }
        let encoding = match args.encoding {
            Some(encoding) => encoding,
            None => self.reader().and_then(detect).map_err(ReadError::Io)?,
        };
        let head = self.reader().and_then(|source| head(source, encoding));
        let head = head.map_err(ReadError::Io)?;
        match foreign(&head) {
            Some(why) => Err(ReadError::of_source(why)),
            None => Ok((
                Some(encoding),
                Reading::of_text(head, mapping, args.delimiter),
            )),
        }
    }

    /// Reads it to its end, and counts its bytes on the way.
    fn read(
        &self,
        encoding: Option<&'static Encoding>,
        reading: &Reading,
        count: &Cell<u64>,
        sink: &mut Sink<'_>,
    ) -> Result<Shape, ReadError> {
        if let Contents::Workbook(bytes) = &self.contents {
            return read_workbook(bytes, reading, sink);
        }
        let source = self.reader().map_err(ReadError::Io)?;
        let source = Counting { source, count };
        read(Utf8::new(source, encoding.unwrap_or(UTF_8)), reading, sink)
    }

    /// Reads it once for its dates alone.
    fn evidence(
        &self,
        encoding: Option<&'static Encoding>,
        reading: &Reading,
    ) -> Result<Evidence, ReadError> {
        let mut evidence = Evidence::default();
        self.read(encoding, reading, &Cell::new(0), &mut |found| {
            if let Found::Record(record) = found {
                for field in [Field::Date, Field::ReplyDate] {
                    evidence.note(record.filled(field).unwrap_or_default(), record.line);
                }
            }
            Ok(())
        })?;
        Ok(evidence)
    }

    fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &self.contents {
            Contents::File(path) => Box::new(BufReader::new(File::open(path)?)),
            Contents::Memory(bytes) | Contents::Workbook(bytes) => Box::new(bytes.as_slice()),
        })
    }
}

/// Reads all of a source; `None` where it has more than `bytes_max`.
fn bounded(source: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// Counts the bytes on their way.
struct Counting<'c, R> {
    source: R,
    count: &'c Cell<u64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}
