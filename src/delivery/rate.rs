//! How often one client may ask: a bucket for each address, refilled evenly.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Requests a minute for each client address; an IPv6 client is its /64.
#[derive(Debug)]
pub struct Rate {
    per_minute: u32,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Requests left, in thousandths.
    left_milli: u64,
    at: Instant,
}

impl Rate {
    /// Permits `per_minute` requests a minute, all of which may come at once; 0 permits any number.
    #[must_use]
    pub fn new(per_minute: u32) -> Rate {
        Rate {
            per_minute,
            buckets: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one request from the client's bucket.
    ///
    /// # Errors
    /// How long until there is one.
    pub fn take(&self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let most_milli = u64::from(self.per_minute) * 1000;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = group(client);
        if buckets.len() >= CLIENTS_MAX && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| bucket.refilled(most_milli, now) < most_milli);
            if buckets.len() >= CLIENTS_MAX {
                // Whoever comes when the table is full shares one bucket with all others who do.
                key = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket {
            left_milli: most_milli,
            at: now,
        });
        let left_milli = bucket.refilled(most_milli, now);
        if left_milli < 1000 {
            let wait_ms = (1000 - left_milli) * 60_000 / most_milli;
            return Err(Duration::from_millis(wait_ms));
        }
        *bucket = Bucket {
            left_milli: left_milli - 1000,
            at: now,
        };
        Ok(())
    }
}

impl Bucket {
    fn refilled(&self, most_milli: u64, now: Instant) -> u64 {
        let elapsed_ms =
            u64::try_from(now.saturating_duration_since(self.at).as_millis()).unwrap_or(u64::MAX);
        let more = elapsed_ms.saturating_mul(most_milli) / 60_000;
        self.left_milli.saturating_add(more).min(most_milli)
    }
}

/// Whoever has an IPv6 address has its /64.
fn group(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

/// Clients remembered at a time, about a megabyte.
const CLIENTS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[test]
    fn sixty_may_come_at_once_and_then_one_a_second() {
        let (rate, now) = (Rate::new(60), Instant::now());
        for _ in 0..60 {
            assert_eq!(rate.take(ip("192.0.2.1"), now), Ok(()));
        }
        assert_eq!(rate.take(ip("192.0.2.1"), now), Err(Duration::from_secs(1)));
        assert_eq!(
            rate.take(ip("192.0.2.1"), now + Duration::from_millis(999)),
            Err(Duration::from_millis(1))
        );
        assert_eq!(rate.take(ip("192.0.2.2"), now), Ok(()));
        assert_eq!(
            rate.take(ip("192.0.2.1"), now + Duration::from_secs(1)),
            Ok(())
        );
    }

    #[test]
    fn an_ipv6_client_is_its_64_and_a_mapped_address_its_ipv4_one() {
        let (rate, now) = (Rate::new(1), Instant::now());
        assert_eq!(rate.take(ip("2001:db8::1"), now), Ok(()));
        assert!(rate.take(ip("2001:db8::ffff:2"), now).is_err());
        assert_eq!(rate.take(ip("2001:db8:0:1::1"), now), Ok(()));
        assert_eq!(rate.take(ip("192.0.2.1"), now), Ok(()));
        assert!(rate.take(ip("::ffff:192.0.2.1"), now).is_err());
    }

    #[test]
    fn the_table_has_a_bound_and_forgets_who_has_been_quiet() {
        let (rate, now) = (Rate::new(1), Instant::now());
        for number in 0..10_000u32 {
            assert_eq!(rate.take(IpAddr::V4(number.into()), now), Ok(()));
        }
        assert_eq!(rate.take(ip("192.0.2.1"), now), Ok(()));
        assert!(
            rate.take(ip("192.0.2.2"), now).is_err(),
            "newcomers share a bucket"
        );
        let later = now + Duration::from_secs(60);
        assert_eq!(rate.take(ip("192.0.2.1"), later), Ok(()));
        assert_eq!(rate.take(ip("192.0.2.2"), later), Ok(()));
    }

    #[test]
    fn zero_permits_any_number() {
        let (rate, now) = (Rate::new(0), Instant::now());
        assert!((0..1000).all(|_| rate.take(ip("192.0.2.1"), now).is_ok()));
    }
}
