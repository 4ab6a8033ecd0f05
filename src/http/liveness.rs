//! Liveness of this process: its long-lived threads report that they make progress, and `/healthz` names those that hang.
//!
//! Each thread has a [`Heartbeat`] and reports at least every [`REPORT_INTERVAL`], also while it has nothing to do. A
//! thread that is about to compute for long without a report first asks for more time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;

/// How often a thread reports while it waits.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// How long a thread may take until its next report before it counts as hung. Our choice: longer than any honest wait
/// for a disk or a database, and short enough that the process is replaced within a minute or two.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The long-lived threads of a process.
#[derive(Debug)]
pub struct Liveness {
    /// The time from which all others count.
    began: Instant,
    threads: Mutex<Vec<Heartbeat>>,
}

impl Default for Liveness {
    fn default() -> Liveness {
        Liveness {
            began: clock::instant(),
            threads: Mutex::default(),
        }
    }
}

impl Liveness {
    /// Begins to watch the thread `name`, which has just reported.
    pub(crate) fn watch(&self, name: &str) -> Heartbeat {
        let heartbeat = Heartbeat(Arc::new(Pulse {
            name: name.to_owned(),
            began: self.began,
            reported_ms: AtomicU64::new(0),
            extra_ms: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
        }));
        heartbeat.report();
        self.lock().push(heartbeat.clone());
        heartbeat
    }

    /// Returns the names of the threads that have not reported in time.
    #[must_use]
    pub fn hung(&self) -> Vec<String> {
        let now = clock::instant();
        let threads = self.lock();
        let hung = threads.iter().filter(|thread| thread.is_hung(now));
        hung.map(|thread| thread.0.name.clone()).collect()
    }

    /// Locks the list. Only the start of a thread, a probe and a scrape hold the lock; no request for a document waits.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Heartbeat>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reports of one thread; clones belong to the same thread.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat(Arc<Pulse>);

#[derive(Debug)]
struct Pulse {
    name: String,
    /// The same as that of [`Liveness`].
    began: Instant,
    /// The time of the last report, in milliseconds since `began`.
    reported_ms: AtomicU64,
    /// Time that the thread may take beyond [`SILENCE_MAX`], in milliseconds.
    extra_ms: AtomicU64,
    has_ended: AtomicBool,
}

impl Heartbeat {
    /// Reports that the thread makes progress.
    pub(crate) fn report(&self) {
        let elapsed = clock::instant().saturating_duration_since(self.0.began);
        self.0.reported_ms.store(milliseconds(elapsed), Relaxed);
    }

    /// Reports, and from now on allows `extra` time beyond [`SILENCE_MAX`] between two reports.
    pub(crate) fn allow(&self, extra: Duration) {
        self.report();
        self.0.extra_ms.store(milliseconds(extra), Relaxed);
    }

    /// Records that the thread has ended, so that it is not expected to report.
    pub(crate) fn end(&self) {
        self.0.has_ended.store(true, Relaxed);
    }

    /// Tells whether the thread had to report before `now`, and did not.
    pub(crate) fn is_hung(&self, now: Instant) -> bool {
        let elapsed_ms = milliseconds(now.saturating_duration_since(self.0.began));
        let silent_ms = elapsed_ms.saturating_sub(self.0.reported_ms.load(Relaxed));
        let silent_ms_max = milliseconds(SILENCE_MAX) + self.0.extra_ms.load(Relaxed);
        silent_ms > silent_ms_max && !self.0.has_ended.load(Relaxed)
    }
}

/// Returns whole milliseconds, at most half of [`u64::MAX`], so that the sum of two does not overflow.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_hung_after_30_seconds_without_a_report_and_the_time_that_it_asked_for() {
        let liveness = Liveness::default();
        let heartbeat = liveness.watch("reload");
        let reported = clock::instant();
        for (extra_s, silent_s, expected) in [
            (0, 29, false),
            (0, 31, true),
            (60, 89, false),
            (60, 91, true),
        ] {
            heartbeat.allow(Duration::from_secs(extra_s));
            let now = reported + Duration::from_secs(silent_s);
            assert_eq!(heartbeat.is_hung(now), expected, "{extra_s} {silent_s}");
        }
    }

    #[test]
    fn a_thread_that_has_ended_is_not_hung() {
        let liveness = Liveness::default();
        let heartbeat = liveness.watch("serve-0");
        heartbeat.end();
        assert!(!heartbeat.is_hung(clock::instant() + 2 * SILENCE_MAX));
    }
}
