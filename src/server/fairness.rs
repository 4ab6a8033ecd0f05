//! Fairness between the connections of a thread: how much hyper may answer on one before others are polled.
//!
//! tokio looks at the sockets after 61 polls of tasks, and hyper answers 16 requests in each; so a row of pipelined
//! requests, or the streams of HTTP/2, would keep all other connections of a thread waiting for up to 976 answers. The
//! fast path has the same budget of its own.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::fast::POLL_COST_MAX;

/// What a connection has cost since others had their turn. One thread at a time touches it; it only has to be shareable.
#[derive(Debug, Default)]
pub(super) struct PollBudget {
    cost: AtomicUsize,
    /// How many turns have ended.
    number: AtomicUsize,
}

impl PollBudget {
    /// Adds what an answer has cost.
    pub(super) fn add(&self, cost: usize) {
        self.cost
            .store(self.cost.load(Relaxed).saturating_add(cost), Relaxed);
    }

    /// Tells whether others are to have their turn before more is answered.
    pub(super) fn is_over(&self) -> bool {
        self.cost.load(Relaxed) >= POLL_COST_MAX
    }

    /// Returns the number of this turn.
    pub(super) fn number(&self) -> usize {
        self.number.load(Relaxed)
    }

    /// Ends the turn of this number, for one who has given way in it; others may have ended it before.
    pub(super) fn end(&self, number: usize) {
        if self.number() == number {
            self.number.store(number.wrapping_add(1), Relaxed);
            self.cost.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_over_at_its_cost_and_ends_once_whoever_has_given_way_in_it() {
        let turn = PollBudget::default();
        turn.add(POLL_COST_MAX - 1);
        assert!(!turn.is_over());
        turn.add(1);
        assert!(turn.is_over());
        let number = turn.number();
        turn.end(number);
        assert!(!turn.is_over());
        // A second that has given way in the same turn does not end the next.
        turn.add(usize::MAX);
        turn.end(number);
        assert!(turn.is_over() && turn.number() == number + 1);
    }
}
