//! Threads for blocking work: started when needed, at most so many, ended when idle.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::priority::{Behind, give_way};

/// A pool of threads that run jobs of type `J`.
///
/// The queue has no bound of its own: whoever hands in jobs counts them, and never has more under way than there may
/// be threads.
pub struct Pool<J> {
    shared: Arc<Shared<J>>,
}

struct Shared<J> {
    name: &'static str,
    state: Mutex<State<J>>,
    wake: Condvar,
    threads_max: usize,
    behind: Option<Behind>,
    run: Box<dyn Fn(J) + Send + Sync>,
}

struct State<J> {
    queue: VecDeque<J>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl<J: Send + 'static> Pool<J> {
    /// Makes a pool of at most `threads_max` threads called `name` that call `run`, at the priority of whoever hands a
    /// job in, or `behind` it. A panic in `run` costs the job, not the thread.
    pub fn new(
        name: &'static str,
        threads_max: usize,
        behind: Option<Behind>,
        run: impl Fn(J) + Send + Sync + 'static,
    ) -> Pool<J> {
        let state = State {
            queue: VecDeque::new(),
            threads: 0,
            idle: 0,
            closed: false,
        };
        let shared = Shared {
            name,
            state: Mutex::new(state),
            wake: Condvar::new(),
            threads_max,
            behind,
            run: Box::new(run),
        };
        Pool {
            shared: Arc::new(shared),
        }
    }

    /// Hands in a job. When the system refuses a thread, the job waits for one of those that are there.
    ///
    /// # Errors
    /// The job, when there is no thread at all.
    pub fn submit(&self, job: J) -> Result<(), J> {
        let mut state = lock(&self.shared.state);
        if state.idle <= state.queue.len() && state.threads < self.shared.threads_max {
            let shared = Arc::clone(&self.shared);
            let builder = thread::Builder::new()
                .name(self.shared.name.to_owned())
                .stack_size(STACK_BYTES);
            match builder.spawn(move || shared.serve()) {
                Ok(_detached) => state.threads += 1,
                Err(_) if state.threads == 0 => return Err(job),
                Err(error) => {
                    tracing::warn!(%error, "the hub works with fewer threads than it may have")
                }
            }
        }
        state.queue.push_back(job);
        drop(state);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Returns how many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        lock(&self.shared.state).threads
    }
}

impl<J> Drop for Pool<J> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        state.queue.clear();
        drop(state);
        self.shared.wake.notify_all();
    }
}

impl<J> Shared<J> {
    fn serve(&self) {
        if let Some(behind) = self.behind {
            give_way(behind);
        }
        while let Some(job) = self.next() {
            // The job's own end reports itself in any case; what is lost with a panic is only its work.
            if catch_unwind(AssertUnwindSafe(|| (self.run)(job))).is_err() {
                tracing::error!(
                    "an exchange with a subscriber panicked, which is an error in reviewd"
                );
            }
        }
    }

    /// Waits for a job; `None` ends the thread, which has then been taken off the count.
    fn next(&self) -> Option<J> {
        let mut state = lock(&self.state);
        state.idle += 1;
        let job = loop {
            if let Some(job) = state.queue.pop_front() {
                break Some(job);
            }
            if state.closed {
                break None;
            }
            let (guard, wait) = self
                .wake
                .wait_timeout(state, IDLE_TIME)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if wait.timed_out() && state.queue.is_empty() {
                break None;
            }
        };
        state.idle -= 1;
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }
}

/// A panic while the lock is held cannot leave the counts half changed, so a poisoned lock is as good as any.
fn lock<J>(state: &Mutex<State<J>>) -> MutexGuard<'_, State<J>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread without a job for this long ends.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// Enough for TLS and HTTP in a build without optimization; only what is touched costs memory.
const STACK_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn jobs_run_at_the_same_time_up_to_the_bound() {
        let (started, starts) = channel();
        let pool: Pool<Receiver<()>> = Pool::new("test", 2, None, move |release: Receiver<()>| {
            started.send(()).expect("the test waits");
            release.recv_timeout(LONG).expect("released");
        });
        let releases: Vec<Sender<()>> = (0..3)
            .map(|_| {
                let (release, released) = channel();
                assert!(pool.submit(released).is_ok());
                release
            })
            .collect();
        for _ in 0..2 {
            starts.recv_timeout(LONG).expect("started");
        }
        assert_eq!(pool.threads(), 2);
        assert!(starts.try_recv().is_err(), "a third waits");
        for release in releases {
            // The job that waits gets its release when its turn comes.
            let _early = release.send(());
        }
        starts.recv_timeout(LONG).expect("started");
    }

    #[test]
    fn a_panic_costs_the_job_and_not_the_thread() {
        let (done, dones) = channel();
        let pool: Pool<u8> = Pool::new("test", 1, None, move |job| {
            assert_ne!(job, 0, "the job that panics on purpose");
            done.send(job).expect("the test waits");
        });
        for job in [0, 1] {
            assert!(pool.submit(job).is_ok());
        }
        assert_eq!(dones.recv_timeout(LONG), Ok(1));
        assert_eq!(pool.threads(), 1);
    }
}
