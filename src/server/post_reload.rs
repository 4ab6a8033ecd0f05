//! Work that may wait, on threads of low priority: what follows a new snapshot, and remarks and insights of the first
//! one where the dataset is large.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::http::{AppState, ServedState};
use crate::hub::priority::{Behind, give_way};

use super::clock;
use super::load::{DeferredWork, Loader};
use super::threads::Threads;

/// How long a site that was replaced waits for the requests that began with it; the last of those left then frees it.
const REQUESTS_WAIT_MAX: Duration = Duration::from_secs(2);

/// Between two looks whether they have ended.
const REQUESTS_LOOK: Duration = Duration::from_millis(10);

/// Does what follows a site, for one at a time, the newest: the one before is freed, its documents are compressed.
///
/// Until a variant is there its document is sent as it is, so nothing waits for this.
#[derive(Debug, Default)]
pub(super) struct PostReloadJobs {
    current: Option<Job>,
}

#[derive(Debug)]
struct Job {
    cancelled: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl PostReloadJobs {
    /// Begins with `site`, and gives up the one before, which was `previous`.
    pub(super) fn start(&mut self, served: Arc<ServedState>, previous: Option<Arc<ServedState>>) {
        self.stop();
        let cancelled = Arc::new(AtomicBool::new(false));
        let cancel = Arc::clone(&cancelled);
        let spawned = thread::Builder::new()
            .name("compress".to_owned())
            .spawn(move || {
                give_way(Behind::Well);
                if let Some(previous) = previous {
                    drop_when_unshared(previous, REQUESTS_WAIT_MAX, &cancel);
                }
                served.compress(|| cancel.load(Ordering::Relaxed));
            });
        match spawned {
            Ok(thread) => self.current = Some(Job { cancelled, thread }),
            Err(error) => warn!(%error, "documents are served without compression"),
        }
    }

    /// Gives up what is being compressed, and waits for the variant that is under way.
    fn stop(&mut self) {
        if let Some(job) = self.current.take() {
            job.cancelled.store(true, Ordering::Relaxed);
            // A panic in an encoder has been printed, and costs no more than the variants.
            let _panic = job.thread.join();
        }
    }
}

impl Drop for PostReloadJobs {
    fn drop(&mut self) {
        if let Some(job) = self.current.take() {
            // Not waited for: brotli takes seconds over a large document, and the end of the server need not.
            job.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// Drops `shared` once no other owner has it, or after `wait_max`, or when that is `cancelled` by a newer site: what was
/// shared is freed on this thread and not on one that serves, where other requests would wait for a million reviews to be
/// freed.
fn drop_when_unshared<T>(shared: Arc<T>, wait_max: Duration, cancelled: &AtomicBool) {
    let began = clock::instant();
    let may_wait = || began.elapsed() < wait_max && !cancelled.load(Ordering::Relaxed);
    while Arc::strong_count(&shared) > 1 && may_wait() {
        thread::sleep(REQUESTS_LOOK);
    }
}

/// Does what the start of a large dataset left out, on a thread of its own, which nothing waits for: logs the remarks,
/// derives the insights and serves them. Until then `/insights.json` answers 503; a reload in the meantime brings its
/// own.
pub(super) fn finish_first(
    app: Arc<AppState>,
    loader: Loader,
    deferred: DeferredWork,
    threads: NonZeroUsize,
) {
    let served = app.current();
    let watched = Threads::new(&app.readiness, "");
    let spawned = watched.spawn("insights", move || {
        give_way(Behind::Well);
        deferred.log_remarks();
        let is_whole =
            deferred.awaits_insights && derive_insights(&app, &loader, &served, &deferred, threads);
        // Of a million reviews the dataset is a gigabyte, and compressing takes minutes.
        drop(deferred);
        if is_whole {
            let whole = app.current();
            whole.compress(|| !Arc::ptr_eq(&app.current(), &whole));
        }
    });
    if let Err(error) = spawned {
        warn!(%error, "neither remarks nor insights are there before the next reload");
    }
}

/// Derives the insights and serves them; tells whether they are served now.
fn derive_insights(
    app: &AppState,
    loader: &Loader,
    served: &Arc<ServedState>,
    deferred: &DeferredWork,
    threads: NonZeroUsize,
) -> bool {
    let began = clock::instant();
    let snapshot = served.snapshot();
    let is_overtaken = || !Arc::ptr_eq(&app.current(), served);
    if !loader.derive_first(snapshot, deferred, threads, &is_overtaken) {
        debug!("a newer dataset is served, with insights of its own");
        return false;
    }
    serve_whole(app, loader, served, began)
}

/// Puts a site with the insights, which `site`'s snapshot has by now, in place of `site`; tells whether it did.
fn serve_whole(app: &AppState, loader: &Loader, served: &Arc<ServedState>, began: Instant) -> bool {
    let whole = match loader.served(Arc::clone(served.snapshot())) {
        Ok(whole) => whole,
        Err(error) => {
            warn!(%error, "the insights cannot be served");
            return false;
        }
    };
    let is_served = app.replace(served, whole);
    if is_served {
        let elapsed_ms = clock::elapsed_ms(began);
        info!(elapsed_ms, "the insights are served");
    } else {
        debug!("a newer dataset is served, with insights of its own");
    }
    is_served
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    const LONG: Duration = Duration::from_secs(600);

    /// Tells on which thread it is freed.
    struct Witness(mpsc::Sender<ThreadId>);

    impl Drop for Witness {
        fn drop(&mut self) {
            let _told = self.0.send(thread::current().id());
        }
    }

    #[test]
    fn what_a_request_still_has_is_freed_by_the_thread_that_waits_for_it() {
        let (freed, on) = mpsc::channel();
        let shared = Arc::new(Witness(freed));
        let request = Arc::clone(&shared);
        let waiting =
            thread::spawn(move || drop_when_unshared(shared, LONG, &AtomicBool::new(false)));
        let expected = waiting.thread().id();
        thread::spawn(move || drop(request))
            .join()
            .expect("no panic");
        waiting.join().expect("no panic");
        assert_eq!(on.recv(), Ok(expected));
    }

    #[test]
    fn a_request_without_end_is_not_waited_for() {
        is_not_waited_for(Duration::ZERO, false);
    }

    #[test]
    fn a_newer_site_waits_for_no_request_of_an_older_one() {
        is_not_waited_for(LONG, true);
    }

    fn is_not_waited_for(wait_max: Duration, is_cancelled: bool) {
        let (freed, on) = mpsc::channel();
        let request = Arc::new(Witness(freed));
        drop_when_unshared(
            Arc::clone(&request),
            wait_max,
            &AtomicBool::new(is_cancelled),
        );
        assert!(on.try_recv().is_err(), "the request has it still");
        drop(request);
        assert_eq!(on.recv(), Ok(thread::current().id()));
    }
}
