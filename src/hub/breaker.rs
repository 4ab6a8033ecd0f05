//! Circuit breaker over all deliveries: tells faults of our own network and line from those of subscribers, for which they
//! would lose their subscriptions.
//!
//! When most hosts are not reached (no name, no route, no connection in time), or do not take a body in time, that is no
//! failure of a subscriber, and what did not arrive is sent again within a minute. No delivery waits for that to end, so
//! hosts that are gone delay no others. A refused connection, a broken handshake or a bad status prove that the network
//! works. Only attempts to deliver to active subscriptions count, never verifications, whose hosts any client can choose.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What has been seen of the network lately. Pure: the time is handed in.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// The last attempt to each host and whether it reached the host, oldest first.
    seen: VecDeque<(String, Instant, bool)>,
}

impl Breaker {
    /// Records an attempt. Returns true when it did not reach its host for a fault of ours.
    pub(super) fn record(&mut self, host: &str, is_reached: bool, now: Instant) -> bool {
        self.seen.retain(|(known, ..)| known != host);
        if self.seen.len() >= HOSTS_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back((host.to_owned(), now, is_reached));
        !is_reached && self.is_open(now)
    }

    /// Tells whether most hosts were not reached lately.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < WINDOW;
        let recent = self.seen.iter().filter(|(_, at, _)| is_recent(*at));
        let (reached, lost): (Vec<_>, Vec<_>) = recent.partition(|(.., is_reached)| *is_reached);
        lost.len() >= HOSTS_MIN && lost.len() > reached.len()
    }
}

/// Attempts longer ago say nothing of now. Our choice: twice the longest wait after a fault of ours, so that one that lasts
/// is seen for as long as it lasts.
const WINDOW: Duration = Duration::from_secs(150);

/// Fewer hosts than this say nothing of our own network.
const HOSTS_MIN: usize = 3;

/// Hosts looked at; of more the latest.
const HOSTS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Records attempts at so many seconds: whether each reached its host, and whether the fault was ours.
    fn record(attempts: &[(&str, u64, bool, bool)]) {
        let (mut breaker, began) = (Breaker::default(), Instant::now());
        for (host, s, is_reached, is_ours) in attempts {
            let at = began + Duration::from_secs(*s);
            let found = breaker.record(host, *is_reached, at);
            assert_eq!(found, *is_ours, "{host} at {s}");
            assert!(!breaker.is_open(at + WINDOW));
        }
    }

    #[test]
    fn most_hosts_lost_at_once_are_our_own_networks_fault_until_most_are_reached() {
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
    fn half_of_the_hosts_and_those_of_long_ago_are_no_fault_of_ours() {
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
