//! `reviewd sync DIR`: brings in what has changed at the sources of `sources.json`, through the same rules as `import`.
//!
//! All sources are read before the folder is opened, and each is used only if all of its pages were read: one that fails
//! or answers half changes nothing, and the others are imported. Reviews that a source no longer has stay; only
//! `import --prune` and `forget` remove any. What has not changed is not written.

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
use super::folder::{Folder, lock, put};
use super::source::{read_bounded, read_sources, read_token};
use super::values::time;
use crate::clock;
use crate::import::remote::{
    CollectLimits, Collected, RemoteClient, RemoteError, RemoteRequest, RemoteResponse,
    RemoteSource, RemoteVerification, SourceValidators, collect,
};
use crate::import::{ImportSource, Merge, Options, ReadError, RecordResult, Vouched};
use crate::model::sync::{SYNC_BYTES_MAX, SYNC_FILE, SourceState, SyncState};
use crate::wire::date::Timestamp;
use crate::wire::text::{hex, truncate};

/// Bytes of all sources of a run. Our choice: four of the largest sources; more would fill the memory.
const RUN_BYTES_MAX: u64 = 1 << 30;

/// Time for reading all sources of a run.
const RUN_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// Time of one request, up to the last byte.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(60);

/// Redirects that are followed without a token.
const REDIRECTS_MAX: u32 = 3;

/// Bytes of an error that is stored and shown.
const ERROR_BYTES_MAX: usize = 512;

/// Bytes of a header field that is read. Our choice: longer ones are ignored, as no usual one is.
const FIELD_BYTES_MAX: usize = 1_024;

/// How often the folder is tried while another command changes it, and the wait between two tries.
const LOCK_TRIES: u32 = 30;
const LOCK_WAIT: Duration = Duration::from_secs(1);

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

/// What came of one source.
enum SourceOutcome {
    /// All of its pages, or none if it has not changed.
    Read(Collected),
    /// It asked to be left alone until later.
    Deferred(Timestamp),
    Failed(SourceFailure),
}

impl SourceOutcome {
    /// Tells whether pages were read, which may have changed reviews.
    fn has_pages(&self) -> bool {
        match self {
            SourceOutcome::Read(collected) => !collected.pages.is_empty(),
            SourceOutcome::Deferred(_) | SourceOutcome::Failed(_) => false,
        }
    }
}

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

fn run_once(args: &SyncArgs) -> Result<(), Failure> {
    let sources = chosen(args)?;
    let mut state = read_state(&args.data)?;
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
    let now = clock::now();
    let mut report = String::new();
    let mut failed = Vec::new();
    for source in &sources {
        let entry = state.sources.entry(source.id.clone()).or_default();
        let Some(outcome) = outcomes.get(&source.id) else {
            continue;
        };
        let counts = imported.get(&source.id).copied().unwrap_or_default();
        note(entry, source, outcome, counts, now);
        let said = describe(outcome, counts);
        report.push_str(&format!("{}: {said}\n", source.id));
        if !matches!(outcome, SourceOutcome::Read(_)) {
            failed.push(source.id.clone());
        }
    }
    write_state(&args.data, &sources, state)?;
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

/// The sources that were asked for.
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
            return Err(Failure::new(Status::Usage, message));
        }
    }
    if !args.only.is_empty() {
        sources.retain(|source| args.only.contains(&source.id));
    }
    Ok(sources)
}

/// What the sources of a run may still take together.
struct RunBudget {
    bytes_left: u64,
    began: Instant,
}

/// Reads one source, whose state after its last try is `last`.
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
    let usual = CollectLimits::default();
    let time_left = RUN_TIME_MAX.saturating_sub(budget.began.elapsed());
    let limits = CollectLimits {
        bytes_max: usual.bytes_max.min(budget.bytes_left),
        time_max: usual.time_max.min(time_left),
        ..usual
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

/// The digest of an entry of `sources.json`: what its validators belong to.
fn entry_digest(source: &RemoteSource) -> String {
    let entry = serde_json::to_vec(source).expect("texts are JSON");
    hex(&Sha256::digest(entry)[..8])
}

/// Reviews that a source has added and changed.
#[derive(Clone, Copy, Default)]
struct SourceCounts {
    added: u64,
    changed: u64,
    refused: u64,
}

/// Merges the sources that were read into the folder, and writes it if anything changes. A source with a page that is no
/// export becomes a failed one.
fn import(
    data: &Path,
    sources: &[RemoteSource],
    outcomes: &mut BTreeMap<String, SourceOutcome>,
) -> Result<BTreeMap<String, SourceCounts>, Failure> {
    let mut counts = BTreeMap::new();
    if !outcomes.values().any(SourceOutcome::has_pages) {
        return Ok(counts);
    }
    let folder = open_when_free(data)?;
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
        of_source.refused += page.refused;
    }
    if report.changes {
        folder.write(&merge, None)?;
    }
    Ok(counts)
}

