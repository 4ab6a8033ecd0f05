//! The only module of the hub that reads the system clock, where the caller brings no other.

use std::time::{SystemTime, UNIX_EPOCH};

use reviewd_wire::date::Timestamp;

/// Returns the time in whole seconds; a time before 1970 counts as 1970.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_unix(unix_ms() / 1000)
}

/// Returns the milliseconds since 1970-01-01T00:00:00Z, or 0 before that.
pub(crate) fn unix_ms() -> i64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}
