//! The wall clock jumps: the hub moves the times that it has stored, so that leases and retries keep their length, and
//! counts its gauges again, which are times of that clock.

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a test is its message, in helpers as well"
)]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use websub_hub::guard::{Guard, Ports};
use websub_hub::store::{Accept, FILE_NAME, Quotas, TopicVersion};
use websub_hub::{Hub, HubSettings, Outside, StoreLocation, Timestamp, Topic, UnixMillis, request};

const BASE: &str = "https://news.example";

const DAY_MS: i64 = 86_400_000;

/// When the stored request was accepted, and the first time of the clock, in milliseconds since 1970.
const ACCEPTED_MS: i64 = 1_800_000_000_000;

/// Longest wait for what the hub does at once, or when the lock of its store is free.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Longest wait for what the hub does without a reason only every 10 seconds.
const SOON: Duration = Duration::from_secs(8);

/// A wall clock, and by how much it has jumped.
#[derive(Clone)]
struct WallClock {
    began: Instant,
    jumped_ms: Arc<AtomicI64>,
}

impl WallClock {
    fn new() -> WallClock {
        WallClock {
            began: Instant::now(),
            jumped_ms: Arc::default(),
        }
    }

    fn jump(&self, by_ms: i64) {
        self.jumped_ms.fetch_add(by_ms, SeqCst);
    }

    fn unix_ms(&self) -> i64 {
        let elapsed = self.began.elapsed().as_millis() as i64;
        ACCEPTED_MS + elapsed + self.jumped_ms.load(SeqCst)
    }
}

/// A hub on a thread; dropping it stops it.
struct RunningHub {
    hub: Hub,
    /// How often it has read the clock: twice for each batch, which is at least every half second.
    readings: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl RunningHub {
    fn start(folder: &Path, clock: &WallClock) -> RunningHub {
        let clock = clock.clone();
        let readings = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&readings);
        let outside = Outside {
            lookup: Arc::new(|_: &str| Err(io::Error::other("there is no network"))),
            unix_ms: Box::new(move || {
                counter.fetch_add(1, SeqCst);
                clock.unix_ms()
            }),
        };
        let guard = Guard {
            allow_private: false,
            ports: Ports::parse("443").unwrap(),
        };
        let settings = HubSettings::new(location(folder), guard);
        let (hub, work) = Hub::start(BASE, settings, outside, [topic()], |_| {}).unwrap();
        RunningHub {
            hub,
            readings,
            thread: Some(thread::spawn(work)),
        }
    }

    fn is_delivering(&self) -> bool {
        self.hub.health().delivering
    }

    /// Waits until it has read the clock so many times from now on.
    fn wait_readings(&self, count: u64) {
        let last = self.readings.load(SeqCst) + count;
        wait_until("it reads the clock", || self.readings.load(SeqCst) >= last);
    }
}

