//! When everything there is to do is looked at, and when the next look has to come soon.

use std::time::{Duration, Instant};

/// The looks of a hub whose looks are conversations with a database.
#[derive(Debug)]
pub(super) struct Looks {
    /// Whether the last claim of the fast lane found as much as there was room for.
    is_flowing: bool,
    /// Until when that is taken for what the next one will find.
    at: Instant,
    was_skipped: bool,
}

impl Looks {
    /// Returns looks of which the first is due.
    pub(super) fn new(now: Instant) -> Looks {
        Looks {
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
    /// out, too, as nobody knows what it would have seen.
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
        let mut looks = Looks::new(now);
        assert!(!looks.may_skip(now));
        assert!(looks.note(true));
        assert!(looks.may_skip(now + LOOK_EVERY - Duration::from_millis(1)));
        assert!(looks.note(true));
        assert!(!looks.may_skip(now + LOOK_EVERY));
    }

    #[test]
    fn after_a_look_that_was_left_out_one_comes_soon_though_nothing_more_flows() {
        let now = Instant::now();
        let mut looks = Looks::new(now);
        assert!(!looks.may_skip(now));
        looks.note(true);
        assert!(looks.may_skip(now));
        assert!(looks.note(false), "requests and denials may wait");
        assert!(!looks.may_skip(now));
        assert!(!looks.note(false), "now it was seen");
    }
}
