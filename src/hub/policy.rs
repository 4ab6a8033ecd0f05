//! The operator's numbers: how failures are answered and how long leases are.

use std::time::Duration;

/// How failures are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Consecutive failed deliveries that remove a subscription, 1 or more.
    pub failures_max: u32,
    /// Waits after the first failure, the second, and so on; the last one repeats. Never empty.
    pub retry_delays: Vec<Duration>,
    /// Bound of a subscriber's own wish to wait.
    pub retry_after_max: Duration,
}

/// Bounds of the leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leases {
    /// Shortest lease granted, in seconds.
    pub min_s: u32,
    /// Lease when none is asked for, in seconds.
    pub default_s: u32,
    /// Longest lease granted, in seconds.
    pub max_s: u32,
}

impl Leases {
    /// Returns the seconds granted: what was asked, clamped, else the default.
    pub(super) fn grant(&self, asked_s: Option<u64>) -> u32 {
        let asked_s = asked_s.unwrap_or(self.default_s.into());
        let asked_s = u32::try_from(asked_s).unwrap_or(u32::MAX);
        asked_s.clamp(self.min_s, self.max_s)
    }
}

impl Policy {
    /// Returns the wait after the `failures`-th failure in a row: its delay lengthened by up to a quarter, or the
    /// subscriber's own wish within its bound if that is longer.
    pub(crate) fn delay(
        &self,
        failures: u32,
        retry_after: Option<Duration>,
        jitter: u16,
    ) -> Duration {
        let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        let delays = &self.retry_delays;
        let delay = delays.get(index).or(delays.last()).copied();
        let delay = delay.unwrap_or(Duration::ZERO);
        let delay = delay
            .saturating_add(delay.saturating_mul(u32::from(jitter)) / (4 * u32::from(u16::MAX)));
        let wish = retry_after.unwrap_or_default().min(self.retry_after_max);
        delay.max(wish)
    }
}
