//! Reload: a changed dataset replaces the current one whole, or not at all.
//!
//! One thread does all of it. It wakes for a request (SIGHUP), for an event of the watched directory, and every few
//! seconds to look at the files itself, since network file systems and some mounts report nothing. What decides is
//! always the state of the files, never the event: editors and deployment tools cause a dozen events for one change,
//! and replacing a directory by a symbolic link causes none in the directory that was watched.

use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{debug, error, info, warn};

use crate::dataset::Problem;
use crate::http::{AppState, Reason, ServedState};
use crate::hub::priority::{Behind, give_way};
use crate::wire::date::Timestamp;

use super::clock;
use super::config::{Config, DataSource};
use super::files::{QUIET, Stamps};
use super::load::{DeferredWork, LoadError, Loader};
use super::reload_trigger::{ReloadTrigger, WatchedDirectory};
use super::systemd::SdNotify;
use super::threads::Threads;
use super::tls::CertificateReloader;

/// How long a reload waits for files that go on changing; then they are read as they are. Our choice: longer than a
/// directory is copied.
const WRITTEN_WAIT_MAX: Duration = Duration::from_secs(60);

/// The longest sleep without `--poll`, so that a timer needs no special case.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

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
    trigger: ReloadTrigger,
    thread: JoinHandle<()>,
}

impl Reloader {
    /// Begins to watch for changes of the files, which were `seen` so when the current state was built from them.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn start(
        config: &Config,
        app: Arc<AppState>,
        loader: Loader,
        seen: Stamps,
        totals: Arc<ReloadTotals>,
        tls: Option<CertificateReloader>,
    ) -> io::Result<Reloader> {
        let trigger = ReloadTrigger::default();
        let directory = match &config.data {
            DataSource::Directory(directory) => Some(directory.clone()),
            DataSource::Sample => None,
        };
        let watched = directory.as_deref().filter(|_| config.reload.watch);
        let poll = Some(config.reload.poll).filter(|poll| !poll.is_zero());
        let state = State {
            watched: watched.map(|directory| WatchedDirectory::new(directory, trigger.clone())),
            trigger: trigger.clone(),
            app,
            loader,
            directory,
            poll: poll.unwrap_or(NEVER),
            seen,
            due: None,
            totals,
            tls,
            systemd: config.systemd.clone(),
        };
        let threads = Threads::new(&state.app.readiness, "");
        let thread = threads.spawn("reload", move || state.run())?;
        Ok(Reloader { trigger, thread })
    }

    /// Returns what requests a reload.
    pub(super) fn trigger(&self) -> ReloadTrigger {
        self.trigger.clone()
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
    /// `None` for the embedded sample, which does not change.
    directory: Option<PathBuf>,
    watched: Option<WatchedDirectory>,
    poll: Duration,
    /// The state of the files at the last look that led to something.
    seen: Stamps,
    /// When files that were refused for their date alone are to be read again.
    due: Option<Timestamp>,
    totals: Arc<ReloadTotals>,
    tls: Option<CertificateReloader>,
    /// Notified when a requested reload begins and ends.
    systemd: SdNotify,
}

/// What came of a reload that was not refused.
enum ReloadResult {
    /// The state that is no longer served.
    Replaced(Arc<ServedState>),
    /// The files hold what is served already.
    Same,
    /// The files were changed while they were read, or the server stops.
    Incomplete,
}

impl State {
    fn run(mut self) {
        // Requests come before a build.
        give_way(Behind::Well);
        self.after_publishing(None);
        let mut looked = clock::instant();
        loop {
            if let Some(watched) = &mut self.watched {
                watched.renew();
            }
            let wait = time_to_look(self.poll, looked.elapsed(), self.tls.is_some());
            let events = self.trigger.wait(wait);
            if events.stopping {
                return;
            }
            if events.requested {
                self.systemd.reloading();
            }
            if events.requested || events.changed || looked.elapsed() >= self.poll {
                self.look(events.requested);
                looked = clock::instant();
            }
            if let Some(tls) = &mut self.tls {
                tls.look(&self.app.readiness, events.requested);
            }
            // A request since then is taken in the next iteration.
            self.systemd.reloaded();
        }
    }

    /// Reads the files if they have changed or a reload was requested.
    fn look(&mut self, requested: bool) {
        let Some(directory) = self.directory.clone() else {
            return;
        };
        let is_due = self.due.is_some_and(|due| due <= crate::clock::now());
        if Stamps::of(&directory) == self.seen && !requested && !is_due {
            return;
        }
        let stamps = self.wait_until_written(&directory);
        if self.trigger.is_stopping() {
            return;
        }
        self.seen = stamps;
        match stamps.has_reviews() {
            true => self.reload(),
            false => self.miss(&directory),
        }
    }

