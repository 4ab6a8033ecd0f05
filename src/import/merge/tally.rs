//! What is counted and noted of each source.

use super::Arrived;

/// What came of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reviews that were not there.
    pub added: u64,
    /// Reviews that were there and are different now.
    pub changed: u64,
    /// Reviews that are there as the source has them.
    pub unchanged: u64,
    /// Records that say again what another record of this import says.
    pub repeated: u64,
    /// Records that are no reviews, with reasons.
    pub refused: u64,
    /// Reviews on the ignore list, which are not added.
    pub ignored: u64,
}

impl Tally {
    /// The count that a version belongs to.
    pub(super) fn outcome(&mut self, is_there: bool, arrived: &Arrived) -> &mut u64 {
        match (is_there, &arrived.fresh) {
            (true, None) => &mut self.unchanged,
            (true, Some(_)) => &mut self.changed,
            (false, _) => &mut self.added,
        }
    }

    /// Records that are valid reviews: those taken into the file and those on the ignore list.
    pub fn taken(&self) -> u64 {
        self.added + self.changed + self.unchanged + self.repeated + self.ignored
    }

    /// Both counts together.
    pub fn plus(&self, other: &Tally) -> Tally {
        Tally {
            added: self.added + other.added,
            changed: self.changed + other.changed,
            unchanged: self.unchanged + other.unchanged,
            repeated: self.repeated + other.repeated,
            refused: self.refused + other.refused,
            ignored: self.ignored + other.ignored,
        }
    }
}

/// What there is to say of a record: why it was refused, or what to look at though it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which source, in the order given.
    pub source: usize,
    /// The line on which the record begins.
    pub line: u64,
    /// All that there is to say.
    pub text: String,
}

impl Note {
    pub(super) fn new(source: usize, line: u64, text: String) -> Note {
        Note { source, line, text }
    }
}
