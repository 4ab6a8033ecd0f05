//! From the operator's files to a site, in one go; on whatever thread asks, which is never one that serves.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::{info, warn};

use crate::clock;
use crate::dataset::{self, Files, Problems, Remarks, Unremarked, Warning};
use crate::http::{ServedState, SettingsError};
use crate::insights;
use crate::mcp;
use crate::model::Dataset;
use crate::search::index::IndexOptions;
use crate::snapshot::{Settings, Snapshot};
use crate::wire::date::Timestamp;

use super::clock::{elapsed_ms, instant};
use super::config::{Config, DataSource};
use super::content_dates::ContentDates;
use super::files::{self, ReadError, Stamps};
use super::memory;

/// Bytes of review text up to which a start waits for remarks and insights: a fifth of a second of processor time.
const AT_ONCE_BYTES: u64 = 1 << 20;

/// How long a start waits for files that are being written.
const WRITTEN_WAIT_MAX: Duration = Duration::from_secs(60);

/// Turns files into sites, the first time and at every reload.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    source: DataSource,
    file_bytes: u64,
    extension: Option<mcp::Extension>,
    base_url: String,
    search_memory: Option<u64>,
    mentions_min: u32,
    dates: Arc<Mutex<ContentDates>>,
}

/// What is left to do for the first dataset while it is served.
#[derive(Debug)]
pub(super) struct DeferredWork {
    dataset: Dataset,
    remarks: Remarks,
    /// Whether the insights are still to be derived.
    pub(super) awaits_insights: bool,
}

impl Loader {
    /// Returns the loader for `config`, with documents that carry `base_url`.
    pub(super) fn new(config: &Config, base_url: &str) -> Loader {
        Loader {
            source: config.data.clone(),
            file_bytes: config.reload.file_bytes,
            extension: config.mcp.extension,
            base_url: base_url.to_owned(),
            search_memory: config.search_memory,
            mentions_min: config.mentions_min,
            dates: Arc::new(Mutex::new(ContentDates::load(config.state.as_deref()))),
        }
    }

    /// Reads and checks the files by as many threads as given.
    ///
    /// # Errors
    /// When a file cannot be read, or its contents are refused.
    pub(super) fn decode(&self, threads: NonZeroUsize) -> Result<Unremarked, LoadError> {
        let began = instant();
        let files: Files = match &self.source {
            DataSource::Directory(directory) => files::read(directory, self.file_bytes)?,
            DataSource::Sample => dataset::embedded(),
        };
        let read_ms = elapsed_ms(began);
        let mut decoded = dataset::decode_by(files, clock::now(), threads)?;
        dataset::refuse_placeholders(&decoded.dataset)?;
        self.dates().date(&mut decoded.dataset);
        let elapsed_ms = elapsed_ms(began);
        info!(read_ms, elapsed_ms, "the data files are read and checked");
        Ok(decoded)
    }

    fn dates(&self) -> MutexGuard<'_, ContentDates> {
        self.dates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the date of `snapshot`, which is about to be served.
    pub(super) fn remember(&self, snapshot: &Snapshot) {
        self.dates().remember(snapshot.digest, snapshot.updated_at);
    }

    /// Reads and checks the files like [`Loader::decode`], at a start: waits while they are being written.
    ///
    /// # Errors
    /// As [`Loader::decode`], and when they are still being written after [`WRITTEN_WAIT_MAX`].
    pub(super) fn decode_when_written(
        &self,
        threads: NonZeroUsize,
    ) -> Result<Unremarked, LoadError> {
        let began = instant();
        loop {
            if let DataSource::Directory(directory) = &self.source
                && began.elapsed() < WRITTEN_WAIT_MAX
                && let Some(left) = Stamps::of(directory).time_until_quiet(clock::unix_ms())
            {
                thread::sleep(left);
                continue;
            }
            match self.decode(threads) {
                Err(LoadError::Read(error))
                    if error.is_transient() && began.elapsed() < WRITTEN_WAIT_MAX =>
                {
                    info!("waiting for the data files to be written");
                    thread::sleep(files::QUIET);
                }
                decoded => return decoded,
            }
        }
    }

    /// Returns the date of a dataset that was refused, if nothing but the clock is against it.
    pub(super) fn time_to_come(&self) -> Option<Timestamp> {
        let DataSource::Directory(directory) = &self.source else {
            return None;
        };
        let files = files::read(directory, self.file_bytes).ok()?;
        let decoded = dataset::decode_by(files, Timestamp::MAX, NonZeroUsize::MIN).ok()?;
        Some(decoded.dataset.updated_at)
    }

