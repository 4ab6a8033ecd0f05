//! From the operator's files to a site, in one go; on whatever thread asks, which is never one that serves.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tracing::{info, warn};

use crate::clock;
use crate::dataset::{self, Files, Problems, Remarks, Unremarked, Warning};
use crate::http::{SettingsError, Site};
use crate::insights::{self, kept::Kept};
use crate::mcp;
use crate::model::Dataset;
use crate::search::index::IndexOptions;
use crate::snapshot::{Settings, Snapshot};
use crate::wire::date::Timestamp;

use super::clock::{elapsed_ms, instant};
use super::config::{Config, DataSource};
use super::files::{self, ReadError};
use super::index_file::{Ahead, IndexFile};
use super::insights_store::InsightsStore;
use super::memory;

/// Bytes of review text up to which a start waits for remarks and insights: a fifth of a second of processor time.
const AT_ONCE_BYTES: u64 = 1 << 20;

/// Bytes of review text up to which insights that were kept are read before the first request is answered: a tenth of
/// a second. Those of a million reviews take two seconds, most of them for the pages.
const KEPT_AT_ONCE_BYTES: u64 = 64 << 20;

/// Turns files into sites, the first time and at every reload.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    source: DataSource,
    file_bytes: u64,
    has_fixtures: bool,
    base_url: String,
    search_memory: Option<u64>,
    mentions_min: u32,
    index_file: Option<IndexFile>,
    insights: InsightsStore,
}

/// What is left to do for the first dataset while it is served.
#[derive(Debug)]
pub(super) struct Rest {
    dataset: Dataset,
    remarks: Remarks,
    /// Whether the insights are still to come: those that were kept, or derived ones.
    pub(super) awaits_insights: bool,
    /// Kept insights of another dataset, which help to derive those of this one.
    earlier: Option<Kept>,
}

/// Insights that are served, and not kept yet.
#[derive(Debug)]
pub(super) struct Unkept(Kept);

impl Loader {
    /// Returns the loader for `config`, with documents that carry `base_url`.
    pub(super) fn new(config: &Config, base_url: &str) -> Loader {
        Loader {
            source: config.data.clone(),
            file_bytes: config.reload.file_bytes,
            has_fixtures: config.mcp.has_fixtures,
            base_url: base_url.to_owned(),
            search_memory: config.search_memory,
            mentions_min: config.mentions_min,
            index_file: IndexFile::new(config.cache.as_deref(), config.index_texts_min),
            insights: InsightsStore::new(config.cache.as_deref()),
        }
    }

    /// Begins to read the stored index, beside the files, where there is more than one thread.
    pub(super) fn begin(&self, threads: NonZeroUsize) -> Option<Ahead> {
        let memory_max = self
            .search_memory
            .unwrap_or_else(|| memory::search_memory(u64::MAX));
        let file = self.index_file.as_ref()?;
        (threads.get() > 1).then(|| file.begin(memory_max))?
    }

    /// Reads and checks the files by as many threads as given.
    ///
    /// # Errors
    /// When a file cannot be read, or its contents are refused.
    pub(super) fn decode(&self, threads: NonZeroUsize) -> Result<Unremarked, LoadError> {
        let began = instant();
        let files: Files = match &self.source {
            DataSource::Directory(directory) => files::read(directory, self.file_bytes)?,
            // What is kept elsewhere was fetched into a directory before.
            DataSource::Remote(_) | DataSource::Sample => dataset::embedded(),
        };
        let read_ms = elapsed_ms(began);
        let decoded = dataset::decode_by(files, clock::now(), threads)?;
        dataset::refuse_placeholders(&decoded.dataset)?;
        let elapsed_ms = elapsed_ms(began);
        info!(read_ms, elapsed_ms, "the data files are read and checked");
        Ok(decoded)
    }

    /// Returns the date of a dataset that was refused, if nothing but the clock is against it.
    pub(super) fn time_to_come(&self) -> Option<Timestamp> {
        let DataSource::Directory(directory) = &self.source else {
            return None;
        };
        let judged = judge(directory, self.file_bytes, Timestamp::MAX).ok()?;
        Some(judged.updated_at)
    }

