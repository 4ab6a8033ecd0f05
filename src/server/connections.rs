//! The connections that are open: counted against their limits, in all and for each client, and reached when the server
//! drains.
//!
//! Where a limit is reached, the connection that has waited longest for a request, of the next [`SAMPLE`] ones, is closed
//! for the new one. One with a request or a response under way is never closed for another: where all of the sample have
//! one, the new connection is closed.

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

/// The network of all connections, whatever their addresses.
const ALL: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));

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
    pub(super) evicted: Counter,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
    /// The connections of each network that has any, and those of [`ALL`].
    networks: HashMap<IpNet, BTreeSet<u64>>,
    /// Where the next sample begins.
    sample_from: u64,
    /// How many were evicted and are not closed yet.
    closing: u32,
}

/// A connection as the others see it; removing it lets another one in.
#[derive(Debug)]
struct Entry {
    status: Arc<ConnectionStatus>,
    /// Wakes its task, once that runs.
    waker: Option<Waker>,
    /// Among whose connections it is counted: [`ALL`], and unless it is a proxy's its client and that one's /48.
    networks: [Option<IpNet>; 3],
}

/// What a connection and the table tell each other.
#[derive(Debug)]
struct ConnectionStatus {
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
            evicted: Counter::default(),
            table: Mutex::default(),
        }
    }

    /// Takes a place for one more connection, from `peer`; tells which limit was reached, if another was closed for it. The
    /// limit is the error where no connection of the sample waits for a request, or [`CLOSING_MAX`] are still being closed.
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

    /// Returns how many connections are open.
    pub(super) fn open(&self) -> u32 {
        u32::try_from(self.lock().entries.len()).unwrap_or(u32::MAX)
    }

    /// Asks every connection to end after the next request, or a moment without one.
    pub(super) fn begin_drain(&self) {
        self.draining.store(true, SeqCst);
        for entry in self.lock().entries.values() {
            entry.waker.iter().for_each(Waker::wake_by_ref);
        }
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
    /// Returns how many connections `network` has.
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

    /// Closes the connection of `network` that has been idle longest, of a sample of them; `None` where none is idle. Its
    /// place in the table is free at once.
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

    /// Returns which of the next [`SAMPLE`] connections of `network` has waited longest for a request.
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

/// A connection's place among the others; dropping it lets another one in.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    key: u64,
    status: Arc<ConnectionStatus>,
}

impl ConnectionPermit {
    /// Waits for `event`; `None` if the connection is closed for another before, or the server stops and the event does
    /// not follow within `farewell`. From the first call on the current task is woken when the connection is to leave.
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

    /// Tells whether the connection is to leave, and why.
    pub(super) fn leave(&self) -> Option<Leave> {
        if self.status.is_evicted.load(SeqCst) {
            return Some(Leave::Evicted);
        }
        let is_draining = self.connections.draining.load(SeqCst);
        is_draining.then_some(Leave::Drain)
    }

    /// Notes since when the connection has been idle; `None` while a request or a response is under way.
    pub(super) fn note_waiting(&self, since: Option<Instant>) {
        let since = since.map_or(BUSY, |since| micros(since - self.connections.began));
        self.status.waits_since.store(since, Relaxed);
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
