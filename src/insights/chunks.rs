//! Work over the rows of a dataset, shared by threads.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows of a chunk. Fixed, so that what depends on the chunks does not depend on the threads.
pub(super) const CHUNK_ROWS: usize = 2_048;

/// Runs `work` over the rows `0..count` in chunks and returns what it made of each, in order. Threads take the next chunk
/// when they are free, and reuse their state.
pub(super) fn over_chunks<S: Default, T: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(&mut S, Range<usize>) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut state = S::default();
        let chunk = || {
            let start = next.fetch_add(CHUNK_ROWS, Ordering::Relaxed);
            let rows = start..(start + CHUNK_ROWS).min(count);
            (start < count).then(|| (start, work(&mut state, rows)))
        };
        std::iter::from_fn(chunk).collect::<Vec<_>>()
    };
    let mut done = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run);
        let others = 1..threads.get().min(count.div_ceil(CHUNK_ROWS));
        // Where the system refuses a thread, the others do its work.
        let others: Vec<_> = others.flat_map(spawn).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().expect("reading reviews does not panic"));
        }
        done
    });
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().map(|(_, made)| made).collect()
}
