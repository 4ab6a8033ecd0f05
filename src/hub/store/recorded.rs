//! How exchanges ended, as reported to a store, and what that changed.

use std::time::Duration;

use super::super::moment::Moment;
use super::super::subscription::{Answer, Outcome, RemovalReason, Step};

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A verification was answered, or not.
    Verified {
        /// The request's id.
        id: i64,
        /// When the verification request went out.
        asked_at: Moment,
        /// Whether the challenge came back.
        confirmed: bool,
    },
    /// A verification did not come about for a fault of the network: the request waits for another attempt, as long as
    /// there were fewer than [`UNREACHED_MAX`](super::UNREACHED_MAX).
    Unreached {
        /// The request's id.
        id: i64,
        /// What happened.
        answer: Answer,
        /// How long it waits.
        delay: Duration,
    },
    /// A verification was not sent, for a reason of ours: the request waits as before.
    Unsent {
        /// The request's id.
        id: i64,
    },
    /// An attempt to deliver ended.
    Delivered {
        /// The subscription's id.
        id: i64,
        /// The attempt's number.
        attempt: u64,
        /// Digest of the content that was sent.
        digest: [u8; 32],
        /// How it ended.
        outcome: Outcome,
        /// How long it took.
        elapsed: Duration,
        /// Randomness for the next delay.
        jitter: u16,
    },
}

/// What a report changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing: the request or attempt is not there any more.
    Stale,
    /// A subscription became active.
    Activated,
    /// An active subscription was renewed.
    Renewed,
    /// An active subscription leaves when the attempt under way has ended.
    Leaving,
    /// A verification failed; nothing else changed.
    Rejected,
    /// The request waits again.
    Waiting,
    /// The subscription stays.
    Kept {
        /// Consecutive failures now.
        failures: u32,
    },
    /// The subscription is gone.
    Removed(RemovalReason),
}

impl Recorded {
    /// What the verification of a request for an active subscription changed, by the step that it was.
    pub(in crate::hub) fn verified(step: &Step) -> Recorded {
        match (&step.state, step.removal) {
            (Some(state), _) if state.is_leaving() => Recorded::Leaving,
            (Some(_), _) => Recorded::Renewed,
            (None, Some(removal)) => Recorded::Removed(removal),
            (None, None) => Recorded::Stale,
        }
    }
}
