//! Threads for blocking work: started when needed, at most so many, ended when idle.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::priority::{Behind, give_way};

/// A pool of threads: the blocking ones of a runtime of its own, which runs nothing else. Its queue has no bound: the caller
/// counts its jobs, and never has many more under way than there may be threads.
pub(super) struct Pool {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Pool {
    /// Makes a pool of at most `threads_max` threads called `name`, `behind` others in priority.
    pub(super) fn new(name: &'static str, threads_max: usize, behind: Behind) -> io::Result<Pool> {
        let mut builder = Builder::new_current_thread();
        builder
            .thread_name(name)
            .thread_stack_size(STACK_BYTES)
            .thread_keep_alive(IDLE_TIME)
            .max_blocking_threads(threads_max)
            .on_thread_start(move || give_way(behind));
        Ok(Pool {
            runtime: Some(builder.build()?),
        })
    }

    /// Hands in a job; `false` when the system refuses the first thread. A panic costs the job, not the thread.
    pub(super) fn submit(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let Some(runtime) = &self.runtime else {
            return false;
        };
        // tokio panics where there is no thread at all; else the job waits for one of those that are there.
        let spawn = AssertUnwindSafe(|| drop(runtime.spawn_blocking(job)));
        catch_unwind(spawn).is_ok()
    }
}

/// Jobs that wait are dropped, those under way go on.
impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A thread without a job for this long ends.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// Enough for TLS and HTTP in a build without optimization; only what is touched costs memory.
pub(super) const STACK_BYTES: usize = 512 * 1024;
