//! Limits in sum: budgets of the bytes that responses and request bodies in flight hold, for the process and for each
//! client.
//!
//! A part of the program that makes bytes for a client takes a [`Share`] of the budgets from the [`Account`] of the
//! connection, keeps it beside the bytes, and drops both together. If a budget has no room, the request is refused.
//! Bytes that are shared with the snapshot are never counted.
//!
//! Some memory cannot be refused, because the peer makes the server hold it before a request is handled: streams of
//! HTTP/2, and output that the peer does not read. It is counted by `Account::hold`, and when too much of a budget is
//! held, [`Budgets::until_short`] wakes the task that closes connections.
//!
//! `docs/design/limits.md` has the sum of all limits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::wire::network::{IpNet, networks_of_client};

/// The default budget of a client, 8 MiB. Our choice: several of the largest responses, which are about a megabyte.
pub const CLIENT_BYTES: u64 = 8 << 20;

/// The share of the process's memory that its budget is by default, as a divisor.
pub const PROCESS_PART: u64 = 8;

/// The share of the process's memory that connections may take by default, as a divisor.
pub const CONNECTIONS_PART: u64 = 4;

/// The default limit of connections where memory does not make it lower. Our choice: far above what a business's readers
/// open.
pub const CONNECTIONS_DEFAULT: u32 = 10_000;

/// The least default limit of connections.
pub const CONNECTIONS_LEAST: u32 = 64;

/// What a connection may hold beside its budgets, most of it the buffers of hyper and half of a head of 16 KiB; measured in
/// `docs/design/limits.md`.
pub const CONNECTION_BYTES: u64 = 64 << 10;

/// What a connection with TLS may hold beside its budgets: in addition the buffers of TLS.
pub const TLS_CONNECTION_BYTES: u64 = 128 << 10;

/// What a thread that serves requests may hold: a response that is being made, and the values of a message of MCP.
pub const THREAD_BYTES: u64 = 5 << 20;

/// What all tables and queues hold when they are full: three rates, the events of the log, the requests of the hub.
pub const TABLES_BYTES: u64 = (3 + 2 + 8) << 20;

/// The limit of an IPv6 /48, as a multiple of the limit of a client. A provider assigns up to a /48 to one customer (RFC
/// 6177 §2), which contains 65,536 clients with a /64 each. Our choice.
pub const SITE_SHARES: u32 = 4;

/// A body of fewer bytes is not counted, because the connection or the stream that holds it is.
pub const SMALL_BODY_BYTES: u64 = 4 << 10;

/// What an HTTP/2 stream with an unfinished response is counted as: its state, the heads of request and response, and a
/// body of less than [`SMALL_BODY_BYTES`].
pub const STREAM_BYTES: u64 = 8 << 10;

/// What the output of a connection whose peer does not read it is counted as: the buffers of the kernel, as limited by
/// `server::listener`.
pub const UNREAD_OUTPUT_BYTES: u64 = 128 << 10;

/// What such output is counted as in addition on a connection with TLS or HTTP/2, for their buffers in the process.
pub const ENCODED_OUTPUT_BYTES: u64 = 64 << 10;

/// The least average rate at which a peer must read pending output, in bytes per second. A connection below it counts as
/// one that makes no progress.
pub const RATE_MIN: u32 = 4 << 10;

/// Returns the default limit of connections of a process with this memory in bytes: as many as fit in a quarter of it, at
/// least [`CONNECTIONS_LEAST`] and at most [`CONNECTIONS_DEFAULT`].
#[must_use]
pub fn connections_within(memory_bytes: u64, connection_bytes: u64) -> u32 {
    let most = memory_bytes / CONNECTIONS_PART / connection_bytes;
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    most.clamp(CONNECTIONS_LEAST, CONNECTIONS_DEFAULT)
}

/// The limits from which follows how much all clients together can make the process hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientMemory {
    /// The budget of the process; see [`BudgetLimits::process_bytes`].
    pub in_flight_bytes: u64,
    /// The largest number of connections.
    pub connections: u32,
    /// What each of them may hold: [`CONNECTION_BYTES`] or [`TLS_CONNECTION_BYTES`].
    pub connection_bytes: u64,
    /// The threads that serve requests.
    pub threads: u64,
}

impl ClientMemory {
    /// Returns the number of bytes that all clients together can make the process and its sockets hold.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        let in_flight = self.in_flight_bytes.saturating_mul(2);
        let connections = u64::from(self.connections).saturating_mul(self.connection_bytes);
        let threads = self.threads.saturating_mul(THREAD_BYTES);
        let sum = in_flight.saturating_add(connections);
        sum.saturating_add(threads).saturating_add(TABLES_BYTES)
    }
}

/// The settings of the budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Bytes that all clients together may hold; sockets may hold the same again.
    pub process_bytes: u64,
    /// Bytes that one client may hold (IPv6: a /64; a /48 may hold [`SITE_SHARES`] times as many); 0 for no limit.
    pub client_bytes: u64,
}

