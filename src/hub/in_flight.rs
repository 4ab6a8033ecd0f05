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

/// An exchange under way.
#[derive(Debug)]
struct Attempt {
    kind: Kind,
    host: String,
    began: Instant,
    /// Bytes that were taken, counted by the thread of the exchange, and how many there were when it was last looked at.
    sent: Arc<AtomicU64>,
    seen: u64,
    /// Until when bytes were taken at [`PACE`]; from then on it takes long.
    moved_at: Instant,
    moved: u64,
}

impl Attempt {
    /// Looks at what was taken, and returns how much of it is new.
    fn observe(&mut self, now: Instant) -> u64 {
        let sent = self.sent.load(Ordering::Relaxed);
        let lasted = now.saturating_duration_since(self.moved_at);
        if sent > self.moved && (sent - self.moved) as f64 >= PACE * lasted.as_secs_f64() {
            (self.moved_at, self.moved) = (now, sent);
        }
        sent - std::mem::replace(&mut self.seen, sent)
    }

    /// Tells whether it holds a place: it has just begun, or its body is being taken at a fair pace.
    fn is_young(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.moved_at) < YOUNG
    }
}

/// All exchanges under way, by number.
#[derive(Debug)]
pub(super) struct InFlight {
    lanes: Lanes,
    attempts: HashMap<u64, Attempt>,
    last: u64,
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
            attempts: HashMap::new(),
            last: 0,
            places: lanes.fast,
            rate: 0.0,
            epoch: (Instant::now(), 0),
        }
    }

    /// Looks at what was taken of all bodies. Those that are taken at a fair pace stay young, so a line that is full is
    /// not filled with more of them; where subscribers' own lines are the narrow ones, more begin as long as that brings
    /// more bytes in all.
    pub(super) fn observe(&mut self, now: Instant) {
        let taken = self.attempts.values_mut().map(|one| one.observe(now));
        self.epoch.1 += taken.sum::<u64>();
        let lasted = now.saturating_duration_since(self.epoch.0);
        if lasted < EPOCH {
            return;
        }
        let rate = self.epoch.1 as f64 / lasted.as_secs_f64();
        self.epoch = (now, 0);
        let is_kept = |one: &Attempt| {
            one.kind == Kind::Fast
                && one.is_young(now)
                && now.saturating_duration_since(one.began) >= YOUNG
        };
        if self.count(is_kept) * 2 < self.places {
            (self.places, self.rate) = (self.lanes.fast, 0.0);
        } else if rate > self.rate * GAIN {
            self.rate = rate;
            self.places = (self.places + self.places.div_ceil(2)).min(self.lanes.deliveries());
        }
    }

    /// Adds an exchange with `host` that counts the bytes taken in `sent`, and returns its number.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        host: String,
        sent: Arc<AtomicU64>,
        now: Instant,
    ) -> u64 {
        let attempt = Attempt {
            kind,
            host,
            began: now,
            sent,
            seen: 0,
            moved_at: now,
            moved: 0,
        };
        self.last += 1;
        self.attempts.insert(self.last, attempt);
        self.last
    }

    /// Removes an exchange; `false` when it was not there.
    pub(super) fn end(&mut self, number: u64) -> bool {
        let Some(mut attempt) = self.attempts.remove(&number) else {
            return false;
        };
        self.epoch.1 += attempt.observe(attempt.moved_at);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.attempts.len()
    }

    /// How many deliveries may begin in the fast lane. One that has been under way for long no longer counts: it
    /// holds a thread, but not a place, so that a few subscribers that hang do not delay the many that answer.
    pub(super) fn fast_room(&self, now: Instant) -> usize {
        let young = self.count(|one| one.kind == Kind::Fast && one.is_young(now));
        let busy = self.count(|one| matches!(one.kind, Kind::Fast | Kind::Slow));
        let threads = self.lanes.deliveries().saturating_sub(busy);
        self.places.saturating_sub(young).min(threads)
    }

    /// How many deliveries may begin in the slow lane: half of it at most, because the other half is for those that grow
    /// old in the fast one, which would else run out of threads.
    pub(super) fn slow_room(&self, now: Instant) -> usize {
        let old = self.count(|one| one.kind == Kind::Fast && !one.is_young(now));
        let slow = self.count(|one| one.kind == Kind::Slow);
        let half = self.lanes.slow.div_ceil(2).saturating_sub(slow);
        half.min(self.lanes.slow.saturating_sub(slow + old))
    }

    /// How many verifications, denials and probes may begin. As with deliveries, one that has been under way for long
    /// holds a thread, but not a place.
    pub(super) fn verify_room(&self, now: Instant) -> usize {
        let is_asking = |one: &Attempt| matches!(one.kind, Kind::Verify | Kind::Other);
        let young = self.count(|one| is_asking(one) && one.is_young(now));
        let threads = self.lanes.verify_threads();
        let threads = threads.saturating_sub(self.count(is_asking));
        self.lanes.verify.saturating_sub(young).min(threads)
    }

    /// Places that exchanges of these kinds hold, by host. Those that have been under way for long hold at most half of
    /// a host's places, so that callbacks of the same host which answer need not wait for them; where they are very many
    /// they hold all.
    pub(super) fn busy(&self, kinds: &[Kind], now: Instant) -> HashMap<String, usize> {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        for one in self.attempts.values() {
            if kinds.contains(&one.kind) {
                let (young, old) = counts.entry(one.host.clone()).or_default();
                *(if one.is_young(now) { young } else { old }) += 1;
            }
        }
        let places = |(young, old): (usize, usize)| match old {
            old if old >= self.lanes.per_host * OLD_PER_PLACE => self.lanes.per_host,
            old => young + old.min(self.lanes.half_of_host()),
        };
        let counts = counts.into_iter();
        counts.map(|(host, count)| (host, places(count))).collect()
    }

    fn count(&self, is_counted: impl Fn(&Attempt) -> bool) -> usize {
        self.attempts.values().filter(|one| is_counted(one)).count()
    }
}

