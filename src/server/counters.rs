//! Counters of connections: plain atomics, rendered by the metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::state::Ending;

/// Totals since the start.
#[derive(Debug, Default)]
pub struct Counters {
    accepted: AtomicU64,
    rejected_total: AtomicU64,
    rejected_per_address: AtomicU64,
    accept_errors: AtomicU64,
    handshake_failures: AtomicU64,
    head_timeouts: AtomicU64,
    slow_readers: AtomicU64,
    stalls: AtomicU64,
}

impl Counters {
    /// Returns how many connections were accepted and served.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Returns how many connections were dropped at once because all places were taken.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected_total.load(Relaxed)
    }

    /// Returns how many connections were dropped at once because their address had its share.
    #[must_use]
    pub fn rejected_per_address(&self) -> u64 {
        self.rejected_per_address.load(Relaxed)
    }

    /// Returns how often accepting failed, for want of file descriptors for example.
    #[must_use]
    pub fn accept_errors(&self) -> u64 {
        self.accept_errors.load(Relaxed)
    }

    /// Returns how many TLS handshakes failed or took too long.
    #[must_use]
    pub fn handshake_failures(&self) -> u64 {
        self.handshake_failures.load(Relaxed)
    }

    /// Returns how many connections ended because a request's head did not arrive in time.
    #[must_use]
    pub fn head_timeouts(&self) -> u64 {
        self.head_timeouts.load(Relaxed)
    }

    /// Returns how many connections ended because the peer did not take its reply fast enough.
    #[must_use]
    pub fn slow_readers(&self) -> u64 {
        self.slow_readers.load(Relaxed)
    }

    /// Returns how many connections ended because nothing moved although something was under way.
    #[must_use]
    pub fn stalls(&self) -> u64 {
        self.stalls.load(Relaxed)
    }

    pub(super) fn count_accepted(&self) {
        self.accepted.fetch_add(1, Relaxed);
    }

    pub(super) fn count_turned_away(&self) {
        self.rejected_total.fetch_add(1, Relaxed);
    }

    pub(super) fn count_crowded_out(&self) {
        self.rejected_per_address.fetch_add(1, Relaxed);
    }

    pub(super) fn count_handshake_failure(&self) {
        self.handshake_failures.fetch_add(1, Relaxed);
    }

    pub(super) fn count_accept_error(&self) {
        self.accept_errors.fetch_add(1, Relaxed);
    }

    /// Counts a connection that was cut; one that was idle is an ordinary end and not counted.
    pub(super) fn count_ending(&self, ending: Ending) {
        let counter = match ending {
            Ending::Idle => return,
            Ending::HeadTimeout => &self.head_timeouts,
            Ending::SlowReader => &self.slow_readers,
            Ending::Stalled => &self.stalls,
        };
        counter.fetch_add(1, Relaxed);
    }
}