/// The budget that has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// That of the client.
    #[error("this client has too many unfinished responses")]
    Client,
    /// That of the process.
    #[error("this server has too many unfinished responses")]
    Process,
}

/// The budgets of a listener.
#[derive(Debug)]
pub struct Budgets {
    limits: BudgetLimits,
    process: Ledger,
    /// Output that peers do not read.
    sockets: Ledger,
    /// The clients that have an account now.
    clients: Mutex<HashMap<IpNet, Arc<Ledger>>>,
    /// Requests that the budget of their client has refused.
    refused_by_client: AtomicU64,
    /// Requests that the budget of the process has refused.
    refused_by_process: AtomicU64,
    /// Notified when more than three quarters of the process's budget are held, or of that of sockets.
    shortage: Notify,
}

/// The number of bytes that an owner holds.
#[derive(Debug, Default)]
struct Ledger(AtomicU64);

impl Ledger {
    fn held(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Adds `bytes`; returns the sum.
    fn add(&self, bytes: u64) -> u64 {
        self.0.fetch_add(bytes, Relaxed).saturating_add(bytes)
    }

    fn remove(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Relaxed);
    }

    /// Adds `bytes` if the sum stays at `max` or below, or if nothing was held; returns whether it did.
    fn add_within(&self, bytes: u64, max: u64) -> bool {
        let sum = self.add(bytes);
        let fits = sum <= max || sum == bytes;
        if !fits {
            self.remove(bytes);
        }
        fits
    }
}

impl Budgets {
    /// Creates budgets of which nothing is held.
    #[must_use]
    pub fn new(limits: BudgetLimits) -> Arc<Budgets> {
        Arc::new(Budgets {
            limits,
            process: Ledger::default(),
            sockets: Ledger::default(),
            clients: Mutex::default(),
            refused_by_client: AtomicU64::new(0),
            refused_by_process: AtomicU64::new(0),
            shortage: Notify::new(),
        })
    }

    /// Opens the account of a connection. Its bytes count for the process, and for `client` if there is one.
    #[must_use]
    pub fn account(self: &Arc<Self>, client: Option<IpAddr>) -> Account {
        Account::open(self, client, Arc::default())
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> BudgetLimits {
        self.limits
    }

    /// Returns the number of bytes that responses and request bodies hold.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.process.held()
    }

    /// Returns the number of bytes of output that peers do not read.
    #[must_use]
    pub fn held_by_sockets(&self) -> u64 {
        self.sockets.held()
    }

    /// Returns the number of requests that each budget has refused.
    #[must_use]
    pub fn refused(&self) -> [(&'static str, u64); 2] {
        [
            ("client", self.refused_by_client.load(Relaxed)),
            ("process", self.refused_by_process.load(Relaxed)),
        ]
    }

    /// Returns the number of bytes held beyond three quarters of the process's budget, or of that of sockets; 0 if fewer
    /// are held.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.most_held().saturating_sub(self.high_water())
    }

    /// Tells whether the process's budget is used up, so that requests are refused.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.held() >= self.limits.process_bytes
    }

    /// Waits until [`Budgets::excess`] is not 0.
    pub async fn until_short(&self) {
        while self.excess() == 0 {
            self.shortage.notified().await;
        }
    }

    fn most_held(&self) -> u64 {
        self.held().max(self.held_by_sockets())
    }

    fn ledger(&self, kind: ShareKind) -> &Ledger {
        match kind {
            ShareKind::Made | ShareKind::Stream => &self.process,
            ShareKind::Output => &self.sockets,
        }
    }

    fn high_water(&self) -> u64 {
        self.limits.process_bytes / 4 * 3
    }

    /// Locks the table of clients; no panic can leave it inconsistent.
    fn lock(&self) -> MutexGuard<'_, HashMap<IpNet, Arc<Ledger>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a connection holds, and the client that it counts for; clones share it.
#[derive(Clone, Debug)]
pub struct Account(Arc<AccountLedgers>);

#[derive(Debug)]
struct AccountLedgers {
    budgets: Arc<Budgets>,
    connection: Arc<Ledger>,
    /// The /64 and the /48 of the client, or its IPv4 address.
    client: [Option<ClientLedger>; 2],
}

#[derive(Debug)]
struct ClientLedger {
    network: IpNet,
    ledger: Arc<Ledger>,
    bytes_max: u64,
}

impl ClientLedger {
    /// Returns the ledger of `network` in the table of clients, which may be a new one.
    fn open(
        clients: &mut HashMap<IpNet, Arc<Ledger>>,
        network: IpNet,
        bytes_max: u64,
    ) -> ClientLedger {
        ClientLedger {
            network,
            ledger: Arc::clone(clients.entry(network).or_default()),
            bytes_max,
        }
    }
}

