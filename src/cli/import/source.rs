//! One source: a file, or an address whose answer is held in memory; opened once for each look at it.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use encoding_rs::Encoding;

use super::ImportArgs;
use super::fetch::fetch;
use crate::cli::exit::{Failure, Status};
use crate::import::date::{Evidence, Order};
use crate::import::encoding::{Utf8, detect, head};
use crate::import::kind::{Kind, foreign};
use crate::import::merge::Merge;
use crate::import::normalise::Rules;
use crate::import::record::{Field, Found};
use crate::import::{ReadError, Reading, Shape, read};

/// A source that is there.
pub(super) struct Source {
    name: String,
    bytes: u64,
    place: Place,
}

enum Place {
    File(PathBuf),
    Memory(Vec<u8>),
}

/// What a source turned out to be.
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) encoding: &'static Encoding,
    pub(super) shape: Shape,
    /// Whether columns were named that a source of this kind does not have.
    pub(super) is_map_unused: bool,
    /// How dates of numbers were read, and the line that decided it.
    pub(super) order: Option<(Order, Option<u64>)>,
    /// The line of a date that nothing decided.
    pub(super) undecided: Option<u64>,
}

impl Source {
    /// Looks for a file, or fetches an address.
    pub(super) fn open(name: &str, args: &ImportArgs) -> Result<Source, Failure> {
        if name.starts_with("https://") {
            let body = fetch(name, args.ca.as_deref(), args.data_file_bytes)?;
            return Ok(Source {
                name: name.to_owned(),
                bytes: body.len() as u64,
                place: Place::Memory(body),
            });
        }
        if name.starts_with("http://") {
            let message =
                format!("{name}: plain http is refused: use https, or save the answer to a file");
            return Err(Failure::new(Status::Usage, message));
        }
        let path = PathBuf::from(name);
        let failure = |status, message: &str| Failure::new(status, format!("{name}: {message}"));
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(failure(Status::NoInput, "there is no such file"));
            }
            Err(error) => return Err(failure(Status::Io, &error.to_string())),
        };
        if !metadata.is_file() {
            // It is read more than once, so a pipe will not do.
            return Err(failure(Status::NoInput, "is not a regular file"));
        }
        Ok(Source {
            name: name.to_owned(),
            bytes: metadata.len(),
            place: Place::File(path),
        })
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
        let encoding = match args.encoding {
            Some(encoding) => encoding,
            None => self.reader().and_then(detect).map_err(ReadError::Io)?,
        };
        let head = self
            .reader()
            .and_then(|source| head(source, encoding))
            .map_err(ReadError::Io)?;
        if let Some(why) = foreign(&head) {
            return Err(ReadError::of_source(why));
        }
        let kind = args.from.map_or_else(|| Kind::detect(&head), Kind::from);
        let reading = Reading {
            kind,
            mapping: args
                .map
                .as_ref()
                .map(|map| map.0.clone())
                .unwrap_or_default(),
            delimiter: args.delimiter,
            head,
        };
        let (order, undecided) = match args.date_format {
            Some(order) => (Some((order, None)), None),
            None if kind.is_of_any_make() => {
                let evidence = self.evidence(encoding, &reading)?;
                let order = evidence.order();
                let undecided = evidence.ambiguous().filter(|_| order.is_none());
                (order.map(|(order, line)| (order, Some(line))), undecided)
            }
            None => (None, None),
        };
        let rules = Rules {
            source: args
                .source
                .clone()
                .unwrap_or_else(|| kind.source().to_owned()),
            vouched: args.vouched(),
            order: order.map(|(order, _)| order),
            today: crate::clock::now().date(),
        };
        merge.begin();
        let count = Cell::new(0);
        let source = Counting {
            source: self.reader().map_err(ReadError::Io)?,
            count: &count,
        };
        let shape = read(Utf8::new(source, encoding), &reading, &mut |found| {
            progress(count.get());
            merge.take(found, &rules)
        })?;
        Ok(Shown {
            name: self.name.clone(),
            kind,
            encoding,
            is_map_unused: args.map.is_some() && !kind.is_of_any_make(),
            shape,
            order,
            undecided,
        })
    }

    /// Reads it once for its dates alone.
    fn evidence(
        &self,
        encoding: &'static Encoding,
        reading: &Reading,
    ) -> Result<Evidence, ReadError> {
        let mut evidence = Evidence::default();
        let source = self.reader().map_err(ReadError::Io)?;
        read(Utf8::new(source, encoding), reading, &mut |found| {
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
        Ok(match &self.place {
            Place::File(path) => Box::new(BufReader::new(File::open(path)?)),
            Place::Memory(bytes) => Box::new(bytes.as_slice()),
        })
    }
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
