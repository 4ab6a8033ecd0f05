//! Counters of connections and reloads: plain atomics, rendered by the metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use super::deadline::Ending;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Returns the number.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Totals since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that were accepted and served.
    pub accepted: Counter,
    /// Connections that were dropped at once because all places were taken.
    pub rejected_total: Counter,
    /// Connections that were dropped at once because their address had its share.
    pub rejected_per_address: Counter,
    /// How often accepting failed, for want of file descriptors for example.
    pub accept_errors: Counter,
    /// TLS handshakes that failed or took too long.
    pub handshake_failures: Counter,
    /// Connections that ended because a request's head did not arrive in time.
    pub head_timeouts: Counter,
    /// Connections that ended because the peer did not take its response fast enough.
    pub slow_readers: Counter,
    /// Connections that ended because nothing moved although something was under way.
    pub stalls: Counter,
    /// How reloads ended, by [`ReloadOutcome`].
    pub(super) reloads: [Counter; 4],
    /// When the dataset that is served was read, in milliseconds since 1970.
    pub(super) loaded_ms: AtomicI64,
}

/// How a reload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// Another dataset is served.
    Replaced,
    /// The files hold what is served already.
    Same,
    /// The files cannot be used; what was read before is still served.
    Refused,
    /// The files are gone; what was read before is still served.
    Gone,
}

impl Counters {
    /// Counts a connection that was cut; one that was idle is an ordinary end and not counted.
    pub(super) fn count_ending(&self, ending: Ending) {
        match ending {
            Ending::Idle => {}
            Ending::HeadTimeout => self.head_timeouts.count(),
            Ending::SlowReader => self.slow_readers.count(),
            Ending::Stalled => self.stalls.count(),
        }
    }
}
