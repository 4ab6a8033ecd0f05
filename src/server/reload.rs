//! Reload: a changed dataset replaces the current one whole, or not at all.
//!
//! One thread does all of it. It compares the state of the files with that of the last look, every `--poll` and at SIGHUP.
//! The operating system reports nothing: six calls of `stat` each time cost microseconds, and they also see changes on
//! network file systems and a directory that is replaced by a symbolic link.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{error, info, warn};

use crate::dataset::Problem;
use crate::http::{AppState, Reason, ServedState};
use crate::hub::priority::{Priority, lower_priority};
use crate::wire::date::Timestamp;

use super::config::Config;
use super::load::{Deferred, LoadError, Loader};
use super::metrics::{Counters, ReloadOutcome};
use super::tls::CertificateReloader;
use super::{clock, systemd, threads};

/// How often the certificate is looked at whatever `--poll` is: tools that renew one send no SIGHUP.
const CERTIFICATE_POLL: Duration = Duration::from_secs(60);

/// How long a state that was replaced waits for the requests that began with it; the last of those left then frees it.
const REQUESTS_WAIT_MAX: Duration = Duration::from_secs(2);

/// The code of a refused reload on `/readyz`.
const REFUSED: &str = "reload_failed";

/// The code of missing files on `/readyz`.
const GONE: &str = "data_missing";

/// The thread that reloads.
#[derive(Debug)]
pub(super) struct Reloader {
    pub(super) trigger: ReloadTrigger,
    thread: JoinHandle<()>,
}

impl Reloader {
    /// Begins to look for changes of the files that `loader` has read.
    pub(super) fn start(
        config: &Config,
        app: Arc<AppState>,
        loader: Loader,
        deferred: Option<Deferred>,
        counters: Arc<Counters>,
        tls: Option<CertificateReloader>,
    ) -> io::Result<Reloader> {
        let (trigger, requests) = ReloadTrigger::new();
        let poll = Some(config.poll).filter(|poll| !poll.is_zero());
        let state = State {
            trigger: trigger.clone(),
            app,
            loader,
            poll: poll.unwrap_or(Duration::MAX),
            due: None,
            counters,
            tls,
        };
        let readiness = Arc::clone(&state.app.readiness);
        let thread = threads::spawn(&readiness, "reload", move || state.run(&requests, deferred))?;
        Ok(Reloader { trigger, thread })
    }

    /// Ends the thread, after the reload that is under way.
    pub(super) fn stop(self) {
        self.trigger.stop();
        // The thread has logged its panic.
        let _panic = self.thread.join();
    }
}

/// What the thread owns.
struct State {
    app: Arc<AppState>,
    loader: Loader,
    trigger: ReloadTrigger,
    poll: Duration,
    /// When files that were refused for their date alone are to be read again.
    due: Option<Timestamp>,
    counters: Arc<Counters>,
    tls: Option<CertificateReloader>,
}

/// What came of a reload that was not refused.
enum ReloadResult {
    /// The state that is no longer served, and what the insights of a large dataset are still to be derived from.
    Replaced(Arc<ServedState>, Option<Box<Deferred>>),
    /// The content of the files is unchanged.
    Same,
    /// The files were changed while they were read, or the server stops.
    Incomplete,
}

impl State {
    /// Looks for changes until the server stops; `deferred` is what the start of a large dataset left for later.
    fn run(mut self, requests: &Receiver<()>, deferred: Option<Deferred>) {
        // Requests come before a build.
        lower_priority(Priority::Lower);
        self.after_publishing(None);
        if let Some(deferred) = deferred {
            self.finish(&deferred);
        }
        let mut looked = clock::instant();
        loop {
            let wait = self.poll.saturating_sub(looked.elapsed());
            let request = requests.recv_timeout(wait.min(CERTIFICATE_POLL));
            let is_requested = request.is_ok();
            if self.trigger.is_stopping() {
                return;
            }
            if is_requested {
                systemd::reloading();
            }
            if is_requested || looked.elapsed() >= self.poll {
                self.look(is_requested);
                looked = clock::instant();
            }
            if let Some(tls) = &mut self.tls {
                tls.look(&self.app.readiness, is_requested);
            }
            // A request since then is taken in the next iteration.
            if is_requested {
                systemd::ready();
            }
        }
    }

