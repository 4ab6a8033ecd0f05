//! The monotonic clock, for measuring durations; [`crate::clock`] has the wall-clock time.

use std::time::Duration;

use tokio::time::Instant;

/// Returns the monotonic time; tests of timeouts may pause it.
pub(super) fn instant() -> Instant {
    Instant::now()
}

/// Returns the milliseconds since `began`, for a log line.
pub(super) fn elapsed_ms(began: Instant) -> u64 {
    micros(began.elapsed()) / 1_000
}

/// Returns whole microseconds, at most 580,000 years: never `u64::MAX`, which stands for a busy connection.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX - 1)
}
