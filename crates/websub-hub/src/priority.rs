//! Thread priorities: threads that serve requests have precedence over threads that deliver.
//!
//! A fan-out keeps every core busy with handshakes, and must not slow down requests. At equal priority, a thread that
//! serves a request waits for its turn among all delivery threads; if these have a lower priority, it runs at once.

use rustix::process::{getpriority_process, setpriority_process};
use tracing::debug;

/// Priority of a thread, always lower than that of threads that serve requests. The number is the niceness: each step
/// changes the thread's share of a busy core by about a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// For the hub: one thread gets a quarter of a core that another process keeps busy, so that deliveries meet their
    /// deadlines. With 10 it would be a tenth.
    Low = 5,
    /// For background work that may take long, but must make progress.
    Lower = 10,
}

/// Lowers the priority of the calling thread, and so of the threads that it starts; never raises it. Does nothing
/// except on Linux: other systems have no priority per thread, and would lower that of the process.
pub fn lower_priority(priority: Priority) {
    // If the system forbids even this, all threads keep the same priority.
    if cfg!(target_os = "linux")
        && let Err(error) = lower_to(priority as i32)
    {
        debug!(%error, "background work runs at ordinary priority");
    }
}

/// Lowers the calling thread to `niceness`, unless it is there or below.
fn lower_to(niceness: i32) -> rustix::io::Result<()> {
    // `None` is the calling thread.
    if getpriority_process(None)? < niceness {
        setpriority_process(None, niceness)?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_calling_thread_gets_a_lower_priority_and_keeps_it() {
        let before = niceness();
        let after = std::thread::spawn(move || {
            lower_priority(Priority::Lower);
            lower_priority(Priority::Low);
            niceness()
        });
        assert_eq!(after.join().expect("no panic"), 10);
        assert_eq!(niceness(), before);
    }

    fn niceness() -> i32 {
        getpriority_process(None).expect("every thread has one")
    }
}
