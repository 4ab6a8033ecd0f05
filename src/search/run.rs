//! From a query to the rows that answer it.

use crate::model::{Rating, Row};
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Query, RatingSet, Sort};
use crate::search::index::Index;
use crate::search::reach::{Part, Reach};
use crate::search::rows::{rows_of, rows_of_backwards};
use crate::search::select::{BITMAPS_MAX, Memory, Rows, Selection, select};
use arrayvec::ArrayVec;
use std::cmp::Ordering;

/// Memory that a search reuses, so that it allocates nothing in the steady state; one for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    memory: Memory,
}

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Page {
    /// How many reviews the filter selects, whatever limit and cursor.
    pub matched: u32,
    /// The rows of this page in the order asked for.
    pub rows: ArrayVec<Row, { Query::LIMIT_MAX as usize }>,
    /// Where the next page goes on; `None` where nothing follows.
    pub next: Option<Cursor>,
}

/// Answers `query` with an exact count.
///
/// Allocates nothing once `scratch` has grown to what searches need.
#[must_use]
pub fn run(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    let parts = parts(index, query);
    let reach = Reach {
        parts: &parts,
        // One more than the page shows tells whether another follows.
        wanted: usize::from(query.limit.min(Query::LIMIT_MAX)) + 1,
    };
    let selection = select(index, &query.filter, reach, &mut scratch.memory);
    collect(index, query, &parts, &selection)
}

/// Fills a page with the rows of `parts` that are selected, up to the limit.
fn collect(index: &Index, query: &Query<'_>, parts: &[Part], selection: &Selection<'_>) -> Page {
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    let mut page = Page {
        matched: selection.matched,
        rows: ArrayVec::new(),
        next: None,
    };
    let mut last = None;
    for part in parts {
        each_of(index, selection, part, |row| {
            if page.rows.len() == limit {
                page.next = last.and_then(|last| cursor_at(index, last, query.sort));
                return false;
            }
            page.rows.push(Row(row));
            last = Some(Row(row));
            true
        });
        if page.next.is_some() {
            break;
        }
    }
    page
}

/// Returns the runs that follow the cursor of `query`; those that do not are empty ranges.
fn parts(index: &Index, query: &Query<'_>) -> [Part; 5] {
    let all = 0..index.len();
    let cursor = query.cursor.as_ref();
    let older = cursor.map_or(0, |last| index.rows_through(last.date, last.id.as_str()))..all.end;
    let mut parts = [const { Part::EMPTY }; 5];
    match query.sort {
        Sort::Newest => parts[0].range = older,
        Sort::Oldest => {
            let before = |last: &Cursor| index.rows_before(last.date, last.id.as_str());
            parts[0].range = 0..cursor.map_or(all.end, before);
            parts[0].backwards = true;
        }
        Sort::Highest | Sort::Lowest => {
            let is_highest = query.sort == Sort::Highest;
            for (part, number) in parts.iter_mut().zip(1..) {
                part.rating = Rating::new(if is_highest { 6 - number } else { number });
                let order = part.rating.cmp(&cursor.map(|last| last.rating));
                part.range = match order {
                    _ if cursor.is_none() => all.clone(),
                    Ordering::Equal => older.clone(),
                    Ordering::Greater if is_highest => 0..0,
                    Ordering::Less if !is_highest => 0..0,
                    _ => all.clone(),
                };
            }
        }
    }
    parts
}

/// Calls `each` with the selected rows of `part` in its order, until it returns `false`.
fn each_of(
    index: &Index,
    selection: &Selection<'_>,
    part: &Part,
    mut each: impl FnMut(u32) -> bool,
) {
    let of_rating = |row: &u32| {
        part.rating
            .is_none_or(|rating| index.rating(Row(*row)) == rating)
    };
    match &selection.rows {
        Rows::List(rows) => {
            let bound = |row: u32| rows.partition_point(|known| *known < row);
            let rows =
                &rows[bound(part.range.start)..bound(part.range.end).max(bound(part.range.start))];
            if part.backwards {
                rows.iter().rev().copied().all(each);
            } else {
                rows.iter().copied().filter(of_rating).all(each);
            }
        }
        Rows::Words(range, bitmaps) => {
            let start = part.range.start.max(range.start);
            let range = start..part.range.end.min(range.end).max(start);
            let mut all: [&[u64]; BITMAPS_MAX + 1] = [&[]; BITMAPS_MAX + 1];
            let mut len = bitmaps.all().len();
            all[..len].copy_from_slice(bitmaps.all());
            if let Some((words, _)) = part
                .rating
                .and_then(|rating| index.ratings.bitmap(RatingSet::only(rating)))
            {
                all[len] = words;
                len += 1;
            }
            if part.backwards {
                rows_of_backwards(&all[..len], range).all(each);
            } else {
                rows_of(&all[..len], range).all(&mut each);
            }
        }
    }
}

/// Returns the cursor behind `row`, below [`Index::len`], in an order; every id of a dataset makes one.
#[must_use]
pub fn cursor_at(index: &Index, row: Row, sort: Sort) -> Option<Cursor> {
    let id = ReviewId::new(index.id(row))?;
    Some(Cursor {
        sort,
        rating: index.rating(row),
        date: index.date(row),
        id,
    })
}
