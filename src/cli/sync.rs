//! `reviewd sync DIR`: brings in what has changed at the sources of `sources.json`, through the same rules as `import`.
//!
//! All sources are read before the folder is opened. A source is imported only if all of its pages were read, so one
//! that fails half way changes nothing; the others are imported. Reviews that a source no longer has stay: only `import
//! --prune` and `forget` remove reviews. A file without changes is not written.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use sha2::{Digest, Sha256};
use thiserror::Error;
use ureq::Agent;
use ureq::http::HeaderMap;
use ureq::http::header::{ETAG, LAST_MODIFIED, RETRY_AFTER};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print, tell};
use super::folder::{Folder, put};
use super::lock::{lock, when_free};
use super::source::{read_bounded, read_sources, read_token};
use super::values::time;
use crate::clock;
use crate::import::remote::{
    CollectLimits, Collected, RemoteClient, RemoteError, RemoteRequest, RemoteResponse,
    RemoteSource, RemoteVerification, SourceValidators, collect,
};
use crate::import::{ImportSource, Merge, Options, ReadError, RecordResult, Vouched};
use crate::model::sync::{
    SOURCE_ERROR_BYTES_MAX, SYNC_BYTES_MAX, SYNC_FILE, SourceState, SyncState,
};
use crate::wire::date::Timestamp;
use crate::wire::text::{hex, truncate};

/// Most bytes of all sources of a run. Our choice: four of the largest sources; more would fill the memory.
const RUN_BYTES_MAX: u64 = 1 << 30;

/// Most time for reading all sources of a run.
const RUN_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// Most time for one request, up to the last byte of the response.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(60);

/// Most redirects of a request without a token; with a token none is followed.
const REDIRECTS_MAX: u32 = 3;

/// Most bytes of a header field that is used. Our choice: a longer one is ignored, as usual ones are shorter.
const FIELD_BYTES_MAX: usize = 1_024;

/// Most time to wait while another command uses the data directory.
pub(super) const LOCK_TIME_MAX: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(super) struct SyncArgs {
    /// Directory with reviews.json and sources.json
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Only these sources. May be repeated
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Repeat after this time, such as 6h, until the process is ended; without it, once
    #[arg(long, value_name = "TIME", value_parser = time("1m", "30d"))]
    every: Option<Duration>,
    /// Ask for whole documents, even if they have not changed, and do not wait as a source asked for
    #[arg(long)]
    full: bool,
}

/// Reads the sources, once or again and again.
pub(super) fn run(args: &SyncArgs) -> Result<(), Failure> {
    let Some(every) = args.every else {
        return run_once(args);
    };
    loop {
        if let Err(failure) = run_once(args) {
            tell(&failure);
        }
        thread::sleep(every);
    }
}

/// The result of reading one source.
enum SourceOutcome {
    /// It has sent all of its pages, or none because it has not changed.
    Read(Collected),
    /// It was not asked, because it has asked to be left alone until this time.
    Deferred(Timestamp),
    Failed(SourceFailure),
}

impl SourceOutcome {
    /// Returns whether the source has sent pages, which may change reviews.
    fn has_pages(&self) -> bool {
        match self {
            SourceOutcome::Read(collected) => !collected.pages.is_empty(),
            SourceOutcome::Deferred(_) | SourceOutcome::Failed(_) => false,
        }
    }
}

/// Why a source could not be read.
struct SourceFailure {
    message: String,
    /// How long the source asked to be left alone.
    retry_after: Option<Duration>,
}

impl SourceFailure {
    fn of(message: impl ToString) -> SourceFailure {
        SourceFailure {
            message: message.to_string(),
            retry_after: None,
        }
    }
}

/// Reads the sources and imports them; prints a line for each source.
///
/// # Errors
/// `Unavailable` if a source was not read; otherwise those of the folder and of its files.
fn run_once(args: &SyncArgs) -> Result<(), Failure> {
    let sources = chosen(args)?;
    let state = read_state(&args.data)?;
    let mut budget = RunBudget {
        bytes_left: RUN_BYTES_MAX,
        began: clock::instant(),
    };
    let mut outcomes = BTreeMap::new();
    for source in &sources {
        let last = state.sources.get(&source.id).cloned().unwrap_or_default();
        let outcome = read_source(args, source, &last, &mut budget);
        outcomes.insert(source.id.clone(), outcome);
    }
    let imported = import(&args.data, &sources, &mut outcomes)?;
    write_state(&args.data, &sources, &outcomes, &imported)?;
    let mut report = String::new();
    let mut failed = Vec::new();
    for source in &sources {
        let Some(outcome) = outcomes.get(&source.id) else {
            continue;
        };
        let counts = imported.get(&source.id).copied().unwrap_or_default();
        report.push_str(&format!("{}: {}\n", source.id, describe(outcome, counts)));
        if !matches!(outcome, SourceOutcome::Read(_)) {
            failed.push(source.id.clone());
        }
    }
    print(report.as_bytes())?;
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "not read: {}; nothing of theirs was changed",
        failed.join(", ")
    );
    Err(Failure::new(Status::Unavailable, message))
}

