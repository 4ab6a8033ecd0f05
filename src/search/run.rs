//! From a query to the rows that answer it.

use crate::model::{Rating, Row};
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Query, RatingSet, Sort};
use crate::search::index::Index;
use crate::search::rows::{rows_of, rows_of_backwards, unpack};
pub use crate::search::select::Scratch;
use crate::search::select::{BITMAPS_MAX, Rows, select};
use arrayvec::ArrayVec;
use std::cmp::Ordering;
use std::ops::Range;

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
pub fn run(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    let runs = runs(index, query);
    // One more than the page shows tells whether another follows.
    let first = (runs[0].range.start, limit + 1);
    let (matched, rows) = select(index, query, first, scratch);
    let mut page = Page {
        matched,
        rows: ArrayVec::new(),
        next: None,
    };
    for run in runs {
        each_row(index, &rows, &run, |row| {
            if page.rows.len() == limit {
                let last = page.rows.last();
                page.next = last.and_then(|last| cursor_at(index, *last, query.sort));
                return false;
            }
            page.rows.push(Row(row));
            true
        });
        if page.next.is_some() {
            break;
        }
    }
    page
}

/// One run of a result: rows of a range in one direction, of one rating where the order asks for it.
#[derive(Default)]
struct RowRun {
    range: Range<u32>,
    is_backwards: bool,
    rating: Option<Rating>,
}

/// Returns the runs that follow the cursor of `query`; those that do not are empty ranges.
fn runs(index: &Index, query: &Query<'_>) -> [RowRun; 5] {
    let all = 0..index.len();
    let cursor = query.cursor.as_ref();
    let place =
        |through| move |last: &Cursor| index.rows_before(last.date, last.id.as_str(), through);
    let older = cursor.map_or(0, place(true))..all.end;
    let mut runs: [RowRun; 5] = Default::default();
    match query.sort {
        Sort::Newest => runs[0].range = older,
        Sort::Oldest => {
            runs[0].range = 0..cursor.map_or(all.end, place(false));
            runs[0].is_backwards = true;
        }
        Sort::Highest | Sort::Lowest => {
            let is_highest = query.sort == Sort::Highest;
            for (run, number) in runs.iter_mut().zip(1..) {
                run.rating = Rating::new(if is_highest { 6 - number } else { number });
                run.range = match cursor.map(|last| run.rating.cmp(&Some(last.rating))) {
                    Some(Ordering::Equal) => older.clone(),
                    Some(order) if order.is_gt() == is_highest => 0..0,
                    _ => all.clone(),
                };
            }
        }
    }
    runs
}

/// Calls `each` with those of `rows` that are of `run`, in its order, until it returns `false`.
fn each_row(index: &Index, rows: &Rows<'_>, run: &RowRun, mut each: impl FnMut(u32) -> bool) {
    let range = &run.range;
    let mut each_in_run = |row: u32| {
        let is_rated = run
            .rating
            .is_none_or(|rating| index.rating(Row(row)) == rating);
        !(range.contains(&row) && is_rated) || each(row)
    };
    match rows {
        _ if range.is_empty() => {}
        Rows::List(rows) if run.is_backwards => {
            rows.iter().rev().all(|row| each_in_run(*row));
        }
        Rows::List(rows) => {
            let start = rows.partition_point(|row| *row < range.start);
            rows[start..].iter().all(|row| each_in_run(*row));
        }
        Rows::Packed(packed) => unpack(packed, each_in_run),
        Rows::Bitmaps(selected, bitmaps) => {
            let start = range.start.max(selected.start);
            let range = start..range.end.min(selected.end).max(start);
            let mut all: ArrayVec<&[u64], { BITMAPS_MAX + 1 }> = bitmaps.iter().copied().collect();
            let rated = |rating| index.ratings.bitmap(RatingSet::only(rating)).0;
            all.extend(run.rating.map(rated));
            if run.is_backwards {
                rows_of_backwards(&all, range).all(each);
            } else {
                rows_of(&all, range).all(each);
            }
        }
    }
}

/// Returns the cursor behind `row`, below [`Index::len`], in an order; every id of a dataset makes one.
pub fn cursor_at(index: &Index, row: Row, sort: Sort) -> Option<Cursor> {
    let id = ReviewId::new(index.id(row))?;
    Some(Cursor {
        sort,
        rating: index.rating(row),
        date: index.date(row),
        id,
    })
}
