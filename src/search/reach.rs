//! The rows that a page may show, out of what the tree tells of a text: most pages need a few of very many.

use crate::model::Rating;
use crate::search::index::Index;
use crate::search::rows::{packed_count, unpack, unpack_backwards};
use crate::search::tree::{HEAD_ROWS, Own, Within};
use std::ops::Range;

/// One run of a result: rows of a range in one direction, of one rating where the order asks for it.
#[derive(Debug)]
pub(in crate::search) struct Part {
    pub(in crate::search) range: Range<u32>,
    pub(in crate::search) backwards: bool,
    pub(in crate::search) rating: Option<Rating>,
}

impl Part {
    /// No rows.
    pub(in crate::search) const EMPTY: Part = Part {
        range: 0..0,
        backwards: false,
        rating: None,
    };
}

/// The parts of a result, one after the other, and how many rows of it a page needs.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Reach<'p> {
    pub(in crate::search) parts: &'p [Part; 5],
    pub(in crate::search) wanted: usize,
}

/// Fills `rows` with those of `within` that the page may show, ascending, and returns how many there are in all; `None`
/// where nothing shorter is at hand than collecting all of them.
pub(in crate::search) fn reach_of(
    index: &Index,
    within: Within<'_>,
    Reach { parts, wanted }: Reach<'_>,
    rows: &mut Vec<u32>,
) -> Option<u32> {
    let Part {
        range,
        backwards,
        rating,
    } = &parts[0];
    let from = range.start;
    let mut add = |row: u32| {
        if row >= from {
            rows.push(row);
        }
        rows.len() < wanted
    };
    match within {
        Within::Below(node) if !backwards && rating.is_none() => {
            let tree = index.tree.as_ref()?;
            if wanted <= HEAD_ROWS {
                unpack(tree.head(node), &mut add);
            }
            if rows.len() < wanted {
                rows.clear();
                tree.first_below(node, from, wanted, rows);
            }
            return Some(node.count);
        }
        Within::Own(own) if *backwards => {
            unpack_backwards(own.packed, own.last, |row| {
                if row < range.end {
                    rows.push(row);
                }
                rows.len() < wanted
            });
            rows.reverse();
        }
        Within::Leaf(packed) | Within::Own(Own { packed, .. }) if rating.is_some() => {
            rated(index, packed, parts, wanted, rows);
        }
        Within::Leaf(packed) | Within::Own(Own { packed, .. }) if !backwards => {
            unpack(packed, add);
        }
        _ => return None,
    }
    Some(match within {
        Within::Leaf(packed) => packed_count(packed),
        within => within.rows_max(),
    })
}

/// Adds the first `wanted` rows of each part, ascending over all parts, until the first part that has any rows to offer
/// has so many.
fn rated(index: &Index, packed: &[u8], parts: &[Part; 5], wanted: usize, rows: &mut Vec<u32>) {
    let mut missing = [wanted; Rating::MAX.stars() as usize + 1];
    let first = parts.iter().find(|part| !part.range.is_empty());
    unpack(packed, |row| {
        let rating = index.ratings.of_row[row as usize];
        let missing = &mut missing[usize::from(rating.stars())];
        let part = parts.iter().find(|part| part.rating == Some(rating));
        if *missing > 0 && part.is_some_and(|part| part.range.contains(&row)) {
            rows.push(row);
            *missing -= 1;
        }
        *missing > 0 || first.is_none_or(|first| first.rating != Some(rating))
    });
}
