//! The table of open connections: enforces the limits in total and per client, and notifies connections when the server
//! drains.
//!
//! If a limit is reached, a new connection evicts an old one. Of [`SAMPLE`] connections it is the one whose [`Standing`] is
//! first: the one that has waited longest for a request, or else the one whose request or response makes the least progress.
//! If all of them make progress, the new connection is closed.
//!
//! If a budget of bytes in flight is short, [`Connections::close_heaviest`] closes the connections that would hold their bytes
//! longest at their present rate.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::clock::{self, micros};
use super::config::ServerLimits;
use crate::http::{Peer, Proxies};
use crate::limits::{Account, Budgets, RATE_MIN, SITE_SHARES};
use crate::wire::network::networks_of_client;

/// The key of all connections, IPv4 and IPv6.
const ALL: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));

/// How many connections are compared for an eviction, which limits the time that the table is locked. Our choice, the same as
/// in nginx.
const SAMPLE: usize = 32;

/// Connections that may be open beyond the limit: evicted ones whose tasks have not closed them yet.
const CLOSING_MAX: u32 = 32;

/// How long a connection may be idle, or make no progress, before it is preferred for eviction. Our choice: more than a
/// round trip.
const GRACE: Duration = Duration::from_secs(1);

/// How long a connection must have been busy before it is closed because it holds much. Our choice: shorter than [`GRACE`],
/// and long enough for a client that reads its response to take what fits into its window.
const HOLDING_GRACE: Duration = Duration::from_millis(100);

/// How long a connection may hold its bytes, at its present rate, while a budget is short. Our choice: as long as a peer may
/// read nothing while no budget is short.
const HOLDING_MAX: Duration = Duration::from_secs(60);

/// How long progress is measured before it is measured anew, so that bytes of long ago do not count. It is measured anew
/// also at the start of a request, and when the peer does not read output at once.
const PROGRESS_WINDOW: Duration = Duration::from_secs(10);

/// The value of `waits_since` of a connection that does not wait for a request.
const BUSY: u64 = u64::MAX;

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
    /// Peers to which `per_address_max` does not apply.
    proxies: Proxies,
    budgets: Arc<Budgets>,
    /// The time from which the times in the table count.
    began: Instant,
    /// Number of connections that were evicted while they were idle.
    pub(super) evicted: Counter,
    /// Number of connections that were evicted because they made the least progress.
    pub(super) evicted_stalled: Counter,
    /// Number of connections that were closed because a budget of bytes in flight was short.
    pub(super) evicted_holding: Counter,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// The key of the next connection.
    next_key: u64,
    entries: HashMap<u64, ConnectionEntry>,
    /// The connections of each network that has some, and those of [`ALL`].
    networks: HashMap<IpNet, BTreeSet<u64>>,
    /// The key at which the next sample begins.
    sample_from: u64,
    /// Number of evicted connections that are not closed yet.
    closing: u32,
}

/// The entry of a connection in the table; removing it frees its place.
#[derive(Debug)]
struct ConnectionEntry {
    status: Arc<ConnectionStatus>,
    /// Wakes the connection's task; `None` before its first wait.
    waker: Option<Waker>,
    /// The networks in which the connection is counted: the client and its /48, unless the peer is a proxy; and [`ALL`].
    networks: [Option<IpNet>; 3],
}

/// State that a connection shares with the table. Times are in microseconds since the table was created.
#[derive(Debug)]
struct ConnectionStatus {
    account: Account,
    /// Since when the connection only waits for a request; [`BUSY`] if it does not.
    waits_since: AtomicU64,
    /// Since when the progress of a busy connection is measured.
    progress_since: AtomicU64,
    /// Bytes read and written since `progress_since`.
    progress_bytes: AtomicU64,
    /// Whether the connection must close, as `Eviction as u8`.
    eviction: AtomicU8,
}

/// Whether a connection must close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eviction {
    None = 0,
    /// It was idle: a request that has arrived meanwhile is answered.
    Idle = 1,
    /// At once.
    Abort = 2,
}

/// The order in which connections are evicted: the least first. A connection that makes progress has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It has only waited for a request, for [`GRACE`] or longer.
    Idle { since: u64 },
    /// Its request or response has made less progress than [`RATE_MIN`] bytes per second, for [`GRACE`] or longer.
    Stalled { rate: u64, since: u64 },
    /// It has only waited for a request, for less than [`GRACE`].
    New { since: u64 },
}

