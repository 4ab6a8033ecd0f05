//! The table of open connections: enforces the limits in total and per client, and notifies connections when the server
//! drains.
//!
//! If a limit is reached, the new connection evicts another one: of the next [`SAMPLE`] connections, the one that has
//! waited longest for a request. A connection with a request or a response in progress is never evicted: if all of the
//! sample have one, the new connection is closed.

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::clock::{self, micros};
use super::config::Limits;
use crate::http::Proxies;
use crate::wire::network::networks_of_client;

/// The key of all connections, IPv4 and IPv6.
const ALL: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));

/// The limit of an IPv6 /48, as a multiple of the limit per client. A provider assigns up to a /48 to one customer (RFC
/// 6177 §2), which contains 65,536 clients with a /64 each. Our choice.
const SITE_SHARES: u32 = 4;

/// Connections that are compared for an eviction; limits the time that the table is locked. Our choice, the same as in
/// nginx.
const SAMPLE: usize = 32;

/// Connections that may be open beyond the limit: evicted ones whose tasks have not closed them yet.
const CLOSING_MAX: u32 = 32;

/// All open connections. The table is locked when one opens or closes, when the server drains and when `/metrics` is
/// read, but not for each request.
#[derive(Debug)]
pub(super) struct Connections {
    draining: AtomicBool,
    /// Notified when the last connection has closed.
    ended: Notify,
    /// Largest number of open connections.
    pub(super) max: u32,
    /// Largest number of connections of one client; 0 for no limit.
    per_address_max: u32,
    /// Peers without a limit.
    proxies: Proxies,
    began: Instant,
    /// Number of evicted connections.
    pub(super) evicted: Counter,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
    /// The connections of each network that has some, and those of [`ALL`].
    networks: HashMap<IpNet, BTreeSet<u64>>,
    /// The key at which the next sample begins.
    sample_from: u64,
    /// Number of evicted connections that are not closed yet.
    closing: u32,
}

/// The entry of a connection in the table; removing it frees its place.
#[derive(Debug)]
struct Entry {
    status: Arc<ConnectionStatus>,
    /// Wakes the connection's task; `None` before its first wait.
    waker: Option<Waker>,
    /// The networks in which it is counted: its client and the /48 of this, unless the peer is a proxy, and [`ALL`].
    networks: [Option<IpNet>; 3],
}

/// State that a connection shares with the table.
#[derive(Debug)]
struct ConnectionStatus {
    /// Since when the connection only waits for a request, in microseconds since the table was created; else `BUSY`.
    waits_since: AtomicU64,
    /// Whether it must close because a new connection has its place.
    is_evicted: AtomicBool,
}

/// The value of `waits_since` of a connection that does not wait for a request.
const BUSY: u64 = u64::MAX;

/// The limit that was reached: that of all connections, or that of an address or its /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitReached {
    All = 0,
    Address = 1,
}

/// Why the server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The server stops.
    Drain,
    /// A new connection has its place.
    Evicted,
}

impl Connections {
    /// Creates an empty table with these limits.
    pub(super) fn new(limits: &Limits, proxies: Proxies) -> Connections {
        Connections {
            draining: AtomicBool::new(false),
            ended: Notify::new(),
            max: limits.connections,
            per_address_max: limits.connections_per_address,
            proxies,
            began: clock::instant(),
            evicted: Counter::default(),
            table: Mutex::default(),
        }
    }