    /// Logs the warnings of a large dataset that is served already, derives its insights and serves them. Until then
    /// `/insights.json` is that of the dataset before, or answers 503 after a start; changed files wait.
    fn finish(&self, deferred: &Deferred) {
        let began = clock::instant();
        let derive = || {
            deferred.log_warnings();
            if deferred.has_insights() {
                return Ok(None);
            }
            let whole = deferred.whole(&|| self.trigger.is_stopping());
            let served = whole.map(|whole| ServedState::new(Arc::new(whole)));
            Ok(served.transpose()?)
        };
        let derived = catch_unwind(AssertUnwindSafe(derive));
        match derived.unwrap_or(Err(LoadError::Panic)) {
            Err(error) => error!(%error, "the insights cannot be derived"),
            // They are there, or the server stops.
            Ok(None) => {}
            Ok(Some(served)) => {
                let previous = self.app.publish(served);
                let elapsed_ms = clock::elapsed_ms(began);
                info!(elapsed_ms, "the insights are served");
                compress(&self.app, self.app.current(), Some(previous));
            }
        }
    }

    /// Reads the files if they have changed or a reload was requested, once they are written.
    fn look(&mut self, requested: bool) {
        let is_due = self.due.is_some_and(|due| due <= crate::clock::now());
        let is_wanted = requested || is_due || self.loader.has_changed();
        if self.loader.directory().is_none() || !is_wanted {
            return;
        }
        self.due = None;
        let trigger = &self.trigger;
        let has_reviews = self.loader.wait_until_written(clock::instant(), |time| {
            thread::sleep(time);
            !trigger.is_stopping()
        });
        match has_reviews {
            _ if self.trigger.is_stopping() => {}
            true => self.reload(),
            false => self.miss(),
        }
    }

    /// Reports that the files are gone; what is served stays.
    fn miss(&self) {
        let message = "the data directory has no reviews.json; the previous data is still served";
        warn!(directory = ?self.loader.directory(), "{message}");
        self.record(ReloadOutcome::Gone);
        // What was wrong with files that are gone no longer matters.
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.report(&Reason::new(GONE, message));
    }

    /// Reads the files and serves them.
    fn reload(&mut self) {
        let began = clock::instant();
        // A panic leaves nothing half done: the state is swapped in one step.
        let result = catch_unwind(AssertUnwindSafe(|| self.attempt()));
        let elapsed_ms = clock::elapsed_ms(began);
        let result = match result.unwrap_or(Err(LoadError::Panic)) {
            Ok(result) => result,
            Err(error) => return self.refuse(&error),
        };
        if let ReloadResult::Incomplete = result {
            // Read again, once they are written.
            self.loader.forget();
            return self.trigger.request();
        }
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.withdraw(GONE);
        if let ReloadResult::Replaced(previous, deferred) = result {
            self.record(ReloadOutcome::Replaced);
            let served = self.app.current();
            let snapshot = served.snapshot();
            let (version, reviews) = (snapshot.version(), snapshot.len());
            info!(elapsed_ms, version, reviews, "a changed dataset is served");
            self.after_publishing(Some(previous));
            if let Some(deferred) = deferred {
                self.finish(&deferred);
            }
        } else {
            self.record(ReloadOutcome::Same);
            info!(elapsed_ms, "the content of the data files is unchanged");
        }
    }

