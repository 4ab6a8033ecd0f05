//! The work of one HTTP request, counted over all its calls.

use crate::search::work::Work;

/// Searches of a batch after which its other calls are refused: 40 ms. Our choice: a page of one search costs less than
/// a tenth of it, so that only batches of many dear searches meet it.
const BATCH_MAX: u64 = 40_000_000;

/// What the calls of one HTTP request have spent.
#[derive(Debug)]
pub(super) struct RequestWork {
    /// Hints, similar names and similar searches; what does not fit is left out of the answers.
    pub(super) hints: Work,
    /// The searches that were asked for. They are answered whatever they cost; in a batch the next call is refused if
    /// nothing is left.
    pub(super) total: Work,
}

impl RequestWork {
    /// Starts with nothing spent.
    pub(super) fn new() -> RequestWork {
        RequestWork {
            hints: Work::for_hints(),
            total: Work::new(BATCH_MAX),
        }
    }
}
