//! The exchanges in progress, and how many more may start: rules that prevent hanging callbacks from delaying others.
//!
//! An exchange is young until it has made no progress for `YOUNG`. Only young exchanges use a place of their lane and
//! of their host, so one that hangs delays others no longer than that; it keeps its thread until its deadline. Pure:
//! callers pass the time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::settings::Lanes;
use super::store::{Claim, Lane};

#[derive(Debug)]
struct Attempt {
    lane: Lane,
    host: String,
    began: Instant,
    /// Bytes of the body that ureq has read into its buffer.
    sent: Arc<AtomicU64>,
    /// Value of `sent` at the last `observe`.
    seen: u64,
    /// When the callback last kept up with [`PACE`], and the bytes sent until then.
    moved: (Instant, u64),
}

impl Attempt {
    /// Returns the number of bytes sent since the last call.
    fn observe(&mut self, now: Instant) -> u64 {
        let sent = self.sent.load(Ordering::Relaxed);
        let (moved_at, moved) = self.moved;
        let lasted = now.saturating_duration_since(moved_at);
        if sent > moved && (sent - moved) as f64 >= PACE * lasted.as_secs_f64() {
            self.moved = (now, sent);
        }
        sent - std::mem::replace(&mut self.seen, sent)
    }

    fn is_young(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.moved.0) < YOUNG
    }
}

/// All exchanges in progress, by number.
#[derive(Debug)]
pub struct InFlight {
    lanes: Lanes,
    attempts: HashMap<u64, Attempt>,
    last: u64,
    /// Largest number of concurrent young deliveries of a lane; grows while more of them increase the total rate.
    places: usize,
    /// Total bytes per second when `places` last grew; 0 while the default number is enough.
    rate: f64,
    /// When the current measurement began, and the bytes sent since.
    epoch: (Instant, u64),
}

impl InFlight {
    /// Creates an empty table at `now`.
    #[must_use]
    pub fn new(lanes: Lanes, now: Instant) -> InFlight {
        InFlight {
            lanes,
            attempts: HashMap::new(),
            last: 0,
            places: lanes.fast,
            rate: 0.0,
            epoch: (now, 0),
        }
    }

    /// Measures the progress of all bodies. Deliveries at a sufficient rate stay young, so that no more are added to a
    /// link that is saturated. If the subscribers' links are the bottleneck, more deliveries start as long as that
    /// increases the total rate.
    pub fn observe(&mut self, now: Instant) {
        let taken = self.attempts.values_mut().map(|one| one.observe(now));
        self.epoch.1 += taken.sum::<u64>();
        let lasted = now.saturating_duration_since(self.epoch.0);
        if lasted < EPOCH {
            return;
        }
        let rate = self.epoch.1 as f64 / lasted.as_secs_f64();
        self.epoch = (now, 0);
        let is_kept = |one: &Attempt| {
            let age = now.saturating_duration_since(one.began);
            one.lane != Lane::Ask && one.is_young(now) && age >= YOUNG
        };
        if self.count(is_kept) * 2 < self.places {
            (self.places, self.rate) = (self.lanes.fast, 0.0);
        } else if rate > self.rate * GAIN {
            self.rate = rate;
            self.places = (self.places + self.places.div_ceil(2)).min(self.lanes.deliveries());
        }
    }

    /// Adds an exchange with `host`, whose sent bytes are counted in `sent`, and returns its number.
    pub fn begin(&mut self, lane: Lane, host: String, sent: Arc<AtomicU64>, now: Instant) -> u64 {
        let attempt = Attempt {
            lane,
            host,
            began: now,
            sent,
            seen: 0,
            moved: (now, 0),
        };
        self.last += 1;
        self.attempts.insert(self.last, attempt);
        self.last
    }

