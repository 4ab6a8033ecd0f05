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
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{error, info, warn};

use crate::dataset::Problem;
use crate::delivery::priority::{Behind, give_way};
use crate::http::{App, Reason, Site};
use crate::wire::date::Timestamp;

use super::background::Aftermath;
use super::clock;
use super::config::{Config, DataSource};
use super::files::Stamps;
use super::load::{LoadError, Loader};
use super::reloads::{Reloaded, Reloads};
use super::supervisor::Supervisor;
use super::threads::Threads;
use super::tls::Keeper;
use super::wake::{self, Wake, Waker, Woken};
use super::watch::{Directory, time_to_look};

/// How long the files have to stay as they are before they are read.
const QUIET: Duration = Duration::from_millis(200);

/// How long we wait for that; then they are read as they are, and decoding judges them.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(5);

/// The longest sleep without `--poll`, so that a timer needs no special case.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Under this code `/readyz` tells that the last reload was refused.
pub(super) const REFUSED: &str = "reload_failed";

/// Under this code `/readyz` tells that the files are gone.
pub(super) const GONE: &str = "data_missing";

/// What is called with each site that has come to be served, the first included.
pub(super) type Published = Box<dyn Fn(&Site) + Send>;

/// The thread that reloads.
#[derive(Debug)]
pub(super) struct Reloader {
    wake: Waker,
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
        app: Arc<App>,
        loader: Loader,
        seen: Stamps,
        reloads: Arc<Reloads>,
        tls: Option<Keeper>,
        published: Published,
    ) -> io::Result<Reloader> {
        let (wake, woken) = wake::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let directory = match &config.data {
            DataSource::Directory(directory) => Some(directory.clone()),
            DataSource::Sample => None,
        };
        let watched = directory.as_deref().filter(|_| config.reload.watch);
        let state = State {
            app,
            loader,
            watched: watched.map(|directory| Directory::new(directory, wake.clone())),
            directory,
            poll: Some(config.reload.poll)
                .filter(|poll| !poll.is_zero())
                .unwrap_or(NEVER),
            seen,
            due: None,
            stopping: Arc::clone(&stopping),
            aftermath: Aftermath::default(),
            reloads,
            tls,
            published,
            supervisor: config.supervisor.clone(),
        };
        let threads = Threads::new(&state.app.readiness, "");
        let thread = threads.spawn("reload", move || state.run(&woken))?;
        Ok(Reloader {
            wake,
            stopping,
            thread,
        })
    }

    /// Returns what asks for a reload.
    pub(super) fn waker(&self) -> Waker {
        self.wake.clone()
    }

    /// Asks the thread to end after the reload that it is at.
    pub(super) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake.hint();
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
    app: Arc<App>,
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
    aftermath: Aftermath,
    reloads: Arc<Reloads>,
    tls: Option<Keeper>,
    published: Published,
    /// Is told when a reload begins that somebody asked for, and when it has ended.
    supervisor: Supervisor,
}

/// What came of a reload that was not refused.
enum Outcome {
    /// Another site is served in place of this one.
    Replaced(Arc<Site>),
    /// The files hold what is served already.
    Same,
}

/// Why a reload was refused.
enum Refusal {
    /// The files cannot be used; the culprit is the operator.
    Load(LoadError),
    /// The contents differ, but their date is not later; the culprit is the operator.
    Date { served: Timestamp, found: Timestamp },
    /// We panicked over them; the culprit is us.
    Panic,
}

impl State {
    fn run(mut self, woken: &Woken) {
        // A site is built while another is served, which comes first.
        give_way(Behind::Well);
        self.after_publishing(None);
        let mut looked = clock::instant();
        while !self.is_stopping() {
            if let Some(watched) = &mut self.watched {
                watched.renew();
            }
            let wait = time_to_look(self.poll, looked.elapsed(), self.tls.is_some());
            let (mut asked, is_due) = match woken.wait(wait) {
                Wake::Asked => (true, true),
                Wake::Changed => (false, true),
                Wake::Late => (false, looked.elapsed() >= self.poll),
                Wake::Alone => return,
            };
            if asked {
                self.supervisor.reloading();
            }
            if is_due {
                asked |= self.look(woken, asked);
                looked = clock::instant();
            }
            if let Some(tls) = &mut self.tls {
                tls.look(&self.app.readiness, asked);
            }
            // Whoever has asked since then is heard at the next turn, and told of that one.
            self.supervisor.reloaded();
        }
    }