    /// Reads and checks the files, builds the new state and puts it in place of the old one. A large dataset is served with
    /// the insights of the one before, until its own are derived.
    fn attempt(&mut self) -> Result<ReloadResult, LoadError> {
        let decoded = match self.loader.decode() {
            Err(error) if error.is_transient() => return Ok(ReloadResult::Incomplete),
            decoded => decoded?,
        };
        let current = self.app.current();
        // Insights that could not be derived are tried again.
        let served = current.snapshot();
        if decoded.dataset.digest == served.digest && served.has_own_insights() {
            return Ok(ReloadResult::Same);
        }
        let stopping = || self.trigger.is_stopping();
        let built = self.loader.build(decoded, Some(served), &stopping)?;
        let Some((served, deferred)) = built else {
            return Ok(ReloadResult::Incomplete);
        };
        let deferred = deferred.map(Box::new);
        Ok(ReloadResult::Replaced(self.app.publish(served), deferred))
    }

    /// Logs each problem, and reports them on `/readyz`.
    fn refuse(&mut self, error: &LoadError) {
        self.record(ReloadOutcome::Refused);
        let (message, problems) = match error {
            LoadError::Data(problems) => {
                self.due = self.loader.time_to_come();
                let plural = if problems.total == 1 { "" } else { "s" };
                let message = format!("the changed dataset has {} problem{plural}", problems.total);
                (message, &problems.kept[..])
            }
            error => (error.to_string(), &[][..]),
        };
        for problem in problems {
            error!(%problem, "a data file is rejected");
        }
        error!("{message}; the previous data is still served");
        self.app.readiness.report(&Reason {
            details: problems.iter().map(without_value).collect(),
            ..Reason::new(REFUSED, message)
        });
    }

    fn record(&self, outcome: ReloadOutcome) {
        self.counters.reloads[outcome as usize].inc();
    }

    /// Notifies the hub of the state that is served, frees the `previous` one and compresses the documents.
    fn after_publishing(&mut self, previous: Option<Arc<ServedState>>) {
        let served = self.app.current();
        if let Some(hub) = self.app.hub() {
            hub.publish(served.snapshot().topics());
        }
        compress(&self.app, served, previous);
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
/// a thread of low priority. Until then documents are sent as they are.
fn compress(app: &Arc<AppState>, served: Arc<ServedState>, previous: Option<Arc<ServedState>>) {
    let app = Arc::downgrade(app);
    let spawned = thread::Builder::new().name("compress".to_owned());
    let spawned = spawned.spawn(move || {
        lower_priority(Priority::Lower);
        let is_current = |app: Arc<AppState>| Arc::ptr_eq(&app.current(), &served);
        let is_replaced = || !app.upgrade().is_some_and(is_current);
        if let Some(previous) = previous {
            drop_when_unshared(previous, REQUESTS_WAIT_MAX, is_replaced);
        }
        served.compress(is_replaced);
    });
    if let Err(error) = spawned {
        warn!(%error, "documents are served uncompressed");
    }
}

/// Drops `shared` once no other owner has it, after `wait_max`, or when `cancelled`: it is freed on this thread and not on
/// one that serves, where other requests would wait for a million reviews to be freed.
fn drop_when_unshared<T>(shared: Arc<T>, wait_max: Duration, cancelled: impl Fn() -> bool) {
    let began = clock::instant();
    while Arc::strong_count(&shared) > 1 && began.elapsed() < wait_max && !cancelled() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Requests a reload, or the end of the reloading thread. All clones speak to the same thread.
#[derive(Clone, Debug)]
pub(super) struct ReloadTrigger {
    /// A channel with room for one request: requests that come before the next reload begins lead to one reload.
    requests: SyncSender<()>,
    is_stopping: Arc<AtomicBool>,
}

impl ReloadTrigger {
    /// Returns a trigger, and what it wakes.
    fn new() -> (ReloadTrigger, Receiver<()>) {
        let (requests, receiver) = sync_channel(1);
        let is_stopping = Arc::default();
        let trigger = ReloadTrigger {
            requests,
            is_stopping,
        };
        (trigger, receiver)
    }

    /// Requests that the files are read even if they look unchanged.
    pub(super) fn request(&self) {
        let _full = self.requests.try_send(());
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, SeqCst);
        self.request();
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(SeqCst)
    }
}

#[cfg(test)]
mod tests;
