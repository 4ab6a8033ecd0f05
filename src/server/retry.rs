//! When to try again what failed for a reason that may pass, such as no free file descriptor.

use std::time::Duration;

use tokio::time::Instant;

/// The wait after the first failure; it doubles with each further one.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The next try, if there has to be one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    wait: Duration,
    at: Option<Instant>,
}

impl Retry {
    /// Schedules the next try after a failure at `now`.
    pub(super) fn schedule(&mut self, now: Instant) {
        self.wait = (self.wait * 2).clamp(WAIT_MIN, WAIT_MAX);
        self.at = Some(now + self.wait);
    }

    /// Cancels the next try, after a success or a failure that does not pass by itself.
    pub(super) fn cancel(&mut self) {
        *self = Retry::default();
    }

    /// Whether the time of the next try has come.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// Returns the time until the next try; `None` if there is none.
    pub(super) fn time_left(&self, now: Instant) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_one_second_to_one_minute_and_begin_anew_after_a_success() {
        let now = Instant::now();
        let mut retry = Retry::default();
        assert_eq!(retry.time_left(now), None);
        for expected_s in [1, 2, 4, 8, 16, 32, 60, 60] {
            retry.schedule(now);
            assert_eq!(retry.time_left(now), Some(Duration::from_secs(expected_s)));
        }
        retry.cancel();
        assert!(!retry.is_due(now + WAIT_MAX));
        retry.schedule(now);
        assert!(!retry.is_due(now));
        assert!(retry.is_due(now + WAIT_MIN));
    }
}
