//! Loads the operator's files: reads, checks and dates them, and builds the served state. This runs at the start and at every
//! reload, never on a thread that serves.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::clock;
use crate::dataset::{self, Decoded, Files, Problems};
use crate::http::{ServedState, SettingsError};
use crate::insights::{self, IsCancelled, ReviewReadings};
use crate::model::Dataset;
use crate::model::notices::NoticeSetting;
use crate::notices;
use crate::search::index::IndexOptions;
use crate::snapshot::{Snapshot, SnapshotSettings};
use crate::wire::date::{Timestamp, parse_timestamp};
use crate::wire::text::hex;

use super::clock::{elapsed_ms, instant};
use super::config::{Config, DataSource};
use super::files::{self, FileError, ReadCause, Stamps, WRITTEN_WAIT_MAX};
use super::process;
use super::state_file::replace_file;
use super::told::ToldChanges;

/// Bytes of review text up to which warnings and insights are derived before the dataset is served, 1 MiB: these take a fifth
/// of a second of processor time. For a larger dataset they are derived later.
const AT_ONCE_BYTES: u64 = 1 << 20;

/// The file in the state directory with the [`ContentDate`]: a date (RFC 3339), a space, a digest, a line feed.
const DATE_FILE: &str = "content-date";

/// Loads files and builds the served state, at the start and at every reload.
#[derive(Debug)]
pub(super) struct Loader {
    source: DataSource,
    base_url: String,
    /// Number of threads that read and build; at a reload they have low priority, so that requests have precedence.
    threads: NonZeroUsize,
    /// The configured memory limit of the text index in bytes; `None` for the default.
    search_memory: Option<u64>,
    dates: ContentDates,
    told: ToldChanges,
    /// Where notices go, by `notices.json` as it was last read.
    notices: Arc<[NoticeSetting]>,
    /// The state of the files when they were last read or found missing.
    seen: Stamps,
}

/// Why a dataset cannot be served.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The contents are invalid.
    #[error(transparent)]
    Data(#[from] Problems),
    /// A setting is not a valid header value.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Building panicked.
    #[error("building the changed dataset failed, which is an error in reviewd")]
    Panic,
}

impl LoadError {
    /// Whether the files were being written, so that they have to be read again.
    pub(super) fn is_of_changing_files(&self) -> bool {
        matches!(self, LoadError::Read(error) if matches!(error.cause, ReadCause::Changing))
    }

    /// Whether the reason may pass without a new version of the files: no free file descriptor, memory or thread, a disk that
    /// fails, or a writer that never ends.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            LoadError::Read(error) => error.cause.may_pass(),
            // A build panics if the system refuses a thread.
            LoadError::Panic => true,
            LoadError::Data(_) | LoadError::Settings(_) => false,
        }
    }
}

impl Loader {
    /// Creates the loader for `config`, with documents that contain `base_url`.
    pub(super) fn new(config: &Config, base_url: &str) -> Loader {
        Loader {
            source: config.data.clone(),
            base_url: base_url.to_owned(),
            threads: config.threads,
            search_memory: config.search_memory,
            dates: ContentDates::load(config.state.as_deref()),
            told: ToldChanges::load(config.state.as_deref()),
            notices: Arc::default(),
            seen: Stamps::default(),
        }
    }

    /// Returns the data directory; `None` for the embedded sample, which does not change.
    pub(super) fn directory(&self) -> Option<&Path> {
        match &self.source {
            DataSource::Directory(directory) => Some(directory),
            DataSource::Sample => None,
        }
    }

    /// Returns the state of the files when they were last read or found missing.
    pub(super) fn seen(&self) -> Stamps {
        self.seen
    }

    /// Returns the size of all files.
    pub(super) fn file_bytes(&self) -> u64 {
        self.seen.bytes()
    }

    /// Tells whether the files have changed since [`Loader::wait_until_written`].
    pub(super) fn has_changed(&self) -> bool {
        let now = self.directory().map(Stamps::of).unwrap_or_default();
        now != self.seen
    }

    /// Waits like [`files::wait_until_written`]; returns whether the directory has `reviews.json`.
    pub(super) fn wait_until_written(
        &mut self,
        began: Instant,
        pause: impl Fn(Duration) -> bool,
    ) -> bool {
        if let Some(directory) = self.directory() {
            self.seen = files::wait_until_written(directory, self.seen, began, pause);
        }
        self.seen.has_reviews()
    }

    /// Makes the next [`Loader::wait_until_written`] wait at least a second; to be called after files that changed while
    /// they were read.
    pub(super) fn forget(&mut self) {
        self.seen = Stamps::default();
    }

    /// Returns where notices go, by the files as they were last read.
    pub(super) fn notices(&self) -> Arc<[NoticeSetting]> {
        Arc::clone(&self.notices)
    }

