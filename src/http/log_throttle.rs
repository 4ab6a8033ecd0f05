//! Limits how often a repeated event is logged: clients can cause some events with each request.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;

/// How often a repeated event is logged. Our choice: often enough to see that it goes on.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Limits the log lines about one kind of event.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle {
    /// The time of the last line.
    logged: Mutex<Option<Instant>>,
}

impl LogThrottle {
    /// Takes the permission for a line now; returns false less than a minute after the last one.
    pub(crate) fn take(&self) -> bool {
        self.take_at(clock::instant())
    }

    fn take_at(&self, now: Instant) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.is_some_and(|logged| now - logged < LOG_INTERVAL) {
            return false;
        }
        *logged = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_one_line() {
        let throttle = LogThrottle::default();
        let began = Instant::now();
        for (after_s, expected) in [
            (0, true),
            (0, false),
            (59, false),
            (60, true),
            (119, false),
            (121, true),
        ] {
            let now = began + Duration::from_secs(after_s);
            assert_eq!(throttle.take_at(now), expected, "{after_s}");
        }
    }
}
