//! Where and when a replaced state is freed, and files that change while they are read.

use super::*;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::ThreadId;
use std::time::SystemTime;

use crate::dataset::{self, CHECK, INSIGHTS, REVIEWS};
use crate::http::SILENCE_MAX;
use crate::server::config::{Config, DataSource};
use crate::server::make_app;

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

/// Writes the sample's reviews into `directory`, and returns a worker that serves them.
fn worker(directory: &Path) -> ReloadWorker {
    fs::write(directory.join(REVIEWS.name), dataset::embedded().reviews).expect("a file");
    let mut config = Config::for_tests();
    config.data = DataSource::Directory(directory.to_owned());
    let base_url = "https://reviews.example";
    let mut loader = Loader::new(&config, base_url);
    let decoded = loader.decode().expect("valid files");
    let built = loader.build(decoded, None, &|| false).expect("a state");
    let served = built.expect("nothing cancels it").served;
    let app = make_app(&config, base_url.to_owned(), served).expect("valid settings");
    ReloadWorker {
        heartbeat: app.liveness.watch("reload"),
        app,
        loader,
        orders: ReloadChannels::open().orders,
        deferred: None,
        is_polling: false,
        due_date: None,
        retry: Retry::default(),
        failure: None,
        counters: Arc::default(),
    }
}

/// Creates a file that is no JSON, and takes so long to read that a writer changes another one meanwhile.
fn write_large(directory: &Path, mebibytes: u64) {
    let file = File::create(directory.join(INSIGHTS.name)).expect("a file");
    file.set_len(mebibytes << 20).expect("a sparse file");
}

/// Calls `read` while a file of `directory` changes without end, and returns its result.
fn while_a_file_changes(directory: &Path, read: impl FnOnce() -> bool) -> bool {
    let file = File::create(directory.join(CHECK.name)).expect("a file");
    let is_read = AtomicBool::new(false);
    let (changed, has_changed) = mpsc::sync_channel(1);
    // If `read` panics, the writer ends by itself.
    let end = clock::instant() + Duration::from_secs(60);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_read.load(Relaxed) && clock::instant() < end {
                file.set_modified(SystemTime::now()).expect("a time");
                let _sent = changed.try_send(());
            }
        });
        has_changed.recv().expect("the writer runs");
        let result = read();
        is_read.store(true, Relaxed);
        result
    })
}

#[test]
fn files_that_change_at_every_read_are_read_again_for_60_seconds_and_then_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut worker = worker(path);
    let served = worker.app.current();
    write_large(path, 128);
    for (elapsed_s, is_reported) in [(30, false), (60, true)] {
        let wait_began = clock::instant() - Duration::from_secs(elapsed_s);
        let has_ended = while_a_file_changes(path, || worker.reload(wait_began));
        assert_eq!(has_ended, is_reported, "{elapsed_s}");
        let reasons = worker.app.readiness.reasons();
        assert_eq!(reasons.len(), usize::from(is_reported), "{reasons:?}");
        assert_eq!(
            worker.retry.time_left(clock::instant()).is_some(),
            is_reported
        );
    }
    let reasons = worker.app.readiness.reasons();
    assert_eq!(reasons[0].code, RELOAD_FAILED);
    let message = "the data files change while they are read; it is tried again";
    assert_eq!(reasons[0].message, message);
    assert!(Arc::ptr_eq(&worker.app.current(), &served));
    // The writer has ended.
    fs::remove_file(path.join(INSIGHTS.name)).unwrap();
    fs::remove_file(path.join(CHECK.name)).unwrap();
    assert!(worker.reload(clock::instant()));
    assert_eq!(worker.app.readiness.reasons().len(), 0);
}

#[test]
fn files_that_changed_while_they_were_read_get_the_time_of_their_new_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut worker = worker(directory.path());
    // As after an incomplete read.
    worker.loader.forget();
    write_large(directory.path(), 16);
    assert!(worker.read_when_written(clock::instant() - WRITTEN_WAIT_MAX));
    let now = std::time::Instant::now();
    for (more_s, is_hung) in [(8, false), (18, true)] {
        let later = now + SILENCE_MAX + Duration::from_secs(more_s);
        assert_eq!(worker.heartbeat.is_hung(later), is_hung, "{more_s}");
    }
}
