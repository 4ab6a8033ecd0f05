//! Watches the operator's files, the certificate, and requests to reload, on a thread that does not load the data, so that no
//! work on older data delays it. Another thread reloads ([`reload`](super::reload)).
//!
//! The thread compares the state of the files with that of the last look, every `--poll` and at SIGHUP. The operating
//! system reports nothing: a dozen calls of `stat` each time cost microseconds, and they also see changes on network file
//! systems and a directory that is replaced by a symbolic link.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::clock;
use super::files::Stamps;
use super::sources::SourceWatcher;
use super::tls::CertificateReloader;
use crate::http::{Heartbeat, REPORT_INTERVAL, Readiness};

/// Requests a reload, or the end of the threads that watch and reload. Clones act on the same threads.
#[derive(Clone, Debug)]
pub(super) struct ReloadTrigger {
    /// Has room for one request: all requests before the next look lead to one reload.
    requests: SyncSender<()>,
    orders: Arc<ReloadOrders>,
}

impl ReloadTrigger {
    /// Requests that the files are read even if they look unchanged.
    pub(super) fn request(&self) {
        // If it is full, a reload is requested already.
        let _full = self.requests.try_send(());
    }

    /// Ends both threads.
    pub(super) fn stop(&self) {
        self.orders.stop();
        // Wakes the watching thread.
        self.request();
    }
}

/// The ends of the channels between the trigger and the two threads.
pub(super) struct ReloadChannels {
    pub(super) trigger: ReloadTrigger,
    /// Received by the watching thread.
    pub(super) requests: Receiver<()>,
    pub(super) orders: Arc<ReloadOrders>,
    /// Received by the reloading thread.
    pub(super) wakes: Receiver<()>,
}

impl ReloadChannels {
    /// Opens the channels.
    pub(super) fn open() -> ReloadChannels {
        let (sender, requests) = sync_channel(1);
        let (wake, wakes) = sync_channel(1);
        let orders = Arc::new(ReloadOrders {
            wake,
            has_news: AtomicBool::new(false),
            is_requested: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        });
        let trigger = ReloadTrigger {
            requests: sender,
            orders: Arc::clone(&orders),
        };
        ReloadChannels {
            trigger,
            requests,
            orders,
            wakes,
        }
    }
}

/// What the watching thread tells the reloading one.
#[derive(Debug)]
pub(super) struct ReloadOrders {
    /// Has room for one message, which wakes the reloading thread.
    wake: SyncSender<()>,
    /// Whether, since the thread last took its orders, the files have changed or a reload was requested.
    has_news: AtomicBool,
    /// Whether a reload was requested since then.
    is_requested: AtomicBool,
    /// Whether the threads have to end.
    is_stopping: AtomicBool,
}

impl ReloadOrders {
    /// Announces that the files have changed.
    fn announce_change(&self) {
        self.has_news.store(true, SeqCst);
        self.wake();
    }

    /// Requests a reload.
    fn request(&self) {
        self.is_requested.store(true, SeqCst);
        self.announce_change();
    }

    fn wake(&self) {
        // If it is full, the thread is about to wake.
        let _full = self.wake.try_send(());
    }

    /// Ends the reloading thread after the reload that is under way.
    fn stop(&self) {
        self.is_stopping.store(true, SeqCst);
        self.wake();
    }

    /// Takes the orders, so that only later ones count as news; returns whether a reload was requested.
    pub(super) fn take(&self) -> bool {
        self.has_news.store(false, SeqCst);
        self.is_requested.swap(false, SeqCst)
    }

    /// Tells whether work on the served data may be useless, because of news or the end of the threads.
    pub(super) fn is_outdated(&self) -> bool {
        self.has_news.load(SeqCst) || self.is_stopping()
    }

    /// Tells whether the threads have to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(SeqCst)
    }
}

/// The state of the watching thread.
pub(super) struct Watcher {
    /// `None` for the embedded sample, which does not change.
    pub(super) directory: Option<PathBuf>,
    /// How often to look at the files; zero means never.
    pub(super) poll: Duration,
    /// The state of the files at the last look.
    pub(super) seen: Stamps,
    pub(super) orders: Arc<ReloadOrders>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) tls: Option<CertificateReloader>,
    /// `None` for the embedded sample.
    pub(super) sources: Option<SourceWatcher>,
}

impl Watcher {
    /// Watches until the server stops, or did not start.
    pub(super) fn run(mut self, requests: &Receiver<()>, heartbeat: &Heartbeat) {
        let poll = if self.poll.is_zero() {
            Duration::MAX
        } else {
            self.poll
        };
        let mut looked = clock::instant();
        self.check_sources();
        loop {
            heartbeat.report();
            let wait = poll.saturating_sub(looked.elapsed());
            let is_requested = match requests.recv_timeout(wait.min(REPORT_INTERVAL)) {
                Ok(()) => true,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => {
                    // Without a trigger neither thread is needed: a later step of the start has failed.
                    self.orders.stop();
                    return;
                }
            };
            if self.orders.is_stopping() {
                return;
            }
            let is_due = looked.elapsed() >= poll;
            if is_due {
                looked = clock::instant();
                self.check_files();
            }
            if is_due || is_requested {
                self.check_sources();
            }
            // Tools that renew a certificate send no SIGHUP, so its files are looked at in each turn, whatever `--poll` is.
            if let Some(tls) = &mut self.tls {
                tls.check_files(&self.readiness, is_requested);
            }
            if is_requested {
                self.orders.request();
            }
        }
    }

    fn check_sources(&mut self) {
        if let Some(sources) = &mut self.sources {
            sources.check_file();
        }
    }

    /// Announces changed files.
    fn check_files(&mut self) {
        let Some(directory) = &self.directory else {
            return;
        };
        let stamps = Stamps::of(directory);
        if stamps != self.seen {
            self.seen = stamps;
            self.orders.announce_change();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Liveness;

    #[test]
    fn both_threads_end_if_the_server_did_not_start() {
        let channels = ReloadChannels::open();
        let watcher = Watcher {
            directory: None,
            poll: Duration::ZERO,
            seen: Stamps::default(),
            orders: Arc::clone(&channels.orders),
            readiness: Arc::default(),
            tls: None,
            sources: None,
        };
        drop(channels.trigger);
        watcher.run(&channels.requests, &Liveness::default().watch("watch"));
        assert!(channels.orders.is_stopping());
        assert_eq!(channels.wakes.try_recv(), Ok(()));
    }
}
