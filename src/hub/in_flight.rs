//! Exchanges under way: how many of which kind, to which hosts, and how much more may begin.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::settings::Lanes;

/// What kind of exchange it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A delivery that began in the fast lane.
    Fast,
    /// A delivery that began in the slow lane.
    Slow,
    /// A verification.
    Verify,
    /// A denial or a probe.
    Other,
}

/// An exchange under way, and what the log will say of it.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) kind: Kind,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) topic: String,
    began: Instant,
    /// Bytes that were taken, counted by the thread of the exchange, and how many there were when it was last looked at.
    sent: Arc<AtomicU64>,
    seen: u64,
    /// Until when bytes were taken at [`PACE`]; from then on it takes long.
    moved_at: Instant,
    moved: u64,
}

impl Attempt {
    pub(super) fn new(
        kind: Kind,
        host: String,
        port: u16,
        topic: String,
        sent: Arc<AtomicU64>,
        began: Instant,
    ) -> Attempt {
        Attempt {
            kind,
            host,
            port,
            topic,
            began,
            sent,
            seen: 0,
            moved_at: began,
            moved: 0,
        }
    }

    /// Looks at what was taken, and returns how much of it is new.
    fn observe(&mut self, now: Instant) -> u64 {
        let sent = self.sent.load(Ordering::Relaxed);
        let lasted = now.saturating_duration_since(self.moved_at);
        if sent > self.moved && (sent - self.moved) as f64 >= PACE * lasted.as_secs_f64() {
            (self.moved_at, self.moved) = (now, sent);
        }
        sent - std::mem::replace(&mut self.seen, sent)
    }
}

impl Attempt {
    /// Tells whether it holds a place: it has just begun, or its body is being taken at a fair pace.
    fn is_young(&self, now: Instant, youth: Duration) -> bool {
        now.saturating_duration_since(self.moved_at) < youth
    }
}

/// All exchanges under way, by number.
#[derive(Debug)]
pub(super) struct InFlight {
    lanes: Lanes,
    in_flight: HashMap<u64, Attempt>,
    last: u64,
    /// How long deliveries that were acknowledged took lately.
    usual: Duration,
    /// Young deliveries at a time: the fast lane, and more while more of them take more bytes in all.
    places: usize,
    /// Bytes a second in all when there were last more places; 0 while the fast lane was enough.
    rate: f64,
    /// What was taken since then.
    epoch: (Instant, u64),
}

impl InFlight {
    pub(super) fn new(lanes: Lanes) -> InFlight {
        InFlight {
            lanes,
            in_flight: HashMap::new(),
            last: 0,
            usual: Duration::ZERO,
            places: lanes.fast,
            rate: 0.0,
            epoch: (Instant::now(), 0),
        }
    }

    /// Looks at what was taken of all bodies. Those that are taken at a fair pace stay young, so a line that is full is
    /// not filled with more of them; where subscribers' own lines are the narrow ones, more begin as long as that brings
    /// more bytes in all.
    pub(super) fn observe(&mut self, now: Instant) {
        let taken: u64 = self
            .in_flight
            .values_mut()
            .map(|flight| flight.observe(now))
            .sum();
        self.epoch.1 += taken;
        let lasted = now.saturating_duration_since(self.epoch.0);
        if lasted < EPOCH {
            return;
        }
        let rate = self.epoch.1 as f64 / lasted.as_secs_f64();
        self.epoch = (now, 0);
        let youth = self.youth();
        let is_kept = |flight: &&Attempt| {
            flight.kind == Kind::Fast
                && flight.is_young(now, youth)
                && now.saturating_duration_since(flight.began) >= youth
        };
        let kept = self.in_flight.values().filter(is_kept).count();
        if kept * 2 < self.places {
            (self.places, self.rate) = (self.lanes.fast, 0.0);
        } else if rate > self.rate * GAIN {
            self.rate = rate;
            self.places = (self.places + self.places.div_ceil(2)).min(self.lanes.deliveries());
        }
    }

    /// Adds an exchange and returns its number.
    pub(super) fn begin(&mut self, flight: Attempt) -> u64 {
        self.last += 1;
        self.in_flight.insert(self.last, flight);
        self.last
    }

