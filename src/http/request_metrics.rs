//! Counters of requests by route: how many, how large, how long they took.
//!
//! Every request adds to four numbers, so each thread has a set of them to itself: plain relaxed additions to memory
//! that no other core writes. A scrape adds the sets up.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::router::{ROUTE_LABELS, UNMATCHED};

/// Sets of counters. With more threads than that some share one, which costs time and loses nothing.
const SHARDS: usize = 16;

/// Upper bounds of the buckets of durations, in nanoseconds; what takes longer is only in the last one, which has none.
pub(crate) const BOUNDS_NS: [u64; 13] = [
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    100_000_000,
    1_000_000_000,
];

/// What the status of a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 200 to 299.
    Success = 0,
    /// 300 to 399, of which the service sends 304 alone.
    NotModified = 1,
    /// 400 to 499.
    ClientError = 2,
    /// 500 and above.
    ServerError = 3,
}

impl Class {
    /// Every class, each at its number.
    pub(crate) const ALL: [Class; 4] = [
        Class::Success,
        Class::NotModified,
        Class::ClientError,
        Class::ServerError,
    ];

    /// Returns the label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Class::Success => "2xx",
            Class::NotModified => "3xx",
            Class::ClientError => "4xx",
            Class::ServerError => "5xx",
        }
    }

    fn of(status: u16) -> Class {
        match status {
            0..=299 => Class::Success,
            300..=399 => Class::NotModified,
            400..=499 => Class::ClientError,
            _ => Class::ServerError,
        }
    }
}

/// Where a search that was run came from; those that a 304 answers are not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searcher {
    /// `/api/reviews/search`.
    Rest = 0,
    /// The page and the widget.
    Page = 1,
}

/// Totals since the start.
#[derive(Debug)]
pub struct RequestMetrics {
    shards: Box<[Shard]>,
}

/// The counters of one thread, apart from its neighbours' by more than a cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    routes: [RouteCounters; ROUTE_LABELS.len()],
    searches: [AtomicU64; 2],
    plain: AtomicU64,
}

#[derive(Debug, Default)]
struct RouteCounters {
    requests: [AtomicU64; Class::ALL.len()],
    bytes: AtomicU64,
    elapsed_ns: AtomicU64,
    /// One for each bound, and one for what is beyond.
    buckets: [AtomicU64; BOUNDS_NS.len() + 1],
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        let shard = |_| Shard {
            routes: std::array::from_fn(|_| RouteCounters::default()),
            searches: Default::default(),
            plain: AtomicU64::new(0),
        };
        RequestMetrics {
            shards: (0..SHARDS).map(shard).collect(),
        }
    }
}

impl RequestMetrics {
    /// Counts a request to a route that got `status` and `bytes` of body after `elapsed`. No lock, no allocation.
    pub(crate) fn record(&self, route_id: usize, status: u16, bytes: u64, elapsed: Duration) {
        let Some(route) = self.shard().routes.get(route_id) else {
            return;
        };
        // 580 years are enough.
        let elapsed_ns = elapsed.as_nanos() as u64;
        let bucket = BOUNDS_NS.iter().position(|bound| elapsed_ns <= *bound);
        let bucket = bucket.unwrap_or(BOUNDS_NS.len());
        route.requests[Class::of(status) as usize].fetch_add(1, Relaxed);
        route.bytes.fetch_add(bytes, Relaxed);
        route.elapsed_ns.fetch_add(elapsed_ns, Relaxed);
        route.buckets[bucket].fetch_add(1, Relaxed);
    }

    /// Counts what got `status` without a route: what was no request, or not in time, or made a handler panic.
    pub(crate) fn record_refusal(&self, status: u16) {
        self.record(UNMATCHED, status, 0, Duration::ZERO);
    }

    /// Counts a search that is run.
    pub(crate) fn record_search(&self, searcher: Searcher) {
        self.shard().searches[searcher as usize].fetch_add(1, Relaxed);
    }

    /// Counts a request that was answered without hyper; it is recorded like any other besides.
    pub(crate) fn record_plain(&self) {
        self.shard().plain.fetch_add(1, Relaxed);
    }

    /// Returns how many requests were answered without hyper.
    #[must_use]
    pub fn plain(&self) -> u64 {
        self.sum(|shard| &shard.plain)
    }

    /// Returns the requests to a route that were answered by a status of `class`.
    pub(crate) fn requests(&self, route_id: usize, class: Class) -> u64 {
        self.sum(|shard| &shard.routes[route_id].requests[class as usize])
    }

    /// Returns the bytes of bodies sent in answer to requests to a route.
    pub(crate) fn bytes(&self, route_id: usize) -> u64 {
        self.sum(|shard| &shard.routes[route_id].bytes)
    }

    /// Returns the time that requests to a route took, from the head to a response that is ready, in nanoseconds.
    pub(crate) fn elapsed_ns(&self, route_id: usize) -> u64 {
        self.sum(|shard| &shard.routes[route_id].elapsed_ns)
    }

    /// Returns how many requests to a route took as long as each bucket of [`BOUNDS_NS`] holds, and at last longer.
    pub(crate) fn buckets(&self, route_id: usize) -> [u64; BOUNDS_NS.len() + 1] {
        std::array::from_fn(|bucket| self.sum(|shard| &shard.routes[route_id].buckets[bucket]))
    }

    /// Returns how many searches were run.
    pub(crate) fn searches(&self, searcher: Searcher) -> u64 {
        self.sum(|shard| &shard.searches[searcher as usize])
    }

    fn sum(&self, counter: impl Fn(&Shard) -> &AtomicU64) -> u64 {
        let shards = self.shards.iter();
        shards.map(|shard| counter(shard).load(Relaxed)).sum()
    }

    /// Returns the counters of this thread.
    fn shard(&self) -> &Shard {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = NEXT.fetch_add(1, Relaxed) % SHARDS;
        }
        &self.shards[NUMBER.with(|number| *number) % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_that_holds_it() {
        let traffic = RequestMetrics::default();
        for elapsed_ns in [0, 10_000, 10_001, 1_000_000_000, 1_000_000_001] {
            traffic.record(1, 200, 0, Duration::from_nanos(elapsed_ns));
        }
        let buckets = traffic.buckets(1);
        assert_eq!((buckets[0], buckets[1]), (2, 1));
        assert_eq!((buckets[12], buckets[13]), (1, 1));
        assert_eq!(traffic.elapsed_ns(1), 2_000_020_002);
        assert_eq!(traffic.buckets(2)[13], 0);
    }

    #[test]
    fn statuses_are_counted_by_class() {
        let traffic = RequestMetrics::default();
        for status in [200, 299, 304, 400, 499, 500, 599] {
            traffic.record(3, status, 7, Duration::ZERO);
        }
        let counts = Class::ALL.map(|class| traffic.requests(3, class));
        assert_eq!((counts, traffic.bytes(3)), ([2, 1, 2, 2], 49));
    }
}
