//! The connections that are open: counted against their limit, and reached when the server drains.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Every open connection.
///
/// The table is locked when a connection opens or closes and when the server drains, never for a request.
#[derive(Debug)]
pub(super) struct Connections {
    draining: AtomicBool,
    permits: Arc<Semaphore>,
    /// How many may be open at a time.
    max: u32,
    next: AtomicU64,
    /// Wakes the task of each connection.
    wakers: Mutex<HashMap<u64, Waker>>,
}

impl Connections {
    /// Returns an empty table with room for `max` connections.
    pub(super) fn new(max: u32) -> Connections {
        Connections {
            draining: AtomicBool::new(false),
            permits: Arc::new(Semaphore::new(max as usize)),
            max,
            next: AtomicU64::new(0),
            wakers: Mutex::new(HashMap::new()),
        }
    }

    /// Takes a place for one more connection; `None` when all are taken.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Membership> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some(Membership {
            connections: Arc::clone(self),
            key: self.next.fetch_add(1, Ordering::Relaxed),
            waker: None,
            _permit: permit,
        })
    }

    /// Returns how many connections are open.
    pub(super) fn open(&self) -> u32 {
        let free = u32::try_from(self.permits.available_permits()).unwrap_or(self.max);
        self.max.saturating_sub(free)
    }

    /// Asks every connection to end after the request that it is working on; idle ones end at once.
    pub(super) fn begin_drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let wakers: Vec<Waker> = self.lock().drain().map(|(_, waker)| waker).collect();
        for waker in wakers {
            waker.wake();
        }
    }

    /// Waits until no connection is open, at most `deadline` long; false if some still are.
    pub(super) async fn drained(&self, deadline: Duration) -> bool {
        timeout(deadline, self.permits.acquire_many(self.max))
            .await
            .is_ok()
    }

    /// Locks the table; a panic elsewhere cannot leave a map of wakers half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place among the others; dropping it makes room.
#[derive(Debug)]
pub(super) struct Membership {
    connections: Arc<Connections>,
    key: u64,
    /// What the table holds for this connection, to tell without a lock that it is still right.
    waker: Option<Waker>,
    _permit: OwnedSemaphorePermit,
}

impl Membership {
    /// Is ready once the server drains, and has the task woken when that begins.
    pub(super) fn poll_drain(&mut self, context: &Context<'_>) -> Poll<()> {
        let known = self.waker.as_ref();
        if !known.is_some_and(|known| known.will_wake(context.waker())) {
            let waker = context.waker().clone();
            self.waker = Some(waker.clone());
            self.connections.lock().insert(self.key, waker);
        }
        // Asked after the waker is in the table: a drain that begins now finds it there.
        if self.connections.draining.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.key);
    }
}