    /// Adds a connection from `peer`; returns also the limit that was reached if another connection was evicted. Fails
    /// with the limit if none of the sample waits for a request, or [`CLOSING_MAX`] evicted ones are not closed yet.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> Result<(ConnectionPermit, Option<LimitReached>), LimitReached> {
        let share = self.per_address_max;
        let is_counted = share > 0 && !self.proxies.contain(peer);
        let [client, site] = match is_counted {
            true => networks_of_client(peer),
            false => [None; 2],
        };
        let networks = [client, site, Some(ALL)];
        let limits = [
            (share, LimitReached::Address),
            (share.saturating_mul(SITE_SHARES), LimitReached::Address),
            (self.max, LimitReached::All),
        ];
        let mut table = self.lock();
        let mut closed_for = None;
        for (network, (max, limit)) in networks.into_iter().zip(limits) {
            if let Some(network) = network
                && table.open(network) >= max as usize
            {
                table.evict(network).ok_or(limit)?;
                self.evicted.inc();
                closed_for = Some(limit);
            }
        }
        let status = Arc::new(ConnectionStatus {
            waits_since: AtomicU64::new(micros(self.began.elapsed())),
            is_evicted: AtomicBool::new(false),
        });
        let key = table.insert(Entry {
            status: Arc::clone(&status),
            waker: None,
            networks,
        });
        let permit = ConnectionPermit {
            connections: Arc::clone(self),
            key,
            status,
        };
        Ok((permit, closed_for))
    }

    /// Returns the number of open connections.
    pub(super) fn open(&self) -> u32 {
        u32::try_from(self.lock().entries.len()).unwrap_or(u32::MAX)
    }

    /// Makes every connection close after its next request, or soon if there is none.
    pub(super) fn begin_drain(&self) {
        self.draining.store(true, SeqCst);
        for entry in self.lock().entries.values() {
            entry.waker.iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Waits until no connection is open, for at most `deadline`; false if some still are.
    pub(super) async fn drained(&self, deadline: Duration) -> bool {
        let ended = async {
            while self.open() > 0 {
                self.ended.notified().await;
            }
        };
        timeout(deadline, ended).await.is_ok()
    }

    /// Locks the table; no panic can leave it inconsistent.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Returns the number of open connections of `network`.
    fn open(&self, network: IpNet) -> usize {
        self.networks.get(&network).map_or(0, BTreeSet::len)
    }

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

    /// Closes the connection of `network` that has been idle longest, of a sample; `None` if none is idle. Its place in
    /// the table is free at once.
    fn evict(&mut self, network: IpNet) -> Option<()> {
        if self.closing >= CLOSING_MAX {
            return None;
        }
        let key = self.longest_waiting(network)?;
        let entry = self.remove(key)?;
        self.closing += 1;
        entry.status.is_evicted.store(true, SeqCst);
        if let Some(waker) = entry.waker {
            waker.wake();
        }
        Some(())
    }

    /// Returns the connection that has waited longest for a request, of the next [`SAMPLE`] ones of `network`.
    fn longest_waiting(&mut self, network: IpNet) -> Option<u64> {
        let from = self.sample_from;
        let keys = self.networks.get(&network)?;
        let keys = keys.range(from..).chain(keys.range(..from));
        let sample: Vec<u64> = keys.take(SAMPLE).copied().collect();
        self.sample_from = sample.last()?.wrapping_add(1);
        let since = |key| {
            let entry = self.entries.get(key)?;
            Some((entry.status.waits_since.load(Relaxed), *key))
        };
        let (since, key) = sample.iter().filter_map(since).min()?;
        (since != BUSY).then_some(key)
    }
}

/// The place of a connection in the table; dropping it frees the place.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    key: u64,
    status: Arc<ConnectionStatus>,
}

impl ConnectionPermit {
    /// Waits for `event`; `None` if the connection is evicted before, or the server stops and the event does not follow
    /// within `farewell`. After the first call, the current task is woken when the connection must close.
    pub(super) async fn unless_leaving<T>(
        &self,
        event: impl Future<Output = T>,
        farewell: Duration,
    ) -> Option<T> {
        let leaving = poll_fn(|context| {
            if let Some(entry) = self.connections.lock().entries.get_mut(&self.key) {
                entry.waker = Some(context.waker().clone());
            }
            self.leave().map_or(Poll::Pending, Poll::Ready)
        });
        let mut event = pin!(event);
        tokio::select! {
            biased;
            leave = leaving => {
                let farewell = match leave {
                    Leave::Evicted => Duration::ZERO,
                    Leave::Drain => farewell,
                };
                timeout(farewell, event).await.ok()
            }
            outcome = &mut event => Some(outcome),
        }
    }

    /// Returns why the connection must close, if it must.
    pub(super) fn leave(&self) -> Option<Leave> {
        if self.status.is_evicted.load(SeqCst) {
            return Some(Leave::Evicted);
        }
        let is_draining = self.connections.draining.load(SeqCst);
        is_draining.then_some(Leave::Drain)
    }

    /// Records since when the connection has been idle; `None` while a request or a response is in progress.
    pub(super) fn note_waiting(&self, since: Option<Instant>) {
        let since = since.map_or(BUSY, |since| micros(since - self.connections.began));
        self.status.waits_since.store(since, Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        // An evicted connection has been removed already.
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