impl ConnectionStatus {
    /// Returns how the connection stands at `now`; `None` if it makes progress.
    fn standing(&self, now: u64) -> Option<Standing> {
        let waits_since = self.waits_since.load(Relaxed);
        if waits_since == BUSY {
            let progress = self.progress(now);
            if progress.elapsed_us < micros(GRACE) || !progress.is_slow() {
                return None;
            }
            return Some(Standing::Stalled {
                rate: progress.rate(),
                since: now - progress.elapsed_us,
            });
        }
        let since = waits_since;
        if now.saturating_sub(since) >= micros(GRACE) {
            Some(Standing::Idle { since })
        } else {
            Some(Standing::New { since })
        }
    }

    /// Returns the progress of a busy connection until `now`.
    fn progress(&self, now: u64) -> Progress {
        Progress {
            elapsed_us: now.saturating_sub(self.progress_since.load(Relaxed)),
            bytes: self.progress_bytes.load(Relaxed),
        }
    }
}

/// The measured progress of a busy connection.
#[derive(Clone, Copy, Debug)]
struct Progress {
    elapsed_us: u64,
    /// Bytes read and written in this time.
    bytes: u64,
}

impl Progress {
    /// Returns the bytes per second.
    fn rate(self) -> u64 {
        self.bytes.saturating_mul(1_000_000) / self.elapsed_us.max(1)
    }

    /// Tells whether it is less than [`RATE_MIN`].
    fn is_slow(self) -> bool {
        self.rate() < u64::from(RATE_MIN)
    }

    /// Returns the microseconds in which `held_bytes` bytes would move at this rate. One byte counts as moved in any case.
    fn time_for(self, held_bytes: u64) -> u64 {
        let byte_us = u128::from(held_bytes) * u128::from(self.elapsed_us);
        let time_us = byte_us / u128::from(self.bytes + 1);
        u64::try_from(time_us).unwrap_or(u64::MAX)
    }
}

/// The limit of connections that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitReached {
    /// That of all connections.
    All = 0,
    /// That of a client, or of its /48.
    Address = 1,
}

/// Why the server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The server stops.
    Drain,
    /// A new connection has its place. It was idle: a request that has arrived meanwhile is answered.
    Evicted,
    /// A new connection has its place, or the bytes that it holds are needed. It must close at once.
    Aborted,
}

impl Connections {
    /// Creates an empty table with these limits.
    pub(super) fn new(
        limits: &ServerLimits,
        proxies: Proxies,
        budgets: Arc<Budgets>,
    ) -> Connections {
        Connections {
            draining: AtomicBool::new(false),
            ended: Notify::new(),
            max: limits.connections,
            per_address_max: limits.connections_per_address,
            proxies,
            budgets,
            began: clock::instant(),
            evicted: Counter::default(),
            evicted_stalled: Counter::default(),
            evicted_holding: Counter::default(),
            table: Mutex::default(),
        }
    }