    /// Waits until nothing has changed for [`QUIET`], at most [`WRITTEN_WAIT_MAX`] or until the server stops, and returns
    /// the state of the files.
    fn wait_until_written(&self, directory: &Path) -> Stamps {
        let mut stamps = Stamps::of(directory);
        if stamps == self.seen {
            return stamps;
        }
        let began = clock::instant();
        let mut changed = began;
        while let Some(pause) = pause_left(changed.elapsed(), began.elapsed())
            && !self.trigger.is_stopping()
        {
            self.trigger.pause(pause);
            let now = Stamps::of(directory);
            if now != stamps {
                (stamps, changed) = (now, clock::instant());
            }
        }
        stamps
    }

    /// Reports that the files are gone; what is served stays.
    fn miss(&self, directory: &Path) {
        let message = "the data directory holds no reviews.json any more; what was read before is still served";
        warn!(directory = %directory.display(), "{message}");
        self.totals.record(ReloadOutcome::Gone);
        // What was wrong with files that are gone no longer matters.
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.report(&Reason::new(GONE, message));
    }

    /// Reads the files and serves them.
    fn reload(&mut self) {
        let began = clock::instant();
        self.due = None;
        // A panic leaves nothing half done: the state is swapped in one step.
        let result = catch_unwind(AssertUnwindSafe(|| self.attempt()));
        let elapsed_ms = clock::elapsed_ms(began);
        let result = match result.unwrap_or(Err(LoadError::Panic)) {
            Ok(result) => result,
            Err(error) => return self.refuse(&error),
        };
        if let ReloadResult::Incomplete = result {
            // Looked at again, once they are written.
            self.seen = Stamps::default();
            return self.trigger.poke();
        }
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.withdraw(GONE);
        if let ReloadResult::Replaced(previous) = result {
            self.totals.record(ReloadOutcome::Replaced);
            let served = self.app.current();
            let snapshot = served.snapshot();
            let (version, reviews) = (snapshot.version(), snapshot.len());
            info!(elapsed_ms, version, reviews, "a changed dataset is served");
            self.after_publishing(Some(previous));
        } else {
            self.totals.record(ReloadOutcome::Same);
            info!(elapsed_ms, "the data files hold what is served already");
        }
    }

    /// Load, validate, build, swap.
    fn attempt(&self) -> Result<ReloadResult, LoadError> {
        let decoded = match self.loader.decode(NonZeroUsize::MIN) {
            Err(error) if error.is_transient() => return Ok(ReloadResult::Incomplete),
            decoded => decoded?,
        };
        if decoded.dataset.digest == self.app.current().snapshot().digest {
            return Ok(ReloadResult::Same);
        }
        let stopping = || self.trigger.is_stopping();
        let Some(served) = self.loader.build(decoded, &stopping)? else {
            return Ok(ReloadResult::Incomplete);
        };
        self.loader.remember(served.snapshot());
        Ok(ReloadResult::Replaced(self.app.publish(served)))
    }

    /// Logs each problem, and reports them on `/readyz`.
    fn refuse(&mut self, error: &LoadError) {
        self.totals.record(ReloadOutcome::Refused);
        let (message, problems) = match error {
            LoadError::Data(problems) => {
                self.due = self.loader.time_to_come();
                let plural = if problems.total() == 1 { "" } else { "s" };
                let message = format!(
                    "the changed dataset has {} problem{plural}",
                    problems.total()
                );
                (message, problems.kept())
            }
            error => (error.to_string(), &[][..]),
        };
        for problem in problems {
            error!(%problem, "a data file is refused");
        }
        error!("{message}; what was read before is still served");
        self.app.readiness.report(&Reason {
            details: problems.iter().map(without_value).collect(),
            ..Reason::new(REFUSED, message)
        });
    }

