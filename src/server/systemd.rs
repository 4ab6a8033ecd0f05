//! Notifies the service manager of start, reload and stop (sd_notify(3)), if `NOTIFY_SOCKET` is set in the environment.

use std::time::Duration;

use sd_notify::NotifyState;
use tracing::warn;

/// Reports that requests are served, or that a reload has ended, successfully or not.
pub(super) fn ready() {
    send(&[NotifyState::Ready]);
}

/// Reports that a reload begins; [`ready`] must follow.
///
/// Called by the reload itself, not by the signal handler: otherwise the end of an earlier reload would count as the
/// end of the requested one.
pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        send(&[NotifyState::Reloading, now]);
    }
}

/// Returns how long the service manager waits for the next [`alive`]; `None` if it does not wait (`WATCHDOG_USEC`).
pub(super) fn watchdog_time() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

/// Reports that the process works.
pub(super) fn alive() {
    if watchdog_time().is_some() {
        send(&[NotifyState::Watchdog]);
    }
}

/// Reports that the server stops.
pub(super) fn stopping() {
    send(&[NotifyState::Stopping]);
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(%error, ?states, "the service manager cannot be notified (NOTIFY_SOCKET)");
    }
}
