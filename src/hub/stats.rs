//! What the hub counts, for metrics and readiness; plain atomics, written by the hub's threads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::hub::subscription::{Answer, Failure, RemovalReason};

/// A number that only the hub changes and everybody may read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the number.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The hub's counters (since the start) and gauges.
#[derive(Debug, Default)]
pub struct Stats {
    /// Requests answered 202.
    pub accepted: Count,
    /// Requests refused after their form was parsed.
    pub refused: Count,
    /// Verifications confirmed.
    pub confirmed: Count,
    /// Verifications not confirmed.
    pub rejected: Count,
    /// Deliveries acknowledged.
    pub delivered: Count,
    /// Deliveries answered by another status than 2xx.
    pub failed_status: Count,
    /// Deliveries without an answer, by [`Failure::ALL`].
    pub failed: [Count; 7],
    /// Exchanges not sent for a reason of ours.
    pub withheld: Count,
    /// Subscriptions removed, by [`RemovalReason::ALL`].
    pub removed: [Count; 6],
    /// Milliseconds that acknowledged deliveries took, in all.
    pub delivered_ms: Count,
    /// Gauge: active subscriptions, some seconds old.
    pub subscriptions: Count,
    /// Gauge: requests that wait for verification, some seconds old.
    pub requests: Count,
    /// Gauge: subscriptions that are owed content, some seconds old.
    pub owed: Count,
    /// Gauge: those of them whose next attempt could begin, some seconds old.
    pub due: Count,
    /// Gauge: since when the oldest of those is due, in milliseconds since 1970; 0 where none is.
    pub due_since_ms: Count,
    /// Gauge: exchanges under way.
    pub in_flight: Count,
}

impl Stats {
    pub(super) fn note_answer(&self, answer: Answer, elapsed_ms: u64) {
        match answer {
            Answer::Status(200..=299) => {
                self.delivered.add(1);
                self.delivered_ms.add(elapsed_ms);
            }
            Answer::Status(_) => self.failed_status.add(1),
            Answer::Failed(failure) => add_at(&self.failed, &Failure::ALL, failure, 1),
        }
    }

    pub(super) fn note_removals(&self, removal: RemovalReason, subscriptions: usize) {
        add_at(&self.removed, &RemovalReason::ALL, removal, subscriptions);
    }
}

fn add_at<T: PartialEq>(counts: &[Count], names: &[T], name: T, more: usize) {
    if let Some(at) = names.iter().position(|known| *known == name)
        && let Some(count) = counts.get(at)
    {
        count.add(u64::try_from(more).unwrap_or(u64::MAX));
    }
}
