//! Counts the work of searches, so that what a request may cost is bounded without a clock.
//!
//! A unit is about a nanosecond of a current server. The counts are estimates from the sizes of what is read: the same
//! request costs the same on every machine, and replicas give the same answers.

/// Units for a lookup in the tree.
pub(super) const LOOKUP: u64 = 100;
/// Units for a row that is decoded from a list, and looked up in the rows selected so far.
pub(super) const ROW: u64 = 2;
/// Units for a text that is searched, besides those for its bytes.
pub(super) const TEXT: u64 = 200;
/// Bytes of a searched text that are one more unit.
pub(super) const TEXT_BYTES: u64 = 8;
/// Units for a name whose words are compared with those of an unknown name.
pub(super) const NAME: u64 = 100;

/// Work that was done, and how much may be done.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    spent: u64,
    spent_max: u64,
}

impl Default for Work {
    /// Work without a limit.
    fn default() -> Work {
        Work::new(u64::MAX)
    }
}

impl Work {
    /// What one HTTP request, a batch included, may spend on hints, similar names and similar searches: 2 ms.
    pub const HINTS_MAX: u64 = 2_000_000;

    /// Starts with nothing spent, out of `spent_max` units.
    pub fn new(spent_max: u64) -> Work {
        Work {
            spent: 0,
            spent_max,
        }
    }

    /// Starts the work for hints of one HTTP request.
    pub fn for_hints() -> Work {
        Work::new(Work::HINTS_MAX)
    }

    /// Records that `units` were spent.
    pub fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
    }

    /// Returns the units that were spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Returns the units that are left.
    pub fn left(&self) -> u64 {
        self.spent_max.saturating_sub(self.spent)
    }

    /// Tells whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.spent >= self.spent_max
    }
}
