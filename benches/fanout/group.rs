//! Subscribers that take everything: what they received, and their certificates.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

use super::authority;
use super::subscriber::Received;

/// What healthy subscribers received.
#[derive(Default)]
pub(crate) struct Group {
    deliveries: Mutex<Deliveries>,
    count: AtomicUsize,
}

/// A body is kept once, however many have received it: a hundred thousand feeds are three gigabytes.
#[derive(Default)]
struct Deliveries {
    bodies: Vec<Vec<u8>>,
    /// To which path, when, and the place of its body.
    all: Vec<(String, Instant, usize)>,
}

impl Group {
    /// Notes a request, if it is a delivery.
    pub(crate) fn note(&self, request: &Received) {
        if request.method != "POST" {
            return;
        }
        let mut deliveries = self.deliveries.lock().unwrap();
        let Deliveries { bodies, all } = &mut *deliveries;
        let place = bodies
            .iter()
            .position(|body| *body == request.body)
            .unwrap_or_else(|| {
                bodies.push(request.body.clone());
                bodies.len() - 1
            });
        all.push((request.target.clone(), request.at, place));
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many deliveries there were.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn forget(&self) {
        *self.deliveries.lock().unwrap() = Deliveries::default();
        self.count.store(0, Ordering::Relaxed);
    }

    /// Asserts that `expected` subscribers have received `served`, once each, and returns when, in order.
    pub(crate) fn check(&self, served: &[u8], expected: usize, began: Instant) -> Vec<Duration> {
        let deliveries = self.deliveries.lock().unwrap();
        let all = &deliveries.all;
        let targets: HashSet<&str> = all.iter().map(|(target, ..)| target.as_str()).collect();
        assert_eq!((all.len(), targets.len()), (expected, expected));
        assert!(
            deliveries.bodies == [served],
            "everybody has the content that is served"
        );
        let since = |(_, at, _): &(String, Instant, usize)| at.duration_since(began);
        let mut times: Vec<Duration> = all.iter().map(since).collect();
        times.sort();
        times
    }
}

/// A certificate for each address that was ever asked for.
pub(crate) struct Certificates {
    made: Mutex<HashMap<IpAddr, Arc<ServerConfig>>>,
    /// Shared, because each would reserve room for sessions of its own.
    sessions: Arc<dyn StoresServerSessions>,
}

impl Certificates {
    pub(crate) fn new() -> Arc<Certificates> {
        Arc::new(Certificates {
            made: Mutex::default(),
            sessions: ServerSessionMemoryCache::new(32_768),
        })
    }

    /// Returns that of an address, made when it is first asked for: before any clock runs.
    pub(crate) fn of(&self, address: IpAddr) -> Arc<ServerConfig> {
        let mut made = self.made.lock().unwrap();
        let config = made.entry(address).or_insert_with(|| {
            let mut config = (*authority::server_config(&[&address.to_string()])).clone();
            config.session_storage = Arc::clone(&self.sessions);
            Arc::new(config)
        });
        Arc::clone(config)
    }
}

/// Returns the address of a subscriber, each another one.
pub(crate) fn host(number: usize) -> Ipv4Addr {
    let low = 256 + u32::try_from(number).unwrap();
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 1, 0, 0).to_bits() + low)
}