    /// Builds the first site, by as many threads as given. What need not be there before requests are answered is left
    /// out where the dataset is large, and handed back: the remarks, and the insights unless the operator gave them.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn build_first(
        &self,
        decoded: Unremarked,
        threads: NonZeroUsize,
    ) -> Result<(ServedState, Option<DeferredWork>), LoadError> {
        let Unremarked {
            dataset,
            remarks,
            room,
        } = decoded;
        let settings = self.settings(&dataset, threads);
        let snapshot = Snapshot::build_without_insights(&dataset, &settings, room);
        let is_large = text_bytes(&dataset) > AT_ONCE_BYTES;
        let deferred = DeferredWork {
            awaits_insights: is_large && dataset.insights.is_none(),
            dataset,
            remarks,
        };
        if !deferred.awaits_insights {
            let options = settings.insights(threads);
            snapshot.set_insights(insights::document(&deferred.dataset, &options));
        }
        if !is_large {
            deferred.log_remarks();
        }
        let served = self.served(Arc::new(snapshot))?;
        Ok((served, is_large.then_some(deferred)))
    }

    /// Gives the first `snapshot` its insights while it is served, by as many threads as given; `false` once
    /// `cancelled`.
    pub(super) fn derive_first(
        &self,
        snapshot: &Snapshot,
        deferred: &DeferredWork,
        threads: NonZeroUsize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let dataset = &deferred.dataset;
        let options = self.settings(dataset, threads).insights(threads);
        let document = insights::document_unless(dataset, &options, cancelled);
        document
            .map(|document| snapshot.set_insights(document))
            .is_some()
    }

    /// Builds a site that replaces another, whole and by one thread, since the other is served meanwhile and a
    /// reload is in no hurry; `None` once `cancelled`, which then has to stay true.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn build(
        &self,
        decoded: Unremarked,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<ServedState>, LoadError> {
        let Unremarked {
            dataset,
            remarks,
            room,
        } = decoded;
        // By one thread the index comes before the documents, and would have to do without this memory.
        drop(room);
        let settings = self.settings(&dataset, NonZeroUsize::MIN);
        let Some(snapshot) = Snapshot::build_unless(&dataset, &settings, Vec::new(), cancelled)
        else {
            return Ok(None);
        };
        let options = settings.insights(NonZeroUsize::MIN);
        let Some(insights) = insights::document_unless(&dataset, &options, cancelled) else {
            return Ok(None);
        };
        snapshot.set_insights(insights);
        if cancelled() {
            return Ok(None);
        }
        log(&remarks.of(&dataset, NonZeroUsize::MIN));
        self.served(Arc::new(snapshot)).map(Some)
    }

    fn settings(&self, dataset: &Dataset, threads: NonZeroUsize) -> Settings {
        let memory = self.search_memory;
        Settings {
            base_url: self.base_url.clone(),
            index: IndexOptions {
                memory_bytes: memory.unwrap_or_else(|| memory::search_memory(text_bytes(dataset))),
                threads,
            },
            mentions_min: self.mentions_min,
        }
    }

    /// Prepares the replies of `snapshot`.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn served(&self, snapshot: Arc<Snapshot>) -> Result<ServedState, LoadError> {
        let catalog = mcp::Catalog::new(Arc::clone(&snapshot), self.extension);
        Ok(ServedState::with_catalog(snapshot, catalog)?)
    }
}

impl DeferredWork {
    /// Logs what deserves a look.
    pub(super) fn log_remarks(&self) {
        log(&self.remarks.of(&self.dataset, NonZeroUsize::MIN));
    }
}

fn log(warnings: &[Warning]) {
    for warning in warnings {
        warn!("{warning}");
    }
}

/// Returns the bytes of all published texts.
fn text_bytes(dataset: &Dataset) -> u64 {
    dataset
        .reviews
        .iter()
        .map(|review| review.text.len() as u64)
        .sum()
}

/// Why a dataset cannot be served: the operator's mistake.
#[derive(Debug)]
pub(super) enum LoadError {
    /// A file cannot be read.
    Read(ReadError),
    /// The contents are refused.
    Data(Problems),
    /// A setting cannot be sent.
    Settings(SettingsError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Read(error) => error.fmt(formatter),
            LoadError::Data(problems) => problems.fmt(formatter),
            LoadError::Settings(error) => error.fmt(formatter),
        }
    }
}

impl From<ReadError> for LoadError {
    fn from(error: ReadError) -> LoadError {
        LoadError::Read(error)
    }
}

impl From<Problems> for LoadError {
    fn from(problems: Problems) -> LoadError {
        LoadError::Data(problems)
    }
}

impl From<SettingsError> for LoadError {
    fn from(error: SettingsError) -> LoadError {
        LoadError::Settings(error)
    }
}