    /// Adds a connection from `peer`, for which another one may be evicted.
    ///
    /// # Errors
    /// The limit that is reached, if all connections of the sample make progress, or [`CLOSING_MAX`] evicted ones are not
    /// closed yet.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Admitted, LimitReached> {
        let is_counted = self.per_address_max > 0 && !self.proxies.contain(peer);
        let [client, site] = if is_counted {
            networks_of_client(peer)
        } else {
            [None; 2]
        };
        let networks = [client, site, Some(ALL)];
        let now = micros(self.began.elapsed());
        let mut table = self.lock();
        let evicted_for = self.make_room(&mut table, networks, now)?;
        let status = Arc::new(ConnectionStatus {
            account: self.budgets.account(self.proxies.limited(peer)),
            waits_since: AtomicU64::new(now),
            progress_since: AtomicU64::new(now),
            progress_bytes: AtomicU64::new(0),
            eviction: AtomicU8::new(Eviction::None as u8),
        });
        let key = table.insert(ConnectionEntry {
            status: Arc::clone(&status),
            waker: None,
            networks,
        });
        let permit = ConnectionPermit {
            connections: Arc::clone(self),
            key,
            status,
            peer,
            measured_from: Cell::new(0),
        };
        Ok(Admitted {
            permit,
            evicted_for,
        })
    }

    /// Returns the number of connections that `reached` permits.
    pub(super) fn limit(&self, reached: LimitReached) -> u32 {
        match reached {
            LimitReached::All => self.max,
            LimitReached::Address => self.per_address_max,
        }
    }

    /// Evicts a connection if one of the networks, which are those of [`ConnectionEntry::networks`], has as many as it may
    /// have; returns the limit that was reached, if one was.
    ///
    /// # Errors
    /// As for [`Connections::admit`].
    fn make_room(
        &self,
        table: &mut Table,
        networks: [Option<IpNet>; 3],
        now: u64,
    ) -> Result<Option<LimitReached>, LimitReached> {
        let address_max = self.per_address_max;
        let limits = [
            (address_max, LimitReached::Address),
            (
                address_max.saturating_mul(SITE_SHARES),
                LimitReached::Address,
            ),
            (self.max, LimitReached::All),
        ];
        let mut evicted_for = None;
        for (network, (max, limit)) in networks.into_iter().zip(limits) {
            let Some(network) = network else {
                continue;
            };
            if table.open(network) < max as usize {
                continue;
            }
            let Some(standing) = table.evict(network, now) else {
                return Err(limit);
            };
            match standing {
                Standing::Stalled { .. } => self.evicted_stalled.inc(),
                Standing::Idle { .. } | Standing::New { .. } => self.evicted.inc(),
            };
            evicted_for = Some(limit);
        }
        Ok(evicted_for)
    }

    /// Closes connections until no budget is short, those first that would hold their bytes longest at their present rate.
    ///
    /// Only connections are closed that have been busy for [`HOLDING_GRACE`], and would hold their bytes for [`HOLDING_MAX`].
    /// If the budget of the process is used up, also others are, if they have been busy for [`GRACE`].
    pub(super) fn close_heaviest(&self) {
        self.close_heaviest_at(micros(self.began.elapsed()));
    }

    fn close_heaviest_at(&self, now: u64) {
        let is_used_up = self.budgets.is_used_up();
        let mut excess = self.budgets.excess();
        let table = self.lock();
        // How long each would hold its bytes, the longest first, and its key.
        let mut holders: Vec<(Reverse<u64>, u64)> = Vec::new();
        for (key, entry) in &table.entries {
            let status = &entry.status;
            let held = status.account.held();
            let is_busy = status.waits_since.load(Relaxed) == BUSY;
            let progress = status.progress(now);
            let time_us = progress.time_for(held);
            let holds_long =
                progress.elapsed_us >= micros(HOLDING_GRACE) && time_us >= micros(HOLDING_MAX);
            let may_close = holds_long || (is_used_up && progress.elapsed_us >= micros(GRACE));
            let is_closing = status.eviction.load(SeqCst) != Eviction::None as u8;
            if held > 0 && is_busy && may_close && !is_closing {
                holders.push((Reverse(time_us), *key));
            }
        }
        holders.sort_unstable();
        for (_, key) in holders {
            if excess == 0 {
                break;
            }
            if let Some(entry) = table.entries.get(&key) {
                excess = excess.saturating_sub(entry.status.account.held());
                entry.evict(Eviction::Abort);
                self.evicted_holding.inc();
            }
        }
    }

    /// Waits until a budget of bytes in flight is short.
    pub(super) async fn until_budget_is_short(&self) {
        self.budgets.until_short().await;
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

    /// Waits until no connection is open, for at most `time_max`; false if some still are.
    pub(super) async fn drained(&self, time_max: Duration) -> bool {
        let ended = async {
            while self.open() > 0 {
                self.ended.notified().await;
            }
        };
        timeout(time_max, ended).await.is_ok()
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

    fn insert(&mut self, entry: ConnectionEntry) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        for network in entry.networks.into_iter().flatten() {
            self.networks.entry(network).or_default().insert(key);
        }
        self.entries.insert(key, entry);
        key
    }

    fn remove(&mut self, key: u64) -> Option<ConnectionEntry> {
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

    /// Closes the connection of `network` whose [`Standing`] is first in a sample, and returns the standing. Its place in the
    /// table is free at once. `None` if all of the sample make progress, or [`CLOSING_MAX`] are closing.
    fn evict(&mut self, network: IpNet, now: u64) -> Option<Standing> {
        if self.closing >= CLOSING_MAX {
            return None;
        }
        let (standing, key) = self.first_in_sample(network, now)?;
        let entry = self.remove(key)?;
        self.closing += 1;
        entry.evict(match standing {
            Standing::Stalled { .. } => Eviction::Abort,
            Standing::Idle { .. } | Standing::New { .. } => Eviction::Idle,
        });
        Some(standing)
    }

    /// Returns the first [`Standing`] of the next [`SAMPLE`] connections of `network`, with the key of the connection. The
    /// next sample begins behind this one.
    fn first_in_sample(&mut self, network: IpNet, now: u64) -> Option<(Standing, u64)> {
        let from = self.sample_from;
        let keys = self.networks.get(&network)?;
        let keys_in_turn = keys.range(from..).chain(keys.range(..from));
        let sample: Vec<u64> = keys_in_turn.take(SAMPLE).copied().collect();
        self.sample_from = sample.last()?.wrapping_add(1);
        let standings = sample.iter().filter_map(|key| {
            let entry = self.entries.get(key)?;
            Some((entry.status.standing(now)?, *key))
        });
        standings.min()
    }
}

impl ConnectionEntry {
    /// Makes the connection close.
    fn evict(&self, eviction: Eviction) {
        self.status.eviction.store(eviction as u8, SeqCst);
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

/// A connection that was added to the table.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) permit: ConnectionPermit,
    /// The limit that was reached, if another connection was evicted.
    pub(super) evicted_for: Option<LimitReached>,
}

/// The place of a connection in the table; dropping it frees the place.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    key: u64,
    status: Arc<ConnectionStatus>,
    peer: IpAddr,
    /// Bytes that the connection had moved when the measured progress began.
    measured_from: Cell<u64>,
}

impl ConnectionPermit {
    /// Returns the address of the peer.
    pub(super) fn address(&self) -> IpAddr {
        self.peer
    }

    /// Returns the peer of the connection, with its account.
    pub(super) fn peer(&self) -> Peer {
        Peer {
            address: self.peer,
            account: self.status.account.clone(),
        }
    }

    /// Waits for `event`; `None` if the connection is evicted before, or the server stops and the event does not follow
    /// within `farewell`. The task that calls it is from then on woken whenever the connection must close.
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
                    Leave::Evicted | Leave::Aborted => Duration::ZERO,
                    Leave::Drain => farewell,
                };
                timeout(farewell, event).await.ok()
            }
            outcome = &mut event => Some(outcome),
        }
    }

    /// Returns why the connection must close, if it must.
    pub(super) fn leave(&self) -> Option<Leave> {
        let eviction = self.status.eviction.load(SeqCst);
        if eviction == Eviction::Abort as u8 {
            return Some(Leave::Aborted);
        }
        if eviction == Eviction::Idle as u8 {
            return Some(Leave::Evicted);
        }
        if self.connections.draining.load(SeqCst) {
            return Some(Leave::Drain);
        }
        None
    }

    /// Tells whether this connection has to close, because a new one has taken its place or others need the bytes that it holds.
    pub(super) fn is_evicted(&self) -> bool {
        self.status.eviction.load(SeqCst) != Eviction::None as u8
    }

    /// Records that the connection has only waited for a request since this time.
    pub(super) fn note_waiting(&self, since: Instant) {
        let since = micros(since - self.connections.began);
        self.status.waits_since.store(since, Relaxed);
    }

    /// Records that a request or a response is in progress, and how many bytes the connection has moved until `now`.
    pub(super) fn note_busy(&self, now: Instant, moved_bytes: u64) {
        let status = &self.status;
        let now = micros(now - self.connections.began);
        let was_busy = status.waits_since.swap(BUSY, Relaxed) == BUSY;
        if was_busy && status.progress(now).elapsed_us < micros(PROGRESS_WINDOW) {
            let bytes = moved_bytes - self.measured_from.get();
            status.progress_bytes.store(bytes, Relaxed);
            return;
        }
        self.measure_from(now, moved_bytes);
    }

    /// Records that the peer does not read all output at once. What the socket has taken until now does not count as progress.
    pub(super) fn note_blocked(&self, now: Instant, moved_bytes: u64) {
        self.measure_from(micros(now - self.connections.began), moved_bytes);
    }

    /// Measures progress from `now` on.
    fn measure_from(&self, now: u64, moved_bytes: u64) {
        self.measured_from.set(moved_bytes);
        self.status.progress_since.store(now, Relaxed);
        self.status.progress_bytes.store(0, Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        // An evicted connection has been removed from the table already.
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
