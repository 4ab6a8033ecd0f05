//! What wakes the thread that reloads: a bell that any number may ring at once, and a request that is never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Why the thread woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Somebody asked: read the files even if they look unchanged.
    Asked,
    /// Something may have changed, or the server stops.
    Changed,
    /// The time is up.
    Late,
    /// Nobody is left who could ask.
    Alone,
}

/// Wakes the thread; clones wake the same one.
#[derive(Clone, Debug)]
pub(super) struct Waker {
    asked: Arc<AtomicBool>,
    bell: SyncSender<()>,
}

/// What the thread waits at.
#[derive(Debug)]
pub(super) struct Woken {
    asked: Arc<AtomicBool>,
    bell: Receiver<()>,
}

/// Returns both ends.
pub(super) fn channel() -> (Waker, Woken) {
    // One ring is enough for all that has happened before it is heard.
    let (ring, bell) = sync_channel(1);
    let asked = Arc::new(AtomicBool::new(false));
    let waker = Waker {
        asked: Arc::clone(&asked),
        bell: ring,
    };
    (waker, Woken { asked, bell })
}

impl Waker {
    /// Asks for a reload. However many ask before one begins, it is one, and it begins after the last of them.
    pub(super) fn ask(&self) {
        self.asked.store(true, SeqCst);
        self.hint();
    }

    /// Says that something may have changed.
    pub(super) fn hint(&self) {
        // A bell that rings already wakes the thread just as well, and without a thread there is nobody to wake.
        let _covered = self.bell.try_send(());
    }
}

impl Woken {
    /// Waits for at most `time`; not at all where somebody has asked.
    pub(super) fn wait(&self, time: Duration) -> Wake {
        // Its ring may have been heard in a pause; what has rung until now is covered by what follows a request.
        let time = match self.asked.load(SeqCst) {
            true => Duration::ZERO,
            false => time,
        };
        let rung = self.bell.recv_timeout(time);
        match rung {
            _ if self.take_asked() => Wake::Asked,
            Ok(()) => Wake::Changed,
            Err(RecvTimeoutError::Timeout) => Wake::Late,
            Err(RecvTimeoutError::Disconnected) => Wake::Alone,
        }
    }

    /// Waits for at most `time`, and leaves a request where it is.
    pub(super) fn pause(&self, time: Duration) {
        // Rung or not, whoever pauses looks for himself.
        let _rung = self.bell.recv_timeout(time);
    }

    /// Takes a request, if there is one.
    pub(super) fn take_asked(&self) -> bool {
        self.asked.swap(false, SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_request_is_heard_although_the_bell_has_long_been_ringing() {
        let (waker, woken) = channel();
        for _ in 0..100 {
            waker.hint();
        }
        waker.ask();
        waker.ask();
        assert_eq!(woken.wait(LONG), Wake::Asked);
        assert_eq!(woken.wait(Duration::ZERO), Wake::Late, "once for both");
    }

    #[test]
    fn a_request_that_comes_while_somebody_pauses_waits() {
        let (waker, woken) = channel();
        waker.ask();
        woken.pause(LONG);
        woken.pause(Duration::ZERO);
        assert_eq!(woken.wait(LONG), Wake::Asked);
        waker.ask();
        woken.pause(LONG);
        assert!(woken.take_asked());
        assert_eq!(woken.wait(Duration::ZERO), Wake::Late);
    }

    #[test]
    fn hints_are_no_requests_and_the_end_is_noticed() {
        let (waker, woken) = channel();
        waker.hint();
        assert_eq!(woken.wait(LONG), Wake::Changed);
        let other = waker.clone();
        drop(waker);
        other.ask();
        drop(other);
        assert_eq!(woken.wait(LONG), Wake::Asked);
        assert_eq!(woken.wait(LONG), Wake::Alone);
    }
}
