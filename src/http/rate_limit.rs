//! Rate limiting per client: a token bucket for each address, in a table of fixed size.
//!
//! A bucket holds one minute of requests, which may be used as a burst, and refills evenly (GCRA). It is stored as a
//! single number, the time at which it will be full again, so an unused bucket needs no entry.
//!
//! The table is 16-way set-associative; a randomly keyed hash picks the set. When a set is full, the entry with the
//! fullest bucket is evicted: new clients are always admitted, and throttled clients are evicted last.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::network::client_key;

/// Entries of the table of one limit: 16 bytes each, 1 MiB in total, plus locks. A limit of 0 has no table.
const CLIENTS_MAX: usize = 65_536;

/// Buckets of a set. A request scans all of them, under the lock of the set.
const WAYS: usize = 16;

/// Sets of the table.
const SETS: usize = CLIENTS_MAX / WAYS;

/// Time in which an empty bucket refills, and after which the entry of an inactive client counts as free.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// [`WINDOW`] in nanoseconds.
const WINDOW_NS: u64 = 60_000_000_000;

/// A part of the service with a rate limit of its own; the number is its index in the table of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateLimitScope {
    /// Requests that are answered without reading a body.
    Reads = 0,
    Mcp = 1,
    Hub = 2,
}

/// The rate limit of one part of the service.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    policy: &'static str,
    per_minute: u32,
    /// The time from which `full_at_ns` counts.
    began: Instant,
    hash: RandomState,
    sets: Box<[Mutex<[Bucket; WAYS]>]>,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The key of the client; see [`client_key`].
    client: u64,
    /// When the bucket is full again, in nanoseconds since [`RateLimiter::began`]; 0 in an unused entry.
    full_at_ns: u64,
}

/// Quota of a client after a request; sent as `RateLimit` and `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimitStatus {
    /// The name of the policy in RateLimit and RateLimit-Policy.
    pub(crate) policy: &'static str,
    /// Requests permitted in [`WINDOW`].
    pub(crate) per_minute: u32,
    /// Requests left after this one.
    pub(crate) left: u32,
    /// Time until one more request is permitted.
    pub(crate) next: Duration,
    /// Whether this request is refused.
    pub(crate) is_exceeded: bool,
}