    /// Removes an exchange.
    pub(super) fn end(&mut self, number: u64) -> Option<Attempt> {
        let mut flight = self.in_flight.remove(&number)?;
        self.epoch.1 += flight.observe(flight.moved_at);
        Some(flight)
    }

    /// Notes how long a delivery took that was acknowledged.
    pub(super) fn note_acknowledged(&mut self, elapsed: Duration) {
        self.usual = (self.usual * (SMOOTHING - 1) + elapsed) / SMOOTHING;
    }

    /// A delivery younger than this holds a place in the fast lane. It follows what deliveries take: where all are slow
    /// because our own cores are busy, more of them at a time would only make them slower.
    fn youth(&self) -> Duration {
        (self.usual * 4).clamp(YOUNG, YOUNG_MAX)
    }

    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// How many deliveries may begin in the fast lane. One that has been under way for long no longer counts: it
    /// holds a thread, but not a place, so that a few subscribers that hang do not delay the many that answer.
    pub(super) fn fast_room(&self, now: Instant) -> usize {
        let youth = self.youth();
        let is_young = |flight: &&Attempt| flight.kind == Kind::Fast && flight.is_young(now, youth);
        let young = self.in_flight.values().filter(is_young).count();
        let threads = self
            .lanes
            .deliveries()
            .saturating_sub(self.count(Kind::Fast) + self.count(Kind::Slow));
        self.places.saturating_sub(young).min(threads)
    }

    /// How many deliveries may begin in the slow lane: half of it at most, because the other half is for those that grow
    /// old in the fast one, which would else run out of threads.
    pub(super) fn slow_room(&self, now: Instant) -> usize {
        let youth = self.youth();
        let is_old = |flight: &&Attempt| flight.kind == Kind::Fast && !flight.is_young(now, youth);
        let old = self.in_flight.values().filter(is_old).count();
        let slow = self.count(Kind::Slow);
        let half = self.lanes.slow.div_ceil(2);
        half.saturating_sub(slow)
            .min(self.lanes.slow.saturating_sub(slow + old))
    }

    /// How many verifications, denials and probes may begin. As with deliveries, one that has been under way for long
    /// holds a thread, but not a place.
    pub(super) fn verify_room(&self, now: Instant) -> usize {
        let is_asking = |flight: &&Attempt| matches!(flight.kind, Kind::Verify | Kind::Other);
        let is_young = |flight: &&Attempt| flight.is_young(now, YOUNG);
        let all = self.in_flight.values().filter(is_asking).count();
        let young = self
            .in_flight
            .values()
            .filter(is_asking)
            .filter(is_young)
            .count();
        let threads = self.lanes.verify_threads().saturating_sub(all);
        self.lanes.verify.saturating_sub(young).min(threads)
    }

    /// Places that exchanges of these kinds hold, by host. Those that have been under way for long hold at most half of
    /// a host's places, so that callbacks of the same host which answer need not wait for them; where they are very many
    /// they hold all.
    pub(super) fn busy(&self, kinds: &[Kind], now: Instant) -> HashMap<String, usize> {
        let youth = self.youth();
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        for flight in self
            .in_flight
            .values()
            .filter(|flight| kinds.contains(&flight.kind))
        {
            let (young, old) = counts.entry(flight.host.clone()).or_default();
            match flight.is_young(now, youth) {
                true => *young += 1,
                false => *old += 1,
            }
        }
        let places = |(young, old): (usize, usize)| match old {
            old if old >= self.lanes.per_host * OLD_PER_PLACE => self.lanes.per_host,
            old => young + old.min(self.lanes.half_of_host()),
        };
        let counts = counts.into_iter();
        counts.map(|(host, count)| (host, places(count))).collect()
    }

    fn count(&self, kind: Kind) -> usize {
        self.in_flight
            .values()
            .filter(|flight| flight.kind == kind)
            .count()
    }
}

/// The shortest youth. Our choice: many times what a healthy subscriber takes, and short enough that 64 that hang cost
/// the others half a second.
const YOUNG: Duration = Duration::from_millis(500);

