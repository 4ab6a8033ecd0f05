//! Reload: a changed dataset replaces the current one whole, or not at all.
//!
//! One thread does all of it, at low priority, when [`watch`](super::watch) tells it that the files have changed. A change
//! while it derives the insights of a large dataset ends the derivation. A reload that fails for a reason that may pass is
//! tried again.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::dataset::Problem;
use crate::http::{AppState, Heartbeat, REPORT_INTERVAL, Reason, ServedState};
use crate::hub::priority::{Priority, lower_priority};
use crate::notices::ReviewNotices;
use crate::wire::date::Timestamp;

use super::files::WRITTEN_WAIT_MAX;
use super::load::{Deferred, LoadError, Loader};
use super::metrics::{Counters, ReloadOutcome};
use super::retry::Retry;
use super::sources::SourceWatcher;
use super::threads::ThreadStarter;
use super::tls::CertificateReloader;
use super::watch::{ReloadChannels, ReloadOrders, ReloadTrigger, Watcher};
use super::{clock, systemd};

/// How long a replaced state is kept for the requests that began with it. If some are left then, the last of them frees it.
const REQUESTS_WAIT_MAX: Duration = Duration::from_secs(2);

/// A little longer than mimalloc keeps freed pages, which is its `purge_delay` of a second. With `MIMALLOC_PURGE_DELAY=0` it
/// would keep none, at the cost of page faults in every burst of requests.
const PURGE_WAIT: Duration = Duration::from_millis(1_100);

/// How often to check whether a date that was in the future has been reached.
const DATE_INTERVAL: Duration = Duration::from_millis(250);

/// For this many bytes of the files, 1 MiB, the watchdog allows one more second without a report, because parsing and
/// rendering do not report. Our choice: twenty times what they take on an idle machine.
const BYTES_PER_SECOND: u64 = 1 << 20;

/// The code of a refused reload on `/readyz`.
const RELOAD_FAILED: &str = "reload_failed";

/// The code of missing files on `/readyz`.
const GONE: &str = "data_missing";

/// What a [`Reloader`] works with.
pub(super) struct ReloaderParts {
    /// How often to look at the files; zero means never.
    pub(super) poll: Duration,
    pub(super) app: Arc<AppState>,
    /// Has read the files that are served now.
    pub(super) loader: Loader,
    /// What the start of a large dataset left for later.
    pub(super) deferred: Option<Deferred>,
    pub(super) counters: Arc<Counters>,
    /// `None` without TLS.
    pub(super) tls: Option<CertificateReloader>,
}

/// The threads that watch and reload.
#[derive(Debug)]
pub(super) struct Reloader {
    pub(super) trigger: ReloadTrigger,
    threads: [JoinHandle<()>; 2],
}

impl Reloader {
    /// Begins to look for changes of the files.
    pub(super) fn start(parts: ReloaderParts) -> io::Result<Reloader> {
        let ReloaderParts {
            poll,
            app,
            loader,
            deferred,
            counters,
            tls,
        } = parts;
        let ReloadChannels {
            trigger,
            requests,
            orders,
            wakes,
        } = ReloadChannels::open();
        let threads = ThreadStarter::new(&app, "");
        let directory = loader.directory();
        let sources = directory.map(|directory| SourceWatcher::new(directory, Arc::clone(&app)));
        let watcher = Watcher {
            directory: directory.map(ToOwned::to_owned),
            poll,
            seen: loader.seen(),
            orders: Arc::clone(&orders),
            readiness: Arc::clone(&app.readiness),
            tls,
            sources,
        };
        let watch = threads.spawn("watch", move |heartbeat: &Heartbeat| {
            watcher.run(&requests, heartbeat);
        })?;
        let reload = threads.spawn("reload", move |heartbeat: &Heartbeat| {
            let worker = ReloadWorker {
                app,
                loader,
                orders,
                heartbeat: heartbeat.clone(),
                deferred: deferred.map(Box::new),
                is_polling: !poll.is_zero(),
                due_date: None,
                retry: Retry::default(),
                failure: None,
                counters,
            };
            worker.run(&wakes);
        })?;
        Ok(Reloader {
            trigger,
            threads: [watch, reload],
        })
    }

    /// Ends the threads, after the reload that is under way.
    pub(super) fn stop(self) {
        self.trigger.stop();
        for thread in self.threads {
            // The thread has logged its panic.
            let _panic = thread.join();
        }
    }
}

