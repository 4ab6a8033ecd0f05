//! A client that only wants to read, and measures how long that takes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Connection;

/// What is asked for, in turn.
const TARGETS: [&str; 4] = [
    "/healthz",
    "/api/reviews/search?query=probate&limit=5",
    "/badge.svg",
    "/api/feed.json",
];

/// Requests on one connection.
const KEPT: usize = 10;

/// Pause between two requests: one reader, not a load.
const PAUSE: Duration = Duration::from_millis(2);

/// Does `work` while another client reads, and returns how long each of its answers took, in order of size; a reader that
/// is refused again and again fails the test.
pub(super) fn during<T>(server: SocketAddr, work: impl FnOnce() -> T) -> (Vec<Duration>, T) {
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
    let mut kept = Connection::open(server);
    let mut failures = 0;
    while !stopped.load(Ordering::Relaxed) {
        let target = TARGETS[times.len() % TARGETS.len()];
        if times.len() % KEPT == 0 {
            kept = Connection::open(server);
        }
        let began = Instant::now();
        match kept.try_get(target, &[]) {
            Ok(response) if response.status == 200 => {
                times.push(began.elapsed());
                failures = 0;
            }
            // On a machine that is too busy we are the slow client ourselves, now and then.
            other => {
                failures += 1;
                assert!(failures < 5, "{target}: {other:?}");
                kept = Connection::open(server);
            }
        }
        thread::sleep(PAUSE);
    }
    times
}