impl Drop for RunningHub {
    fn drop(&mut self) {
        self.hub.shutdown_now();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn location(folder: &Path) -> StoreLocation {
    StoreLocation::Directory(folder.to_owned())
}

fn topic() -> Topic {
    Topic {
        path: "/feed.xml",
        media_type: "application/atom+xml",
        body: "<feed/>".into(),
        digest: [1; 32],
        updated_at: Timestamp::from_unix(1),
    }
}

/// Stores a request to subscribe, whose callback is never found.
fn store_request(folder: &Path, host: &str) {
    let mut store = location(folder).open().unwrap();
    let form = format!(
        "hub.mode=subscribe&hub.topic={BASE}/feed.xml&hub.callback=https://{host}.example.net/cb"
    );
    let form_type: Option<&[u8]> = Some(b"application/x-www-form-urlencoded");
    let accept = Accept {
        request: request::parse(form_type, form.as_bytes()).unwrap(),
        lease_s: 1_000,
        asker: 1,
    };
    let version = TopicVersion {
        url: format!("{BASE}/feed.xml"),
        digest: topic().digest,
        dated: topic().updated_at,
    };
    let now = UnixMillis::new(ACCEPTED_MS);
    store.publish(&[version], now).unwrap();
    let accepted = store
        .accept(&[accept], &Quotas::new(1_000, 100), now)
        .unwrap();
    assert_eq!(accepted, [Ok(())]);
}

/// By how much the time was moved at which the first request was accepted.
fn moved_ms(folder: &Path) -> i64 {
    let mut store = location(folder).open().unwrap();
    let requests = store.requests(None, 1).unwrap();
    requests[0].state.created_at.as_ms() - ACCEPTED_MS
}

fn wait_until(what: &str, is_met: impl FnMut() -> bool) {
    wait_at_most(WAIT_MAX, what, is_met);
}

/// Waits for a condition, and fails if it is not met in time.
fn wait_at_most(time: Duration, what: &str, mut is_met: impl FnMut() -> bool) {
    let until = Instant::now() + time;
    while !is_met() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn stored_times_move_with_a_clock_that_jumps_ahead_and_back() {
    let folder = tempfile::tempdir().unwrap();
    store_request(folder.path(), "a");
    let clock = WallClock::new();
    let running = RunningHub::start(folder.path(), &clock);
    wait_until("it delivers", || running.is_delivering());
    clock.jump(DAY_MS);
    wait_until("a day ahead", || {
        (DAY_MS..DAY_MS + 1_000).contains(&moved_ms(folder.path()))
    });
    clock.jump(-3 * DAY_MS);
    wait_until("two days back", || {
        (-2 * DAY_MS - 1_000..-2 * DAY_MS + 1_000).contains(&moved_ms(folder.path()))
    });
}

#[test]
fn only_the_hub_that_delivers_moves_the_times_of_a_shared_store() {
    let folder = tempfile::tempdir().unwrap();
    store_request(folder.path(), "a");
    let clock = WallClock::new();
    let first = RunningHub::start(folder.path(), &clock);
    wait_until("it delivers", || first.is_delivering());
    let second = RunningHub::start(folder.path(), &clock);
    wait_until("it has opened the store", || second.hub.health().is_open);
    clock.jump(DAY_MS);
    // Each of them has followed the jump, or left it to the other.
    first.wait_readings(4);
    second.wait_readings(4);
    assert!(moved_ms(folder.path()) >= DAY_MS);
    assert!(!second.is_delivering());
    assert!(moved_ms(folder.path()) < DAY_MS + 1_000);
}

#[test]
fn a_jump_while_the_store_is_locked_is_followed_once_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    store_request(folder.path(), "a");
    let clock = WallClock::new();
    let running = RunningHub::start(folder.path(), &clock);
    wait_until("it delivers", || running.is_delivering());
    let other = rusqlite::Connection::open(folder.path().join(FILE_NAME)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    clock.jump(DAY_MS);
    // It reads the clock again only after it has waited 5 seconds for the lock.
    running.wait_readings(2);
    other.execute_batch("ROLLBACK").unwrap();
    wait_until("a day ahead", || moved_ms(folder.path()) >= DAY_MS);
    running.wait_readings(4);
    assert!(moved_ms(folder.path()) < DAY_MS + 1_000);
}

#[test]
fn the_gauges_are_counted_again_after_a_jump() {
    let folder = tempfile::tempdir().unwrap();
    store_request(folder.path(), "a");
    let clock = WallClock::new();
    let running = RunningHub::start(folder.path(), &clock);
    let waiting = &running.hub.stats().requests;
    wait_until("it has counted", || waiting.load(SeqCst) == 1);
    wait_until("it delivers", || running.is_delivering());
    // Without a jump, the hub counts it up to 10 seconds later.
    store_request(folder.path(), "b");
    clock.jump(-DAY_MS);
    wait_at_most(SOON, "it has counted again", || waiting.load(SeqCst) == 2);
}
