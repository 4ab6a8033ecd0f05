//! Circuit breaker over all deliveries. When most callback hosts cannot be reached at the same time, the fault is likely
//! our own network, and counting failures would remove every subscription: deliveries pause.
//!
//! Only attempts to deliver to active subscriptions count, never verifications, whose hosts any client can choose. Only
//! hosts that were not reached at all count: no name, no route, no connection in time. A refused connection, a broken
//! handshake or a bad status prove that the network works.
//!
//! A pause ends when one probed host of an active subscription can be reached: hosts that were reached last are probed
//! first, and the others by turns. What is not reached during a pause is no failure of its subscriber.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What has been seen of the network lately, and whether deliveries pause. Pure: the time is handed in.
#[derive(Debug, Default)]
pub struct Breaker {
    /// The last attempt to each host, oldest first.
    seen: VecDeque<Seen>,
    /// Hosts and ports that were reached by a delivery, the latest last: the best ones to probe.
    reached: VecDeque<(String, u16)>,
    state: State,
}

#[derive(Debug)]
struct Seen {
    host: String,
    at: Instant,
    reached: bool,
    /// The body was not taken in time.
    stalled: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Paused {
        probe_at: Instant,
        wait: Duration,
        probing: bool,
    },
}

impl Breaker {
    /// Records whether a delivery reached its host; returns true when this makes deliveries pause.
    pub fn record(&mut self, host: &str, port: u16, reached: bool, now: Instant) -> bool {
        self.note(host, port, reached, false, now)
    }

    /// Records that a host did not take a body in time. Returns true when most hosts did not, lately: then our own line is
    /// at fault, and it is no failure of the subscriber.
    pub fn record_stall(&mut self, host: &str, port: u16, now: Instant) -> bool {
        self.note(host, port, true, true, now);
        let stalled = self.seen.iter().filter(|seen| seen.stalled).count();
        stalled >= HOSTS_MIN && stalled * 2 > self.seen.len()
    }

    fn note(&mut self, host: &str, port: u16, reached: bool, stalled: bool, now: Instant) -> bool {
        self.seen
            .retain(|seen| now.saturating_duration_since(seen.at) < WINDOW && seen.host != host);
        if self.seen.len() >= HOSTS_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(Seen {
            host: host.to_owned(),
            at: now,
            reached,
            stalled,
        });
        if reached {
            self.reached.retain(|(known, _)| known != host);
            self.reached.push_back((host.to_owned(), port));
            if self.reached.len() > REACHED_MAX {
                self.reached.pop_front();
            }
            return false;
        }
        let lost = self.seen.iter().filter(|seen| !seen.reached).count();
        if self.is_paused() || lost < HOSTS_MIN || lost * 2 <= self.seen.len() {
            return false;
        }
        self.state = State::Paused {
            probe_at: now,
            wait: PROBE_WAIT,
            probing: false,
        };
        true
    }

    /// Tells whether deliveries pause.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        matches!(self.state, State::Paused { .. })
    }

    /// Begins a probe when it is time for one: returns the hosts that were reached last, at most half of `PROBES`. The
    /// caller adds hosts of other active subscriptions.
    pub fn begin_probe(&mut self, now: Instant) -> Option<Vec<(String, u16)>> {
        match &mut self.state {
            State::Paused {
                probe_at, probing, ..
            } if !*probing && now >= *probe_at => *probing = true,
            _ => return None,
        }
        let latest = self.reached.iter().rev().take(PROBES / 2);
        Some(latest.cloned().collect())
    }

    /// Records the end of a probe; returns true when deliveries go on.
    pub fn end_probe(&mut self, reached: bool, now: Instant) -> bool {
        let State::Paused {
            probe_at,
            wait,
            probing,
            ..
        } = &mut self.state
        else {
            return false;
        };
        if reached {
            self.state = State::Closed;
            self.seen.clear();
            return true;
        }
        *probing = false;
        *probe_at = now + *wait;
        *wait = (*wait * 2).min(PROBE_WAIT_MAX);
        false
    }
}

/// Attempts longer ago say nothing of now.
const WINDOW: Duration = Duration::from_secs(30);

/// Fewer unreachable hosts than this do not begin a pause.
const HOSTS_MIN: usize = 3;

/// Hosts looked at; of more the latest.
const HOSTS_MAX: usize = 256;

/// Hosts remembered as reached.
const REACHED_MAX: usize = 32;

/// Hosts connected to in one probe.
pub(super) const PROBES: usize = 8;

/// The wait after the first probe that failed; it doubles.
const PROBE_WAIT: Duration = Duration::from_secs(2);

/// The longest wait between probes.
pub(super) const PROBE_WAIT_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now: Instant, s: u64) -> Instant {
        now + Duration::from_secs(s)
    }

    #[test]
    fn most_hosts_lost_at_once_pause_and_one_connection_resumes() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        breaker.record("good", 443, true, now);
        for host in ["a", "a", "a", "b"] {
            assert!(
                !breaker.record(host, 443, false, now),
                "one host counts once"
            );
        }
        assert!(breaker.record("c", 443, false, now));
        assert!(breaker.is_paused());
        let targets = breaker.begin_probe(now).expect("at once");
        assert_eq!(targets, [("good".to_owned(), 443)]);
        assert!(breaker.begin_probe(now).is_none(), "one probe at a time");
        assert!(!breaker.end_probe(false, now));
        assert!(breaker.begin_probe(at(now, 1)).is_none());
        assert!(breaker.begin_probe(at(now, 2)).is_some());
        assert!(breaker.end_probe(true, at(now, 3)));
        assert!(!breaker.is_paused());
    }

    #[test]
    fn bodies_that_most_hosts_do_not_take_are_our_own_lines_fault() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for (host, is_ours) in [("a", false), ("a", false), ("b", false), ("c", true)] {
            assert_eq!(breaker.record_stall(host, 443, now), is_ours, "{host}");
        }
        for host in ["d", "e", "f", "g"] {
            breaker.record(host, 443, true, now);
        }
        assert!(!breaker.record_stall("c", 443, now), "four hosts took it");
        assert!(!breaker.record_stall("c", 443, at(now, 30)), "long ago");
        assert!(!breaker.is_paused());
    }

    #[test]
    fn half_of_the_hosts_do_not_pause() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for number in 0..10 {
            breaker.record(&format!("good{number}"), 443, true, now);
        }
        for number in 0..10 {
            assert!(
                !breaker.record(&format!("bad{number}"), 443, false, now),
                "{number}"
            );
        }
        assert!(breaker.record("bad10", 443, false, now));
    }

    #[test]
    fn what_was_seen_long_ago_does_not_count() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for (number, s) in [(0, 0), (1, 20), (2, 40), (3, 60)] {
            assert!(
                !breaker.record(&format!("h{number}"), 443, false, at(now, s)),
                "{number}"
            );
        }
    }

    #[test]
    fn probes_wait_longer_each_time_up_to_half_a_minute() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for host in ["a", "b", "c"] {
            breaker.record(host, 443, false, now);
        }
        let mut s = 0;
        for wait in [2, 4, 8, 16, 30, 30] {
            assert!(breaker.begin_probe(at(now, s)).is_some());
            breaker.end_probe(false, at(now, s));
            assert!(breaker.begin_probe(at(now, s + wait - 1)).is_none());
            s += wait;
        }
    }
}
