//! How long a thread has waited for a core: the lag of our own machine, which is no fault of a callback.

use std::fs;
use std::time::Duration;

/// Returns how long the calling thread was ready to run and waited for a core, since it started. Zero where the system
/// does not tell: only Linux does, in `/proc/thread-self/schedstat`.
pub(super) fn cpu_wait() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(parse_wait_ns(&text).unwrap_or_default())
}

/// Parses the second number: nanoseconds of waiting. The first is the time of running, the third counts the runs.
fn parse_wait_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(parse_wait_ns("1026190 4711 16\n"), Some(4711));
        assert_eq!(parse_wait_ns(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_shares_a_core_waits() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // More threads than cores: at least one waits.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let waits = (0..=cores * 2).map(|_| {
                scope.spawn(|| {
                    while cpu_wait().is_zero() && !is_over.load(Ordering::Relaxed) {}
                    is_over.store(true, Ordering::Relaxed);
                    cpu_wait()
                })
            });
            let waits: Vec<_> = waits.collect();
            let longest = waits.into_iter().map(|wait| wait.join().expect("no panic"));
            assert!(longest.max() > Some(Duration::ZERO));
        });
    }
}
