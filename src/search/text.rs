//! What a needle alone says: exactly these reviews, these at most, none, or nothing without a look at the texts.

use crate::search::arena::Arena;
use crate::search::index::Index;
use crate::search::rows::{has, unpack};
use crate::search::tree::{Node, Own, Tree, Within};
use memchr::memmem::Finder;

/// The reviews among which a needle is to be found.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Known<'t> {
    /// No review holds the needle.
    Nothing,
    /// The rows of a leaf's packed list.
    Leaf(&'t [u8]),
    /// The rows of a node's own list.
    Own(Own<'t>),
    /// The rows of a bitmap, and their number.
    Bitmap(&'t [u64], u32),
    /// The rows below a node, to be collected.
    Below(&'t Node),
    /// The candidates that were left in the given vector.
    Candidates,
    /// All rows: there is no tree.
    All,
}

/// Looks for `needle`: what is known, and whether it is exact or each text is still to be looked at.
///
/// Uses and fills `candidates`, which keeps its room from one search to the next.
pub(in crate::search) fn look_up<'t>(
    index: &'t Index,
    needle: &[u8],
    candidates: &mut Vec<u32>,
) -> (Known<'t>, bool) {
    let Some(tree) = &index.tree else {
        return (Known::All, false);
    };
    let Some(found) = tree.find(needle) else {
        return (Known::Nothing, true);
    };
    match found.within {
        Within::Leaf(packed) if found.exact => (Known::Leaf(packed), true),
        Within::Leaf(packed) => {
            candidates.clear();
            unpack(packed, index.len(), |row| {
                candidates.push(row);
                true
            });
            (narrow(tree, needle, found.seen, candidates), false)
        }
        Within::Own(own) => (Known::Own(own), found.exact),
        Within::Bitmap(words, count) => (Known::Bitmap(words, count), found.exact),
        Within::Below(node) => (Known::Below(node), found.exact),
    }
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

/// Leaves what `list`, the reviews of the first `seen` bytes, has in common with those that other parts of the needle
/// lead to in `candidates`.
fn narrow<'t>(tree: &'t Tree, needle: &[u8], seen: usize, candidates: &mut Vec<u32>) -> Known<'t> {
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
        let Some(found) = tree.find(&needle[start..]) else {
            return Known::Nothing;
        };
        let before = candidates.len();
        match found.within {
            Within::Own(own) if own.packed.len() > NARROWING_BYTES_MAX => {}
            Within::Leaf(packed) | Within::Own(Own { packed, .. }) => {
                let mut common = Common::of(candidates);
                unpack(packed, u32::MAX, |row| common.meet(row));
                common.end();
            }
            Within::Bitmap(words, _) => candidates.retain(|row| has(words, *row)),
            Within::Below(_) => {}
        }
        idle = if candidates.len() > before - before / 8 {
            idle + 1
        } else {
            0
        };
    }
    if candidates.is_empty() {
        Known::Nothing
    } else {
        Known::Candidates
    }
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

/// Tells roughly how many rows must be decoded before the rows that are known are at hand.
pub(in crate::search) fn steps(known: Known<'_>) -> u32 {
    match known {
        Known::Leaf(list) => list.len() as u32,
        Known::Own(own) => own.count,
        Known::Below(node) => node.steps,
        Known::Nothing | Known::Bitmap(..) | Known::Candidates | Known::All => 0,
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