/// The state of the reloading thread.
struct ReloadWorker {
    app: Arc<AppState>,
    loader: Loader,
    orders: Arc<ReloadOrders>,
    heartbeat: Heartbeat,
    /// The data for deriving the insights of the dataset that is served; `None` if they are derived.
    deferred: Option<Box<Deferred>>,
    /// Whether changed files are read without an order: not with `--poll 0`.
    is_polling: bool,
    /// The future date of files that were refused only for it: they are read again once it is reached.
    due_date: Option<Timestamp>,
    /// When to try again after a failure that may pass.
    retry: Retry,
    /// The message of the last failure, if there was no success since: it is logged only once.
    failure: Option<String>,
    counters: Arc<Counters>,
}

/// The result of a reload that was not refused.
enum ReloadResult {
    /// A new state is served; this is the old one.
    Replaced(Arc<ServedState>),
    /// The content of the files is unchanged.
    Same,
    /// The files were changed while they were read, or the server stops.
    Incomplete,
}

impl ReloadWorker {
    /// Reloads and derives until the server stops.
    fn run(mut self, wakes: &Receiver<()>) {
        // Requests come before a build.
        lower_priority(Priority::Lower);
        self.after_publishing(None);
        loop {
            self.allow_time();
            self.derive_insights();
            let _timeout = wakes.recv_timeout(self.wait_max());
            if self.orders.is_stopping() {
                return;
            }
            let is_requested = self.orders.take();
            if is_requested {
                systemd::reloading();
            }
            self.check_files(is_requested);
            if is_requested {
                systemd::ready();
            }
        }
    }

    /// Returns how long to wait for orders before the next look at the time.
    fn wait_max(&self) -> Duration {
        let mut wait = REPORT_INTERVAL;
        if let Some(until_retry) = self.retry.time_left(clock::instant()) {
            wait = wait.min(until_retry);
        }
        if self.due_date.is_some() {
            wait = wait.min(DATE_INTERVAL);
        }
        wait
    }

    /// Derives the insights of a large dataset that is served already, serves them, and logs the warnings. Until then
    /// `/insights.json` is that of the previous dataset, or answers 503 after a start.
    ///
    /// A change of the files ends the derivation early. It begins again from the start if the changed files do not replace
    /// the dataset.
    fn derive_insights(&mut self) {
        let Some(deferred) = self.deferred.take() else {
            return;
        };
        let began = clock::instant();
        let derived = catch_unwind(AssertUnwindSafe(|| self.derive(&deferred)));
        match derived.unwrap_or(Err(LoadError::Panic)) {
            Ok(Some(served)) => {
                let previous = self.app.publish(served);
                let elapsed_ms = clock::elapsed_ms(began);
                let current = self.app.current();
                let readings = current.snapshot().readings();
                let reviews_read = readings.map(|readings| readings.reviews_read());
                info!(elapsed_ms, reviews_read, "the insights are served");
                compress(&self.app, self.app.current(), Some(previous));
                deferred.log_warnings();
            }
            Ok(None) if deferred.has_insights() => deferred.log_warnings(),
            Ok(None) => self.deferred = Some(deferred),
            Err(error) => self.report_failure(&error),
        }
    }

    /// Returns the state with the insights of `deferred`; `None` if the operator supplied them, or if the files change
    /// meanwhile.
    fn derive(&self, deferred: &Deferred) -> Result<Option<ServedState>, LoadError> {
        if deferred.has_insights() {
            return Ok(None);
        }
        // Reviews that the previous dataset had, too, are not read again.
        let current = self.app.current();
        let previous = current.snapshot().readings().map(Arc::as_ref);
        let whole = deferred.whole(previous, &|| {
            self.heartbeat.report();
            self.orders.is_outdated()
        });
        match whole {
            Some(snapshot) => Ok(Some(ServedState::new(Arc::new(snapshot))?)),
            None => Ok(None),
        }
    }

    /// Reads the files if they have changed or a reload was requested.
    fn check_files(&mut self, is_requested: bool) {
        let is_due = self
            .due_date
            .is_some_and(|date| date <= crate::clock::now());
        let is_retry = self.retry.is_due(clock::instant());
        let is_changed = self.is_polling && self.loader.has_changed();
        let is_wanted = is_requested || is_due || is_retry || is_changed;
        if self.loader.directory().is_none() || !is_wanted {
            return;
        }
        self.due_date = None;
        let wait_began = clock::instant();
        while !self.read_when_written(wait_began) && !self.orders.is_stopping() {
            self.loader.forget();
        }
    }

