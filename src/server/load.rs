//! From the operator's files to a site, in one go; on whatever thread asks, which is never one that serves.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tracing::warn;

use crate::clock;
use crate::dataset::{self, Decoded, Files, Problems};
use crate::http::{SettingsError, Site};
use crate::insights::{self, kept::Kept};
use crate::mcp;
use crate::model::Dataset;
use crate::search::index::IndexOptions;
use crate::snapshot::{Settings, Snapshot};

use super::config::{Config, DataSource};
use super::files::{self, ReadError};
use super::index_file::IndexFile;
use super::insights_store::InsightsStore;
use super::memory;

/// Bytes of review text up to which a start waits for the insights: a fifth of a second of processor time.
const DERIVE_AT_ONCE_BYTES: u64 = 1 << 20;

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

/// A dataset that is served without its insights, and what helps to derive them.
#[derive(Debug)]
pub(super) struct Underived {
    dataset: Dataset,
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

    /// Reads and checks the files by as many threads as given, and logs what deserves a look.
    ///
    /// # Errors
    /// When a file cannot be read, or its contents are refused.
    pub(super) fn decode(&self, threads: NonZeroUsize) -> Result<Decoded, LoadError> {
        let files: Files = match &self.source {
            DataSource::Directory(directory) => files::read(directory, self.file_bytes)?,
            DataSource::Sample => dataset::embedded(),
        };
        let decoded = dataset::decode_by(files, clock::now(), threads)?;
        for warning in &decoded.warnings {
            warn!("{warning}");
        }
        Ok(decoded)
    }

    /// Builds the first site, by as many threads as given. The insights of a large dataset are left out unless
    /// they were kept, and it is handed back for them: reads and searches need not wait for what takes longer than all
    /// the rest.
    ///
    /// # Errors
    /// When the public address cannot be written into a header.
    pub(super) fn build_first(
        &self,
        decoded: Decoded,
        threads: NonZeroUsize,
    ) -> Result<(Site, Option<Underived>), LoadError> {
        let dataset = decoded.dataset;
        let settings = self.settings(&dataset, threads);
        let snapshot = self.snapshot(&dataset, &settings);
        let earlier = self.insights.read(&dataset);
        let is_kept = |kept: &Kept| kept.is_of(&dataset, &settings.insights(threads));
        let is_ready = dataset.insights.is_some() || earlier.as_ref().is_some_and(is_kept);
        let is_large = text_bytes(&dataset) > DERIVE_AT_ONCE_BYTES;
        let underived = Underived { dataset, earlier };
        if is_large && !is_ready {
            return Ok((self.site(Arc::new(snapshot))?, Some(underived)));
        }
        self.derive(&snapshot, underived, threads);
        Ok((self.site(Arc::new(snapshot))?, None))
    }

    /// Gives `snapshot` its insights, by as many threads as given, and keeps them.
    fn derive(&self, snapshot: &Snapshot, underived: Underived, threads: NonZeroUsize) {
        let Underived { dataset, earlier } = underived;
        let options = self.settings(&dataset, threads).insights(threads);
        snapshot.set_insights(self.insights.document(&dataset, &options, earlier));
    }

    /// Gives the first `snapshot` its insights while it is served, by as many threads as given; `None` once
    /// `cancelled`.
    pub(super) fn derive_first(
        &self,
        snapshot: &Snapshot,
        underived: Underived,
        threads: NonZeroUsize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Unkept> {
        let Underived { dataset, earlier } = underived;
        let options = self.settings(&dataset, threads).insights(threads);
        let derived = insights::derive_unless(&dataset, &options, earlier.as_ref(), cancelled)?;
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
    pub(super) fn build(&self, decoded: Decoded) -> Result<Site, LoadError> {
        let dataset = decoded.dataset;
        let settings = self.settings(&dataset, NonZeroUsize::MIN);
        let snapshot = self.snapshot(&dataset, &settings);
        let earlier = self.insights.read(&dataset);
        let underived = Underived { dataset, earlier };
        self.derive(&snapshot, underived, NonZeroUsize::MIN);
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

    /// Builds all but the insights, the index from its file where that fits.
    fn snapshot(&self, dataset: &Dataset, settings: &Settings) -> Snapshot {
        Snapshot::build_or_restore(dataset, settings, |wanted| {
            self.index_file.as_ref()?.read(wanted)
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
