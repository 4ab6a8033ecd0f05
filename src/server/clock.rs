//! Points of time for measuring; the time of day is [`crate::clock`]'s.

use tokio::time::Instant;

/// Returns a point of time for measuring, which no change of the clock moves; tests of timeouts may stop it.
pub(super) fn instant() -> Instant {
    Instant::now()
}

/// Returns the milliseconds since `began`, for a log line.
pub(super) fn elapsed_ms(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
