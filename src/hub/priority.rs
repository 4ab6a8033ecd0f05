//! Priorities of threads: requests come first, deliveries take what they leave.
//!
//! A fan-out keeps every core busy with handshakes for as long as it lasts, and a request should not notice. At equal
//! priority a reader waits for its turn among all threads of the pool; below it the system lets the reader in at once.

use rustix::process::{getpriority_process, setpriority_process};
use tracing::debug;

/// How far behind the threads that serve requests a thread stands, in steps of niceness: one step is about a quarter
/// more or less of a contended core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// For one thread that requests wait for now and then: it gets a quarter of a contended core.
    Little = 5,
    /// For work that may wait, and a little more than nothing, so that it ends some day.
    Well = 10,
    /// For threads in numbers: 64 of them together still leave a serving thread half of a contended core.
    Far = 19,
}

/// Lowers the priority of the calling thread, and so of those that it starts; never raises it. On Linux, priority belongs
/// to the thread; other systems would lower the whole process, so there nothing is done.
pub fn give_way(behind: Behind) {
    let niceness = behind as i32;
    // `None` is the calling thread.
    let lower = || match getpriority_process(None)? < niceness {
        true => setpriority_process(None, niceness),
        false => Ok(()),
    };
    // Refused where even this is forbidden; then all are alike.
    if cfg!(target_os = "linux")
        && let Err(error) = lower()
    {
        debug!(%error, "background work runs at ordinary priority");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_way_alone_and_never_comes_back() {
        let niceness = || getpriority_process(None).expect("every thread has one");
        let before = niceness();
        let after = std::thread::spawn(move || {
            give_way(Behind::Far);
            give_way(Behind::Little);
            niceness()
        });
        assert_eq!(after.join().expect("no panic"), 19);
        assert_eq!(niceness(), before);
    }
}
