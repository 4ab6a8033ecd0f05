//! What the hub counts, for metrics and readiness; plain atomics, written by the hub's threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Moment;
use super::outcome::{Answer, Failure, RemovalReason};
use super::store::Counts;

/// A number that only the hub changes.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the number.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The hub's counters (since the start) and gauges. Those of the store are some seconds old.
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
    /// Gauge: active subscriptions.
    pub subscriptions: Count,
    /// Gauge: requests that wait for verification.
    pub requests: Count,
    /// Gauge: subscriptions that are owed content.
    pub owed: Count,
    /// Gauge: those of them whose next attempt could begin.
    pub due: Count,
    /// Gauge: since when the oldest of those is due, in milliseconds since 1970; 0 where none is.
    pub due_since_ms: Count,
    /// Gauge: exchanges under way.
    pub in_flight: Count,
}

impl Stats {
    pub(super) fn note_answer(&self, answer: Answer, elapsed: Duration) {
        match answer {
            Answer::Failed(failure) => add_at(&self.failed, &Failure::ALL, failure, 1),
            Answer::Status(_) if answer.is_success() => {
                let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                self.delivered.add(1);
                self.delivered_ms.add(elapsed_ms);
            }
            Answer::Status(_) => self.failed_status.add(1),
        }
    }

    pub(super) fn note_removals(&self, removal: RemovalReason, subscriptions: usize) {
        add_at(&self.removed, &RemovalReason::ALL, removal, subscriptions);
    }

    pub(super) fn note_in_flight(&self, exchanges: usize) {
        self.in_flight.set(exchanges.try_into().unwrap_or(u64::MAX));
    }

    /// Takes what was counted; nothing of it is due for longer than `published_at`.
    pub(super) fn note_counts(&self, counts: &Counts, published_at: Moment) {
        self.subscriptions.set(counts.subscriptions);
        self.requests.set(counts.requests);
        self.owed.set(counts.owed);
        self.due.set(counts.due);
        let since = counts.due_since.map(|since| since.max(published_at));
        let since_ms = since.map_or(0, Moment::unix_ms);
        self.due_since_ms.set(since_ms.try_into().unwrap_or(0));
    }
}

fn add_at<T: PartialEq>(counts: &[Count], names: &[T], name: T, more: usize) {
    let counts = names.iter().zip(counts);
    for (_, count) in counts.filter(|(known, _)| **known == name) {
        count.add(more.try_into().unwrap_or(u64::MAX));
    }
}
