//! Points in time in milliseconds, which callers pass to the hub's rules.

use std::time::Duration;

/// A point in time in milliseconds since 1970-01-01T00:00:00Z.
///
/// Finer than [`Timestamp`](crate::wire::date::Timestamp), because some delays and deadlines are shorter than a second.
/// Arithmetic saturates, so a wrong clock cannot cause a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// A moment in the past of every clock: the time of attempts that are due at once.
    pub const ZERO: Moment = Moment(0);

    /// Returns the moment `ms` milliseconds after the epoch.
    #[must_use]
    pub fn from_unix_ms(ms: i64) -> Moment {
        Moment(ms)
    }

    /// Returns the milliseconds since the epoch.
    #[must_use]
    pub fn unix_ms(self) -> i64 {
        self.0
    }

    /// Returns the moment `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(millis(duration)))
    }

    /// Returns the moment `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_sub(millis(duration)))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