    /// Reads and checks the files.
    pub(super) fn decode(&mut self) -> Result<Decoded, LoadError> {
        let began = instant();
        let files: Files = match self.directory() {
            Some(directory) => files::read(directory)?,
            None => dataset::embedded(),
        };
        let notices_file = match self.directory() {
            Some(directory) => files::read_notices(directory)?,
            None => None,
        };
        let notices = notices::read(&notices_file)?;
        let read_ms = elapsed_ms(began);
        let mut decoded = dataset::decode_by(files, clock::now(), self.threads)?;
        self.dates.date(&mut decoded.dataset);
        self.told.date(&mut decoded.dataset);
        // Only commands need the record of changes, which takes memory for all ids.
        decoded.record = None;
        self.notices = notices.into();
        let elapsed_ms = elapsed_ms(began);
        info!(read_ms, elapsed_ms, "the data files are read and checked");
        Ok(decoded)
    }

    /// Loads the files at the start, and builds the state to serve first. Waits while the files are being written, at most
    /// [`WRITTEN_WAIT_MAX`] in total.
    pub(super) fn build_first(&mut self) -> Result<BuiltState, LoadError> {
        let decoded = self.decode_when_written()?;
        let built = self.build(decoded, None, &|| false)?;
        Ok(built.expect("nothing cancels it"))
    }

    /// Reads and checks the files like [`Loader::decode`] once they are written.
    fn decode_when_written(&mut self) -> Result<Decoded, LoadError> {
        let began = instant();
        // The state of the files counts as known, so files that were written long ago are read at once.
        self.seen = self.directory().map(Stamps::of).unwrap_or_default();
        loop {
            self.wait_until_written(began, |left| {
                thread::sleep(left);
                true
            });
            match self.decode() {
                Err(error)
                    if error.is_of_changing_files() && began.elapsed() < WRITTEN_WAIT_MAX =>
                {
                    info!("waiting for the data files to be written");
                    self.forget();
                }
                decoded => return decoded,
            }
        }
    }

    /// Reads the files again, and returns the date of their dataset if they were refused only because this date is in the
    /// future.
    pub(super) fn future_date(&self) -> Option<Timestamp> {
        let files = files::read(self.directory()?).ok()?;
        let decoded = dataset::decode_by(files, Timestamp::MAX, NonZeroUsize::MIN).ok()?;
        Some(decoded.dataset.updated_at)
    }

    /// Builds the state to serve, and remembers its date and changes. `None` if it is cancelled.
    ///
    /// A large dataset is served before its insights are derived: until then it has those of the `previous` snapshot, or none.
    pub(super) fn build(
        &mut self,
        decoded: Decoded,
        previous: Option<&Snapshot>,
        cancelled: IsCancelled<'_>,
    ) -> Result<Option<BuiltState>, LoadError> {
        let text_bytes = text_bytes(&decoded.dataset);
        let settings = self.snapshot_settings(text_bytes);
        let built = Snapshot::build_without_insights(&decoded.dataset, &settings, cancelled);
        let Some(snapshot) = built else {
            return Ok(None);
        };
        let deferred = Deferred {
            snapshot,
            decoded,
            threads: self.threads,
        };
        let is_large = text_bytes > AT_ONCE_BYTES;
        let first = if !is_large || deferred.has_insights() {
            match deferred.whole(None, cancelled) {
                Some(whole) => whole,
                None => return Ok(None),
            }
        } else {
            match previous {
                Some(previous) => deferred.snapshot.with_insights_of(previous),
                None => deferred.snapshot.clone(),
            }
        };
        if !is_large {
            deferred.log_warnings();
        }
        let served = ServedState::new(Arc::new(first))?;
        let snapshot = served.snapshot();
        self.dates.remember(snapshot.digest, snapshot.updated_at);
        self.told.store();
        Ok(Some(BuiltState {
            served,
            deferred: if is_large { Some(deferred) } else { None },
        }))
    }

    fn snapshot_settings(&self, text_bytes: u64) -> SnapshotSettings {
        let memory_bytes = match self.search_memory {
            Some(configured) => configured,
            None => process::search_memory(text_bytes),
        };
        SnapshotSettings {
            base_url: self.base_url.clone(),
            index: IndexOptions {
                memory_bytes,
                threads: self.threads,
                tuning: None,
            },
        }
    }
}

/// A state to serve.
#[derive(Debug)]
pub(super) struct BuiltState {
    pub(super) served: ServedState,
    /// The data for deriving the insights and warnings of a large dataset; `None` if they are derived.
    pub(super) deferred: Option<Deferred>,
}

/// A snapshot without insights, and the data for deriving these and the warnings.
#[derive(Debug)]
pub(super) struct Deferred {
    snapshot: Snapshot,
    decoded: Decoded,
    threads: NonZeroUsize,
}

impl Deferred {
    /// Tells whether the operator supplied the insights, so that none have to be derived.
    pub(super) fn has_insights(&self) -> bool {
        self.decoded.dataset.insights.is_some()
    }

    /// Returns the snapshot with its insights; reviews that are in the `previous` readings are not read again. `None` if
    /// it is cancelled.
    pub(super) fn whole(
        &self,
        previous: Option<&ReviewReadings>,
        cancelled: IsCancelled<'_>,
    ) -> Option<Snapshot> {
        let dataset = &self.decoded.dataset;
        let document = insights::document_after(dataset, previous, self.threads, cancelled)?;
        Some(self.snapshot.with_insights(document))
    }