    /// Reads the files once they are written, which was first waited for at `wait_began`. Returns false if they were changed
    /// while they were read, so that they have to be read again.
    fn read_when_written(&mut self, wait_began: Instant) -> bool {
        let orders = &self.orders;
        let heartbeat = &self.heartbeat;
        let has_reviews = self.loader.wait_until_written(wait_began, |time| {
            heartbeat.report();
            thread::sleep(time);
            !orders.is_stopping()
        });
        if self.orders.is_stopping() {
            return true;
        }
        if !has_reviews {
            self.report_missing();
            return true;
        }
        // Only now is the size of the files known.
        self.allow_time();
        let is_complete = self.reload(wait_began);
        // Also after a reload that was refused, for which files were read.
        return_freed_memory();
        is_complete
    }

    /// Allows the thread the time that a reload of the files takes.
    fn allow_time(&self) {
        let seconds = self.loader.file_bytes() / BYTES_PER_SECOND;
        self.heartbeat.allow(Duration::from_secs(seconds));
    }

    /// Reports that the files are gone; what is served stays.
    fn report_missing(&mut self) {
        let message = "the data directory has no reviews.json; the previous data is still served";
        warn!(directory = ?self.loader.directory(), "{message}");
        self.record(ReloadOutcome::Gone);
        // A failure of files that are gone no longer matters.
        self.clear_failure();
        self.app.readiness.report(&Reason::new(GONE, message));
    }

    /// Reads the files and serves them. Returns false if they were changed while they were read. If they are changed at every
    /// read until [`WRITTEN_WAIT_MAX`] after `wait_began`, this is a failure.
    fn reload(&mut self, wait_began: Instant) -> bool {
        let began = clock::instant();
        // A panic leaves nothing half done: the state is swapped in one step.
        let caught = catch_unwind(AssertUnwindSafe(|| self.build_and_swap(wait_began)));
        let elapsed_ms = clock::elapsed_ms(began);
        let result = match caught.unwrap_or(Err(LoadError::Panic)) {
            Ok(result) => result,
            Err(error) => {
                self.report_failure(&error);
                return true;
            }
        };
        if let ReloadResult::Incomplete = result {
            return false;
        }
        self.clear_failure();
        self.app.readiness.withdraw(GONE);
        if let ReloadResult::Replaced(previous) = result {
            self.record(ReloadOutcome::Replaced);
            let served = self.app.current();
            let snapshot = served.snapshot();
            let version = snapshot.version();
            let reviews = snapshot.len();
            info!(elapsed_ms, version, reviews, "a changed dataset is served");
            self.after_publishing(Some(previous));
        } else {
            // The targets in `notices.json`, which is no part of the content, may have changed.
            self.tell_changes();
            self.record(ReloadOutcome::Same);
            info!(elapsed_ms, "the content of the data files is unchanged");
        }
        true
    }

    /// Reads and checks the files, builds the new state and puts it in place of the old one. A large dataset is served
    /// with the insights of the one before, until its own are derived.
    fn build_and_swap(&mut self, wait_began: Instant) -> Result<ReloadResult, LoadError> {
        let decoded = match self.loader.decode() {
            Err(error)
                if error.is_of_changing_files() && wait_began.elapsed() < WRITTEN_WAIT_MAX =>
            {
                return Ok(ReloadResult::Incomplete);
            }
            decoded => decoded?,
        };
        self.heartbeat.report();
        let current = self.app.current();
        let served = current.snapshot();
        // The derivation has failed, so the same content is built again.
        let lacks_insights = !served.has_own_insights() && self.deferred.is_none();
        if decoded.dataset.digest == served.digest && !lacks_insights {
            return Ok(ReloadResult::Same);
        }
        // The replaced dataset needs no insights any more, and its texts take memory.
        self.deferred = None;
        let orders = &self.orders;
        let heartbeat = &self.heartbeat;
        let built = self.loader.build(decoded, Some(served), &|| {
            heartbeat.report();
            orders.is_stopping()
        })?;
        let Some(built) = built else {
            return Ok(ReloadResult::Incomplete);
        };
        self.deferred = built.deferred.map(Box::new);
        Ok(ReloadResult::Replaced(self.app.publish(built.served)))
    }

