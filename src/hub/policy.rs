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
    /// Returns the seconds granted: what was asked, clamped; else the default, shortened by up to 5 % so that leases
    /// granted together do not end together. `jitter` is random, all values alike.
    #[must_use]
    pub fn grant(&self, asked_s: Option<u64>, jitter: u16) -> u32 {
        let lease_s = match asked_s {
            Some(asked_s) => u32::try_from(asked_s).unwrap_or(u32::MAX),
            None => {
                let most = u64::from(self.default_s) * LEASE_JITTER_PCT / 100;
                let less = most * u64::from(jitter) / u64::from(u16::MAX);
                self.default_s - u32::try_from(less).unwrap_or(0)
            }
        };
        lease_s.clamp(self.min_s, self.max_s)
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
        let delay = self
            .retry_delays
            .get(index)
            .or(self.retry_delays.last())
            .copied()
            .unwrap_or(Duration::ZERO);
        let delay = delay
            .saturating_add(delay.saturating_mul(u32::from(jitter)) / (4 * u32::from(u16::MAX)));
        let wish = retry_after.unwrap_or_default().min(self.retry_after_max);
        delay.max(wish)
    }
}

/// How much a default lease may be shortened.
const LEASE_JITTER_PCT: u64 = 5;
