//! Circuit breaker over all deliveries: tells faults of our own network and line from those of subscribers, for which they
//! would lose their subscriptions.
//!
//! When most hosts are not reached at all (no name, no route, no connection in time), deliveries pause until one probed host
//! of an active subscription can be reached: hosts that were reached last are probed first, and the others by turns. When
//! most hosts do not take a body in time, that is no failure either. A refused connection, a broken handshake or a bad
//! status prove that the network works. Only attempts to deliver to active subscriptions count, never verifications, whose
//! hosts any client can choose.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How far an exchange came with its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contact {
    /// No connection came about.
    Lost,
    /// There was one, and it did not take the body in time.
    Stalled,
    /// The host is there, whatever it answered.
    Reached,
}

/// What has been seen of the network lately, and whether deliveries pause. Pure: the time is handed in.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// The last attempt to each host, oldest first.
    seen: VecDeque<(String, Instant, Contact)>,
    /// Hosts and ports that were reached by a delivery, the latest last: the best ones to probe.
    reached: VecDeque<(String, u16)>,
    pause: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    probe_at: Instant,
    wait: Duration,
    is_probing: bool,
}

impl Breaker {
    /// Records how far a delivery came. Returns true when it came no further for a fault of ours: most hosts came no further
    /// lately, or deliveries pause; if most are lost, they do so from now on.
    pub(super) fn record(&mut self, host: &str, port: u16, contact: Contact, now: Instant) -> bool {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < WINDOW;
        self.seen
            .retain(|(known, at, _)| is_recent(*at) && known != host);
        if self.seen.len() >= HOSTS_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back((host.to_owned(), now, contact));
        if contact != Contact::Lost {
            self.reached.retain(|(known, _)| known != host);
            self.reached.push_back((host.to_owned(), port));
            if self.reached.len() > REACHED_MAX {
                self.reached.pop_front();
            }
        }
        let alike = self.seen.iter().filter(|seen| seen.2 == contact).count();
        let are_most = alike >= HOSTS_MIN && alike * 2 > self.seen.len();
        match contact {
            Contact::Reached => false,
            Contact::Stalled => are_most,
            Contact::Lost => {
                if are_most && self.pause.is_none() {
                    self.pause = Some(Pause {
                        probe_at: now,
                        wait: PROBE_WAIT,
                        is_probing: false,
                    });
                }
                self.is_paused()
            }
        }
    }

    /// Tells whether deliveries pause.
    pub(super) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Begins a probe when it is time for one: returns the hosts that were reached last, at most half of `PROBES`. The
    /// caller adds hosts of other active subscriptions.
    pub(super) fn begin_probe(&mut self, now: Instant) -> Option<Vec<(String, u16)>> {
        let pause = self.pause.as_mut()?;
        if pause.is_probing || now < pause.probe_at {
            return None;
        }
        pause.is_probing = true;
        let latest = self.reached.iter().rev().take(PROBES / 2);
        Some(latest.cloned().collect())
    }

    /// Records the end of a probe; returns true when deliveries go on.
    pub(super) fn end_probe(&mut self, contact: Contact, now: Instant) -> bool {
        let Some(pause) = &mut self.pause else {
            return false;
        };
        if contact == Contact::Lost {
            pause.is_probing = false;
            pause.probe_at = now + pause.wait;
            pause.wait = (pause.wait * 2).min(PROBE_WAIT_MAX);
            return false;
        }
        self.pause = None;
        self.seen.clear();
        true
    }
}

/// Attempts longer ago say nothing of now.
const WINDOW: Duration = Duration::from_secs(30);

/// Fewer hosts than this say nothing of our own network.
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
    use super::Contact::{Lost, Reached, Stalled};
    use super::*;

    /// Records attempts, each to a port 443 at so many seconds, and whether the fault was ours.
    fn record(breaker: &mut Breaker, began: Instant, attempts: &[(&str, u64, Contact, bool)]) {
        for (host, s, contact, is_ours) in attempts {
            let at = began + Duration::from_secs(*s);
            let found = breaker.record(host, 443, *contact, at);
            assert_eq!(found, *is_ours, "{host} {contact:?} at {s}");
        }
    }

    #[test]
    fn most_hosts_lost_at_once_pause_until_one_is_reached() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let attempts = [
            ("good", 0, Reached, false),
            ("a", 0, Lost, false),
            ("a", 0, Lost, false),
            ("a", 0, Lost, false),
            ("b", 0, Lost, false),
            ("c", 0, Lost, true),
        ];
        record(&mut breaker, now, &attempts);
        assert!(breaker.is_paused());
        let at = |s| now + Duration::from_secs(s);
        let mut s = 0;
        for wait in [2, 4, 8, 16, 30, 30] {
            let good = Some(vec![("good".to_owned(), 443)]);
            assert_eq!(breaker.begin_probe(at(s)), good);
            assert_eq!(breaker.begin_probe(at(s)), None, "one probe at a time");
            assert!(!breaker.end_probe(Lost, at(s)));
            assert_eq!(breaker.begin_probe(at(s + wait - 1)), None);
            s += wait;
        }
        assert!(breaker.begin_probe(at(s)).is_some());
        assert!(breaker.end_probe(Reached, at(s)) && !breaker.is_paused());
    }

    #[test]
    fn half_of_the_hosts_and_those_of_long_ago_do_not_pause() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let good = ["g1", "g2", "g3"].map(|host| (host, 0, Reached, false));
        record(&mut breaker, now, &good);
        let lost = ["a", "b", "c"].map(|host| (host, 0, Lost, false));
        record(&mut breaker, now, &lost);
        record(&mut breaker, now, &[("d", 0, Lost, true)]);
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let spread = [("a", 0), ("b", 20), ("c", 40), ("d", 60)];
        record(
            &mut breaker,
            now,
            &spread.map(|(host, s)| (host, s, Lost, false)),
        );
    }

    #[test]
    fn bodies_that_most_hosts_do_not_take_are_our_own_lines_fault() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let attempts = [
            ("a", 0, Stalled, false),
            ("a", 0, Stalled, false),
            ("b", 0, Stalled, false),
            ("c", 0, Stalled, true),
            ("d", 0, Reached, false),
            ("e", 0, Reached, false),
            ("f", 0, Reached, false),
            ("c", 0, Stalled, false),
            ("c", 30, Stalled, false),
        ];
        record(&mut breaker, now, &attempts);
        assert!(!breaker.is_paused());
    }
}
