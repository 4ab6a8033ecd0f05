//! What a needle alone says: exactly these reviews, these at most, none, or nothing without a look at the texts.

use crate::search::arena::Arena;
use crate::search::index::Index;
use crate::search::rows::{has, unpack};
use crate::search::tree::{Node, Tree, Within};
use memchr::memmem::Finder;

/// The reviews among which a needle is to be found.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Known<'t> {
    /// No review holds the needle.
    Nothing,
    /// The rows of a packed list.
    List(&'t [u8]),
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
    let Some(found) = tree.find(index.arena.bytes(), needle) else {
        return (Known::Nothing, true);
    };
    match found.within {
        Within::List(list) if found.exact || list.len() < NARROW_FROM_BYTES => {
            (Known::List(list), found.exact)
        }
        Within::List(list) => (narrow(tree, &index.arena, needle, list, candidates), false),
        Within::Bitmap(words, count) => (Known::Bitmap(words, count), found.exact),
        Within::Below(node) => (Known::Below(node), found.exact),
    }
}

/// A shorter list of candidates is not worth a second walk down the tree.
const NARROW_FROM_BYTES: usize = 48;

/// Other parts of a needle that are looked up at most; each takes about as long as looking at five texts.
const WALKS_MAX: usize = 12;

/// Leaves what `list` has in common with the lists that other parts of the needle lead to in `candidates`.
fn narrow<'t>(
    tree: &'t Tree,
    arena: &Arena,
    needle: &[u8],
    list: &'t [u8],
    candidates: &mut Vec<u32>,
) -> Known<'t> {
    let starts = (1..needle.len()).filter(|at| needle[*at] & 0xc0 != 0x80);
    let walks = (list.len() / NARROW_FROM_BYTES).min(WALKS_MAX);
    let stride = starts.clone().count().div_ceil(walks).max(1);
    let mut lists = [list, &[], &[]];
    let mut bitmap: Option<(&[u64], u32)> = None;
    for start in starts.step_by(stride) {
        let Some(found) = tree.find(arena.bytes(), &needle[start..]) else {
            return Known::Nothing;
        };
        match found.within {
            Within::List(list) => {
                let worst = if lists[1].is_empty() {
                    1
                } else if lists[2].is_empty() {
                    2
                } else {
                    (0..3)
                        .max_by_key(|place| lists[*place].len())
                        .unwrap_or_default()
                };
                if lists[worst].is_empty() || list.len() < lists[worst].len() {
                    lists[worst] = list;
                }
            }
            Within::Bitmap(words, count) if bitmap.is_none_or(|(_, least)| count < least) => {
                bitmap = Some((words, count));
            }
            Within::Bitmap(..) | Within::Below(_) => {}
        }
    }
    lists.sort_unstable_by_key(|list| {
        if list.is_empty() {
            usize::MAX
        } else {
            list.len()
        }
    });
    candidates.clear();
    unpack(lists[0], |row| {
        if bitmap.is_none_or(|(words, _)| has(words, row)) {
            candidates.push(row);
        }
        true
    });
    for list in &lists[1..] {
        if !list.is_empty() && candidates.len() > CANDIDATES_FEW {
            intersect(candidates, list);
        }
    }
    Known::Candidates
}

/// So few texts are looked at sooner than another list is decoded.
const CANDIDATES_FEW: usize = 8;

/// Leaves in ascending `rows` only what `packed` holds too.
fn intersect(rows: &mut Vec<u32>, packed: &[u8]) {
    let (mut read, mut kept) = (0, 0);
    unpack(packed, |row| {
        while read < rows.len() && rows[read] < row {
            read += 1;
        }
        if read < rows.len() && rows[read] == row {
            rows[kept] = row;
            kept += 1;
            read += 1;
        }
        read < rows.len()
    });
    rows.truncate(kept);
}

/// Tells roughly how many rows must be decoded before the rows that are known are at hand.
pub(in crate::search) fn steps(known: Known<'_>) -> u32 {
    match known {
        Known::List(list) => list.len() as u32,
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
