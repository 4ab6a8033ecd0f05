//! Where and when a replaced state is freed.

use super::*;
use std::sync::mpsc;
use std::thread::ThreadId;

const LONG: Duration = Duration::from_secs(600);

/// Reports the thread on which it is dropped.
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
        assert!(on.try_recv().is_err(), "the request still holds it");
        drop(request);
        assert_eq!(on.recv(), Ok(thread::current().id()));
    }
}
