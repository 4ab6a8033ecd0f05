//! Circuit breaker over all deliveries: distinguishes failures of our own network from failures of subscribers, which
//! would cost them their subscriptions.
//!
//! If most hosts are unreachable (no name, no route, connect timeout) or time out while receiving a body, no failure
//! counts against a subscriber, and deliveries are retried within a minute. An open breaker holds no delivery back, so
//! unreachable hosts delay no others. A refused connection, a failed handshake or an error status proves that the
//! network works. Only deliveries to subscribers that have acknowledged one lately are evidence: any client can choose
//! the hosts of verifications and of new subscriptions.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Age from which an attempt no longer counts. Our choice: more than twice the longest retry delay after a failure of
/// our network, so the breaker stays open between retries for as long as the failure lasts.
const WINDOW: Duration = Duration::from_secs(150);

/// Number of unreachable hosts from which our own network may be the cause.
const HOSTS_MIN: usize = 3;

/// Hosts remembered; beyond this the one with the oldest attempt is dropped.
const HOSTS_MAX: usize = 256;

/// The recent attempts. Pure: callers pass the time.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// The last attempt to each host, oldest first.
    seen: VecDeque<SeenHost>,
}

/// The last attempt to a host.
#[derive(Debug)]
struct SeenHost {
    host: String,
    at: Instant,
    is_reached: bool,
}

impl Breaker {
    /// Records an attempt; `is_evidence` tells whether the subscriber has acknowledged a delivery lately. Returns true if
    /// it failed because of our own network.
    pub(super) fn record(
        &mut self,
        host: &str,
        is_evidence: bool,
        is_reached: bool,
        now: Instant,
    ) -> bool {
        if is_evidence {
            self.remember(host, is_reached, now);
        }
        !is_reached && self.is_open(now)
    }

    fn remember(&mut self, host: &str, is_reached: bool, now: Instant) {
        self.seen.retain(|seen| seen.host != host);
        if self.seen.len() >= HOSTS_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(SeenHost {
            host: host.to_owned(),
            at: now,
            is_reached,
        });
    }

    /// Tells whether most of the recently tried hosts were not reached.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        let mut reached = 0;
        let mut lost = 0;
        for seen in &self.seen {
            if now.saturating_duration_since(seen.at) >= WINDOW {
                continue;
            }
            if seen.is_reached {
                reached += 1;
            } else {
                lost += 1;
            }
        }
        lost >= HOSTS_MIN && lost > reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records attempts: host, time in seconds, whether the host was reached, and the expected result.
    fn record(attempts: &[(&str, u64, bool, bool)]) {
        let mut breaker = Breaker::default();
        let began = Instant::now();
        for (host, s, is_reached, is_ours) in attempts {
            let at = began + Duration::from_secs(*s);
            let found = breaker.record(host, true, *is_reached, at);
            assert_eq!(found, *is_ours, "{host} at {s}");
            assert!(!breaker.is_open(at + WINDOW));
        }
    }

    #[test]
    fn the_breaker_is_open_while_most_hosts_are_unreachable() {
        record(&[
            ("good", 0, true, false),
            ("a", 0, false, false),
            ("a", 0, false, false),
            ("a", 0, false, false),
            ("b", 0, false, false),
            ("c", 0, false, true),
            ("good", 60, false, true),
            ("a", 60, false, true),
            ("b", 120, true, false),
            ("a", 120, false, true),
            ("c", 120, true, false),
            ("a", 121, false, false),
        ]);
    }

    #[test]
    fn hosts_that_have_acknowledged_nothing_lately_are_no_evidence() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for number in 0..2_500 {
            let host = format!("h{number}.example");
            assert!(!breaker.record(&host, false, false, now), "{host}");
        }
        for host in ["a", "b", "c"] {
            breaker.record(host, true, false, now);
        }
        assert!(breaker.record("h1.example", false, false, now));
    }

    #[test]
    fn half_of_the_hosts_or_old_failures_do_not_open_the_breaker() {
        record(&[
            ("g1", 0, true, false),
            ("g2", 0, true, false),
            ("g3", 0, true, false),
            ("a", 0, false, false),
            ("b", 0, false, false),
            ("c", 0, false, false),
            ("d", 0, false, true),
        ]);
        record(&[
            ("a", 0, false, false),
            ("b", 75, false, false),
            ("c", 150, false, false),
            ("d", 225, false, false),
        ]);
    }
}