/// The longest youth, however slow everything is.
const YOUNG_MAX: Duration = Duration::from_secs(5);

/// Exchanges with one host that have been under way for long, for each of its places. Our choice: callbacks of a host that
/// answer wait for a second or two behind dozens that hang, and one host takes a ninth of the threads at most.
const OLD_PER_PLACE: usize = 16;

/// Bytes a second at which a body is taken at a fair pace. Our choice: a third of what each of 64 deliveries gets of a line
/// of 50 Mbit/s, and what `delivery_timeout` allows for.
const PACE: f64 = 32.0 * 1024.0;

/// How often it is asked whether more deliveries at a time took more bytes, and how many times as many make more.
const EPOCH: Duration = Duration::from_secs(1);
const GAIN: f64 = 1.1;

/// So many deliveries make what is usual.
const SMOOTHING: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(kind: Kind, began: Instant) -> Attempt {
        taking(kind, began, &Arc::default())
    }

    fn taking(kind: Kind, began: Instant, sent: &Arc<AtomicU64>) -> Attempt {
        let host = "a.example".to_owned();
        Attempt::new(kind, host, 443, String::new(), Arc::clone(sent), began)
    }

    /// Lets bytes be taken for so many seconds, by every counter the same.
    fn take(
        in_flight: &mut InFlight,
        sent: &[Arc<AtomicU64>],
        bytes: u64,
        from: Instant,
    ) -> Instant {
        for tenth in 1..=10 {
            for sent in sent {
                sent.fetch_add(bytes / 10, Ordering::Relaxed);
            }
            in_flight.observe(from + Duration::from_millis(100 * tenth));
        }
        from + Duration::from_secs(1)
    }

    #[test]
    fn a_body_that_is_taken_at_a_fair_pace_keeps_its_place() {
        for (bytes, room) in [(PACE as u64 + 10, 0), (PACE as u64 - 10, 2)] {
            let mut in_flight = InFlight::new(Lanes {
                fast: 2,
                slow: 2,
                verify: 1,
                per_host: 4,
            });
            let now = Instant::now();
            let sent: [Arc<AtomicU64>; 2] = Default::default();
            for sent in &sent {
                in_flight.begin(taking(Kind::Fast, now, sent));
            }
            in_flight.epoch.0 = now + Duration::from_secs(60);
            let later = take(&mut in_flight, &sent, bytes, now);
            assert_eq!(in_flight.fast_room(later), room, "{bytes}");
        }
    }

    #[test]
    fn more_deliveries_begin_while_more_bytes_are_taken_in_all_and_no_longer() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 2,
            slow: 20,
            verify: 1,
            per_host: 40,
        });
        let mut now = Instant::now();
        in_flight.epoch.0 = now;
        let mut sent: Vec<Arc<AtomicU64>> = Vec::new();
        // Each second all together take so much, the line being full from the third on.
        for (all, places) in [
            (200_000, 3),
            (300_000, 5),
            (500_000, 8),
            (510_000, 8),
            (510_000, 8),
        ] {
            while in_flight.fast_room(now) > 0 {
                sent.push(Arc::default());
                let flight = taking(Kind::Fast, now, sent.last().unwrap());
                in_flight.begin(flight);
            }
            let each = all / sent.len() as u64;
            now = take(&mut in_flight, &sent, each, now);
            assert_eq!(in_flight.places, places, "{all}");
        }
        for number in 1..=sent.len() as u64 {
            assert!(in_flight.end(number).is_some());
        }
        take(&mut in_flight, &[], 0, now);
        assert_eq!(in_flight.places, 2, "the fast lane is enough");
    }

    #[test]
    fn a_delivery_that_takes_long_gives_its_place_to_another_until_the_threads_are_used_up() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 2,
            slow: 2,
            verify: 1,
            per_host: 4,
        });
        let now = Instant::now();
        let later = now + YOUNG;
        for _ in 0..2 {
            in_flight.begin(flight(Kind::Fast, now));
        }
        assert_eq!((in_flight.fast_room(now), in_flight.slow_room(now)), (0, 1));
        assert_eq!(
            (in_flight.fast_room(later), in_flight.slow_room(later)),
            (2, 0)
        );
        for _ in 0..2 {
            in_flight.begin(flight(Kind::Fast, later));
        }
        let latest = later + YOUNG;
        assert_eq!(
            (in_flight.fast_room(latest), in_flight.slow_room(latest)),
            (0, 0)
        );
        assert!(in_flight.end(1).is_some() && in_flight.end(1).is_none());
        assert_eq!(in_flight.fast_room(latest), 1);
    }

    #[test]
    fn subscribers_known_to_be_slow_leave_half_of_the_slow_lane_to_those_that_become_so() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 2,
            slow: 5,
            verify: 1,
            per_host: 4,
        });
        let now = Instant::now();
        for room in [3, 2, 1] {
            assert_eq!(in_flight.slow_room(now), room);
            in_flight.begin(flight(Kind::Slow, now));
        }
        assert_eq!(in_flight.slow_room(now), 0);
        for _ in 0..2 {
            in_flight.begin(flight(Kind::Fast, now));
        }
        let later = now + YOUNG;
        assert_eq!(in_flight.fast_room(later), 2, "two threads are left");
        assert!(in_flight.end(1).is_some());
        assert_eq!(in_flight.slow_room(later), 1);
        // Those that have grown old take what is left of the slow lane.
        in_flight.begin(flight(Kind::Fast, now));
        assert_eq!(in_flight.slow_room(later), 0);
    }

    #[test]
    fn where_every_delivery_takes_long_no_more_of_them_begin() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 1,
            slow: 9,
            verify: 1,
            per_host: 4,
        });
        let now = Instant::now();
        in_flight.begin(flight(Kind::Fast, now));
        assert_eq!(in_flight.fast_room(now + YOUNG), 1);
        for _ in 0..100 {
            in_flight.note_acknowledged(Duration::from_millis(250));
        }
        assert_eq!(in_flight.fast_room(now + YOUNG), 0);
        assert_eq!(in_flight.fast_room(now + 2 * YOUNG), 1);
        for _ in 0..100 {
            in_flight.note_acknowledged(Duration::from_secs(100));
        }
        assert_eq!(in_flight.fast_room(now + YOUNG_MAX), 1, "there is a bound");
    }

    #[test]
    fn verifications_have_a_lane_of_their_own() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 1,
            slow: 1,
            verify: 2,
            per_host: 4,
        });
        let now = Instant::now();
        in_flight.begin(flight(Kind::Verify, now));
        in_flight.begin(flight(Kind::Other, now));
        assert_eq!(
            (
                in_flight.verify_room(now),
                in_flight.fast_room(now),
                in_flight.slow_room(now)
            ),
            (0, 1, 1)
        );
        assert_eq!(
            in_flight.busy(&[Kind::Verify], now),
            HashMap::from([("a.example".to_owned(), 1)])
        );
        assert_eq!(in_flight.len(), 2);
    }

    #[test]
    fn verifications_that_hang_hold_threads_and_no_places() {
        let lanes = Lanes {
            fast: 1,
            slow: 1,
            verify: 2,
            per_host: 4,
        };
        let mut in_flight = InFlight::new(lanes);
        let now = Instant::now();
        for begun in 0..lanes.verify_threads() {
            let left = lanes.verify_threads() - begun;
            assert_eq!(in_flight.verify_room(now + YOUNG), left.min(2));
            in_flight.begin(flight(Kind::Verify, now));
        }
        assert_eq!(in_flight.verify_room(now + YOUNG), 0);
    }

    #[test]
    fn exchanges_that_hang_hold_half_of_a_hosts_places_until_they_are_many() {
        let mut in_flight = InFlight::new(Lanes {
            fast: 99,
            slow: 99,
            verify: 1,
            per_host: 4,
        });
        let now = Instant::now();
        for old in 0..=64 {
            let busy = in_flight.busy(&[Kind::Fast], now + YOUNG);
            let held = match old {
                64 => 4,
                old => old.min(2),
            };
            assert_eq!(busy.get("a.example").copied().unwrap_or(0), held, "{old}");
            in_flight.begin(flight(Kind::Fast, now));
        }
    }
}
