//! The engine's time: readings of both clocks, and jumps of the wall clock.

use std::time::{Duration, Instant};

use crate::UnixMillis;

/// Difference between wall clock and monotonic clock, from one reading to the next, that counts as a jump.
const JUMP_MS: i64 = 5_000;

/// How often the store is scanned when nothing has happened: retries become due, and replicas store requests.
const SCAN_EVERY: Duration = Duration::from_millis(500);

/// The present, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The monotonic clock, for durations.
    pub(super) instant: Instant,
    /// The wall clock, for what is stored.
    pub(super) unix: UnixMillis,
}

/// Detects jumps of the wall clock, by comparing it with the monotonic clock.
#[derive(Debug)]
pub(super) struct ClockWatch {
    /// The last reading of the monotonic clock.
    instant: Instant,
    /// The last reading of the wall clock, in milliseconds since 1970.
    unix_ms: i64,
}

impl ClockWatch {
    pub(super) fn new(instant: Instant, unix_ms: i64) -> ClockWatch {
        ClockWatch { instant, unix_ms }
    }

    /// Takes a reading of both clocks. Returns by how many milliseconds the wall clock has jumped since the last one.
    pub(super) fn observe(&mut self, instant: Instant, unix_ms: i64) -> Option<i64> {
        let elapsed = instant.saturating_duration_since(self.instant);
        let elapsed_ms = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        let jump_ms = unix_ms.saturating_sub(self.unix_ms.saturating_add(elapsed_ms));
        self.instant = instant;
        self.unix_ms = unix_ms;
        if jump_ms.saturating_abs() < JUMP_MS {
            return None;
        }
        Some(jump_ms)
    }

    /// Forgets that a jump was observed, so that the next reading returns it again.
    pub(super) fn forget(&mut self, jump_ms: i64) {
        self.unix_ms = self.unix_ms.saturating_sub(jump_ms);
    }
}

/// When to look for due attempts in the store. Looking takes at most a twentieth of the engine's time when nothing has
/// happened, and at most half of it when it has.
#[derive(Debug)]
pub(super) struct ScanSchedule {
    next_at: Instant,
    /// When the last scan ended.
    last_ended: Instant,
    /// How long the last scan took.
    last_took: Duration,
}

impl ScanSchedule {
    pub(super) fn new(now: Instant) -> ScanSchedule {
        ScanSchedule {
            next_at: now,
            last_ended: now,
            last_took: Duration::ZERO,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_at
    }

    pub(super) fn until_due(&self, now: Instant) -> Duration {
        self.next_at.saturating_duration_since(now)
    }

    /// Asks for a scan as soon as its cost permits.
    pub(super) fn soon(&mut self) {
        self.next_at = self.next_at.min(self.last_ended + self.last_took);
    }

    /// Asks for a scan at once.
    pub(super) fn now(&mut self) {
        // A time that is past, so the scan is due.
        self.next_at = self.last_ended;
    }

    /// Records a scan that ended at `ended` and took `took`.
    pub(super) fn record(&mut self, ended: Instant, took: Duration) {
        self.last_ended = ended;
        self.last_took = took;
        self.next_at = ended + SCAN_EVERY.max(took * 20);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_jumps_when_it_differs_by_five_seconds() {
        let began = Instant::now();
        let mut clock = ClockWatch::new(began, 1_000_000);
        let second = |count| began + Duration::from_secs(count);
        assert_eq!(clock.observe(second(1), 1_005_999), None);
        assert_eq!(clock.observe(second(2), 1_011_999), Some(5_000));
        assert_eq!(clock.observe(second(3), 1_007_999), Some(-5_000));
        clock.forget(-5_000);
        assert_eq!(clock.observe(second(4), 1_008_999), Some(-5_000));
        assert_eq!(clock.observe(second(4), i64::MIN), Some(i64::MIN));
    }

    #[test]
    fn a_scan_that_takes_long_is_repeated_less_often() {
        let began = Instant::now();
        let after = |ms| began + Duration::from_millis(ms);
        let mut schedule = ScanSchedule::new(began);
        assert!(schedule.is_due(began));
        schedule.record(began, Duration::from_millis(1));
        assert!(!schedule.is_due(after(499)));
        assert!(schedule.is_due(after(500)));
        schedule.record(began, Duration::from_millis(100));
        assert!(!schedule.is_due(after(1_999)));
        schedule.soon();
        assert_eq!(schedule.until_due(began), Duration::from_millis(100));
        schedule.now();
        assert!(schedule.is_due(began));
    }
}
