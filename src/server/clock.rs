//! Points of time for measuring; the time of day is [`crate::clock`]'s.

use tokio::time::Instant;

/// Returns a point of time for measuring, which no change of the clock moves; tests of timeouts may stop it.
pub(super) fn instant() -> Instant {
    Instant::now()
}
