//! Runs work over the rows of a dataset, or the entries of its file, on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows in a chunk. Fixed, so that results that depend on chunks do not depend on the number of threads.
pub const CHUNK_ROWS: usize = 2_048;

const NO_PANIC: &str = "reading reviews does not panic";

/// Runs `work` over the rows `0..count` in chunks and returns the result of each, in order. An idle thread takes the
/// next chunk.
pub fn over_chunks<T: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    over_jobs(count.div_ceil(CHUNK_ROWS), threads, |chunk| {
        let start = chunk * CHUNK_ROWS;
        work(start..(start + CHUNK_ROWS).min(count))
    })
}

/// Runs `work` for each of the numbers `0..count` and returns the results in order. An idle thread takes the next number.
pub fn over_jobs<T: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let jobs = NumberedJobs {
        count,
        work,
        next: AtomicUsize::new(0),
        results: Mutex::new(BTreeMap::new()),
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(count) {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, || jobs.run());
        }
        jobs.run();
    });
    let results = jobs.results.into_inner().expect(NO_PANIC);
    results.into_values().collect()
}

/// What the threads of one call share.
struct NumberedJobs<W, T> {
    count: usize,
    work: W,
    next: AtomicUsize,
    results: Mutex<BTreeMap<usize, T>>,
}

impl<T, W: Fn(usize) -> T> NumberedJobs<W, T> {
    fn run(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            let result = (self.work)(number);
            self.results.lock().expect(NO_PANIC).insert(number, result);
        }
    }
}
