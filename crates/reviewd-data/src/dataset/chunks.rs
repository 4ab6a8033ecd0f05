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
    let job = ChunkJob {
        count,
        work,
        next: AtomicUsize::new(0),
        results: Mutex::new(BTreeMap::new()),
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(count.div_ceil(CHUNK_ROWS)) {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, || job.run());
        }
        job.run();
    });
    let results = job.results.into_inner().expect(NO_PANIC);
    results.into_values().collect()
}

/// What the threads of one call share.
struct ChunkJob<W, T> {
    count: usize,
    work: W,
    /// The first row of the next chunk.
    next: AtomicUsize,
    /// By the first row of the chunk.
    results: Mutex<BTreeMap<usize, T>>,
}

impl<T, W: Fn(Range<usize>) -> T> ChunkJob<W, T> {
    fn run(&self) {
        loop {
            let start = self.next.fetch_add(CHUNK_ROWS, Ordering::Relaxed);
            if start >= self.count {
                return;
            }
            let end = (start + CHUNK_ROWS).min(self.count);
            let result = (self.work)(start..end);
            self.results.lock().expect(NO_PANIC).insert(start, result);
        }
    }
}