    /// Removes an exchange.
    pub fn end(&mut self, number: u64) {
        if let Some(mut attempt) = self.attempts.remove(&number) {
            self.epoch.1 += attempt.observe(attempt.moved.0);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.attempts.len()
    }

    /// Returns how many exchanges may start in a lane. The places of the lane are for young exchanges; one that hangs
    /// uses a thread but no place. Subscribers known to be slow get half of the threads of the slow lane; the other
    /// half is for deliveries of the fast lane that hang.
    #[must_use]
    pub fn room(&self, lane: Lane, now: Instant) -> Claim {
        let lanes = &self.lanes;
        let under_way = |lane| self.count(|one| one.lane == lane);
        let young = self.count(|one| one.lane == lane && one.is_young(now));
        let (places, threads, taken) = match lane {
            Lane::Ask => (lanes.verify, lanes.verify_threads(), under_way(Lane::Ask)),
            Lane::Fast => {
                let taken = under_way(Lane::Fast) + under_way(Lane::Slow);
                (self.places, lanes.deliveries(), taken)
            }
            Lane::Slow => {
                let hanging = self.count(|one| one.lane == Lane::Fast && !one.is_young(now));
                // Each of the two gets half of the threads, unless the other already uses more.
                let taken = hanging.max(lanes.slow / 2) + under_way(Lane::Slow);
                (self.places, lanes.slow, taken)
            }
        };
        let limit = threads
            .saturating_sub(taken)
            .min(places.saturating_sub(young));
        Claim {
            limit,
            per_host: lanes.per_host,
            busy: self.busy(lane == Lane::Ask, now),
        }
    }

    /// Returns how many places of each host are in use: one by each young exchange. A host with [`HANGING_PER_PLACE`]
    /// hanging exchanges for each of its places has no free place.
    fn busy(&self, asks: bool, now: Instant) -> HashMap<String, usize> {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        let attempts = self.attempts.values();
        for one in attempts.filter(|one| (one.lane == Lane::Ask) == asks) {
            let (young, hanging) = counts.entry(one.host.clone()).or_default();
            *(if one.is_young(now) { young } else { hanging }) += 1;
        }
        let hanging_max = self.lanes.per_host * HANGING_PER_PLACE;
        let places = |(young, hanging)| match hanging >= hanging_max {
            true => self.lanes.per_host,
            false => young,
        };
        let counts = counts.into_iter();
        counts.map(|(host, count)| (host, places(count))).collect()
    }

    fn count(&self, is_counted: impl Fn(&Attempt) -> bool) -> usize {
        self.attempts.values().filter(|one| is_counted(one)).count()
    }
}

/// How long an exchange uses a place without progress. Our choice: many times longer than most subscribers need, and
/// short enough that 40 hanging callbacks of one host, four at a time, delay its other callbacks by 4 s at most.
pub(super) const YOUNG: Duration = Duration::from_millis(250);

/// Hanging exchanges with one host for each of its places. Our choice: one host uses at most a ninth of the threads.
const HANGING_PER_PLACE: usize = 16;

/// Sufficient rate of a delivery, in bytes per second. Our choice: a third of the share of each of 64 deliveries on a
/// link of 50 Mbit/s; `delivery_timeout` assumes the same rate.
const PACE: f64 = 32.0 * 1024.0;

/// How often the total rate is measured, and the factor by which it must have grown for more places.
const EPOCH: Duration = Duration::from_secs(1);
const GAIN: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(fast: usize, slow: usize, verify: usize, per_host: usize) -> (InFlight, Instant) {
        let now = Instant::now();
        let lanes = Lanes {
            fast,
            slow,
            verify,
            per_host,
        };
        (InFlight::new(lanes, now), now)
    }

    fn begin(table: &mut InFlight, lane: Lane, now: Instant) -> Arc<AtomicU64> {
        let sent = Arc::default();
        table.begin(lane, "a.example".to_owned(), Arc::clone(&sent), now);
        sent
    }

    fn rooms(table: &InFlight, now: Instant) -> [usize; 3] {
        [Lane::Fast, Lane::Slow, Lane::Ask].map(|lane| table.room(lane, now).limit)
    }

