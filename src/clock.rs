//! Reads the system clock for this package; the crate `websub-hub` has a clock of its own.
//!
//! Lower layers take the time as an argument, so that tests can choose it. The layers that run the program read it here and
//! pass it on. Durations are measured with `Instant`, which is monotonic; `server` asks for it without this module.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::platform;
use crate::wire::date::Timestamp;

/// Returns the time in whole seconds; a time before 1970 counts as 1970.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_unix(unix_ms() / 1000)
}

/// Returns the milliseconds since 1970-01-01T00:00:00Z, or 0 before that.
#[must_use]
pub fn unix_ms() -> i64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the whole seconds since 1970-01-01T00:00:00Z. On Linux it is at most 10 ms late, and costs a quarter of
/// [`unix_ms`].
#[must_use]
pub fn unix_s() -> i64 {
    platform::coarse_unix_s().unwrap_or_else(|| unix_ms() / 1000)
}

/// Returns the monotonic time, for measuring durations.
#[must_use]
pub fn instant() -> Instant {
    Instant::now()
}
