//! The work of one HTTP request, counted over all its calls.

use crate::search::work::Work;

/// Work of searches, in units of about a nanosecond, after which the further calls of a batch are refused: 40 ms. Our
/// choice: one search costs less than a tenth of it, so that only batches of many dear searches meet it.
const BATCH_WORK_MAX: u64 = 40_000_000;

/// What the calls of one HTTP request have spent.
#[derive(Debug)]
pub(super) struct RequestWork {
    /// Hints, similar names and similar searches. When nothing is left, answers come without them.
    pub(super) hints: Work,
    /// The searches that were asked for. Each is answered whatever it costs; in a batch, further calls are refused when
    /// nothing is left.
    pub(super) total: Work,
}

impl RequestWork {
    /// Starts with nothing spent.
    pub(super) fn new() -> RequestWork {
        RequestWork {
            hints: Work::for_hints(),
            total: Work::new(BATCH_WORK_MAX),
        }
    }
}
