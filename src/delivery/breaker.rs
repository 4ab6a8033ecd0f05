//! Is it them, or is it us? When most hosts cannot be reached at the same time, the fault is likely our own network,
//! and counting failures would remove everybody. So deliveries pause, and probes find out when to go on.
//!
//! Only hosts that were not reached at all count: no name, no route, no connection in time. A refused connection, a
//! broken handshake or a bad status prove that the network works.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What has been seen of the network lately, and whether deliveries pause. Pure: the time is handed in.
#[derive(Debug, Default)]
pub struct Breaker {
    /// The last exchange with each host, oldest first.
    seen: VecDeque<Seen>,
    /// Hosts that were reached before, the latest last: the best ones to probe.
    reached: VecDeque<(String, u16)>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Seen {
    host: String,
    port: u16,
    at: Instant,
    reached: bool,
}

#[derive(Debug)]
struct Open {
    probe_at: Instant,
    wait: Duration,
    probing: bool,
    turn: usize,
}

impl Breaker {
    /// Notes whether a host was reached; returns true when this makes deliveries pause.
    pub fn note(&mut self, host: &str, port: u16, reached: bool, now: Instant) -> bool {
        self.seen
            .retain(|seen| now.saturating_duration_since(seen.at) < WINDOW && seen.host != host);
        if self.seen.len() >= HOSTS_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(Seen {
            host: host.to_owned(),
            port,
            at: now,
            reached,
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
        if self.open.is_some() || lost < HOSTS_MIN || lost * 2 <= self.seen.len() {
            return false;
        }
        self.open = Some(Open {
            probe_at: now,
            wait: PROBE_WAIT,
            probing: false,
            turn: 0,
        });
        true
    }

    /// Tells whether deliveries pause.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns hosts and ports to connect to, when it is time: the last ones that were reached, and some of those that
    /// were not, in turn. Any connection will do.
    pub fn probe(&mut self, now: Instant) -> Option<Vec<(String, u16)>> {
        let open = self.open.as_mut()?;
        if open.probing || now < open.probe_at {
            return None;
        }
        open.probing = true;
        let lost: Vec<&Seen> = self.seen.iter().filter(|seen| !seen.reached).collect();
        let mut targets: Vec<(String, u16)> = self
            .reached
            .iter()
            .rev()
            .take(PROBES / 2)
            .cloned()
            .collect();
        let turn = open.turn;
        for seen in (0..lost.len()).filter_map(|step| lost.get((turn + step) % lost.len())) {
            if targets.len() < PROBES && !targets.iter().any(|(host, _)| *host == seen.host) {
                targets.push((seen.host.clone(), seen.port));
            }
        }
        open.turn += PROBES / 2;
        Some(targets)
    }

    /// Notes the end of a probe; returns true when deliveries go on.
    pub fn probed(&mut self, reached: bool, now: Instant) -> bool {
        let Some(open) = self.open.as_mut() else {
            return false;
        };
        if reached {
            self.open = None;
            self.seen.clear();
            return true;
        }
        open.probing = false;
        open.probe_at = now + open.wait;
        open.wait = (open.wait * 2).min(PROBE_WAIT_MAX);
        // What was seen stays, although it grows old: those are the hosts to probe.
        for seen in &mut self.seen {
            seen.at = now;
        }
        false
    }
}

/// Exchanges longer ago say nothing of now.
const WINDOW: Duration = Duration::from_secs(30);

/// Fewer hosts than this are their own fault.
const HOSTS_MIN: usize = 3;

/// Hosts looked at; of more the latest.
const HOSTS_MAX: usize = 256;

/// Hosts remembered as reached.
const REACHED_MAX: usize = 32;

/// Hosts connected to in one probe.
const PROBES: usize = 4;

/// The wait after the first probe that failed; it doubles.
const PROBE_WAIT: Duration = Duration::from_secs(2);

/// The longest wait between probes.
const PROBE_WAIT_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now: Instant, s: u64) -> Instant {
        now + Duration::from_secs(s)
    }

    #[test]
    fn most_hosts_lost_at_once_pause_and_one_connection_resumes() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        breaker.note("good", 443, true, now);
        assert!(!breaker.note("a", 443, false, now));
        assert!(!breaker.note("b", 443, false, now));
        assert!(breaker.note("c", 443, false, now));
        assert!(breaker.is_open());
        let targets = breaker.probe(now).expect("at once");
        assert_eq!(targets[0], ("good".to_owned(), 443));
        assert_eq!(targets.len(), 4);
        assert!(breaker.probe(now).is_none(), "one probe at a time");
        assert!(!breaker.probed(false, now));
        assert!(breaker.probe(at(now, 1)).is_none());
        assert!(breaker.probe(at(now, 2)).is_some());
        assert!(breaker.probed(true, at(now, 3)));
        assert!(!breaker.is_open());
    }

    #[test]
    fn one_host_that_fails_often_does_not_pause() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..100 {
            assert!(!breaker.note("a", 443, false, now));
        }
    }

    #[test]
    fn half_of_the_hosts_do_not_pause() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for number in 0..10 {
            breaker.note(&format!("good{number}"), 443, true, now);
        }
        for number in 0..10 {
            assert!(
                !breaker.note(&format!("bad{number}"), 443, false, now),
                "{number}"
            );
        }
        assert!(breaker.note("bad10", 443, false, now));
    }

    #[test]
    fn what_was_seen_long_ago_does_not_count() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for (number, s) in [(0, 0), (1, 20), (2, 40), (3, 60)] {
            assert!(
                !breaker.note(&format!("h{number}"), 443, false, at(now, s)),
                "{number}"
            );
        }
    }

    #[test]
    fn probes_wait_longer_each_time_up_to_a_minute() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for host in ["a", "b", "c"] {
            breaker.note(host, 443, false, now);
        }
        let mut s = 0;
        for wait in [2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(
                breaker.probe(at(now, s)).map(|targets| targets.len()),
                Some(3)
            );
            breaker.probed(false, at(now, s));
            assert!(breaker.probe(at(now, s + wait - 1)).is_none());
            s += wait;
        }
    }
}