    /// Logs why a dataset cannot be served, and reports it on `/readyz`. If the reason may pass, schedules another try.
    fn report_failure(&mut self, error: &LoadError) {
        self.record(ReloadOutcome::Refused);
        let mut problems = &[][..];
        let (message, public_message) = match error {
            LoadError::Data(data) => {
                self.due_date = self.loader.future_date();
                problems = &data.listed[..];
                let plural = if data.total == 1 { "" } else { "s" };
                let message = format!("the changed dataset has {} problem{plural}", data.total);
                (message.clone(), message)
            }
            LoadError::Read(file) => (error.to_string(), file.for_the_public()),
            _ => (error.to_string(), error.to_string()),
        };
        let tried_again = if error.may_pass() {
            self.retry.schedule(clock::instant());
            "; it is tried again"
        } else {
            self.retry.cancel();
            ""
        };
        for problem in problems {
            error!(%problem, "a data file is rejected");
        }
        let is_new = self.failure.as_ref() != Some(&message);
        if is_new || !problems.is_empty() {
            error!("{message}{tried_again}; the previous data is still served");
        } else {
            debug!("{message}{tried_again}; the previous data is still served");
        }
        self.app.readiness.report(&Reason {
            details: problems.iter().map(without_value).collect(),
            ..Reason::new(RELOAD_FAILED, public_message + tried_again)
        });
        self.failure = Some(message);
    }

    /// Forgets the last failure.
    fn clear_failure(&mut self) {
        self.retry.cancel();
        self.failure = None;
        self.app.readiness.withdraw(RELOAD_FAILED);
    }

    fn record(&self, outcome: ReloadOutcome) {
        self.counters.reloads[outcome as usize].inc();
    }

    /// Notifies the hub of the state that is served, frees the `previous` one and compresses the documents.
    fn after_publishing(&mut self, previous: Option<Arc<ServedState>>) {
        let served = self.app.current();
        if let Some(hub) = self.app.hub() {
            hub.publish(served.topics());
        }
        self.tell_changes();
        compress(&self.app, served, previous);
    }

    /// Has the hub send notices of what has changed in the served state to the operator's targets.
    fn tell_changes(&self) {
        let notices = self.loader.notices();
        let Some(hub) = self.app.hub() else {
            if !notices.is_empty() {
                warn!("notices.json has targets, but the hub is off, so no notices are sent");
            }
            return;
        };
        let snapshot = self.app.current().snapshot().clone();
        hub.tell(Arc::new(ReviewNotices::new(snapshot, notices)));
    }
}

/// Returns the problem as one line, without the value that caused it: `/readyz` is public, and a value in a refused file
/// may be confidential. The log has the value.
fn without_value(problem: &Problem) -> String {
    let problem = Problem {
        value: None,
        ..problem.clone()
    };
    problem.to_string()
}

/// Starts a thread of low priority that frees the `previous` state, compresses the documents of `served`, and returns freed
/// memory to the system. Until a document is compressed, it is sent as it is. The thread stops early when `served` is
/// replaced or the server is gone.
fn compress(app: &Arc<AppState>, served: Arc<ServedState>, previous: Option<Arc<ServedState>>) {
    let app = Arc::downgrade(app);
    let spawned = thread::Builder::new()
        .name("compress".to_owned())
        .spawn(move || {
            lower_priority(Priority::Lower);
            if let Some(previous) = previous {
                drop_when_unshared(previous, REQUESTS_WAIT_MAX, || is_replaced(&served, &app));
            }
            served.compress(|| is_replaced(&served, &app));
            return_freed_memory();
        });
    if let Err(error) = spawned {
        warn!(%error, "documents are served uncompressed");
    }
}

/// Tells whether `app` serves another state than `served`, or is gone.
fn is_replaced(served: &Arc<ServedState>, app: &Weak<AppState>) -> bool {
    match app.upgrade() {
        Some(app) => !Arc::ptr_eq(&app.current(), served),
        None => true,
    }
}

/// Has mimalloc return most of the memory that a load has freed to the system.
///
/// mimalloc returns a page a second after it was freed, but looks for such pages only when a thread frees a page or ends. In a
/// server at rest no thread does either, so one is started that ends after that second. If it cannot be started, the only
/// cost is memory.
fn return_freed_memory() {
    let _refused = thread::Builder::new()
        .name("purge".to_owned())
        .spawn(|| thread::sleep(PURGE_WAIT));
}

/// Waits until `shared` has no other owner, at most for `wait_max` and until `cancelled` returns true; then drops it.
///
/// So it is usually freed on this thread, and not on one that serves, where other requests would wait until a million reviews
/// are freed.
fn drop_when_unshared<T>(shared: Arc<T>, wait_max: Duration, cancelled: impl Fn() -> bool) {
    let began = clock::instant();
    while Arc::strong_count(&shared) > 1 && began.elapsed() < wait_max && !cancelled() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests;
