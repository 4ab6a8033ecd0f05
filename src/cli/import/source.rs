//! One source: a file, or an address whose answer is held in memory; opened once for each look at it.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

use encoding_rs::Encoding;
use ureq::Agent;

use super::ImportArgs;
use crate::cli::exit::{Failure, Status};
use crate::import::date::{Evidence, Order};
use crate::import::encoding::{Utf8, detect, head};
use crate::import::kind::Kind;
use crate::import::merge::Merge;
use crate::import::normalise::Rules;
use crate::import::record::{Field, Found};
use crate::import::{ReadError, Reading, Shape, read};

/// How long the answer of an address may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(60);

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
    /// How dates of numbers were read, and the line that decided it.
    pub(super) order: Option<(Order, Option<u64>)>,
    /// The line of a date that nothing decided.
    pub(super) undecided: Option<u64>,
}

impl Source {
    /// Looks for a file, or fetches an address.
    pub(super) fn open(name: &str, bytes_max: u64) -> Result<Source, Failure> {
        if name.starts_with("https://") {
            let body = fetch(name, bytes_max)
                .map_err(|error| Failure::new(Status::Io, format!("{name}: {error}")))?;
            return Ok(Source {
                name: name.to_owned(),
                bytes: body.len() as u64,
                place: Place::Memory(body),
            });
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
            None if kind.has_free_dates() => {
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
            verified: args.verified,
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

/// Fetches an address: https only, no redirects elsewhere, within a minute, at most `bytes_max`.
fn fetch(url: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    let config = Agent::config_builder()
        .https_only(true)
        .timeout_global(Some(FETCH_TIME_MAX))
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent: Agent = config.into();
    let mut response = agent.get(url).call().map_err(|error| error.to_string())?;
    if response.status() != 200 {
        return Err(format!("answers {}", response.status()));
    }
    let mut body = Vec::new();
    let reader = response.body_mut().as_reader();
    let read = reader
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut body);
    read.map_err(|error| error.to_string())?;
    if body.len() as u64 > bytes_max {
        return Err(format!(
            "is larger than {bytes_max} bytes (--data-file-bytes)"
        ));
    }
    Ok(body)
}