    /// Adds `bytes` to every counter in ten steps of a tenth of a second.
    fn take(table: &mut InFlight, all: &[Arc<AtomicU64>], bytes: u64, from: Instant) -> Instant {
        for tenth in 1..=10 {
            for sent in all {
                sent.fetch_add(bytes / 10, Ordering::Relaxed);
            }
            table.observe(from + Duration::from_millis(100 * tenth));
        }
        from + Duration::from_secs(1)
    }

    #[test]
    fn a_body_that_is_taken_at_a_fair_pace_keeps_its_place() {
        for (bytes, room) in [(PACE as u64 + 10, 0), (PACE as u64 - 10, 2)] {
            let (mut table, now) = table(2, 2, 1, 4);
            let all = [Lane::Fast; 2].map(|lane| begin(&mut table, lane, now));
            table.epoch.0 = now + Duration::from_secs(60);
            let later = take(&mut table, &all, bytes, now);
            assert_eq!(table.room(Lane::Fast, later).limit, room, "{bytes}");
        }
    }

    #[test]
    fn more_deliveries_begin_while_more_bytes_are_taken_in_all_and_no_longer() {
        let (mut table, mut now) = table(2, 20, 1, 40);
        let mut begun = Vec::new();
        // Each second all together take so much, the line being full from the third on.
        for (bytes, places) in [(200_000, 3), (300_000, 5), (500_000, 8), (510_000, 8)] {
            while table.room(Lane::Fast, now).limit > 0 {
                begun.push(begin(&mut table, Lane::Fast, now));
            }
            let each = bytes / begun.len() as u64;
            now = take(&mut table, &begun, each, now);
            assert_eq!(table.places, places, "{bytes}");
        }
        for number in 1..=begun.len() as u64 {
            table.end(number);
        }
        take(&mut table, &[], 0, now);
        assert_eq!(table.places, 2, "the usual number is enough");
    }

    #[test]
    fn exchanges_that_hang_hold_threads_and_no_places() {
        let (mut table, now) = table(2, 5, 1, 9);
        let later = now + YOUNG;
        for room in [2, 1, 0] {
            assert_eq!(rooms(&table, now), [2, room, 1]);
            begin(&mut table, Lane::Slow, now);
        }
        // Half of the slow threads are left to others that become slow.
        assert_eq!(rooms(&table, later), [2, 0, 1]);
        begin(&mut table, Lane::Fast, now);
        begin(&mut table, Lane::Fast, now);
        assert_eq!(rooms(&table, now), [0, 0, 1]);
        table.end(1);
        assert_eq!(rooms(&table, later), [2, 1, 1]);
        begin(&mut table, Lane::Fast, now);
        assert_eq!(rooms(&table, later), [2, 0, 1], "all slow threads");
        begin(&mut table, Lane::Fast, now);
        assert_eq!(rooms(&table, later), [1, 0, 1], "and one of the fast ones");
    }

    #[test]
    fn a_host_has_so_many_young_exchanges_and_few_that_hang() {
        let (mut table, now) = table(99, 99, 1, 4);
        let held = |table: &InFlight, at| {
            let room = table.room(Lane::Slow, at);
            assert!(table.room(Lane::Ask, at).busy.is_empty());
            room.busy.get("a.example").copied().unwrap_or(0)
        };
        for begun in 0..=64 {
            assert_eq!(held(&table, now), begun);
            assert_eq!(held(&table, now + YOUNG), if begun < 64 { 0 } else { 4 });
            begin(&mut table, Lane::Fast, now);
        }
    }

    #[test]
    fn verifications_that_hang_hold_threads_and_no_places() {
        let (mut table, now) = table(1, 1, 2, 4);
        for left in (1..=table.lanes.verify_threads()).rev() {
            assert_eq!(rooms(&table, now + YOUNG)[2], left.min(2));
            begin(&mut table, Lane::Ask, now);
        }
        assert_eq!(rooms(&table, now + YOUNG)[2], 0);
    }
}
