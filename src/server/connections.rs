//! The connections that are open: counted against their limits, in all and for each client, and reached when the server
//! drains.
//!
//! Where a limit is reached, the connection that has waited longest for a request, of the next [`SAMPLE`] ones, is closed
//! for the new one. One with a request or a response under way is never closed for another: where all of the sample have
//! one, the new connection is closed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::clock::{self, micros};
use super::config::Limits;
use crate::http::Proxies;
use crate::wire::network::{IpNet, networks_of_client};

/// How many times its share of connections a whole /48 of IPv6 may have. A /48 is what one customer of a provider is
/// given (RFC 6177 §2), and holds 65,536 clients of a /64 each. Our choice.
const SITE_SHARES: u32 = 4;

/// Connections that are compared before one is closed for another: a bound on the time that the table is locked. Our
/// choice; nginx looks at as many.
const SAMPLE: usize = 32;

/// Connections that may be open beyond the limit: evicted ones whose task has not closed them yet.
const CLOSING_MAX: u32 = 32;

/// Every open connection. The table is locked when one opens or closes, when the server drains and when `/metrics` is
/// read, never for another request.
#[derive(Debug)]
pub(super) struct Connections {
    draining: AtomicBool,
    /// Notified when the last connection has ended.
    ended: Notify,
    /// How many may be open at a time.
    pub(super) max: u32,
    /// How many one client may have; 0 for any number.
    per_address_max: u32,
    /// Clients that may have any number.
    proxies: Proxies,
    began: Instant,
    /// How many were closed for another.
    pub(super) evicted: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: BTreeMap<u64, Entry>,
    /// The connections of each network that has any.
    networks: HashMap<IpNet, BTreeSet<u64>>,
    /// Where the next sample begins.
    sample_from: u64,
    /// How many were evicted and are not closed yet.
    closing: u32,
}

/// A connection as the others see it; removing it lets another one in.
#[derive(Debug)]
struct Entry {
    link: Arc<Link>,
    /// Wakes its task, once that runs.
    waker: Option<Waker>,
    /// Among whose connections it is counted: none for a proxy's.
    networks: [Option<IpNet>; 2],
}

/// What a connection and the table tell each other.
#[derive(Debug)]
struct Link {
    /// Since when nothing but a request is waited for, in microseconds since the table began; `BUSY` otherwise.
    waits_since: AtomicU64,
    /// It is to be closed for another.
    is_evicted: AtomicBool,
}

/// The time of a connection that does not wait for a request.
const BUSY: u64 = u64::MAX;

/// A limit that is reached: that of all connections, or that of an address or its /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitReached {
    All = 0,
    Address = 1,
}

/// Why a connection is to end although its client may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The server stops.
    Drain,
    /// Its place is another's.
    Evicted,
}

impl Connections {
    /// Returns an empty table for as many connections as `limits` permit.
    pub(super) fn new(limits: &Limits, proxies: Proxies) -> Connections {
        Connections {
            draining: AtomicBool::new(false),
            ended: Notify::new(),
            max: limits.connections,
            per_address_max: limits.connections_per_address,
            proxies,
            began: clock::instant(),
            evicted: AtomicU64::new(0),
            table: Mutex::default(),
        }
    }

