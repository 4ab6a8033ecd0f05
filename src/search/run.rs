//! From a query to the rows that answer it.

use crate::model::{Rating, Row};
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Query, RatingSet, Sort};
use crate::search::index::Index;
use crate::search::reach::{Part, Reach};
use crate::search::rows::{rows_of, rows_of_backwards};
use crate::search::select::{BITMAPS_MAX, Memory, Rows as Selected, Selection, select};
use std::ops::{Deref, Range};

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
    pub rows: Rows,
    /// Where the next page goes on; `None` where nothing follows.
    pub next: Option<Cursor>,
}

/// At most 100 rows, in place.
#[derive(Clone, Copy)]
pub struct Rows {
    rows: [Row; Query::LIMIT_MAX as usize],
    len: u8,
}

impl Rows {
    fn new() -> Rows {
        Rows {
            rows: [Row(0); Query::LIMIT_MAX as usize],
            len: 0,
        }
    }

    fn push(&mut self, row: Row) {
        self.rows[usize::from(self.len)] = row;
        self.len += 1;
    }
}

impl Deref for Rows {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.rows[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(formatter)
    }
}

/// Answers `query` with an exact count.
///
/// Allocates nothing once `scratch` has grown to what searches need.
#[must_use]
pub fn run(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    let parts = parts(index, query);
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    // One more than the page shows tells whether another follows.
    let rows = limit + 1;
    let reach = match query.sort {
        Sort::Newest => Reach::First {
            from: parts[0].range.start,
            rows,
        },
        Sort::Oldest => Reach::Last {
            before: parts[0].range.end,
            rows,
        },
        Sort::Highest | Sort::Lowest => Reach::Rated {
            parts: &parts,
            rows,
        },
    };
    let selection = select(index, &query.filter, reach, &mut scratch.memory);
    collect(index, query, &parts, &selection)
}

/// Fills a page with the rows of `parts` that are selected, up to the limit.
fn collect(index: &Index, query: &Query<'_>, parts: &[Part], selection: &Selection<'_>) -> Page {
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    let mut page = Page {
        matched: selection.matched,
        rows: Rows::new(),
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
    let through = |cursor: &Cursor| index.rows_through(cursor.date, cursor.id.as_str());
    let older = |cursor: &Cursor| through(cursor)..index.len();
    let newest = query.cursor.as_ref().map_or(all.clone(), older);
    let part = |range: Range<u32>| Part {
        range,
        backwards: false,
        rating: None,
    };
    let empty = || part(0..0);
    let by_rating = |stars: [u8; 5], precedes: fn(Rating, Rating) -> bool| {
        stars.map(|stars| {
            let rating = Rating::new(stars);
            let range = match (&query.cursor, rating) {
                (Some(cursor), Some(rating)) if rating == cursor.rating => newest.clone(),
                (Some(cursor), Some(rating)) if precedes(rating, cursor.rating) => 0..0,
                _ => all.clone(),
            };
            Part {
                range,
                backwards: false,
                rating,
            }
        })
    };
    match query.sort {
        Sort::Newest => [part(newest), empty(), empty(), empty(), empty()],
        Sort::Oldest => {
            let newer = query.cursor.as_ref().map_or(all.clone(), |cursor| {
                0..index.rows_before(cursor.date, cursor.id.as_str())
            });
            let backwards = Part {
                range: newer,
                backwards: true,
                rating: None,
            };
            [backwards, empty(), empty(), empty(), empty()]
        }
        Sort::Highest => by_rating([5, 4, 3, 2, 1], |rating, last| rating > last),
        Sort::Lowest => by_rating([1, 2, 3, 4, 5], |rating, last| rating < last),
    }
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
        Selected::List(rows) => {
            let bound = |row: u32| rows.partition_point(|known| *known < row);
            let rows =
                &rows[bound(part.range.start)..bound(part.range.end).max(bound(part.range.start))];
            if part.backwards {
                rows.iter().rev().copied().all(each);
            } else {
                rows.iter().copied().filter(of_rating).all(each);
            }
        }
        Selected::Words(range, bitmaps) => {
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

fn cursor_at(index: &Index, row: Row, sort: Sort) -> Option<Cursor> {
    let id = ReviewId::new(index.id(row))?;
    Some(Cursor {
        sort,
        rating: index.rating(row),
        date: index.date(row),
        id,
    })
}
