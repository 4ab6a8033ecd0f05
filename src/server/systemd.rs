//! Notifies the service manager of start, reload and stop (sd_notify(3)). Without `NOTIFY_SOCKET` in the
//! environment nothing is sent.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use sd_notify::NotifyState;
use tracing::warn;

/// The connection to the service manager; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SdNotify {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// A reload was announced, and its end was not.
    reloading: AtomicBool,
    stopping: AtomicBool,
}

impl SdNotify {
    /// Finds the manager that started this process, if it wants to be notified.
    #[must_use]
    pub fn from_environment() -> SdNotify {
        let is_set = env::var_os("NOTIFY_SOCKET").is_some_and(|path| !path.is_empty());
        SdNotify {
            inner: is_set.then(Arc::default),
        }
    }

    /// Reports that requests are served.
    pub(super) fn ready(&self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Reports that the data are read again, from now on; [`SdNotify::reloaded`] has to follow.
    ///
    /// Called by the reload itself, not by the signal: otherwise the end of an earlier reload would pass for the end of
    /// the one that was requested.
    pub(super) fn reloading(&self) {
        if let Some(inner) = &self.inner
            && !inner.stopping.load(SeqCst)
            && let Ok(now) = NotifyState::monotonic_usec_now()
        {
            inner.reloading.store(true, SeqCst);
            self.send(&[NotifyState::Reloading, now]);
        }
    }

    /// Reports that a reload has ended, good or bad, if one was announced.
    pub(super) fn reloaded(&self) {
        if let Some(inner) = &self.inner
            && inner.reloading.swap(false, SeqCst)
            && !inner.stopping.load(SeqCst)
        {
            self.ready();
        }
    }

    /// Reports that the server stops.
    pub(super) fn stopping(&self) {
        if let Some(inner) = &self.inner
            && !inner.stopping.swap(true, SeqCst)
        {
            self.send(&[NotifyState::Stopping]);
        }
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        if self.inner.is_some()
            && let Err(error) = sd_notify::notify(states)
        {
            warn!(%error, ?states, "the service manager cannot be notified (NOTIFY_SOCKET)");
        }
    }
}