    /// Takes a place for one more connection, from `peer`; tells which limit was reached, if another was closed for it. The
    /// limit is the error where no connection of the sample waits for a request, or [`CLOSING_MAX`] are still being closed.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> Result<(ConnectionPermit, Option<LimitReached>), LimitReached> {
        let is_counted = self.per_address_max > 0 && !self.proxies.contain(peer);
        let networks = match is_counted {
            true => networks_of_client(peer),
            false => [None; 2],
        };
        let mut table = self.lock();
        let mut closed_for = None;
        let shares = [1, SITE_SHARES].map(|shares| self.per_address_max.saturating_mul(shares));
        for (network, max) in networks.into_iter().zip(shares) {
            let open = network.and_then(|network| table.networks.get(&network));
            if open.is_some_and(|open| open.len() >= max as usize) {
                self.evict(&mut table, network)
                    .ok_or(LimitReached::Address)?;
                closed_for = Some(LimitReached::Address);
            }
        }
        if table.entries.len() >= self.max as usize {
            self.evict(&mut table, None).ok_or(LimitReached::All)?;
            closed_for = Some(LimitReached::All);
        }
        let accepted_us = micros(self.began.elapsed());
        let link = Arc::new(Link {
            waits_since: AtomicU64::new(accepted_us),
            is_evicted: AtomicBool::new(false),
        });
        let key = table.insert(Entry {
            link: Arc::clone(&link),
            waker: None,
            networks,
        });
        let permit = ConnectionPermit {
            connections: Arc::clone(self),
            key,
            accepted_us,
            link,
        };
        Ok((permit, closed_for))
    }

    /// Has the connection closed that has waited longest for a request, of a sample of those of `network` or of all; `None`
    /// where none waits. Its place is free at once.
    fn evict(&self, table: &mut Table, network: Option<IpNet>) -> Option<()> {
        if table.closing >= CLOSING_MAX {
            return None;
        }
        let key = table.longest_waiting(network)?;
        let entry = table.remove(key)?;
        table.closing += 1;
        entry.link.is_evicted.store(true, Ordering::SeqCst);
        if let Some(waker) = entry.waker {
            waker.wake();
        }
        self.evicted.fetch_add(1, Ordering::Relaxed);
        Some(())
    }

    /// Returns how many connections are open.
    pub(super) fn open(&self) -> u32 {
        u32::try_from(self.lock().entries.len()).unwrap_or(u32::MAX)
    }

    /// Asks every connection to end after the next request, or a moment without one.
    pub(super) fn begin_drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let wakers: Vec<Waker> = {
            let table = self.lock();
            let wakers = table.entries.values().map(|entry| entry.waker.clone());
            wakers.flatten().collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until no connection is open, at most `deadline` long; false if some still are.
    pub(super) async fn drained(&self, deadline: Duration) -> bool {
        let ended = async {
            while self.open() > 0 {
                self.ended.notified().await;
            }
        };
        timeout(deadline, ended).await.is_ok()
    }

    /// Locks the table; a panic elsewhere cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn insert(&mut self, entry: Entry) -> u64 {
        let key = self.next;
        self.next += 1;
        for network in entry.networks.into_iter().flatten() {
            self.networks.entry(network).or_default().insert(key);
        }
        self.entries.insert(key, entry);
        key
    }

    fn remove(&mut self, key: u64) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        for network in entry.networks.into_iter().flatten() {
            if let Some(keys) = self.networks.get_mut(&network) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.networks.remove(&network);
                }
            }
        }
        Some(entry)
    }

    /// Returns which of the next [`SAMPLE`] connections, of `network` or of all, has waited longest for a request.
    fn longest_waiting(&mut self, network: Option<IpNet>) -> Option<u64> {
        let from = self.sample_from;
        let sample: Vec<u64> = match network {
            Some(network) => {
                let keys = self.networks.get(&network)?;
                let keys = keys.range(from..).chain(keys.range(..from));
                keys.take(SAMPLE).copied().collect()
            }
            None => {
                let entries = self.entries.range(from..).chain(self.entries.range(..from));
                entries.take(SAMPLE).map(|(key, _)| *key).collect()
            }
        };
        self.sample_from = sample.last()?.wrapping_add(1);
        let since = |key| {
            let entry = self.entries.get(key)?;
            Some((entry.link.waits_since.load(Ordering::Relaxed), *key))
        };
        let (since, key) = sample.iter().filter_map(since).min()?;
        (since != BUSY).then_some(key)
    }
}

/// A connection's place among the others; dropping it lets another one in.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    key: u64,
    /// When it was accepted, in microseconds since the table began.
    accepted_us: u64,
    link: Arc<Link>,
}

impl ConnectionPermit {
    /// Has the current task woken when the connection is to leave.
    pub(super) async fn register(&self) {
        poll_fn(|context| {
            if let Some(entry) = self.connections.lock().entries.get_mut(&self.key) {
                entry.waker = Some(context.waker().clone());
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for `event`; `None` if the connection is closed for another before, or the server stops and the event does
    /// not follow within `farewell`. The task has to be [registered](ConnectionPermit::register).
    pub(super) async fn unless_leaving<T>(
        &self,
        event: impl Future<Output = T>,
        farewell: Duration,
    ) -> Option<T> {
        let mut event = pin!(event);
        tokio::select! {
            biased;
            outcome = &mut event => Some(outcome),
            leave = poll_fn(|_| self.leave().map_or(Poll::Pending, Poll::Ready)) => match leave {
                Leave::Evicted => None,
                Leave::Drain => timeout(farewell, event).await.ok(),
            },
        }
    }

    /// Tells whether the connection is to leave, and why.
    pub(super) fn leave(&self) -> Option<Leave> {
        if self.link.is_evicted.load(Ordering::SeqCst) {
            return Some(Leave::Evicted);
        }
        let is_draining = self.connections.draining.load(Ordering::SeqCst);
        is_draining.then_some(Leave::Drain)
    }

    /// Notes since when nothing but a request is waited for, in microseconds after acceptance, or that something is under
    /// way.
    pub(super) fn note_waiting(&self, since: Option<u64>) {
        let since = since.map_or(BUSY, |since| self.accepted_us.saturating_add(since));
        self.link.waits_since.store(since, Ordering::Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        // One that was evicted is gone already.
        if table.remove(self.key).is_none() {
            table.closing = table.closing.saturating_sub(1);
        }
        if table.entries.is_empty() {
            self.connections.ended.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
