//! The rows that a page may show, out of what is known of a text: most pages need a few of very many.

use crate::model::Rating;
use crate::search::index::Index;
use crate::search::rows::{packed_count, unpack, unpack_backwards};
use crate::search::text::Known;
use crate::search::tree::HEAD_ROWS;
use std::ops::Range;

/// The rows that a page may show: `rows` of them are as good as all.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Reach<'p> {
    /// The first ones from row `from` on.
    First { from: u32, rows: usize },
    /// The last ones before row `before`.
    Last { before: u32, rows: usize },
    /// The first ones of each part that have its rating, part after part.
    Rated { parts: &'p [Part; 5], rows: usize },
}

/// One run of a result: rows of a range in one direction, of one rating where the order asks for it.
#[derive(Debug)]
pub(in crate::search) struct Part {
    pub(in crate::search) range: Range<u32>,
    pub(in crate::search) backwards: bool,
    pub(in crate::search) rating: Option<Rating>,
}

/// Fills `rows` with those of `known` that are within `reach`, ascending, and returns how many `known` has in all;
/// `None` where nothing shorter is at hand than collecting all of them.
pub(in crate::search) fn reach_of(
    index: &Index,
    known: Known<'_>,
    reach: Reach<'_>,
    rows: &mut Vec<u32>,
) -> Option<u32> {
    let (packed, count) = match known {
        Known::Leaf(packed) => (packed, packed_count(packed)),
        Known::Own(own) => (own.packed, own.count),
        Known::Below(node) => {
            let Reach::First {
                from,
                rows: rows_max,
            } = reach
            else {
                return None;
            };
            let tree = index.tree.as_ref()?;
            if rows_max <= HEAD_ROWS {
                unpack(tree.head(node), index.len(), |row| {
                    if row >= from {
                        rows.push(row);
                    }
                    rows.len() < rows_max
                });
            }
            if rows.len() < rows_max {
                rows.clear();
                tree.first_below(node, from..index.len(), rows_max, rows);
            }
            return Some(node.count);
        }
        _ => return None,
    };
    match (reach, known) {
        (Reach::First { from, rows: wanted }, _) => unpack(packed, index.len(), |row| {
            if row >= from {
                rows.push(row);
            }
            rows.len() < wanted
        }),
        (
            Reach::Last {
                before,
                rows: wanted,
            },
            Known::Own(own),
        ) => {
            unpack_backwards(packed, own.last, index.len(), |row| {
                if row < before {
                    rows.push(row);
                }
                rows.len() < wanted
            });
            rows.reverse();
        }
        (
            Reach::Rated {
                parts,
                rows: wanted,
            },
            _,
        ) => rated(index, packed, parts, wanted, rows),
        (Reach::Last { .. }, _) => return None,
    }
    Some(count)
}

/// Adds the first `wanted` rows of each part, ascending over all parts, until the first part that has any rows to offer has so many.
fn rated(index: &Index, packed: &[u8], parts: &[Part; 5], wanted: usize, rows: &mut Vec<u32>) {
    let mut missing = [wanted; Rating::MAX.stars() as usize + 1];
    let first = parts.iter().find(|part| !part.range.is_empty());
    unpack(packed, index.len(), |row| {
        let Some(rating) = index.ratings.of_row.get(row as usize) else {
            return false;
        };
        let missing = &mut missing[usize::from(rating.stars())];
        let part = parts.iter().find(|part| part.rating == Some(*rating));
        if *missing > 0 && part.is_some_and(|part| part.range.contains(&row)) {
            rows.push(row);
            *missing -= 1;
        }
        *missing > 0 || first.is_none_or(|first| first.rating != Some(*rating))
    });
}
