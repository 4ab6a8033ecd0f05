//! A pool of threads of bounded size, for work that blocks: attempts, and lookups of names.
//!
//! A thread is started when work comes and no thread is idle, and ends after [`IDLE_TIME`] without work. There is no
//! queue: what cannot run at once is not taken, because the scheduler has the queue.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a thread waits for more work.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// The stack size of a thread: enough for TLS and HTTP in a build without optimization; only pages in use cost memory.
const STACK_BYTES: usize = 512 * 1024;

/// Work for a thread; it must not panic.
type Task = Box<dyn FnOnce() + Send>;

/// The pool; cheap to clone. Its threads end when they are idle, also after the last clone is dropped.
#[derive(Clone)]
pub(super) struct ThreadPool {
    shared: Arc<SharedState>,
}

struct SharedState {
    name: &'static str,
    threads_max: usize,
    state: Mutex<PoolState>,
    has_work: Condvar,
}

#[derive(Default)]
struct PoolState {
    /// Work that an idle thread has been woken for.
    tasks: VecDeque<Task>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
}

/// Why a task was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum PoolError {
    /// All threads are in use.
    #[error("all threads are in use")]
    Full,
    /// The system refuses another thread.
    #[error("cannot start a thread: {0}")]
    System(#[from] io::Error),
}

impl ThreadPool {
    /// Creates a pool of at most `threads_max` threads with this name, and starts none.
    pub(super) fn new(name: &'static str, threads_max: usize) -> ThreadPool {
        ThreadPool {
            shared: Arc::new(SharedState {
                name,
                threads_max,
                state: Mutex::default(),
                has_work: Condvar::new(),
            }),
        }
    }

    /// Runs `task` on a thread of the pool, which has the priority of the calling thread or a lower one.
    ///
    /// # Errors
    /// [`PoolError`]; the task is then dropped.
    pub(super) fn run(&self, task: impl FnOnce() + Send + 'static) -> Result<(), PoolError> {
        let mut state = self.shared.lock();
        if state.idle <= state.tasks.len() {
            if state.threads >= self.shared.threads_max {
                return Err(PoolError::Full);
            }
            let shared = Arc::clone(&self.shared);
            let builder = thread::Builder::new().name(self.shared.name.to_owned());
            builder
                .stack_size(STACK_BYTES)
                .spawn(move || shared.work())?;
            state.threads += 1;
            state.idle += 1;
        }
        state.tasks.push_back(Box::new(task));
        drop(state);
        self.shared.has_work.notify_one();
        Ok(())
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks until none comes for [`IDLE_TIME`]. The thread counts as idle when it starts.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                state.idle -= 1;
                drop(state);
                task();
                state = self.lock();
                state.idle += 1;
                continue;
            }
            let waited = self.has_work.wait_timeout(state, IDLE_TIME);
            let (locked, result) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            if result.timed_out() && state.tasks.is_empty() {
                state.idle -= 1;
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// Starts a task that runs until the sender of the receiver is dropped.
    fn hold(pool: &ThreadPool, until: Receiver<()>) -> Result<(), PoolError> {
        pool.run(move || {
            let _dropped = until.recv();
        })
    }

    #[test]
    fn a_task_beyond_the_largest_number_of_threads_is_refused_until_one_ends() {
        let pool = ThreadPool::new("test", 2);
        let (end, ends) = channel();
        hold(&pool, ends).expect("a first thread");
        let (_other, others) = channel();
        hold(&pool, others).expect("a second thread");
        assert!(matches!(pool.run(|| {}), Err(PoolError::Full)));
        drop(end);
        run_one(&pool);
    }

    /// Waits until the pool takes a task, and runs it.
    fn run_one(pool: &ThreadPool) {
        loop {
            let (done, is_done) = channel();
            if pool.run(move || done.send(()).expect("waited for")).is_ok() {
                return is_done.recv().expect("it ran");
            }
            thread::yield_now();
        }
    }

    #[test]
    fn threads_are_used_again() {
        let pool = ThreadPool::new("test", 64);
        for _ in 0..100 {
            run_one(&pool);
            while pool.shared.lock().idle == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(pool.shared.lock().threads, 1);
    }
}
