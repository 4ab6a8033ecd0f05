//! What the hub's thread and its handles both see: topics to take over, the hub's health, and what it counts for metrics.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::Moment;
use super::store::Counts;
use super::subscription::{Answer, RemovalReason};
use super::transport::CaError;
use crate::snapshot::Topic;

#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Topics that the thread has not taken yet.
    pub(super) next_topics: Mutex<Option<[Topic; 3]>>,
    pub(super) health: ArcSwap<Health>,
    pub(super) stats: Stats,
}

/// How the hub is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether the store was ever opened.
    pub is_open: bool,
    /// Why the store cannot be used at present; `None` when it can.
    pub store_error: Option<String>,
    /// Whether the store was never opened, for a reason that only the operator can mend.
    pub is_off: bool,
    /// Whether this process delivers. Where several share a store, only one does.
    pub delivering: bool,
    /// Whether deliveries pause because most hosts could not be reached at once.
    pub paused: bool,
    /// Whether the hub's thread has panicked. Requests are refused then, and nothing is delivered.
    pub panicked: bool,
}

/// Called on the hub's thread whenever its health changes.
pub(super) type OnHealth = Arc<dyn Fn(&Health) + Send + Sync>;

/// Why the hub does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file of authorities cannot be used.
    #[error("--callback-ca {0}")]
    Ca(#[from] CaError),
    /// The system refuses a thread.
    #[error("the hub's threads cannot be started: {0}")]
    Thread(io::Error),
}

/// A number that only the hub changes.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: usize) {
        let more = more.try_into().unwrap_or(u64::MAX);
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

/// The hub's counters (since the start) and gauges. Those of the store are some seconds old.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "`server::metrics` describes each of them")]
pub struct Stats {
    pub accepted: Count,
    pub refused: Count,
    pub confirmed: Count,
    pub rejected: Count,
    pub delivered: Count,
    pub failed_status: Count,
    /// By [`Failure::ALL`](super::subscription::Failure::ALL).
    pub failed: [Count; 7],
    pub withheld: Count,
    /// By [`RemovalReason::ALL`].
    pub removed: [Count; 6],
    pub delivered_ms: Count,
    pub subscriptions: Count,
    pub requests: Count,
    pub owed: Count,
    pub due: Count,
    /// Since when the oldest of those is due, in milliseconds since 1970; 0 where none is.
    pub due_since_ms: Count,
    pub in_flight: Count,
}

impl Stats {
    pub(super) fn count_answer(&self, answer: Answer, elapsed: Duration) {
        match answer {
            Answer::Failed(failure) => self.failed[failure as usize].add(1),
            Answer::Status(_) if answer.is_success() => {
                self.delivered.add(1);
                let elapsed_ms = elapsed.as_millis().try_into().unwrap_or(usize::MAX);
                self.delivered_ms.add(elapsed_ms);
            }
            Answer::Status(_) => self.failed_status.add(1),
        }
    }

    pub(super) fn count_removals(&self, removal: RemovalReason, subscriptions: usize) {
        self.removed[removal as usize].add(subscriptions);
    }

    /// Takes what was counted; nothing of it is due for longer than `published_at`.
    pub(super) fn set_counts(&self, counts: &Counts, published_at: Moment) {
        self.subscriptions.set(counts.subscriptions);
        self.requests.set(counts.requests);
        self.owed.set(counts.owed);
        self.due.set(counts.due);
        let since = counts.due_since.map(|since| since.max(published_at));
        let since_ms = since.map_or(0, Moment::unix_ms);
        self.due_since_ms.set(since_ms.try_into().unwrap_or(0));
    }
}