    /// Builds the first site, by as many threads as given, with the index that is read `ahead` if it fits. What need not be there before requests are answered is left
    /// out where the dataset is large, and handed back: the remarks, and the insights unless the operator gave them.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn build_first(
        &self,
        decoded: Unremarked,
        ahead: Option<Ahead>,
        threads: NonZeroUsize,
    ) -> Result<(Site, Option<Rest>), LoadError> {
        let Unremarked {
            dataset,
            remarks,
            room,
        } = decoded;
        let settings = self.settings(&dataset, threads);
        let snapshot = self.snapshot(&dataset, &settings, room, ahead);
        let bytes = text_bytes(&dataset);
        let is_large = bytes > AT_ONCE_BYTES;
        let mut rest = Rest {
            awaits_insights: is_large && dataset.insights.is_none(),
            dataset,
            remarks,
            earlier: None,
        };
        if rest.awaits_insights && bytes <= KEPT_AT_ONCE_BYTES {
            rest.awaits_insights = !self.restore_first(&snapshot, &mut rest);
        }
        if !is_large || rest.dataset.insights.is_some() {
            let earlier = self.insights.read(&rest.dataset);
            let options = settings.insights(threads);
            snapshot.set_insights(self.insights.document(&rest.dataset, &options, earlier));
        }
        if !is_large {
            rest.remark();
        }
        Ok((self.site(Arc::new(snapshot))?, is_large.then_some(rest)))
    }

    /// Gives the first `snapshot` the insights that were kept of the same files; `false` where there are none, and `rest`
    /// then has those of other files.
    pub(super) fn restore_first(&self, snapshot: &Snapshot, rest: &mut Rest) -> bool {
        // However many threads there are, they are the same.
        let options = self
            .settings(&rest.dataset, NonZeroUsize::MIN)
            .insights(NonZeroUsize::MIN);
        match self.insights.read(&rest.dataset) {
            Some(kept) if kept.is_of(&rest.dataset, &options) => {
                info!("the kept insights are of the same files, so they are served as they are");
                snapshot.set_insights(kept.into_document());
                true
            }
            earlier => {
                rest.earlier = earlier;
                false
            }
        }
    }

    /// Gives the first `snapshot` its insights while it is served, by as many threads as given; `None` once
    /// `cancelled`.
    pub(super) fn derive_first(
        &self,
        snapshot: &Snapshot,
        rest: &Rest,
        threads: NonZeroUsize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Unkept> {
        let options = self.settings(&rest.dataset, threads).insights(threads);
        let earlier = rest.earlier.as_ref();
        let derived = insights::derive_unless(&rest.dataset, &options, earlier, cancelled)?;
        snapshot.set_insights(derived.document().to_vec());
        Some(Unkept(derived))
    }

    /// Keeps the insights of the first dataset, unless those of another are.
    pub(super) fn keep_first(&self, unkept: Unkept) {
        self.insights.keep_first(&unkept.0);
    }

    /// Builds a site that replaces another, whole and by one thread, since the other is served meanwhile and a
    /// reload is in no hurry.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn build(&self, decoded: Unremarked) -> Result<Site, LoadError> {
        let Unremarked {
            dataset,
            remarks,
            room,
        } = decoded;
        // By one thread the index comes before the documents, and would have to do without this memory.
        drop(room);
        log(&remarks.of(&dataset, NonZeroUsize::MIN));
        let settings = self.settings(&dataset, NonZeroUsize::MIN);
        let snapshot = self.snapshot(&dataset, &settings, Vec::new(), None);
        let earlier = self.insights.read(&dataset);
        let options = settings.insights(NonZeroUsize::MIN);
        snapshot.set_insights(self.insights.document(&dataset, &options, earlier));
        self.site(Arc::new(snapshot))
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

    /// Builds all but the insights, the index from its file where that fits, `/reviews.json` in `room`.
    fn snapshot(
        &self,
        dataset: &Dataset,
        settings: &Settings,
        room: Vec<u8>,
        ahead: Option<Ahead>,
    ) -> Snapshot {
        Snapshot::build_or_restore(dataset, settings, room, |wanted| {
            self.index_file.as_ref()?.read(wanted, ahead)
        })
    }

    /// Stores the index of `snapshot` where it was not read but built; gives up once `cancelled`. Seconds for a
    /// large one.
    pub(super) fn store_index(&self, snapshot: &Snapshot, cancelled: &AtomicBool) {
        if let Some(file) = &self.index_file {
            file.write(&snapshot.index, cancelled);
        }
    }

    /// Prepares the replies of `snapshot`.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn site(&self, snapshot: Arc<Snapshot>) -> Result<Site, LoadError> {
        let catalog = mcp::Catalog::new(Arc::clone(&snapshot), self.has_fixtures);
        Ok(Site::with_catalog(snapshot, catalog)?)
    }
}

impl Rest {
    /// Logs what deserves a look.
    pub(super) fn remark(&self) {
        log(&self.remarks.of(&self.dataset, NonZeroUsize::MIN));
    }
}

fn log(warnings: &[Warning]) {
    for warning in warnings {
        warn!("{warning}");
    }
}

/// What tells one dataset from another, and which of two is the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) digest: [u8; 32],
    pub(super) updated_at: Timestamp,
}

/// Reads and checks the files of `directory` as a reload at `now` would, and serves nothing.
///
/// # Errors
/// When a file cannot be read, or its contents are refused.
pub(super) fn judge(
    directory: &Path,
    file_bytes: u64,
    now: Timestamp,
) -> Result<Judged, LoadError> {
    let files = files::read(directory, file_bytes)?;
    let dataset = dataset::decode_by(files, now, NonZeroUsize::MIN)?.dataset;
    dataset::refuse_placeholders(&dataset)?;
    Ok(Judged {
        digest: dataset.digest,
        updated_at: dataset.updated_at,
    })
}

/// Returns the bytes of all published texts.
fn text_bytes(dataset: &Dataset) -> u64 {
    dataset
        .reviews
        .iter()
        .map(|review| review.text.len() as u64)
        .sum()
}

/// Why there is no site; the culprit is the operator.
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