    /// Notifies the hub of the state that is served, frees the `previous` one and compresses the documents.
    fn after_publishing(&mut self, previous: Option<Arc<ServedState>>) {
        let served = self.app.current();
        if let Some(hub) = self.app.hub() {
            hub.topics_changed(served.snapshot().topics());
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

/// Returns how long to wait for files that have not changed for `rested`, `waited` after the first change was seen; `None`
/// if they are to be read.
fn pause_left(rested: Duration, waited: Duration) -> Option<Duration> {
    let left = QUIET.saturating_sub(rested);
    let left = left.min(WRITTEN_WAIT_MAX.saturating_sub(waited));
    (!left.is_zero()).then_some(left)
}

/// Returns how long to sleep when the data files are looked at every `poll` and were `elapsed` ago.
fn time_to_look(poll: Duration, elapsed: Duration, has_certificate: bool) -> Duration {
    let data = poll.saturating_sub(elapsed);
    match has_certificate {
        true => data.min(CERTIFICATE_POLL),
        false => data,
    }
}

/// Frees the `previous` state and compresses the documents of `served`, until that is replaced or the server is gone, on
/// a thread of low priority. Until then documents are sent as they are.
fn compress(app: &Arc<AppState>, served: Arc<ServedState>, previous: Option<Arc<ServedState>>) {
    let app = Arc::downgrade(app);
    let spawned = thread::Builder::new().name("compress".to_owned());
    let spawned = spawned.spawn(move || {
        give_way(Behind::Well);
        let is_current = |app: Arc<AppState>| Arc::ptr_eq(&app.current(), &served);
        let is_replaced = || !app.upgrade().is_some_and(is_current);
        if let Some(previous) = previous {
            drop_when_unshared(previous, REQUESTS_WAIT_MAX, is_replaced);
        }
        served.compress(is_replaced);
    });
    if let Err(error) = spawned {
        warn!(%error, "documents are served without compression");
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

/// Does what the start of a large dataset left out, on a thread of low priority: logs the warnings, derives the insights
/// and serves them. Until then `/insights.json` answers 503; a reload meanwhile brings its own insights.
pub(super) fn finish_first(
    app: Arc<AppState>,
    loader: Loader,
    deferred: DeferredWork,
    threads: NonZeroUsize,
) {
    let spawned = Threads::new(&app.readiness, "").spawn("insights", move || {
        give_way(Behind::Well);
        deferred.log_warnings();
        if deferred.awaits_insights {
            serve_insights(&app, &loader, &deferred, threads);
        }
    });
    if let Err(error) = spawned {
        warn!(%error, "warnings and insights are left out until the next reload");
    }
}

/// Derives the insights of the state that is served, and serves them.
fn serve_insights(
    app: &Arc<AppState>,
    loader: &Loader,
    deferred: &DeferredWork,
    threads: NonZeroUsize,
) {
    let began = clock::instant();
    let first = app.current();
    let snapshot = first.snapshot();
    let is_replaced = || !Arc::ptr_eq(&app.current(), &first);
    if !loader.derive_first(snapshot, deferred, threads, &is_replaced) {
        return debug!("a newer dataset is served, with insights of its own");
    }
    let whole = match loader.served(Arc::clone(snapshot)) {
        Ok(whole) => whole,
        Err(error) => return warn!(%error, "the insights cannot be served"),
    };
    if app.replace(&first, whole) {
        let elapsed_ms = clock::elapsed_ms(began);
        info!(elapsed_ms, "the insights are served");
        compress(app, app.current(), None);
    }
}

/// How a reload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// Another dataset is served.
    Replaced,
    /// The files hold what is served already.
    Same,
    /// The files cannot be used; what was read before is still served.
    Refused,
    /// The files are gone; what was read before is still served.
    Gone,
}

/// How reloads ended since the start, for the metrics.
#[derive(Debug)]
pub(super) struct ReloadTotals {
    counts: [AtomicU64; 4],
    /// When the dataset that is served was read, in milliseconds since 1970.
    loaded_ms: AtomicI64,
}

impl Default for ReloadTotals {
    fn default() -> ReloadTotals {
        ReloadTotals {
            counts: Default::default(),
            loaded_ms: AtomicI64::new(crate::clock::unix_ms()),
        }
    }
}

impl ReloadTotals {
    fn record(&self, outcome: ReloadOutcome) {
        self.counts[outcome as usize].fetch_add(1, Relaxed);
        if outcome == ReloadOutcome::Replaced {
            self.loaded_ms.store(crate::clock::unix_ms(), Relaxed);
        }
    }

    /// Returns each outcome's label and its count.
    pub(super) fn counts(&self) -> [(&'static str, u64); 4] {
        let count = |outcome: ReloadOutcome| self.counts[outcome as usize].load(Relaxed);
        [
            ("replaced", count(ReloadOutcome::Replaced)),
            ("same", count(ReloadOutcome::Same)),
            ("refused", count(ReloadOutcome::Refused)),
            ("gone", count(ReloadOutcome::Gone)),
        ]
    }

    /// Returns when the dataset that is served was read, in milliseconds since 1970.
    pub(super) fn loaded_ms(&self) -> i64 {
        self.loaded_ms.load(Relaxed)
    }
}

#[cfg(test)]
mod tests;
