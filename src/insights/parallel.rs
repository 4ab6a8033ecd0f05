//! Work over rows on several threads, with results in the order of the rows.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows that one piece of work takes. Fixed, so that what depends on the pieces does not depend on the threads.
pub(super) const CHUNK_ROWS: usize = 2_048;

/// Runs `work` over the rows `0..count` in chunks and returns what it made of each, in order.
///
/// `prepare` makes what one thread reuses from chunk to chunk. Threads take the next chunk when they are free.
pub(super) fn over_chunks<S, T: Send>(
    count: usize,
    threads: NonZeroUsize,
    prepare: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, Range<usize>) -> T + Sync,
) -> Vec<T> {
    let chunks = count.div_ceil(CHUNK_ROWS);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut state = prepare();
        let mut done = Vec::new();
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return done;
            }
            let rows = chunk * CHUNK_ROWS..((chunk + 1) * CHUNK_ROWS).min(count);
            done.push((chunk, work(&mut state, rows)));
        }
    };
    let mut done = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run);
        // Where the system refuses a thread, the others do its work.
        let others = (1..threads.get().min(chunks)).flat_map(spawn);
        let others: Vec<_> = others.collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().expect("reading reviews does not panic"));
        }
        done
    });
    done.sort_unstable_by_key(|(chunk, _)| *chunk);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_worked_on_once_and_in_order() {
        for count in [0, 1, CHUNK_ROWS, CHUNK_ROWS + 1, 5 * CHUNK_ROWS] {
            for threads in [1, 3] {
                let threads = NonZeroUsize::new(threads).expect("not zero");
                let rows: Vec<usize> =
                    over_chunks(count, threads, || (), |(), rows| rows.collect::<Vec<_>>())
                        .concat();
                assert_eq!(rows, (0..count).collect::<Vec<_>>());
            }
        }
    }
}
