//! The one place that asks what time it is.
//!
//! Layers that need the time take it as an argument, so that tests can choose it; those that run the program ask
//! here and hand it on. Durations are measured with `Instant`, which no one can set back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::wire::date::Timestamp;

/// Returns the time, in whole seconds; a clock that stands before 1970 counts as 1970.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_unix(unix_ms() / 1000)
}

/// Returns the milliseconds since 1970-01-01T00:00:00Z, 0 before.
#[must_use]
pub fn unix_ms() -> i64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the whole seconds since 1970-01-01T00:00:00Z as of the kernel's last tick: at most 10 ms late, at a quarter of
/// the price.
#[must_use]
pub fn unix_s() -> i64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec
}

/// Returns a point of time for measuring, which no change of the clock moves.
#[must_use]
pub fn instant() -> Instant {
    Instant::now()
}
