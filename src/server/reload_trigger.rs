//! What makes the reload thread look at the files: requests, which are never lost, and changes, which are merged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// What the thread was waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadEvent {
    /// A reload was requested: read the files even if they look unchanged.
    Requested,
    /// Something may have changed, or the server stops.
    Changed,
    /// The time is up.
    Timeout,
    /// Every trigger is gone.
    Disconnected,
}

/// Notifies the reload thread; clones notify the same one.
#[derive(Clone, Debug)]
pub(super) struct ReloadTrigger {
    requested: Arc<AtomicBool>,
    sender: SyncSender<()>,
}

/// The receiving end, for the reload thread.
#[derive(Debug)]
pub(super) struct ReloadEvents {
    requested: Arc<AtomicBool>,
    receiver: Receiver<()>,
}

/// Returns both ends.
pub(super) fn channel() -> (ReloadTrigger, ReloadEvents) {
    // One notification is enough for all that has happened before it is received.
    let (sender, receiver) = sync_channel(1);
    let requested = Arc::new(AtomicBool::new(false));
    let trigger = ReloadTrigger {
        requested: Arc::clone(&requested),
        sender,
    };
    let events = ReloadEvents {
        requested,
        receiver,
    };
    (trigger, events)
}

impl ReloadTrigger {
    /// Requests a reload. Several requests before one begins are one, and it begins after the last of them.
    pub(super) fn request(&self) {
        self.requested.store(true, SeqCst);
        self.poke();
    }

    /// Notifies that something may have changed.
    pub(super) fn poke(&self) {
        // A notification that waits already covers this one, and without a thread there is none to notify.
        let _covered = self.sender.try_send(());
    }
}

impl ReloadEvents {
    /// Waits for at most `time`; not at all where a request waits.
    pub(super) fn wait(&self, time: Duration) -> ReloadEvent {
        // Its notification may have been received in a pause.
        let time = match self.requested.load(SeqCst) {
            true => Duration::ZERO,
            false => time,
        };
        let received = self.receiver.recv_timeout(time);
        match received {
            _ if self.take_request() => ReloadEvent::Requested,
            Ok(()) => ReloadEvent::Changed,
            Err(RecvTimeoutError::Timeout) => ReloadEvent::Timeout,
            Err(RecvTimeoutError::Disconnected) => ReloadEvent::Disconnected,
        }
    }

    /// Waits for a notification for at most `time`, and leaves a request where it is.
    pub(super) fn pause(&self, time: Duration) {
        // The caller looks at the files either way.
        let _received = self.receiver.recv_timeout(time);
    }

    /// Takes a request, if there is one.
    pub(super) fn take_request(&self) -> bool {
        self.requested.swap(false, SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_request_is_received_after_many_changes() {
        let (trigger, events) = channel();
        for _ in 0..100 {
            trigger.poke();
        }
        trigger.request();
        trigger.request();
        assert_eq!(events.wait(LONG), ReloadEvent::Requested);
        assert_eq!(
            events.wait(Duration::ZERO),
            ReloadEvent::Timeout,
            "once for both"
        );
    }

    #[test]
    fn a_request_during_a_pause_waits() {
        let (trigger, events) = channel();
        trigger.request();
        events.pause(LONG);
        events.pause(Duration::ZERO);
        assert_eq!(events.wait(LONG), ReloadEvent::Requested);
        trigger.request();
        events.pause(LONG);
        assert!(events.take_request());
        assert_eq!(events.wait(Duration::ZERO), ReloadEvent::Timeout);
    }

    #[test]
    fn changes_are_no_requests_and_the_end_is_noticed() {
        let (trigger, events) = channel();
        trigger.poke();
        assert_eq!(events.wait(LONG), ReloadEvent::Changed);
        let other = trigger.clone();
        drop(trigger);
        other.request();
        drop(other);
        assert_eq!(events.wait(LONG), ReloadEvent::Requested);
        assert_eq!(events.wait(LONG), ReloadEvent::Disconnected);
    }
}