/// A delivery younger than this holds a place in the fast lane. Our choice: many times what a healthy subscriber takes, and
/// short enough that 64 that hang cost the others half a second.
const YOUNG: Duration = Duration::from_millis(500);

/// Exchanges with one host that have been under way for long, for each of its places. Our choice: callbacks of a host that
/// answer wait for a second or two behind dozens that hang, and one host takes a ninth of the threads at most.
const OLD_PER_PLACE: usize = 16;

/// Bytes a second at which a body is taken at a fair pace. Our choice: a third of what each of 64 deliveries gets of a line
/// of 50 Mbit/s, and what `delivery_timeout` allows for.
const PACE: f64 = 32.0 * 1024.0;

/// How often it is asked whether more deliveries at a time took more bytes, and how many times as many make more.
const EPOCH: Duration = Duration::from_secs(1);
const GAIN: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(fast: usize, slow: usize, verify: usize, per_host: usize) -> InFlight {
        InFlight::new(Lanes {
            fast,
            slow,
            verify,
            per_host,
        })
    }

    fn begin(in_flight: &mut InFlight, kind: Kind, began: Instant) {
        taking(in_flight, began, kind, &Arc::default());
    }

    fn taking(in_flight: &mut InFlight, began: Instant, kind: Kind, sent: &Arc<AtomicU64>) {
        let host = "a.example".to_owned();
        in_flight.begin(kind, host, Arc::clone(sent), began);
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
            let mut in_flight = lanes(2, 2, 1, 4);
            let now = Instant::now();
            let sent: [Arc<AtomicU64>; 2] = Default::default();
            for sent in &sent {
                taking(&mut in_flight, now, Kind::Fast, sent);
            }
            in_flight.epoch.0 = now + Duration::from_secs(60);
            let later = take(&mut in_flight, &sent, bytes, now);
            assert_eq!(in_flight.fast_room(later), room, "{bytes}");
        }
    }

    #[test]
    fn more_deliveries_begin_while_more_bytes_are_taken_in_all_and_no_longer() {
        let mut in_flight = lanes(2, 20, 1, 40);
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
                taking(&mut in_flight, now, Kind::Fast, sent.last().unwrap());
            }
            let each = all / sent.len() as u64;
            now = take(&mut in_flight, &sent, each, now);
            assert_eq!(in_flight.places, places, "{all}");
        }
        for number in 1..=sent.len() as u64 {
            assert!(in_flight.end(number));
        }
        take(&mut in_flight, &[], 0, now);
        assert_eq!(in_flight.places, 2, "the fast lane is enough");
    }

    #[test]
    fn a_delivery_that_takes_long_gives_its_place_to_another_until_the_threads_are_used_up() {
        let mut in_flight = lanes(2, 2, 1, 4);
        let now = Instant::now();
        let later = now + YOUNG;
        for _ in 0..2 {
            begin(&mut in_flight, Kind::Fast, now);
        }
        assert_eq!((in_flight.fast_room(now), in_flight.slow_room(now)), (0, 1));
        assert_eq!(
            (in_flight.fast_room(later), in_flight.slow_room(later)),
            (2, 0)
        );
        for _ in 0..2 {
            begin(&mut in_flight, Kind::Fast, later);
        }
        let latest = later + YOUNG;
        assert_eq!(
            (in_flight.fast_room(latest), in_flight.slow_room(latest)),
            (0, 0)
        );
        assert!(in_flight.end(1) && !in_flight.end(1));
        assert_eq!(in_flight.fast_room(latest), 1);
    }

    #[test]
    fn subscribers_known_to_be_slow_leave_half_of_the_slow_lane_to_those_that_become_so() {
        let mut in_flight = lanes(2, 5, 1, 4);
        let now = Instant::now();
        for room in [3, 2, 1] {
            assert_eq!(in_flight.slow_room(now), room);
            begin(&mut in_flight, Kind::Slow, now);
        }
        assert_eq!(in_flight.slow_room(now), 0);
        for _ in 0..2 {
            begin(&mut in_flight, Kind::Fast, now);
        }
        let later = now + YOUNG;
        assert_eq!(in_flight.fast_room(later), 2, "two threads are left");
        assert!(in_flight.end(1));
        assert_eq!(in_flight.slow_room(later), 1);
        // Those that have grown old take what is left of the slow lane.
        begin(&mut in_flight, Kind::Fast, now);
        assert_eq!(in_flight.slow_room(later), 0);
    }

    #[test]
    fn verifications_have_a_lane_of_their_own() {
        let mut in_flight = lanes(1, 1, 2, 4);
        let now = Instant::now();
        begin(&mut in_flight, Kind::Verify, now);
        begin(&mut in_flight, Kind::Other, now);
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
        let mut in_flight = lanes(1, 1, 2, 4);
        let now = Instant::now();
        for left in (1..=in_flight.lanes.verify_threads()).rev() {
            assert_eq!(in_flight.verify_room(now + YOUNG), left.min(2));
            begin(&mut in_flight, Kind::Verify, now);
        }
        assert_eq!(in_flight.verify_room(now + YOUNG), 0);
    }

    #[test]
    fn exchanges_that_hang_hold_half_of_a_hosts_places_until_they_are_many() {
        let mut in_flight = lanes(99, 99, 1, 4);
        let now = Instant::now();
        for old in 0..=64 {
            let busy = in_flight.busy(&[Kind::Fast], now + YOUNG);
            let held = match old {
                64 => 4,
                old => old.min(2),
            };
            assert_eq!(busy.get("a.example").copied().unwrap_or(0), held, "{old}");
            begin(&mut in_flight, Kind::Fast, now);
        }
    }
}