impl RateLimiter {
    /// Permits `per_minute` requests a minute; 0 permits any number.
    pub(crate) fn new(policy: &'static str, per_minute: u32, began: Instant) -> RateLimiter {
        let free = Bucket {
            client: 0,
            full_at_ns: 0,
        };
        let sets = if per_minute > 0 { SETS } else { 0 };
        RateLimiter {
            policy,
            per_minute,
            began,
            hash: RandomState::new(),
            sets: (0..sets).map(|_| Mutex::new([free; WAYS])).collect(),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the name of the policy and the number of refused requests.
    pub(crate) fn refused(&self) -> (&'static str, u64) {
        (self.policy, self.refused.load(Relaxed))
    }

    /// Tells whether any number of requests is permitted.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.per_minute == 0
    }

    /// Takes one token for a client (IPv6: its /64); a refused request takes none. Returns `None` if any number of requests
    /// is permitted.
    pub(crate) fn take(&self, client: IpAddr, now: Instant) -> Option<RateLimitStatus> {
        let token_ns = WINDOW_NS.checked_div(self.per_minute.into())?;
        let now_ns = self.since_start_ns(now);
        let client = client_key(client);
        let set = self.hash.hash_one(client) % SETS as u64;
        let mut buckets = self.sets[set as usize]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let bucket = find_or_evict(&mut buckets, client, now_ns);
        let missing_before_ns = bucket.full_at_ns.saturating_sub(now_ns);
        let missing_after_ns = missing_before_ns.saturating_add(token_ns);
        let is_exceeded = missing_after_ns > WINDOW_NS;
        let missing_ns = if is_exceeded {
            self.refused.fetch_add(1, Relaxed);
            missing_before_ns
        } else {
            bucket.full_at_ns = now_ns.saturating_add(missing_after_ns);
            missing_after_ns
        };
        let available_ns = WINDOW_NS - missing_ns;
        Some(RateLimitStatus {
            policy: self.policy,
            per_minute: self.per_minute,
            left: u32::try_from(available_ns / token_ns).unwrap_or(u32::MAX),
            next: Duration::from_nanos(token_ns - available_ns % token_ns),
            is_exceeded,
        })
    }

    /// Returns the nanoseconds from the start until `now`, at most [`u64::MAX`]: 584 years.
    fn since_start_ns(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.began);
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Returns the bucket of `client`. If there is none, or only one that has become full, the fullest bucket of the set is
/// replaced by a full one of `client`.
fn find_or_evict(buckets: &mut [Bucket; WAYS], client: u64, now_ns: u64) -> &mut Bucket {
    let counted = buckets
        .iter()
        .position(|bucket| bucket.client == client && bucket.full_at_ns > now_ns);
    let way = counted.unwrap_or_else(|| {
        let fullest = (0..WAYS).min_by_key(|way| buckets[*way].full_at_ns);
        let evicted = fullest.unwrap_or(0);
        buckets[evicted] = Bucket {
            client,
            full_at_ns: now_ns,
        };
        evicted
    });
    &mut buckets[way]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_minute: u32) -> (RateLimiter, Instant) {
        let now = Instant::now();
        (RateLimiter::new("test", per_minute, now), now)
    }

    fn take(rate: &RateLimiter, client: IpAddr, now: Instant) -> RateLimitStatus {
        rate.take(client, now).expect("a limit")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn number(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn a_limit_of_zero_permits_any_number() {
        let (rate, now) = rate(0);
        assert!(rate.is_unlimited());
        assert_eq!(rate.take(ip("192.0.2.1"), now), None);
    }

    #[test]
    fn a_burst_of_sixty_is_permitted_and_then_one_request_per_second() {
        let (rate, now) = rate(60);
        let client = ip("192.0.2.1");
        for left in (0..60).rev() {
            let status = take(&rate, client, now);
            assert_eq!((status.left, status.is_exceeded), (left, false));
        }
        let second = Duration::from_secs(1);
        for (after_ms, wait_ms) in [(0, 1_000), (999, 1)] {
            let status = take(&rate, client, now + Duration::from_millis(after_ms));
            let wait = Duration::from_millis(wait_ms);
            assert_eq!(
                (status.left, status.next, status.is_exceeded),
                (0, wait, true)
            );
        }
        assert!(!take(&rate, ip("192.0.2.2"), now).is_exceeded);
        assert!(!take(&rate, client, now + second).is_exceeded);
        assert!(take(&rate, client, now + second).is_exceeded);
        // A minute without requests fills the bucket; more time adds nothing.
        let later = now + 10 * WINDOW;
        assert_eq!(take(&rate, client, later).left, 59);
    }

    #[test]
    fn limits_that_do_not_divide_a_minute_are_permitted_in_full() {
        for per_minute in [1, 7, 61, 1_000_003, u32::MAX] {
            let (rate, now) = rate(per_minute);
            let permitted = (0..100)
                .filter(|_| !take(&rate, ip("::1"), now).is_exceeded)
                .count();
            assert_eq!(permitted, 100.min(per_minute as usize), "{per_minute}");
        }
    }

    #[test]
    fn ipv6_clients_are_limited_by_64_and_mapped_addresses_as_ipv4() {
        let (rate, now) = rate(1);
        for (client, is_exceeded) in [
            ("2001:db8::1", false),
            ("2001:db8::ffff:2", true),
            ("2001:db8:0:1::1", false),
            ("192.0.2.1", false),
            ("::ffff:192.0.2.1", true),
        ] {
            assert_eq!(take(&rate, ip(client), now).is_exceeded, is_exceeded);
        }
    }

    #[test]
    fn new_clients_are_admitted_to_a_full_table_and_evict_no_empty_bucket() {
        let (rate, now) = rate(2);
        let greedy = ip("192.0.2.1");
        while !take(&rate, greedy, now).is_exceeded {}
        for crowd in 0..4 * CLIENTS_MAX as u32 {
            let status = take(&rate, number(0x0a00_0000 + crowd), now);
            assert!(!status.is_exceeded, "{crowd}");
        }
        assert!(take(&rate, greedy, now).is_exceeded);
        assert!(!take(&rate, greedy, now + WINDOW / 2).is_exceeded);
    }
}
