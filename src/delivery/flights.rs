//! Exchanges under way: how many of which kind, to which hosts, and how much more may begin.

use std::collections::HashMap;
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
pub(super) struct Flight {
    pub(super) kind: Kind,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) topic: String,
    pub(super) began: Instant,
}

/// All exchanges under way, by number.
#[derive(Debug)]
pub(super) struct Flights {
    lanes: Lanes,
    flights: HashMap<u64, Flight>,
    last: u64,
}

impl Flights {
    pub(super) fn new(lanes: Lanes) -> Flights {
        Flights {
            lanes,
            flights: HashMap::new(),
            last: 0,
        }
    }

    /// Adds an exchange and returns its number.
    pub(super) fn begin(&mut self, flight: Flight) -> u64 {
        self.last += 1;
        self.flights.insert(self.last, flight);
        self.last
    }

    /// Removes an exchange.
    pub(super) fn end(&mut self, number: u64) -> Option<Flight> {
        self.flights.remove(&number)
    }

    pub(super) fn len(&self) -> usize {
        self.flights.len()
    }

    /// How many deliveries may begin in the fast lane. One that has been under way for [`YOUNG`] no longer counts: it
    /// holds a thread, but not a place, so that a few subscribers that hang do not delay the many that answer.
    pub(super) fn fast_room(&self, now: Instant) -> usize {
        let is_young = |flight: &&Flight| {
            flight.kind == Kind::Fast && now.saturating_duration_since(flight.began) < YOUNG
        };
        let young = self.flights.values().filter(is_young).count();
        let threads = (self.lanes.fast + self.lanes.slow)
            .saturating_sub(self.count(Kind::Fast) + self.count(Kind::Slow));
        self.lanes.fast.saturating_sub(young).min(threads)
    }

    /// How many deliveries may begin in the slow lane.
    pub(super) fn slow_room(&self, now: Instant) -> usize {
        let is_old = |flight: &&Flight| {
            flight.kind == Kind::Fast && now.saturating_duration_since(flight.began) >= YOUNG
        };
        let old = self.flights.values().filter(is_old).count();
        self.lanes.slow.saturating_sub(self.count(Kind::Slow) + old)
    }

    /// How many verifications, denials and probes may begin.
    pub(super) fn verify_room(&self) -> usize {
        self.lanes
            .verify
            .saturating_sub(self.count(Kind::Verify) + self.count(Kind::Other))
    }

    /// Exchanges of these kinds by host.
    pub(super) fn busy(&self, kinds: &[Kind]) -> HashMap<String, usize> {
        let mut busy = HashMap::new();
        for flight in self
            .flights
            .values()
            .filter(|flight| kinds.contains(&flight.kind))
        {
            *busy.entry(flight.host.clone()).or_default() += 1;
        }
        busy
    }

    fn count(&self, kind: Kind) -> usize {
        self.flights
            .values()
            .filter(|flight| flight.kind == kind)
            .count()
    }
}

/// A delivery younger than this holds a place in the fast lane. Our choice: many times what a healthy subscriber takes,
/// and short enough that 64 that hang cost the others half a second.
pub(super) const YOUNG: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(kind: Kind, began: Instant) -> Flight {
        Flight {
            kind,
            host: "a.example".to_owned(),
            port: 443,
            topic: String::new(),
            began,
        }
    }

    #[test]
    fn a_delivery_that_takes_long_gives_its_place_to_another_until_the_threads_are_used_up() {
        let mut flights = Flights::new(Lanes {
            fast: 2,
            slow: 2,
            verify: 1,
            per_host: 4,
        });
        let now = Instant::now();
        let later = now + YOUNG;
        for _ in 0..2 {
            flights.begin(flight(Kind::Fast, now));
        }
        assert_eq!((flights.fast_room(now), flights.slow_room(now)), (0, 2));
        assert_eq!((flights.fast_room(later), flights.slow_room(later)), (2, 0));
        for _ in 0..2 {
            flights.begin(flight(Kind::Fast, later));
        }
        let latest = later + YOUNG;
        assert_eq!(
            (flights.fast_room(latest), flights.slow_room(latest)),
            (0, 0)
        );
        assert!(flights.end(1).is_some() && flights.end(1).is_none());
        assert_eq!(flights.fast_room(latest), 1);
    }

    #[test]
    fn verifications_have_a_lane_of_their_own() {
        let mut flights = Flights::new(Lanes {
            fast: 1,
            slow: 1,
            verify: 2,
            per_host: 4,
        });
        let now = Instant::now();
        flights.begin(flight(Kind::Verify, now));
        flights.begin(flight(Kind::Other, now));
        assert_eq!(
            (
                flights.verify_room(),
                flights.fast_room(now),
                flights.slow_room(now)
            ),
            (0, 1, 1)
        );
        assert_eq!(
            flights.busy(&[Kind::Verify]),
            HashMap::from([("a.example".to_owned(), 1)])
        );
        assert_eq!(flights.len(), 2);
    }
}
