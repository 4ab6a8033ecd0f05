//! A client that only wants to read, and measures how long that takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
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

/// A reader on a thread of its own.
pub(super) struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

/// Begins to read; a reader that is refused again and again fails the test.
pub(super) fn begin(server: SocketAddr) -> Reader {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || read(server, &stopped));
    Reader { stop, thread }
}

impl Reader {
    /// Ends the reading, and returns how long each answer took, in order of size.
    pub(super) fn end(self) -> Vec<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        let mut times = self.thread.join().expect("others are served");
        times.sort_unstable();
        times
    }
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