/// The sources that the flags choose.
fn chosen(args: &SyncArgs) -> Result<Vec<RemoteSource>, Failure> {
    let mut sources = read_sources(&args.data)?.sources;
    if sources.is_empty() {
        let shown = args.data.display();
        let message = format!("{shown}: there is no source; `reviewd source add` adds one");
        return Err(Failure::new(Status::NoInput, message));
    }
    for id in &args.only {
        if !sources.iter().any(|source| source.id == *id) {
            let message = format!("no source has the id {id}");
            return Err(Failure::new(Status::NoInput, message));
        }
    }
    if !args.only.is_empty() {
        sources.retain(|source| args.only.contains(&source.id));
    }
    Ok(sources)
}

/// The bytes and the time that the sources of a run have together.
struct RunBudget {
    bytes_left: u64,
    began: Instant,
}

/// Reads one source; `last` is its state after the last try.
fn read_source(
    args: &SyncArgs,
    source: &RemoteSource,
    last: &SourceState,
    budget: &mut RunBudget,
) -> SourceOutcome {
    if let Some(retry_at) = last.retry_at
        && retry_at > clock::now()
        && !args.full
    {
        return SourceOutcome::Deferred(retry_at);
    }
    let token = match read_token(&args.data, source) {
        Ok(token) => token,
        Err(error) => return SourceOutcome::Failed(SourceFailure::of(error.to_string())),
    };
    let of_one_source = CollectLimits::default();
    let time_left = RUN_TIME_MAX.saturating_sub(budget.began.elapsed());
    let limits = CollectLimits {
        bytes_max: of_one_source.bytes_max.min(budget.bytes_left),
        time_max: of_one_source.time_max.min(time_left),
        ..of_one_source
    };
    let mut validators = SourceValidators::default();
    if last.entry == entry_digest(source) && !args.full {
        validators.etag.clone_from(&last.etag);
        validators.last_modified.clone_from(&last.last_modified);
    }
    let mut client = HttpClient::new(token.is_some());
    match collect(source, token.as_deref(), &validators, &limits, &mut client) {
        Ok(collected) => {
            let bytes: usize = collected.pages.iter().map(Vec::len).sum();
            budget.bytes_left = budget.bytes_left.saturating_sub(bytes as u64);
            SourceOutcome::Read(collected)
        }
        Err(error) => SourceOutcome::Failed(SourceFailure {
            message: error.to_string(),
            retry_after: error.retry_after(),
        }),
    }
}

/// The digest of an entry of `sources.json`. Validators are used only for the entry with which they were received.
fn entry_digest(source: &RemoteSource) -> String {
    let entry = serde_json::to_vec(source).expect("texts are JSON");
    hex(&Sha256::digest(entry)[..8])
}

/// How many reviews of a source were added, changed and rejected.
#[derive(Clone, Copy, Default)]
struct SourceCounts {
    added: u64,
    changed: u64,
    rejected: u64,
}

/// Merges the sources that were read into the folder, and writes it if anything changes. If a page of a source is not
/// an export, its outcome becomes a failure. Returns the counts by the id of the source.
fn import(
    data: &Path,
    sources: &[RemoteSource],
    outcomes: &mut BTreeMap<String, SourceOutcome>,
) -> Result<BTreeMap<String, SourceCounts>, Failure> {
    let mut counts = BTreeMap::new();
    if !outcomes.values().any(SourceOutcome::has_pages) {
        return Ok(counts);
    }
    let folder = when_free(LOCK_TIME_MAX, || Folder::open(data, false))?;
    let mut merge = folder.merge()?;
    merge.ignore(folder.ignored.clone().into_iter().map(|entry| entry.id));
    for source in sources {
        let Some(SourceOutcome::Read(collected)) = outcomes.get(&source.id) else {
            continue;
        };
        if let Err(error) = merge_pages(&mut merge, source, &collected.pages) {
            outcomes.insert(
                source.id.clone(),
                SourceOutcome::Failed(SourceFailure::of(error.to_string())),
            );
        }
    }
    let report = merge.report(false);
    for page in &report.sources {
        let of_source: &mut SourceCounts = counts.entry(page.source.clone()).or_default();
        of_source.added += page.added;
        of_source.changed += page.changed;
        of_source.rejected += page.rejected;
    }
    if report.changes {
        folder.write(&merge, None)?;
    }
    Ok(counts)
}