/// Opens the folder; waits while another command changes it.
fn open_when_free(data: &Path) -> Result<Folder, Failure> {
    let mut tried = 0;
    loop {
        tried += 1;
        match Folder::open(data, false) {
            Err(failure) if matches!(failure.status, Status::Unavailable) && tried < LOCK_TRIES => {
                thread::sleep(LOCK_WAIT);
            }
            opened => return opened,
        }
    }
}

/// A page of a source that is no export.
#[derive(Debug, Error)]
#[error("page {number}: {error}")]
struct PageReadError {
    /// From 1.
    number: u32,
    error: ReadError,
}

/// Merges all pages of a source, or none.
fn merge_pages(
    merge: &mut Merge<'_>,
    source: &RemoteSource,
    pages: &[Vec<u8>],
) -> Result<(), PageReadError> {
    let options = import_options(source);
    let mut read: Vec<(ImportSource<'_>, Vec<RecordResult>)> = Vec::new();
    for (number, page) in (1..).zip(pages) {
        let records_of_page =
            read_page(source, page, &options).map_err(|error| PageReadError { number, error })?;
        read.push(records_of_page);
    }
    for (opened, records) in read {
        merge.begin(&opened);
        for record in records {
            merge.take(record, &opened);
        }
    }
    Ok(())
}

/// Reads all records of a page.
fn read_page<'p>(
    source: &RemoteSource,
    page: &'p [u8],
    options: &'p Options,
) -> Result<(ImportSource<'p>, Vec<RecordResult>), ReadError> {
    let opened = ImportSource::open(&source.id, page, options)?;
    let records = opened.records().collect::<Result<_, _>>()?;
    Ok((opened, records))
}

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

/// Records the outcome of a source in its state.
fn note(
    entry: &mut SourceState,
    source: &RemoteSource,
    outcome: &SourceOutcome,
    counts: SourceCounts,
    now: Timestamp,
) {
    let collected = match outcome {
        SourceOutcome::Deferred(_) => return,
        SourceOutcome::Read(collected) => Ok(collected),
        SourceOutcome::Failed(failure) => Err(failure),
    };
    entry.began_at = entry.began_at.or(Some(now));
    entry.tried_at = Some(now);
    entry.retry_at = None;
    entry.entry = entry_digest(source);
    match collected {
        Ok(collected) => {
            entry.succeeded_at = Some(now);
            entry.error = None;
            entry.failures = 0;
            entry.etag.clone_from(&collected.validators.etag);
            let last_modified = &collected.validators.last_modified;
            entry.last_modified.clone_from(last_modified);
            entry.added += counts.added;
            entry.changed += counts.changed;
            if counts.added + counts.changed > 0 {
                entry.changed_at = Some(now);
            }
        }
        Err(failure) => {
            entry.error = Some(truncate(&failure.message, ERROR_BYTES_MAX).to_owned());
            entry.failures += 1;
            // What was read before a fault must be read again.
            entry.etag = None;
            entry.last_modified = None;
            if let Some(time) = failure.retry_after {
                let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
                let at = now.unix().saturating_add(seconds);
                entry.retry_at = Some(Timestamp::from_unix(at));
            }
        }
    }
}

fn describe(outcome: &SourceOutcome, counts: SourceCounts) -> String {
    match outcome {
        SourceOutcome::Read(collected) if collected.is_unchanged => "not changed".to_owned(),
        SourceOutcome::Read(_) => {
            let SourceCounts {
                added,
                changed,
                refused,
            } = counts;
            format!("{added} added, {changed} changed, {refused} refused")
        }
        SourceOutcome::Deferred(retry_at) => {
            format!("asked not to be tried before {retry_at}")
        }
        SourceOutcome::Failed(failure) => {
            format!("failed: {}", truncate(&failure.message, ERROR_BYTES_MAX))
        }
    }
}

/// Reads `sync.json`; a damaged one is begun again, as it holds nothing that cannot be found out anew.
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

/// Writes `sync.json`, without sources that are no longer listed.
fn write_state(data: &Path, read: &[RemoteSource], mut state: SyncState) -> Result<(), Failure> {
    let listed = read_sources(data)?.sources;
    state.sources.retain(|id, _| {
        let is_listed = listed.iter().any(|source| source.id == *id);
        is_listed || read.iter().any(|source| source.id == *id)
    });
    let _lock = lock(data)?;
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
    /// A client that follows redirects unless it `has_token`, which must not go to another host.
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

/// The value of a header field of a response, if it is short text.
fn text_of(fields: &HeaderMap, name: &str) -> Option<String> {
    let value = fields.get(name)?.to_str().ok()?;
    if value.len() > FIELD_BYTES_MAX {
        return None;
    }
    Some(value.to_owned())
}

/// The message of an error, without the address, which may have a token.
fn without_address(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "the address cannot be used".to_owned(),
        other => other.to_string(),
    }
}
