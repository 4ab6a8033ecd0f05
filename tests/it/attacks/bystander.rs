//! Somebody who only wants to read, and measures how long that takes.

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
pub(super) struct Bystander {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

/// What a reader noticed.
pub(super) struct Noticed {
    pub(super) answers: usize,
    pub(super) p99: Duration,
}

/// Begins to read; who is refused again and again fails the test.
pub(super) fn begin(server: SocketAddr) -> Bystander {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || read(server, &stopped));
    Bystander { stop, thread }
}

impl Bystander {
    /// Ends the reading.
    pub(super) fn end(self) -> Noticed {
        self.stop.store(true, Ordering::Relaxed);
        let mut times = self.thread.join().expect("others are served");
        times.sort_unstable();
        let answers = times.len();
        Noticed {
            answers,
            p99: times.get(answers * 99 / 100).copied().unwrap_or_default(),
        }
    }
}

fn read(server: SocketAddr, stopped: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut kept = Connection::open(server);
    let mut failures = 0;
    while !stopped.load(Ordering::Relaxed) {
        let number = times.len();
        let target = TARGETS[number % TARGETS.len()];
        if number % KEPT == 0 {
            kept = Connection::open(server);
        }
        let began = Instant::now();
        match ask(&mut kept, target) {
            Some(200) => {
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

fn ask(connection: &mut Connection, target: &str) -> Option<u16> {
    let head = connection.head("GET", target, &[], 0);
    connection.try_write(head.as_bytes()).ok()?;
    let response = connection.try_response("GET").ok()?;
    Some(response.status)
}
