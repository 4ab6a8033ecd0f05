//! A well-behaved client that measures the latency of its requests during an attack.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Connection;

/// The requested targets, in turn.
const TARGETS: [&str; 4] = [
    "/healthz",
    "/api/reviews/search?query=probate&limit=5",
    "/badge.svg",
    "/api/feed.json",
];

/// Requests on one connection, before the next is opened.
const REQUESTS_PER_CONNECTION: usize = 10;

/// Pause between two requests: one reader, not a load.
const PAUSE: Duration = Duration::from_millis(2);

/// Runs `work` while another client sends requests, and returns the sorted latencies of that client; five failed
/// requests in a row fail the test.
pub(crate) fn during<T>(server: SocketAddr, work: impl FnOnce() -> T) -> (Vec<Duration>, T) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(server, &stop));
        let result = work();
        stop.store(true, Ordering::Relaxed);
        let mut times = reader.join().expect("others are served");
        times.sort_unstable();
        (times, result)
    })
}

fn read(server: SocketAddr, stopped: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut connection = Connection::open(server);
    let mut failures = 0;
    while !stopped.load(Ordering::Relaxed) {
        let target = TARGETS[times.len() % TARGETS.len()];
        if times.len() % REQUESTS_PER_CONNECTION == 0 {
            connection = Connection::open(server);
        }
        let began = Instant::now();
        match connection.try_get(target, &[]) {
            Ok(response) if response.status == 200 => {
                times.push(began.elapsed());
                failures = 0;
            }
            // On a busy machine, this client itself is sometimes too slow.
            other => {
                failures += 1;
                assert!(failures < 5, "{target}: {other:?}");
                connection = Connection::open(server);
            }
        }
        thread::sleep(PAUSE);
    }
    times
}
