//! The rules of waiting, and of freeing what was replaced.

use super::*;
use std::sync::mpsc;
use std::thread::ThreadId;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn files_rest_for_a_second_or_are_read_after_a_minute() {
    let ms = Duration::from_millis;
    for (rested, waited, left) in [
        (0, 0, Some(1_000)),
        (999, 999, Some(1)),
        (1_000, 1_000, None),
        (0, 59_999, Some(1)),
        (0, 60_000, None),
    ] {
        let found = pause_left(ms(rested), ms(waited));
        assert_eq!(found, left.map(ms), "{rested} {waited}");
    }
}

#[test]
fn a_certificate_is_looked_at_each_minute_and_the_files_as_poll_says() {
    let second = Duration::from_secs(1);
    assert_eq!(time_to_look(NEVER, second, false), NEVER - second);
    assert_eq!(time_to_look(NEVER, second, true), CERTIFICATE_POLL);
    assert_eq!(time_to_look(NEVER, NEVER - second, true), second);
    assert_eq!(time_to_look(second, CERTIFICATE_POLL, true), Duration::ZERO);
}

/// Reports on which thread it is freed.
struct Witness(mpsc::Sender<ThreadId>);

impl Drop for Witness {
    fn drop(&mut self) {
        let _sent = self.0.send(thread::current().id());
    }
}

#[test]
fn a_state_that_a_request_still_has_is_freed_by_the_thread_that_waits_for_it() {
    let (freed, on) = mpsc::channel();
    let shared = Arc::new(Witness(freed));
    let request = Arc::clone(&shared);
    let waiting = thread::spawn(move || drop_when_unshared(shared, LONG, || false));
    let expected = waiting.thread().id();
    let ended = thread::spawn(move || drop(request)).join();
    ended.expect("no panic");
    waiting.join().expect("no panic");
    assert_eq!(on.recv(), Ok(expected));
}

#[test]
fn a_request_without_end_is_not_waited_for_nor_any_once_a_newer_state_is_served() {
    for (wait_max, is_cancelled) in [(Duration::ZERO, false), (LONG, true)] {
        let (freed, on) = mpsc::channel();
        let request = Arc::new(Witness(freed));
        drop_when_unshared(Arc::clone(&request), wait_max, || is_cancelled);
        assert!(on.try_recv().is_err(), "the request has it still");
        drop(request);
        assert_eq!(on.recv(), Ok(thread::current().id()));
    }
}
