//! Points of time for measuring; the time of day is [`crate::clock`]'s.

use std::time::Duration;

use tokio::time::Instant;

/// Returns a point of time for measuring, which no change of the clock moves; tests of timeouts may stop it.
pub(super) fn instant() -> Instant {
    Instant::now()
}

/// Returns the milliseconds since `began`, for a log line.
pub(super) fn elapsed_ms(began: Instant) -> u64 {
    micros(began.elapsed()) / 1_000
}

/// Returns whole microseconds; a duration beyond 580,000 years counts as that.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX - 1)
}