/// A page of a source is not an export.
#[derive(Debug, Error)]
#[error("page {number}: {error}")]
struct PageReadError {
    /// From 1.
    number: u32,
    error: ReadError,
}

/// Merges all pages of a source, or none of them if one is not an export.
fn merge_pages(
    merge: &mut Merge<'_>,
    source: &RemoteSource,
    pages: &[Vec<u8>],
) -> Result<(), PageReadError> {
    let options = import_options(source);
    let mut pages_read: Vec<ReadPage<'_>> = Vec::new();
    for (number, page) in (1..).zip(pages) {
        let page = ReadPage::of(source, page, &options);
        pages_read.push(page.map_err(|error| PageReadError { number, error })?);
    }
    for page in pages_read {
        merge.begin(&page.source);
        for record in page.records {
            merge.take(record, &page.source);
        }
    }
    Ok(())
}

/// A page with all of its records.
struct ReadPage<'p> {
    source: ImportSource<'p>,
    records: Vec<RecordResult>,
}

impl<'p> ReadPage<'p> {
    fn of(
        source: &RemoteSource,
        page: &'p [u8],
        options: &'p Options,
    ) -> Result<ReadPage<'p>, ReadError> {
        let source = ImportSource::open(&source.id, page, options)?;
        let records = source.records().collect::<Result<_, _>>()?;
        Ok(ReadPage { source, records })
    }
}

/// Returns the options of an import from a source.
fn import_options(source: &RemoteSource) -> Options {
    let vouched = match source.verification {
        Some(RemoteVerification::Business) => Vouched::New,
        _ => Vouched::Nothing,
    };
    Options {
        format: source.kind.format(),
        vouched,
        is_from_platform: source.verification == Some(RemoteVerification::Account),
        location: source.location.clone(),
        ..Options::new(clock::now().date())
    }
}

/// Records in the state of a source that it was read.
fn note_success(
    state: &mut SourceState,
    collected: &Collected,
    counts: SourceCounts,
    now: Timestamp,
) {
    note_try(state, now);
    state.succeeded_at = Some(now);
    state.error = None;
    state.failures = 0;
    state.etag.clone_from(&collected.validators.etag);
    let last_modified = &collected.validators.last_modified;
    state.last_modified.clone_from(last_modified);
    state.added += counts.added;
    state.changed += counts.changed;
    if counts.added + counts.changed > 0 {
        state.changed_at = Some(now);
    }
}

/// Records in the state of a source that it could not be read.
fn note_failure(state: &mut SourceState, failure: &SourceFailure, now: Timestamp) {
    note_try(state, now);
    state.error = Some(truncate(&failure.message, SOURCE_ERROR_BYTES_MAX).to_owned());
    state.failures += 1;
    // Without validators the next try asks for whole documents, as nothing of this try was imported.
    state.etag = None;
    state.last_modified = None;
    if let Some(time) = failure.retry_after {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let at = now.unix().saturating_add(seconds);
        state.retry_at = Some(Timestamp::from_unix(at));
    }
}

fn note_try(state: &mut SourceState, now: Timestamp) {
    state.began_at = state.began_at.or(Some(now));
    state.tried_at = Some(now);
    state.retry_at = None;
}

/// Returns the outcome of a source in words.
fn describe(outcome: &SourceOutcome, counts: SourceCounts) -> String {
    match outcome {
        SourceOutcome::Read(collected) if collected.is_unchanged => "not changed".to_owned(),
        SourceOutcome::Read(_) => {
            let SourceCounts {
                added,
                changed,
                rejected,
            } = counts;
            format!("{added} added, {changed} changed, {rejected} rejected")
        }
        SourceOutcome::Deferred(retry_at) => {
            format!("asked not to be tried before {retry_at}")
        }
        SourceOutcome::Failed(failure) => {
            let message = truncate(&failure.message, SOURCE_ERROR_BYTES_MAX);
            format!("failed: {message}")
        }
    }
}

