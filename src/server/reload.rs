//! Reload: a changed dataset replaces the current one whole, or not at all.
//!
//! One thread does all of it, at low priority, when [`watch`](super::watch) tells it that the files have changed. While it
//! derives the insights of a large dataset, a change ends the derivation. What fails for a reason that may pass is tried
//! again.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{debug, error, info, warn};

use crate::dataset::Problem;
use crate::http::{AppState, Heartbeat, REPORT_INTERVAL, Reason, ServedState};
use crate::hub::priority::{Priority, lower_priority};
use crate::notices::ReviewNotices;
use crate::wire::date::Timestamp;

use super::config::Config;
use super::load::{Deferred, LoadError, Loader};
use super::metrics::{Counters, ReloadOutcome};
use super::retry::Retry;
use super::sources::SourceWatcher;
use super::threads::ThreadStarter;
use super::tls::CertificateReloader;
use super::watch::{ReloadChannels, ReloadOrders, ReloadTrigger, Watcher};
use super::{clock, systemd};

/// How long a state that was replaced waits for the requests that began with it; the last of those left then frees it.
const REQUESTS_WAIT_MAX: Duration = Duration::from_secs(2);

/// A little longer than mimalloc keeps freed pages, `purge_delay`. With `MIMALLOC_PURGE_DELAY=0` it would keep none, at the
/// cost of page faults in every burst of requests.
const PURGE_WAIT: Duration = Duration::from_millis(1_100);

/// How often to check whether a date that was in the future has been reached.
const DATE_INTERVAL: Duration = Duration::from_millis(250);

/// Bytes of the files for which the watchdog allows one second more without a report, 1 MiB: parsing and rendering do
/// not report. Our choice: twenty times what they take on an idle machine.
const BYTES_PER_SECOND: u64 = 1 << 20;

/// The code of a refused reload on `/readyz`.
const REFUSED: &str = "reload_failed";

/// The code of missing files on `/readyz`.
const GONE: &str = "data_missing";

/// The threads that watch and reload.
#[derive(Debug)]
pub(super) struct Reloader {
    pub(super) trigger: ReloadTrigger,
    threads: [JoinHandle<()>; 2],
}

impl Reloader {
    /// Begins to look for changes of the files that `loader` has read; `deferred` is what the start of a large dataset
    /// left for later.
    pub(super) fn start(
        config: &Config,
        app: Arc<AppState>,
        loader: Loader,
        deferred: Option<Deferred>,
        counters: Arc<Counters>,
        tls: Option<CertificateReloader>,
    ) -> io::Result<Reloader> {
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
            poll: config.poll,
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
                due: None,
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
    /// What the insights of the dataset that is served are still to be derived from.
    deferred: Option<Box<Deferred>>,
    /// When files that were refused for their date alone are to be read again.
    due: Option<Timestamp>,
    /// When to try again after a failure that may pass.
    retry: Retry,
    /// The message of the last failure, which is logged once.
    failure: Option<String>,
    counters: Arc<Counters>,
}

/// What came of a reload that was not refused.
enum ReloadResult {
    /// The state that is no longer served.
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
            let seconds = self.loader.file_bytes() / BYTES_PER_SECOND;
            self.heartbeat.allow(Duration::from_secs(seconds));
            self.derive_insights();
            let _timeout = wakes.recv_timeout(self.wait());
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

    /// Returns how long to wait for orders.
    fn wait(&self) -> Duration {
        let retry = self.retry.time_left(clock::instant());
        let date = self.due.map(|_| DATE_INTERVAL);
        let times = [retry, date].into_iter().flatten();
        times.fold(REPORT_INTERVAL, Duration::min)
    }

