//! What became of a report.

use super::super::subscription::{Removal, Step};

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
    Removed(Removal),
}

impl Recorded {
    /// What the verification of a request for an active subscription changed, by the step that it was.
    pub(in crate::websub) fn verified(step: &Step) -> Recorded {
        match (&step.state, step.removal) {
            (Some(state), _) if state.is_leaving() => Recorded::Leaving,
            (Some(_), _) => Recorded::Renewed,
            (None, Some(removal)) => Recorded::Removed(removal),
            (None, None) => Recorded::Stale,
        }
    }
}