    /// Logs the warnings about the dataset.
    pub(super) fn log_warnings(&self) {
        for warning in self.decoded.warnings() {
            warn!("{warning}");
        }
    }
}

/// Returns the bytes of all published texts.
fn text_bytes(dataset: &Dataset) -> u64 {
    let lengths = dataset.reviews.iter().map(|review| review.text.len());
    lengths.map(|length| length as u64).sum()
}

/// Dates the content: no two contents get the same date, and dates never go back.
///
/// The date of content is that of its files, or one second after the date of the previous content, whichever is later. The
/// last date is stored in the state directory, so that the rule also holds after a restart. If it cannot be stored, content
/// is served anyway.
#[derive(Debug)]
struct ContentDates {
    /// `None` without a state directory.
    path: Option<PathBuf>,
    /// That of the content that was served last; `None` if no content was served yet.
    last: Option<ContentDate>,
}

/// The SHA-256 of served content, in hexadecimal digits, and its date.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContentDate {
    digest: String,
    date: Timestamp,
}

impl ContentDates {
    /// Reads the last date that a process with this state directory has stored. An error is logged.
    fn load(state: Option<&Path>) -> ContentDates {
        let Some(state) = state else {
            return ContentDates {
                path: None,
                last: None,
            };
        };
        let path = state.join(DATE_FILE);
        let last = ContentDate::read(&path).unwrap_or_else(|error| {
            warn!(file = %path.display(), %error, "the date of the last content cannot be read");
            None
        });
        ContentDates {
            path: Some(path),
            last,
        }
    }

    /// Sets the date of `dataset`.
    fn date(&self, dataset: &mut Dataset) {
        let Some(last) = &self.last else {
            return;
        };
        if last.digest == hex(&dataset.digest) {
            dataset.updated_at = last.date;
        } else {
            let next = Timestamp::from_unix(last.date.unix() + 1);
            dataset.updated_at = dataset.updated_at.max(next);
        }
    }

    /// Stores the digest and the date of content that will be served.
    fn remember(&mut self, digest: [u8; 32], date: Timestamp) {
        let next = ContentDate {
            digest: hex(&digest),
            date,
        };
        if self.last.as_ref() == Some(&next) {
            return;
        }
        if let Some(path) = &self.path
            && let Err(error) = next.write(path)
        {
            warn!(file = %path.display(), %error, "the date of the content cannot be stored for the next start");
        }
        self.last = Some(next);
    }
}

impl ContentDate {
    /// Reads the date; `None` if there is no file.
    fn read(path: &Path) -> io::Result<Option<ContentDate>> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let parsed = ContentDate::parse(&text).ok_or_else(|| io::Error::other("it is damaged"))?;
        Ok(Some(parsed))
    }

    /// Parses the content of the file; `None` if it is damaged.
    fn parse(text: &str) -> Option<ContentDate> {
        let (date, digest) = text.strip_suffix('\n')?.split_once(' ')?;
        let date = parse_timestamp(date.as_bytes())?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return None;
        }
        Some(ContentDate {
            digest: digest.to_owned(),
            date,
        })
    }

    /// Replaces the file.
    fn write(&self, path: &Path) -> io::Result<()> {
        let line = format!("{} {}\n", self.date, self.digest);
        replace_file(path, line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insights_of_up_to_a_mebibyte_of_text_are_there_at_once() {
        let mut loader = Loader {
            source: DataSource::Sample,
            base_url: "https://reviews.example".to_owned(),
            threads: NonZeroUsize::MIN,
            search_memory: Some(64 << 20),
            dates: ContentDates::load(None),
            told: ToldChanges::load(None),
            notices: Arc::default(),
            seen: Stamps::default(),
        };
        for (more, is_there) in [("", true), ("*", false)] {
            let mut decoded = loader.decode().unwrap();
            decoded.dataset.reviews.truncate(16);
            for review in &mut decoded.dataset.reviews {
                // Punctuation is analyzed quickly.
                review.text = "* ".repeat(1 << 15);
            }
            decoded.dataset.reviews[0].text += more;
            let built = loader.build(decoded, None, &|| false).unwrap().unwrap();
            assert_eq!(built.served.snapshot().insights().is_some(), is_there);
            assert_eq!(built.deferred.is_none(), is_there);
        }
    }

    #[test]
    fn a_damaged_file_is_none() {
        let whole = format!("2026-01-01T00:00:00Z {}\n", "0a".repeat(32));
        let parsed = ContentDate::parse(&whole).unwrap();
        assert_eq!(parsed.digest, hex(&[10; 32]));
        assert_eq!(parsed.date.to_string(), "2026-01-01T00:00:00Z");
        for (part, damaged) in [
            ("\n", ""),
            ("Z", ""),
            ("0a", "0g"),
            ("0a", "0"),
            ("0a", "é"),
        ] {
            let damaged = whole.replacen(part, damaged, 1);
            assert_eq!(ContentDate::parse(&damaged), None, "{damaged:?}");
        }
        assert_eq!(ContentDate::parse(""), None);
    }
}
