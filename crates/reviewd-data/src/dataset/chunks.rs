//! Runs work over the rows of a dataset, or the entries of its file, on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows in a chunk. Fixed, so that results that depend on chunks do not depend on the number of threads.
pub const CHUNK_ROWS: usize = 2_048;

/// Runs `work` over the rows `0..count` in chunks and returns the result of each, in order. An idle thread takes the
/// next chunk.
pub fn over_chunks<T: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let (next, parts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let run = || {
        loop {
            let start = next.fetch_add(CHUNK_ROWS, Ordering::Relaxed);
            if start >= count {
                break;
            }
            let part = work(start..(start + CHUNK_ROWS).min(count));
            parts.lock().expect(NO_PANIC).insert(start, part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(count.div_ceil(CHUNK_ROWS)) {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    parts.into_inner().expect(NO_PANIC).into_values().collect()
}

const NO_PANIC: &str = "reading reviews does not panic";
