//! What the tree tells of a needle: exactly these reviews, these at most, none, or nothing.

use crate::search::arena::Arena;
use crate::search::index::Index;
use crate::search::rows::{has, unpack};
use crate::search::tree::{Own, Tree, Within};
use memchr::memmem::Finder;

/// The reviews among which a needle is to be found.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Known<'t> {
    /// All reviews: there is no tree, or no needle.
    All,
    /// These, as the tree has them.
    Within(Within<'t>),
    /// The candidates that were left in the given vector.
    Candidates,
}

/// Looks for `needle`: what is known, and whether it is exact or each text is still to be looked at; `None` where no
/// review holds it.
///
/// Uses and fills `candidates`, which keeps its room from one search to the next.
pub(in crate::search) fn look_up<'t>(
    index: &'t Index,
    needle: &[u8],
    candidates: &mut Vec<u32>,
) -> Option<(Known<'t>, bool)> {
    let Some(tree) = &index.tree else {
        return Some((Known::All, false));
    };
    let found = tree.find(needle)?;
    let Within::Leaf(packed) = found.within else {
        return Some((Known::Within(found.within), found.exact));
    };
    if found.exact {
        return Some((Known::Within(found.within), true));
    }
    candidates.clear();
    unpack(packed, |row| {
        candidates.push(row);
        true
    });
    narrow(tree, needle, found.seen, candidates)?;
    (!candidates.is_empty()).then_some((Known::Candidates, false))
}

/// Where other parts of a needle begin that are looked up too, in eighths of the way from its start to the last part
/// that is as long as what the first walk saw: the farthest first, since what is far apart has least to do with each other.
const PARTS: [usize; 8] = [8, 4, 2, 6, 1, 3, 5, 7];

/// After so many walks one upon the other that left nearly all candidates, these will hold the needle.
const IDLE_WALKS_MAX: u32 = 2;

/// So few texts are looked at sooner than the tree is walked once more.
const CANDIDATES_FEW: usize = 12;

/// A list of more bytes is not decoded to narrow a leaf's.
const NARROWING_BYTES_MAX: usize = 4096;

/// Leaves of `candidates`, the reviews of the first `seen` bytes, those that other parts of the needle lead to as well;
/// `None` where one of them leads nowhere.
fn narrow(tree: &Tree, needle: &[u8], seen: usize, candidates: &mut Vec<u32>) -> Option<()> {
    let mut idle = 0;
    for part in PARTS {
        if candidates.len() <= CANDIDATES_FEW || idle == IDLE_WALKS_MAX {
            break;
        }
        let mut start = (needle.len() - seen) * part / 8;
        while needle[start] & 0xc0 == 0x80 {
            start -= 1;
        }
        if start == 0 {
            continue;
        }
        let before = candidates.len();
        match tree.find(&needle[start..])?.within {
            Within::Own(own) if own.packed.len() > NARROWING_BYTES_MAX => {}
            Within::Leaf(packed) | Within::Own(Own { packed, .. }) => {
                let mut common = Common::of(candidates);
                unpack(packed, |row| common.meet(row));
                common.end();
            }
            Within::Bitmap(words, _) => candidates.retain(|row| has(words, *row)),
            Within::Below(_) => {}
        }
        let is_idle = candidates.len() > before - before / 8;
        idle = if is_idle { idle + 1 } else { 0 };
    }
    Some(())
}

/// Ascending rows of which those are kept that others, ascending too, have as well.
struct Common<'r> {
    rows: &'r mut Vec<u32>,
    read: usize,
    kept: usize,
}

impl<'r> Common<'r> {
    fn of(rows: &'r mut Vec<u32>) -> Common<'r> {
        Common {
            rows,
            read: 0,
            kept: 0,
        }
    }

    /// Takes the next of the others; `false` where no later one can be common.
    fn meet(&mut self, row: u32) -> bool {
        let rows = &mut *self.rows;
        while self.read < rows.len() && rows[self.read] < row {
            self.read += 1;
        }
        if self.read < rows.len() && rows[self.read] == row {
            rows[self.kept] = row;
            self.kept += 1;
            self.read += 1;
        }
        self.read < rows.len()
    }

    fn end(self) {
        self.rows.truncate(self.kept);
    }
}

/// Calls `each` with the rows from `start` to `end` whose texts hold the needle, by one scan over all of them.
pub(in crate::search) fn scan(
    arena: &Arena,
    finder: &Finder<'_>,
    (start, end): (u32, u32),
    mut each: impl FnMut(u32),
) {
    let bytes = arena.bytes();
    let mut row = start;
    let mut at = arena.start(start) as usize;
    let stop = arena.start(end) as usize;
    while let Some(found) = bytes.get(at..stop).and_then(|rest| finder.find(rest)) {
        let position = (at + found) as u64;
        row = arena.row_at(position, row);
        each(row);
        row += 1;
        at = arena.start(row) as usize;
    }
}
