//! When the store is asked for all pending work, and when the next question has to come soon.

use std::time::{Duration, Instant};

/// When the store is asked for pending work, where asking is a round trip to a database.
#[derive(Debug)]
pub(super) struct PollSchedule {
    /// Whether the last claim of the fast lane found as much as there was room for.
    is_flowing: bool,
    /// Until when that is taken for what the next one will find.
    at: Instant,
    was_skipped: bool,
}

impl PollSchedule {
    /// Returns a schedule by which everything is due at once.
    pub(super) fn new(now: Instant) -> PollSchedule {
        PollSchedule {
            is_flowing: false,
            at: now,
            was_skipped: false,
        }
    }

    /// Tells whether a look is left out: while much is due to quick subscribers, every look would say the same.
    pub(super) fn may_skip(&mut self, now: Instant) -> bool {
        self.was_skipped = self.is_flowing && now < self.at;
        if !self.was_skipped {
            self.at = now + LOOK_EVERY;
        }
        self.was_skipped
    }

    /// Notes whether the fast lane still flows. Returns whether the next look has to come soon: after one that was left
    /// out, too, as it is unknown what it would have seen.
    pub(super) fn note(&mut self, is_flowing: bool) -> bool {
        self.is_flowing = is_flowing;
        is_flowing || self.was_skipped
    }
}

/// How often everything there is to do is looked at while much is due. Our choice: a verification or a denial waits as
/// long at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_left_out_while_the_lane_flows_and_for_a_tenth_of_a_second_at_most() {
        let now = Instant::now();
        let mut poll_schedule = PollSchedule::new(now);
        assert!(!poll_schedule.may_skip(now));
        assert!(poll_schedule.note(true));
        assert!(poll_schedule.may_skip(now + LOOK_EVERY - Duration::from_millis(1)));
        assert!(poll_schedule.note(true));
        assert!(!poll_schedule.may_skip(now + LOOK_EVERY));
    }

    #[test]
    fn after_a_look_that_was_left_out_one_comes_soon_though_nothing_more_flows() {
        let now = Instant::now();
        let mut poll_schedule = PollSchedule::new(now);
        assert!(!poll_schedule.may_skip(now));
        poll_schedule.note(true);
        assert!(poll_schedule.may_skip(now));
        assert!(poll_schedule.note(false), "requests and denials may wait");
        assert!(!poll_schedule.may_skip(now));
        assert!(!poll_schedule.note(false), "now it was seen");
    }
}
