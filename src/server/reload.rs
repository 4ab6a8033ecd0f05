//! Reload: a changed dataset replaces the current one whole, or not at all.
//!
//! One thread does all of it. It wakes for a request (SIGHUP), for an event of the watched directory, and every few
//! seconds to look at the files itself, since network file systems and some mounts report nothing. What decides is
//! always the state of the files, never the event: editors and deployment tools cause a dozen events for one change,
//! and replacing a directory by a symbolic link causes none in the directory that was watched.

mod build;
mod error;

use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{info, warn};

use crate::http::{AppState, Reason, ServedState};
use crate::hub::priority::{Behind, give_way};
use crate::wire::date::Timestamp;

use build::Build;
use error::ReloadError;

use super::clock;
use super::config::{Config, DataSource};
use super::files::{QUIET, Stamps};
use super::load::{LoadError, Loader};
use super::post_reload::PostReloadJobs;
use super::reload_trigger::{self, ReloadEvent, ReloadEvents, ReloadTrigger};
use super::reloads::{Reloaded, Reloads};
use super::systemd::SdNotify;
use super::threads::Threads;
use super::tls::CertificateReloader;
use super::watch::{Directory, time_to_look};

/// Builds in a row that are dropped because the files have changed again; the next is finished whatever happens, so
/// that files that never rest are served all the same.
const DROPPED_MAX: u32 = 3;

/// How long a reload waits for files that go on changing: then they are read as they are. Our choice: longer than a
/// directory is copied, and short enough that files which never rest are served all the same.
const WRITTEN_WAIT_MAX: Duration = Duration::from_secs(60);

/// The longest sleep without `--poll`, so that a timer needs no special case.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Under this code `/readyz` tells that the last reload was refused.
pub(super) const REFUSED: &str = "reload_failed";

/// Under this code `/readyz` tells that the files are gone.
pub(super) const GONE: &str = "data_missing";

/// What is called with each site that has come to be served, the first included.
pub(super) type Published = Box<dyn Fn(&ServedState) + Send>;

/// The thread that reloads.
#[derive(Debug)]
pub(super) struct Reloader {
    trigger: ReloadTrigger,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Reloader {
    /// Begins to watch for changes of the files, which were as `seen` tells when the current site was made of them.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn start(
        config: &Config,
        app: Arc<AppState>,
        loader: Loader,
        seen: Stamps,
        reloads: Arc<Reloads>,
        tls: Option<CertificateReloader>,
        published: Published,
    ) -> io::Result<Reloader> {
        let (trigger, events) = reload_trigger::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let directory = match &config.data {
            DataSource::Directory(directory) => Some(directory.clone()),
            DataSource::Sample => None,
        };
        let watched = directory.as_deref().filter(|_| config.reload.watch);
        let state = State {
            app,
            loader,
            watched: watched.map(|directory| Directory::new(directory, trigger.clone())),
            directory,
            poll: Some(config.reload.poll)
                .filter(|poll| !poll.is_zero())
                .unwrap_or(NEVER),
            seen,
            due: None,
            stopping: Arc::clone(&stopping),
            post_reload: PostReloadJobs::default(),
            reloads,
            tls,
            published,
            systemd: config.systemd.clone(),
        };
        let threads = Threads::new(&state.app.readiness, "");
        let thread = threads.spawn("reload", move || state.run(&events))?;
        Ok(Reloader {
            trigger,
            stopping,
            thread,
        })
    }

    /// Returns what requests a reload.
    pub(super) fn trigger(&self) -> ReloadTrigger {
        self.trigger.clone()
    }

    /// Asks the thread to end after the reload that it is at.
    pub(super) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.trigger.poke();
    }

    /// Ends the thread, after the reload that it is at.
    pub(super) fn stop(self) {
        self.begin_stop();
        // A panic has been told by the thread, and the server stops anyway.
        let _panic = self.thread.join();
    }
}