impl Account {
    fn open(budgets: &Arc<Budgets>, client: Option<IpAddr>, connection: Arc<Ledger>) -> Account {
        let client_bytes = budgets.limits.client_bytes;
        let mut ledgers = [None, None];
        if let Some(client) = client
            && client_bytes > 0
        {
            let [network, site] = networks_of_client(client);
            let site_bytes = client_bytes.saturating_mul(u64::from(SITE_SHARES));
            let mut clients = budgets.lock();
            ledgers = [
                network.map(|network| ClientLedger::open(&mut clients, network, client_bytes)),
                site.map(|site| ClientLedger::open(&mut clients, site, site_bytes)),
            ];
        }
        Account(Arc::new(AccountLedgers {
            budgets: Arc::clone(budgets),
            connection,
            client: ledgers,
        }))
    }

    /// Returns an account of the same connection whose bytes count for `client`, as a proxy sends requests of many clients on
    /// a connection.
    #[must_use]
    pub fn for_client(&self, client: IpAddr) -> Account {
        let AccountLedgers {
            budgets,
            connection,
            ..
        } = &*self.0;
        Account::open(budgets, Some(client), Arc::clone(connection))
    }

    /// Takes a share of `bytes` bytes.
    ///
    /// # Errors
    /// - [`Shortage::Client`], if the client would hold more than its budget and holds something already.
    /// - [`Shortage::Process`], if all clients together hold the whole budget of the process already.
    pub fn take(&self, bytes: u64) -> Result<Share, Shortage> {
        let mut share = Share {
            account: self.clone(),
            bytes: 0,
            kind: ShareKind::Made,
        };
        share.grow(bytes)?;
        Ok(share)
    }

    /// Counts a stream of HTTP/2 for the connection and the process; it is never refused.
    #[must_use]
    pub fn hold_stream(&self) -> Share {
        self.hold(STREAM_BYTES, ShareKind::Stream)
    }

    /// Counts `bytes` bytes of output that the peer does not read, for the connection and for the budget of sockets; they are
    /// never refused.
    #[must_use]
    pub fn hold_output(&self, bytes: u64) -> Share {
        self.hold(bytes, ShareKind::Output)
    }

    fn hold(&self, bytes: u64, kind: ShareKind) -> Share {
        self.add(bytes, kind);
        let account = self.clone();
        Share {
            account,
            bytes,
            kind,
        }
    }

    /// Returns the number of bytes that the connection holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.0.connection.held()
    }

    /// Adds bytes for the connection, and for the process or its sockets.
    fn add(&self, bytes: u64, kind: ShareKind) {
        let budgets = &self.0.budgets;
        self.0.connection.add(bytes);
        if budgets.ledger(kind).add(bytes) > budgets.high_water() {
            budgets.shortage.notify_one();
        }
    }

    /// Adds bytes for the client if its budgets have room; returns whether they have.
    fn add_for_client(&self, bytes: u64) -> bool {
        for (added, client) in self.0.client.iter().enumerate() {
            if let Some(client) = client
                && !client.ledger.add_within(bytes, client.bytes_max)
            {
                self.remove_for_client(&self.0.client[..added], bytes);
                return false;
            }
        }
        true
    }

    fn remove_for_client(&self, ledgers: &[Option<ClientLedger>], bytes: u64) {
        for client in ledgers.iter().flatten() {
            client.ledger.remove(bytes);
        }
    }
}

impl Drop for AccountLedgers {
    fn drop(&mut self) {
        if self.client.iter().all(Option::is_none) {
            return;
        }
        let mut clients = self.budgets.lock();
        for client in self.client.iter().flatten() {
            // The table and this account have the last two references; the table is locked, so there is no third one.
            if Arc::strong_count(&client.ledger) == 2 {
                clients.remove(&client.network);
            }
        }
    }
}

/// A share of the budgets; dropping it gives it back.
#[derive(Debug)]
pub struct Share {
    account: Account,
    bytes: u64,
    kind: ShareKind,
}

/// What a share is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShareKind {
    /// A response that was made, or a request body: the only kind that can be refused, and that counts for a client.
    Made,
    /// A stream of HTTP/2.
    Stream,
    /// Output that the peer does not read.
    Output,
}

impl Share {
    /// Takes `bytes` bytes more; see [`Account::take`].
    ///
    /// # Errors
    /// As for [`Account::take`]. The share is then as large as before.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Shortage> {
        let account = &self.account;
        let budgets = &account.0.budgets;
        if !account.add_for_client(bytes) {
            budgets.refused_by_client.fetch_add(1, Relaxed);
            return Err(Shortage::Client);
        }
        // Each thread may exceed the budget by one response, because its size is known only when it has been made.
        if budgets.held() >= budgets.limits.process_bytes {
            account.remove_for_client(&account.0.client, bytes);
            budgets.refused_by_process.fetch_add(1, Relaxed);
            budgets.shortage.notify_one();
            return Err(Shortage::Process);
        }
        account.add(bytes, self.kind);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Share {
            account,
            bytes,
            kind,
        } = self;
        account.0.connection.remove(*bytes);
        account.0.budgets.ledger(*kind).remove(*bytes);
        if *kind == ShareKind::Made {
            account.remove_for_client(&account.0.client, *bytes);
        }
    }
}

#[cfg(test)]
mod tests;
