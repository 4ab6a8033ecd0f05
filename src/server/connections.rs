//! The connections that are open: counted against their limits, in all and for each address, and reached when the
//! server drains.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::config::Limits;
use crate::http::Proxies;
use crate::wire::network::client_key;

/// Every open connection.
///
/// The table is locked when a connection opens or closes and when the server drains, never for a request.
#[derive(Debug)]
pub(super) struct Connections {
    draining: AtomicBool,
    permits: Arc<Semaphore>,
    /// How many may be open at a time.
    max: u32,
    /// How many one address may have; 0 for any number.
    per_address_max: u32,
    /// Who may have any number.
    proxies: Proxies,
    next: AtomicU64,
    /// Wakes the task of each connection.
    wakers: Mutex<HashMap<u64, Waker>>,
    /// How many each client has that has any, by [`client_key`].
    addresses: Mutex<HashMap<u64, u32>>,
}

/// Why a connection gets no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All are taken.
    All,
    /// Its address has its share.
    Address,
}

impl Connections {
    /// Returns an empty table with room for as many connections as `limits` say.
    pub(super) fn new(limits: &Limits, proxies: Proxies) -> Connections {
        let max = limits.connections;
        Connections {
            draining: AtomicBool::new(false),
            permits: Arc::new(Semaphore::new(max as usize)),
            max,
            per_address_max: limits.connections_per_address,
            proxies,
            next: AtomicU64::new(0),
            wakers: Mutex::new(HashMap::new()),
            addresses: Mutex::new(HashMap::new()),
        }
    }

    /// Takes a place for one more connection, from `peer`.
    ///
    /// # Errors
    /// When there is none, for it or for anybody.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Membership, Full> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| Full::All)?;
        let is_counted = self.per_address_max > 0 && !self.proxies.contain(peer);
        let address = is_counted.then(|| client_key(peer));
        if let Some(address) = address {
            let mut addresses = lock(&self.addresses);
            let open = addresses.entry(address).or_insert(0);
            // One that has none is below every limit, so no entry of 0 is left behind.
            if *open >= self.per_address_max {
                return Err(Full::Address);
            }
            *open += 1;
        }
        Ok(Membership {
            connections: Arc::clone(self),
            key: self.next.fetch_add(1, Ordering::Relaxed),
            address,
            waker: None,
            _permit: permit,
        })
    }

    /// Returns how many connections are open.
    pub(super) fn open(&self) -> u32 {
        let free = u32::try_from(self.permits.available_permits()).unwrap_or(self.max);
        self.max.saturating_sub(free)
    }

    /// Returns how many may be open at a time.
    pub(super) fn max(&self) -> u32 {
        self.max
    }

    /// Asks every connection to end after the request that it is working on; idle ones end at once.
    pub(super) fn begin_drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let wakers: Vec<Waker> = lock(&self.wakers).drain().map(|(_, waker)| waker).collect();
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
}

/// Locks a table; a panic elsewhere cannot leave a map half changed.
fn lock<T>(table: &Mutex<HashMap<u64, T>>) -> MutexGuard<'_, HashMap<u64, T>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection's place among the others; dropping it makes room.
#[derive(Debug)]
pub(super) struct Membership {
    connections: Arc<Connections>,
    key: u64,
    /// Among whose connections it is counted; `None` for a proxy's.
    address: Option<u64>,
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
            lock(&self.connections.wakers).insert(self.key, waker);
        }
        // Asked after the waker is in the table: a drain that begins now finds it there.
        if self.is_draining() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Tells whether the server drains.
    pub(super) fn is_draining(&self) -> bool {
        self.connections.draining.load(Ordering::SeqCst)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        lock(&self.connections.wakers).remove(&self.key);
        if let Some(address) = self.address {
            let mut addresses = lock(&self.connections.addresses);
            match addresses.get_mut(&address) {
                Some(open) if *open > 1 => *open -= 1,
                _ => {
                    addresses.remove(&address);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::ProxyField;
    use crate::wire::network::Network;

    fn table(max: u32, per_address_max: u32) -> Arc<Connections> {
        let mut limits = crate::server::connection::tests::config().limits;
        limits.connections = max;
        limits.connections_per_address = per_address_max;
        let proxies = Proxies {
            networks: vec![Network::parse("10.0.0.0/8").unwrap()],
            field: ProxyField::XForwardedFor,
        };
        Arc::new(Connections::new(&limits, proxies))
    }

    fn admit(table: &Arc<Connections>, address: &str) -> Result<Membership, Full> {
        table.admit(address.parse().expect(address))
    }

    #[test]
    fn an_address_may_have_its_share_and_gets_a_place_back() {
        let table = table(100, 2);
        let first = admit(&table, "192.0.2.1").unwrap();
        let _second = admit(&table, "::ffff:192.0.2.1").unwrap();
        assert_eq!(admit(&table, "192.0.2.1").unwrap_err(), Full::Address);
        assert!(admit(&table, "192.0.2.2").is_ok());
        drop(first);
        let _third = admit(&table, "192.0.2.1").unwrap();
        assert_eq!(admit(&table, "192.0.2.1").unwrap_err(), Full::Address);
        assert_eq!(table.open(), 2);
    }

    #[test]
    fn an_ipv6_client_is_its_64() {
        let table = table(100, 1);
        let _first = admit(&table, "2001:db8::1").unwrap();
        assert_eq!(admit(&table, "2001:db8::2").unwrap_err(), Full::Address);
        assert!(admit(&table, "2001:db8:0:1::1").is_ok());
    }

    #[test]
    fn a_proxy_may_have_all_places_and_no_more() {
        let table = table(3, 1);
        let held: Vec<_> = (0..3).map(|_| admit(&table, "10.1.2.3").unwrap()).collect();
        assert_eq!(admit(&table, "10.1.2.3").unwrap_err(), Full::All);
        drop(held);
        assert_eq!(table.open(), 0);
    }

    #[test]
    fn nothing_is_remembered_of_who_has_gone() {
        let table = table(100, 1);
        for number in 0..50_u32 {
            drop(table.admit(IpAddr::V4(number.into())).unwrap());
        }
        assert!(lock(&table.addresses).is_empty());
    }
}