/// What the thread owns.
struct State {
    app: Arc<AppState>,
    loader: Loader,
    /// `None` for the embedded sample, which does not change.
    directory: Option<PathBuf>,
    watched: Option<Directory>,
    poll: Duration,
    /// The state of the files at the last look that led to something.
    seen: Stamps,
    /// When files that were refused for their date alone are to be read again.
    due: Option<Timestamp>,
    stopping: Arc<AtomicBool>,
    post_reload: PostReloadJobs,
    reloads: Arc<Reloads>,
    tls: Option<CertificateReloader>,
    published: Published,
    /// Notified when a requested reload begins and ends.
    systemd: SdNotify,
}

/// What came of a reload that was not refused.
enum ReloadResult {
    /// Another site is served in place of this one.
    Replaced(Arc<ServedState>),
    /// The files hold what is served already.
    Same,
    /// The files have changed again, or the server stops.
    Dropped,
}

impl State {
    fn run(mut self, events: &ReloadEvents) {
        // A site is built while another is served, which comes first.
        give_way(Behind::Well);
        self.after_publishing(None);
        let mut looked = clock::instant();
        while !self.is_stopping() {
            if let Some(watched) = &mut self.watched {
                watched.renew();
            }
            let wait = time_to_look(self.poll, looked.elapsed(), self.tls.is_some());
            let (mut requested, is_due) = match events.wait(wait) {
                ReloadEvent::Requested => (true, true),
                ReloadEvent::Changed => (false, true),
                ReloadEvent::Timeout => (false, looked.elapsed() >= self.poll),
                ReloadEvent::Disconnected => return,
            };
            if requested {
                self.systemd.reloading();
            }
            if is_due {
                requested |= self.look(events, requested);
                looked = clock::instant();
            }
            if let Some(tls) = &mut self.tls {
                tls.look(&self.app.readiness, requested);
            }
            // A request since then is taken in the next iteration.
            self.systemd.reloaded();
        }
    }

    /// Looks at the files, and reads them if they have changed or a reload was requested; tells whether one was requested while it
    /// waited for them to be written.
    fn look(&mut self, events: &ReloadEvents, requested: bool) -> bool {
        let Some(directory) = self.directory.clone() else {
            return false;
        };
        let is_due = self.due.is_some_and(|due| due <= crate::clock::now());
        if Stamps::of(&directory) == self.seen && !requested && !is_due {
            return false;
        }
        let mut requested_again = false;
        for dropped in 0..=DROPPED_MAX {
            let Some(stamps) = self.wait_until_written(&directory, events) else {
                break;
            };
            // The reading that follows answers this request.
            if events.take_request() {
                requested_again = true;
                self.systemd.reloading();
            }
            self.seen = stamps;
            if !stamps.has_reviews() {
                self.miss(&directory);
                break;
            }
            // Where only a request reloads, files that have changed since wait for the next one.
            let may_drop = self.watched.is_some() || self.poll < NEVER;
            let watched = (may_drop && dropped < DROPPED_MAX).then_some(directory.as_path());
            let build = Build::new(watched, stamps, &self.stopping);
            if !self.reload(&build) {
                break;
            }
        }
        requested_again
    }

    /// Waits until nothing has changed for [`QUIET`], at most [`WRITTEN_WAIT_MAX`], and returns the state of the files;
    /// `None` where the server stops.
    fn wait_until_written(&self, directory: &Path, events: &ReloadEvents) -> Option<Stamps> {
        let mut stamps = Stamps::of(directory);
        if stamps == self.seen {
            return (!self.is_stopping()).then_some(stamps);
        }
        let began = clock::instant();
        let mut changed = began;
        while let Some(pause) = pause_left(changed.elapsed(), began.elapsed()) {
            events.pause(pause);
            if self.is_stopping() {
                return None;
            }
            let now = Stamps::of(directory);
            if now != stamps {
                (stamps, changed) = (now, clock::instant());
            }
        }
        Some(stamps)
    }