/// Reads `sync.json`. A damaged file is begun again, as the next tries fill it with the same facts.
fn read_state(data: &Path) -> Result<SyncState, Failure> {
    let path = data.join(SYNC_FILE);
    let bytes = match read_bounded(&path, SYNC_BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SyncState::default());
        }
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            return Err(Failure::new(Status::Io, message));
        }
        Ok(bytes) => bytes,
    };
    let state = SyncState::parse(&bytes);
    Ok(state.unwrap_or_else(|error| {
        tell(format!("{}: is begun again: {error}", path.display()));
        SyncState::default()
    }))
}

/// Records in `sync.json` how the sources of this run were read. The entries of others stay as another run may have
/// written them by now; those that `sources.json` does not list any more are removed.
fn write_state(
    data: &Path,
    sources: &[RemoteSource],
    outcomes: &BTreeMap<String, SourceOutcome>,
    imported: &BTreeMap<String, SourceCounts>,
) -> Result<(), Failure> {
    let now = clock::now();
    let _lock = when_free(LOCK_TIME_MAX, || lock(data))?;
    let mut state = read_state(data)?;
    for source in sources {
        let entry = state.sources.entry(source.id.clone()).or_default();
        let counts = imported.get(&source.id).copied().unwrap_or_default();
        match outcomes.get(&source.id) {
            Some(SourceOutcome::Read(collected)) => note_success(entry, collected, counts, now),
            Some(SourceOutcome::Failed(failure)) => note_failure(entry, failure, now),
            Some(SourceOutcome::Deferred(_)) | None => continue,
        }
        entry.entry = entry_digest(source);
    }
    let listed = read_sources(data)?.sources;
    state.sources.retain(|id, _| {
        let is_listed = listed.iter().any(|source| source.id == *id);
        is_listed || sources.iter().any(|source| source.id == *id)
    });
    let reviews = data.join(crate::dataset::REVIEWS.name);
    let path = data.join(SYNC_FILE);
    let like = if path.exists() { None } else { Some(&*reviews) };
    put(&path, like, state.render().as_bytes())
}

/// Sends requests with ureq.
struct HttpClient {
    agent: Agent,
    began: Instant,
}

impl HttpClient {
    /// Returns a client that follows redirects. With a token it follows none, as the token must not go to another host.
    fn new(has_token: bool) -> HttpClient {
        let redirects = if has_token { 0 } else { REDIRECTS_MAX };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(redirects)
            .max_redirects_will_error(false)
            .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_global(Some(REQUEST_TIME_MAX))
            .build();
        HttpClient {
            agent: config.into(),
            began: clock::instant(),
        }
    }
}

impl RemoteClient for HttpClient {
    fn send(
        &mut self,
        request: &RemoteRequest,
        bytes_max: u64,
    ) -> Result<RemoteResponse, RemoteError> {
        let sent = match &request.body {
            None => {
                let mut get = self.agent.get(&request.url);
                for (name, value) in &request.fields {
                    get = get.header(*name, value);
                }
                get.call()
            }
            Some(body) => {
                let mut post = self.agent.post(&request.url);
                for (name, value) in &request.fields {
                    post = post.header(*name, value);
                }
                post.content_type(body.media_type).send(&body.text)
            }
        };
        let mut response =
            sent.map_err(|error| RemoteError::Connection(without_address(&error)))?;
        let mut body = Vec::new();
        let reader = response.body_mut().as_reader();
        let read = reader
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut body);
        read.map_err(|error| RemoteError::Connection(error.to_string()))?;
        if body.len() as u64 > bytes_max {
            return Err(RemoteError::TooLarge(bytes_max));
        }
        let fields = response.headers();
        Ok(RemoteResponse {
            status: response.status().as_u16(),
            validators: SourceValidators {
                etag: text_of(fields, ETAG.as_str()),
                last_modified: text_of(fields, LAST_MODIFIED.as_str()),
            },
            retry_after: text_of(fields, RETRY_AFTER.as_str()),
            page_count: text_of(fields, "x-wp-totalpages"),
            body,
        })
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Returns the value of a header field of a response, if it is text and not too long.
fn text_of(fields: &HeaderMap, name: &str) -> Option<String> {
    let value = fields.get(name)?.to_str().ok()?;
    if value.len() > FIELD_BYTES_MAX {
        return None;
    }
    Some(value.to_owned())
}

/// Returns the message of an error without the address, which may contain a token.
fn without_address(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "the address cannot be used".to_owned(),
        other => other.to_string(),
    }
}