    /// Derives the insights of a large dataset that is served already, serves them, and logs the warnings. Until then
    /// `/insights.json` is that of the dataset before, or answers 503 after a start. A change of the files ends this;
    /// then nothing is lost, and it begins again if they do not replace the dataset.
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
            Err(error) => self.log_rejection(&error),
        }
    }

    /// Returns the state with the insights of `deferred`; `None` if they are there, or if the files change.
    fn derive(&self, deferred: &Deferred) -> Result<Option<ServedState>, LoadError> {
        if deferred.has_insights() {
            return Ok(None);
        }
        // Those of the dataset before.
        let current = self.app.current();
        let previous = current.snapshot().readings().map(Arc::as_ref);
        let whole = deferred.whole(previous, &|| {
            self.heartbeat.report();
            self.orders.is_outdated()
        });
        let served = whole.map(|whole| ServedState::new(Arc::new(whole)));
        Ok(served.transpose()?)
    }

    /// Reads the files if they have changed or a reload was requested, once they are written.
    fn check_files(&mut self, is_requested: bool) {
        let is_due = self.due.is_some_and(|due| due <= crate::clock::now());
        let is_retry = self.retry.is_due(clock::instant());
        let is_wanted = is_requested || is_due || is_retry || self.loader.has_changed();
        if self.loader.directory().is_none() || !is_wanted {
            return;
        }
        self.due = None;
        let orders = &self.orders;
        let heartbeat = &self.heartbeat;
        let has_reviews = self.loader.wait_until_written(clock::instant(), |time| {
            heartbeat.report();
            thread::sleep(time);
            !orders.is_stopping()
        });
        if self.orders.is_stopping() {
            return;
        }
        if has_reviews {
            self.reload();
            // What a refused file has taken, too.
            return_freed_memory();
        } else {
            self.report_missing();
        }
    }

    /// Reports that the files are gone; what is served stays.
    fn report_missing(&mut self) {
        let message = "the data directory has no reviews.json; the previous data is still served";
        warn!(directory = ?self.loader.directory(), "{message}");
        self.record(ReloadOutcome::Gone);
        // What was wrong with files that are gone no longer matters.
        self.clear_failure();
        self.app.readiness.report(&Reason::new(GONE, message));
    }

    /// Reads the files and serves them.
    fn reload(&mut self) {
        let began = clock::instant();
        // A panic leaves nothing half done: the state is swapped in one step.
        let caught = catch_unwind(AssertUnwindSafe(|| self.build_and_swap()));
        let elapsed_ms = clock::elapsed_ms(began);
        let result = match caught.unwrap_or(Err(LoadError::Panic)) {
            Ok(result) => result,
            Err(error) => return self.log_rejection(&error),
        };
        if let ReloadResult::Incomplete = result {
            // Read again, once they are written.
            self.loader.forget();
            return self.orders.announce_change();
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
            // `notices.json` is no part of the content.
            self.tell_changes();
            self.record(ReloadOutcome::Same);
            info!(elapsed_ms, "the content of the data files is unchanged");
        }
    }

    /// Reads and checks the files, builds the new state and puts it in place of the old one. A large dataset is served
    /// with the insights of the one before, until its own are derived.
    fn build_and_swap(&mut self) -> Result<ReloadResult, LoadError> {
        let decoded = match self.loader.decode() {
            Err(error) if error.is_of_changing_files() => return Ok(ReloadResult::Incomplete),
            decoded => decoded?,
        };
        self.heartbeat.report();
        let current = self.app.current();
        let served = current.snapshot();
        // Insights that could not be derived are tried again.
        let has_insights = served.has_own_insights() || self.deferred.is_some();
        if decoded.dataset.digest == served.digest && has_insights {
            return Ok(ReloadResult::Same);
        }
        // The insights of the dataset that is replaced are no longer wanted, and its texts take memory.
        self.deferred = None;
        let orders = &self.orders;
        let heartbeat = &self.heartbeat;
        let built = self.loader.build(decoded, Some(served), &|| {
            heartbeat.report();
            orders.is_stopping()
        })?;
        let Some((served, deferred)) = built else {
            return Ok(ReloadResult::Incomplete);
        };
        self.deferred = deferred.map(Box::new);
        Ok(ReloadResult::Replaced(self.app.publish(served)))
    }

    /// Logs each problem, and reports them on `/readyz`. If the reason may pass, schedules another try.
    fn log_rejection(&mut self, error: &LoadError) {
        self.record(ReloadOutcome::Refused);
        let mut problems = &[][..];
        let mut message = error.to_string();
        if let LoadError::Data(data) = error {
            self.due = self.loader.time_to_come();
            problems = &data.listed[..];
            let plural = if data.total == 1 { "" } else { "s" };
            message = format!("the changed dataset has {} problem{plural}", data.total);
        }
        if error.may_pass() {
            self.retry.schedule(clock::instant());
            message += "; it is tried again";
        } else {
            self.retry.cancel();
        }
        for problem in problems {
            error!(%problem, "a data file is rejected");
        }
        let is_new = self.failure.as_ref() != Some(&message);
        if is_new || !problems.is_empty() {
            error!("{message}; the previous data is still served");
        } else {
            debug!("{message}; the previous data is still served");
        }
        self.app.readiness.report(&Reason {
            details: problems.iter().map(without_value).collect(),
            ..Reason::new(REFUSED, message.clone())
        });
        self.failure = Some(message);
    }

    /// Forgets the last failure.
    fn clear_failure(&mut self) {
        self.retry.cancel();
        self.failure = None;
        self.app.readiness.withdraw(REFUSED);
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

    /// Has the hub tell the operator's targets of what has changed in the state that is served.
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

/// Returns one line without the refused value: `/readyz` is public, and a refused file may hold what was never to be
/// published. The log has the value.
fn without_value(problem: &Problem) -> String {
    let problem = Problem {
        value: None,
        ..problem.clone()
    };
    problem.to_string()
}

/// Frees the `previous` state and compresses the documents of `served`, until that is replaced or the server is gone, on
/// a thread of low priority. Until then documents are sent as they are. Then freed memory goes back to the system.
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

/// Has mimalloc return to the system most of what a load has freed: it does so a second after pages were freed, but looks for
/// such pages only when a thread frees a page or ends, which a server at rest does not. So a thread ends then; if none can
/// be started, the only cost is memory.
fn return_freed_memory() {
    let _refused = thread::Builder::new()
        .name("purge".to_owned())
        .spawn(|| thread::sleep(PURGE_WAIT));
}

/// Drops `shared` once no other owner has it, after `wait_max`, or when `cancelled`: it is freed on this thread and not on
/// one that serves, where other requests would wait for a million reviews to be freed.
fn drop_when_unshared<T>(shared: Arc<T>, wait_max: Duration, cancelled: impl Fn() -> bool) {
    let began = clock::instant();
    while Arc::strong_count(&shared) > 1 && began.elapsed() < wait_max && !cancelled() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests;
