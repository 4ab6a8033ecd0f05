//! The sources of `reviewd sync`: reads their state from `sync.json` when it changes, and reports those that fail. A failure
//! to read it that may pass is tried again.
//!
//! The service only reads the file; it is no data file, so a change of it causes no reload.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tracing::warn;

use crate::http::{AppState, Reason};
use crate::model::sync::{SYNC_BYTES_MAX, SYNC_FILE, SourceState, SyncState, SyncStateError};

use super::clock;
use super::files::{ReadCause, Stamp, read_file};
use super::retry::Retry;

/// The code of failing sources on `/readyz`.
const FAILING: &str = "source_failing";

/// The code of a file that cannot be read.
const UNREADABLE: &str = "sync_state";

/// Why `sync.json` cannot be read.
#[derive(Debug, Error)]
#[error(transparent)]
enum SyncFileError {
    Read(#[from] ReadCause),
    Content(#[from] SyncStateError),
}

/// Watches `sync.json`.
pub(super) struct SourceWatcher {
    path: PathBuf,
    /// The state of the file when it was last read; `None` if it was missing.
    seen: Option<Stamp>,
    /// When to read it again after a failure that may pass.
    retry: Retry,
    /// The message of the last failure, if there was no success since: it is logged only once.
    failure: Option<String>,
    app: Arc<AppState>,
}

impl SourceWatcher {
    pub(super) fn new(directory: &Path, app: Arc<AppState>) -> SourceWatcher {
        SourceWatcher {
            path: directory.join(SYNC_FILE),
            seen: None,
            retry: Retry::default(),
            failure: None,
            app,
        }
    }

    /// Reads the file if it has changed, or after a failure that may pass, and reports the sources that fail on `/readyz`.
    pub(super) fn check_file(&mut self) {
        let stamp = Stamp::at(&self.path);
        if stamp == self.seen && !self.retry.is_due(clock::instant()) {
            return;
        }
        self.seen = stamp;
        let state = match self.read() {
            Ok(state) => state,
            Err(error) => return self.report_failure(&error),
        };
        self.retry.cancel();
        self.failure = None;
        let readiness = &self.app.readiness;
        readiness.withdraw(UNREADABLE);
        match failing(&state) {
            Some(reason) => readiness.report(&reason),
            None => readiness.withdraw(FAILING),
        }
        self.app.sources.store(Arc::new(state));
    }

    /// Reports that the file cannot be read, and logs why. If the reason may pass, schedules another try.
    fn report_failure(&mut self, error: &SyncFileError) {
        if matches!(error, SyncFileError::Read(cause) if cause.may_pass()) {
            self.retry.schedule(clock::instant());
        } else {
            self.retry.cancel();
        }
        let message = error.to_string();
        if self.failure.as_ref() != Some(&message) {
            warn!(file = %self.path.display(), error = message, "the state of the sources cannot be read");
        }
        self.failure = Some(message);
        let reason = Reason::new(UNREADABLE, format!("{SYNC_FILE} cannot be read"));
        self.app.readiness.report(&reason);
    }

    fn read(&self) -> Result<SyncState, SyncFileError> {
        match read_file(&self.path, SYNC_BYTES_MAX)? {
            None => Ok(SyncState::default()),
            Some(bytes) => Ok(SyncState::parse(&bytes)?),
        }
    }
}

/// Returns the reason that names the sources whose last try has failed, if there are any. Their errors are internal details:
/// only the operator may see what a source answered.
fn failing(state: &SyncState) -> Option<Reason> {
    let mut details = Vec::new();
    let mut errors = Vec::new();
    for (id, source) in &state.sources {
        if let Some(error) = &source.error {
            details.push(format!("{id}: {}", last_read(source)));
            errors.push(format!("{id}: {error}"));
        }
    }
    if details.is_empty() {
        return None;
    }
    Some(Reason {
        details,
        internal: Some(errors.join("; ")),
        ..Reason::new(
            FAILING,
            "reviews of some sources are not brought up to date; what is known of them is served",
        )
    })
}

/// Tells when a source was last read completely.
fn last_read(source: &SourceState) -> String {
    match source.succeeded_at {
        Some(time) => format!("last read {time}"),
        None => "never read".to_owned(),
    }
}
