//! Notifies the service manager of start, reload and stop (sd_notify(3)). Without `NOTIFY_SOCKET` in the
//! environment nothing is sent.

use std::env;

use sd_notify::NotifyState;
use tracing::warn;

/// The service manager, if it is to be notified.
#[derive(Clone, Copy, Debug, Default)]
pub struct SdNotify {
    is_wanted: bool,
}

impl SdNotify {
    /// Finds the manager that started this process, if it wants to be notified.
    #[must_use]
    pub fn from_environment() -> SdNotify {
        SdNotify {
            is_wanted: env::var_os("NOTIFY_SOCKET").is_some_and(|path| !path.is_empty()),
        }
    }

    /// Reports that requests are served, or that a reload has ended, good or bad.
    pub(super) fn ready(self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Reports that the data are read again, from now on; [`SdNotify::ready`] has to follow.
    ///
    /// Called by the reload itself, not by the signal: otherwise the end of an earlier reload would pass for the end of
    /// the one that was requested.
    pub(super) fn reloading(self) {
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            self.send(&[NotifyState::Reloading, now]);
        }
    }

    /// Reports that the server stops.
    pub(super) fn stopping(self) {
        self.send(&[NotifyState::Stopping]);
    }

    fn send(self, states: &[NotifyState<'_>]) {
        if self.is_wanted
            && let Err(error) = sd_notify::notify(states)
        {
            warn!(%error, ?states, "the service manager cannot be notified (NOTIFY_SOCKET)");
        }
    }
}
