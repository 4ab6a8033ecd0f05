//! The hub's points in time, in milliseconds; callers pass them in.

use std::time::Duration;

/// A point in time in milliseconds since 1970-01-01T00:00:00Z.
///
/// Finer than [`Timestamp`](reviewd_wire::date::Timestamp), because retries and deadlines can be shorter than a second.
/// Arithmetic saturates, so a wrong clock cannot cause a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(i64);

impl UnixMillis {
    /// The epoch, which is always in the past: the time of anything that is due at once.
    pub const ZERO: UnixMillis = UnixMillis(0);

    /// Returns the point in time `ms` milliseconds after the epoch.
    #[must_use]
    pub fn new(ms: i64) -> UnixMillis {
        UnixMillis(ms)
    }

    /// Returns the milliseconds since the epoch.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        self.0
    }

    /// Returns the point in time `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> UnixMillis {
        UnixMillis(self.0.saturating_add(millis(duration)))
    }

    /// Returns the point in time `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> UnixMillis {
        UnixMillis(self.0.saturating_sub(millis(duration)))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