    /// Tells that the files are gone; what is served stays.
    fn miss(&self, directory: &Path) {
        let message =
            "the data directory holds no reviews.json any more; what was read before is still served"
                .to_owned();
        warn!(directory = %directory.display(), "{message}");
        self.reloads.note(Reloaded::Gone);
        // What was wrong with files that are gone no longer matters.
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.report(&Reason {
            code: GONE,
            message,
            details: Vec::new(),
            internal: None,
            blocking: false,
        });
    }

    /// Reads the files and serves them; tells whether it was dropped and has to begin anew.
    fn reload(&mut self, build: &Build<'_>) -> bool {
        let began = clock::instant();
        self.due = None;
        // Everything that a panic could leave half done is dropped with it: the site is swapped in one step.
        let result = catch_unwind(AssertUnwindSafe(|| self.attempt(build)));
        let elapsed_ms = clock::elapsed_ms(began);
        let result = match result.unwrap_or(Err(ReloadError::Panic)) {
            Ok(result) => result,
            Err(error) => {
                self.refuse(&error);
                return false;
            }
        };
        if let ReloadResult::Dropped = result {
            info!(
                elapsed_ms,
                "the data files have changed again, so this build is dropped"
            );
            return true;
        }
        self.app.readiness.withdraw(REFUSED);
        self.app.readiness.withdraw(GONE);
        if let ReloadResult::Replaced(previous) = result {
            self.reloads.note(Reloaded::Replaced);
            let served = self.app.current();
            let snapshot = served.snapshot();
            info!(
                elapsed_ms,
                version = snapshot.version(),
                reviews = snapshot.len(),
                "a changed dataset is served"
            );
            self.after_publishing(Some(previous));
        } else {
            self.reloads.note(Reloaded::Same);
            info!(elapsed_ms, "the data files hold what is served already");
        }
        false
    }

    /// Load, validate, build, swap.
    fn attempt(&self, build: &Build<'_>) -> Result<ReloadResult, ReloadError> {
        let decoded = match self.loader.decode(NonZeroUsize::MIN) {
            Err(LoadError::Read(error)) if error.is_transient() => {
                return Ok(ReloadResult::Dropped);
            }
            decoded => decoded.map_err(ReloadError::Load)?,
        };
        if decoded.dataset.digest == self.app.current().snapshot().digest {
            return Ok(ReloadResult::Same);
        }
        let cancelled = || build.is_outdated();
        let served = self.loader.build(decoded, &cancelled);
        match served.map_err(ReloadError::Load)? {
            None => Ok(ReloadResult::Dropped),
            Some(served) => {
                self.loader.remember(served.snapshot());
                Ok(ReloadResult::Replaced(self.app.publish(served)))
            }
        }
    }

    fn refuse(&mut self, error: &ReloadError) {
        self.reloads.note(Reloaded::Refused);
        if let ReloadError::Load(LoadError::Data(_)) = error {
            self.due = self.loader.time_to_come();
        }
        self.app.readiness.report(&error.report());
    }

    /// Does what follows a new site: tells the hub, frees the `previous` one, makes compressed variants.
    fn after_publishing(&mut self, previous: Option<Arc<ServedState>>) {
        let served = self.app.current();
        (self.published)(&served);
        self.post_reload.start(served, previous);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// Returns how long to wait for files that have not changed for `rested`, `waited` after the first change was seen; `None`
/// if they are to be read.
fn pause_left(rested: Duration, waited: Duration) -> Option<Duration> {
    let left = QUIET.saturating_sub(rested);
    let left = left.min(WRITTEN_WAIT_MAX.saturating_sub(waited));
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_rest_for_a_second_or_are_read_after_a_minute() {
        let ms = Duration::from_millis;
        for (rested, waited, left) in [
            (0, 0, Some(1_000)),
            (999, 999, Some(1)),
            (1_000, 1_000, None),
            (0, 59_999, Some(1)),
            (0, 60_000, None),
        ] {
            assert_eq!(
                pause_left(ms(rested), ms(waited)),
                left.map(ms),
                "{rested} {waited}"
            );
        }
    }
}
