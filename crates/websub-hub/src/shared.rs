//! State that the hub's thread shares with its handles: published topics, the hub's health and its metrics.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::UnixMillis;
use super::store::StoreCounts;
use super::subscription::{AttemptFailure, AttemptResult, RemovalReason};
use crate::Topic;
use crate::notice::NoticeSource;
use crate::store::NoticeCounts;

#[derive(Default)]
pub(super) struct Shared {
    /// Topics that the thread has not taken yet.
    pub(super) next_topics: Mutex<Option<Vec<Topic>>>,
    /// What targets are told of, if the thread has not taken it yet.
    pub(super) next_notices: Mutex<Option<Arc<dyn NoticeSource>>>,
    pub(super) health: ArcSwap<Health>,
    pub(super) stats: Stats,
}

/// The health of the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether the store was ever opened.
    pub is_open: bool,
    /// Why the store cannot be used at present; `None` if it can.
    pub store_error: Option<String>,
    /// Whether the store was never opened, for a reason that only the operator can fix.
    pub is_off: bool,
    /// Whether this process delivers. If several share a store, only one does.
    pub delivering: bool,
    /// Whether most callback hosts were unreachable recently: then failed deliveries do not count.
    pub paused: bool,
    /// Whether attempts were late recently because this machine has no core for them: they do not count either.
    pub lagging: bool,
}

/// Called on the hub's thread whenever its health changes.
pub(super) type OnHealth = Arc<dyn Fn(&Health) + Send + Sync>;

/// The hub's counters (since the start) and gauges. Those of the store are some seconds old.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "`server::metrics` describes each of them")]
pub struct Stats {
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    pub confirmed: AtomicU64,
    pub rejected: AtomicU64,
    pub delivered: AtomicU64,
    pub failed_status: AtomicU64,
    /// Indexed like [`AttemptFailure::ALL`].
    pub failed: [AtomicU64; AttemptFailure::ALL.len()],
    pub deferred: AtomicU64,
    /// Indexed like [`RemovalReason::ALL`].
    pub removed: [AtomicU64; RemovalReason::ALL.len()],
    pub delivered_ms: AtomicU64,
    pub subscriptions: AtomicU64,
    pub requests: AtomicU64,
    pub undelivered: AtomicU64,
    pub due: AtomicU64,
    /// When the oldest due delivery became due, in milliseconds since 1970; 0 if none is due.
    pub due_since_ms: AtomicU64,
    pub in_flight: AtomicU64,
    pub notices_delivered: AtomicU64,
    pub notices_failed: AtomicU64,
    pub notices_deferred: AtomicU64,
    pub notices_given_up: AtomicU64,
    pub notices_waiting: AtomicU64,
    /// When the oldest waiting notice was stored, in milliseconds since 1970; 0 if none waits.
    pub notices_since_ms: AtomicU64,
}

impl Stats {
    /// Counts the end of a delivery; `None` if nothing was delivered for a reason on our side.
    pub(super) fn count_end(&self, result: Option<AttemptResult>, elapsed: Duration) {
        let counter = match result {
            None => &self.deferred,
            Some(AttemptResult::Failed(failure)) => &self.failed[failure as usize],
            Some(AttemptResult::Status(200..=299)) => {
                let elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
                self.delivered_ms.fetch_add(elapsed_ms, Relaxed);
                &self.delivered
            }
            Some(AttemptResult::Status(_)) => &self.failed_status,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Counts the end of an attempt to send a notice; `None` if nothing was sent for a reason on our side.
    pub(super) fn count_notice(&self, result: Option<AttemptResult>) {
        let counter = match result {
            None => &self.notices_deferred,
            Some(result) if result.is_success() => &self.notices_delivered,
            Some(_) => &self.notices_failed,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Sets the gauges of notices.
    pub(super) fn set_notice_counts(&self, counts: NoticeCounts) {
        let since_ms = counts.oldest_at.map_or(0, UnixMillis::as_ms).try_into();
        self.notices_waiting.store(counts.waiting, Relaxed);
        self.notices_since_ms.store(since_ms.unwrap_or(0), Relaxed);
    }

    pub(super) fn count_removals(&self, removal: RemovalReason, subscriptions: usize) {
        self.removed[removal as usize].fetch_add(subscriptions as u64, Relaxed);
    }

    /// Sets the gauges to `counts`; no delivery counts as due since before `published_at`.
    pub(super) fn set_counts(&self, counts: &StoreCounts, published_at: UnixMillis) {
        let since = counts.due_since.map(|since| since.max(published_at));
        let since_ms = since.map_or(0, UnixMillis::as_ms).try_into();
        self.subscriptions.store(counts.subscriptions, Relaxed);
        self.requests.store(counts.requests, Relaxed);
        self.undelivered.store(counts.undelivered, Relaxed);
        self.due.store(counts.due, Relaxed);
        self.due_since_ms.store(since_ms.unwrap_or(0), Relaxed);
    }
}