    /// Looks at the files, and reads them if they have changed or somebody asked; tells whether somebody asked while it
    /// waited for them to be whole.
    fn look(&mut self, woken: &Woken, asked: bool) -> bool {
        let Some(directory) = self.directory.clone() else {
            return false;
        };
        let mut stamps = Stamps::of(&directory);
        let is_due = self.due.is_some_and(|due| due <= crate::clock::now());
        if stamps == self.seen && !asked && !is_due {
            return false;
        }
        let began = clock::instant();
        while began.elapsed() < QUIET_WAIT_MAX {
            woken.pause(QUIET);
            if self.is_stopping() {
                return false;
            }
            let now = Stamps::of(&directory);
            if now == stamps {
                break;
            }
            stamps = now;
        }
        // Answered by the reading that follows.
        let asked_again = woken.take_asked();
        if asked_again {
            self.supervisor.reloading();
        }
        self.seen = stamps;
        if stamps.has_reviews() {
            self.reload();
        } else {
            self.miss(&directory);
        }
        asked_again
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

    fn reload(&mut self) {
        let began = clock::instant();
        self.due = None;
        // Everything that a panic could leave half done is dropped with it: the site is swapped in one step.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.attempt()));
        let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match outcome.unwrap_or(Err(Refusal::Panic)) {
            Err(refusal) => self.refuse(&refusal),
            Ok(outcome) => {
                self.app.readiness.withdraw(REFUSED);
                self.app.readiness.withdraw(GONE);
                match outcome {
                    Outcome::Same => {
                        self.reloads.note(Reloaded::Same);
                        info!(elapsed_ms, "the data files hold what is served already");
                    }
                    Outcome::Replaced(previous) => {
                        self.reloads.note(Reloaded::Replaced);
                        let site = self.app.current();
                        let snapshot = site.snapshot();
                        info!(
                            elapsed_ms,
                            version = snapshot.version(),
                            reviews = snapshot.len(),
                            "a changed dataset is served"
                        );
                        self.after_publishing(Some(previous));
                    }
                }
            }
        }
    }

    fn attempt(&self) -> Result<Outcome, Refusal> {
        let decoded = self
            .loader
            .decode(NonZeroUsize::MIN)
            .map_err(Refusal::Load)?;
        let dataset = &decoded.dataset;
        {
            let current = self.app.current();
            let served = current.snapshot();
            if dataset.digest == served.digest {
                return Ok(Outcome::Same);
            }
            // One date never stands for two contents: caches and replicas would have no way to tell them apart.
            if dataset.updated_at <= served.updated_at {
                return Err(Refusal::Date {
                    served: served.updated_at,
                    found: dataset.updated_at,
                });
            }
        }
        let site = self.loader.build(decoded).map_err(Refusal::Load)?;
        Ok(Outcome::Replaced(self.app.publish(site)))
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.reloads.note(Reloaded::Refused);
        if let Refusal::Load(LoadError::Read(error)) = refusal
            && error.is_transient()
        {
            // Looked at again at the next wake-up, as if we had not seen this state.
            self.seen = Stamps::default();
        }
        if let Refusal::Load(LoadError::Data(_)) = refusal {
            self.due = self.loader.time_to_come();
        }
        for problem in refusal.problems() {
            error!(%problem, "a data file is refused");
        }
        let message = refusal.message();
        error!("{message}; what was read before is still served");
        let details = refusal.problems().iter().map(without_value).collect();
        self.app.readiness.report(&Reason {
            code: REFUSED,
            message,
            details,
            internal: None,
            blocking: false,
        });
    }

    /// Does what follows a new site: whoever wants to know, the end of the `previous` one, compressed
    /// variants.
    fn after_publishing(&mut self, previous: Option<Arc<Site>>) {
        let site = self.app.current();
        (self.published)(&site);
        self.aftermath.start(site, previous);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

impl Refusal {
    /// Returns one line, with the remedy where there is one.
    fn message(&self) -> String {
        match self {
            Refusal::Load(LoadError::Data(problems)) => {
                let plural = if problems.total() == 1 { "" } else { "s" };
                format!(
                    "the changed dataset has {} problem{plural}",
                    problems.total()
                )
            }
            Refusal::Load(error) => error.to_string(),
            Refusal::Date { served, found } => format!(
                "the data files have changed, but their updated_at {found} is not later than {served}, \
                 which is served: set updated_at in reviews.json to the time of the change"
            ),
            Refusal::Panic => {
                "building the changed dataset failed, which is an error in reviewd".to_owned()
            }
        }
    }

    /// Returns the problems of the files, at most as many as the decoder keeps.
    fn problems(&self) -> &[Problem] {
        match self {
            Refusal::Load(LoadError::Data(problems)) => problems.kept(),
            Refusal::Load(_) | Refusal::Date { .. } | Refusal::Panic => &[],
        }
    }
}

/// Returns one line without the value in question: anybody may ask for `/readyz`, and a refused file may hold what was
/// never to be published. The log has it.
fn without_value(problem: &Problem) -> String {
    let problem = Problem {
        value: None,
        ..problem.clone()
    };
    problem.to_string()
}
