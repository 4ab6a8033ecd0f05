//! Metrics of requests by route: number, body bytes and duration.
//!
//! Each thread has its own shard of counters, so a request costs four relaxed additions to memory that no other core
//! writes. A scrape adds up the shards.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::router::{ROUTE_LABELS, UNMATCHED};

/// Number of shards. If there are more threads, some share a shard, which is slower but still exact.
const SHARDS: usize = 16;

/// Upper bounds of the duration buckets, in microseconds; one more bucket has no bound.
pub(crate) const BOUNDS_US: [u64; 13] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 1_000_000,
];

/// The status classes; of the statuses 3xx the service sends 303 and 304.
pub(crate) const STATUS_CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counters since the start of the process.
#[derive(Debug)]
pub struct RequestMetrics {
    shards: Box<[Shard]>,
}

/// The counters of one thread, aligned to two cache lines, so that threads share none.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    /// The counters of each route, in the order of [`ROUTE_LABELS`].
    pub(crate) routes: [RouteCounters; ROUTE_LABELS.len()],
}

#[derive(Debug, Default)]
pub(crate) struct RouteCounters {
    /// The number of requests by status, indexed like [`STATUS_CLASSES`].
    pub(crate) requests: [AtomicU64; STATUS_CLASSES.len()],
    /// Bytes of response bodies.
    pub(crate) bytes: AtomicU64,
    /// Time from the request head until the response is ready.
    pub(crate) elapsed_ns: AtomicU64,
    /// The number of requests by duration, indexed like [`BOUNDS_US`]; the last entry counts longer ones.
    pub(crate) buckets: [AtomicU64; BOUNDS_US.len() + 1],
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        RequestMetrics {
            shards: (0..SHARDS).map(|_| Shard::new()).collect(),
        }
    }
}

impl Shard {
    fn new() -> Shard {
        Shard {
            routes: std::array::from_fn(|_| RouteCounters::default()),
        }
    }
}

impl RequestMetrics {
    /// Counts a request with its status, body bytes and duration. Takes no lock and does not allocate.
    pub(crate) fn record(&self, route_id: usize, status: u16, bytes: u64, elapsed: Duration) {
        let Some(route) = self.shard().routes.get(route_id) else {
            return;
        };
        // Wraps after 584 years.
        let elapsed_ns = elapsed.as_nanos() as u64;
        let mut bounds = BOUNDS_US.iter();
        let bucket = bounds
            .position(|bound| elapsed_ns <= bound * 1_000)
            .unwrap_or(BOUNDS_US.len());
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        route.requests[class].fetch_add(1, Relaxed);
        route.bytes.fetch_add(bytes, Relaxed);
        route.elapsed_ns.fetch_add(elapsed_ns, Relaxed);
        route.buckets[bucket].fetch_add(1, Relaxed);
    }

    /// Counts an error response of this status to a request without a route: to an invalid request, after a timeout, or
    /// after a panic of a handler.
    pub(crate) fn count_refusal(&self, status: u16) {
        self.record(UNMATCHED, status, 0, Duration::ZERO);
    }

    /// Returns the sum of one counter over all threads.
    pub(crate) fn sum(&self, counter: impl Fn(&Shard) -> &AtomicU64) -> u64 {
        let shards = self.shards.iter();
        shards.map(|shard| counter(shard).load(Relaxed)).sum()
    }

    /// Returns the counters of this thread.
    fn shard(&self) -> &Shard {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = NEXT.fetch_add(1, Relaxed);
        }
        &self.shards[NUMBER.with(|number| *number) % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_status_class_and_duration_bucket() {
        let traffic = RequestMetrics::default();
        for (status, elapsed_ns) in [
            (200, 0),
            (299, 10_000),
            (304, 10_001),
            (499, 1_000_000_000),
            (599, 1_000_000_001),
        ] {
            traffic.record(1, status, 7, Duration::from_nanos(elapsed_ns));
        }
        for (class, expected) in [2, 1, 1, 1].into_iter().enumerate() {
            let counted = traffic.sum(|shard| &shard.routes[1].requests[class]);
            assert_eq!(counted, expected, "{class}");
        }
        for (bucket, expected) in [(0, 2), (1, 1), (12, 1), (13, 1)] {
            let counted = traffic.sum(|shard| &shard.routes[1].buckets[bucket]);
            assert_eq!(counted, expected, "{bucket}");
        }
        let elapsed_ns = traffic.sum(|shard| &shard.routes[1].elapsed_ns);
        assert_eq!(elapsed_ns, 2_000_020_002);
        assert_eq!(traffic.sum(|shard| &shard.routes[1].bytes), 35);
    }
}
