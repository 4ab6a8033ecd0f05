//! The responses of `/api/reviews/since/{date}`: for each day with reviews, the number of rows and the entity-tag.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::span_of;
use crate::model::{RemovedReview, Review};
use crate::wire::date::Date;
use crate::wire::etag::EntityTag;
use crate::wire::json::Object;

/// The reviews on or after a day.
#[derive(Clone, Debug)]
pub struct Since {
    /// How many there are: the rows `0..matched`.
    pub matched: u32,
    /// Their JSON objects with commas between them, shared with `/reviews.json`; empty if there is none.
    pub array: Bytes,
    /// The JSON objects of the reviews that were removed on or after the day, with commas between them; empty if
    /// there is none.
    pub removed: Bytes,
    /// Changes only when these reviews, or those removed, change.
    pub tag: EntityTag,
}

/// The reviews on or after a day, as rows.
pub(super) struct SinceRows {
    /// How many there are: the rows `0..matched`.
    pub(super) matched: u32,
    /// As in [`Since`].
    pub(super) removed: Bytes,
    /// As in [`Since`].
    pub(super) tag: EntityTag,
}

/// Number of rows, removed reviews and digests by day.
#[derive(Debug)]
pub(super) struct SinceTable {
    /// One entry for each day that has reviews, newest day first; `end` is a row.
    days: Vec<Day>,
    /// The tag without reviews.
    empty: EntityTag,
    /// The removed reviews as JSON objects with commas between them, newest first.
    removed: Bytes,
    /// One entry for each day on which reviews were removed, newest day first; `end` is a byte of `removed`.
    removals: Vec<Day>,
}

#[derive(Debug)]
struct Day {
    date: Date,
    /// The end of the entries of this day and of later days.
    end: usize,
    /// Digest of all entries up to `end`.
    tag: EntityTag,
}

impl SinceTable {
    /// Hashes the stored array once, newest review first, and stores the digest at the end of each day. The response for a
    /// later day is the beginning of that for an earlier day, so one pass gives all tags.
    pub(super) fn build(
        reviews: &[Review],
        json: &[u8],
        offsets: &[u64],
        removed: &[RemovedReview],
    ) -> SinceTable {
        let mut hasher = Sha256::new();
        hasher.update(b"since\0");
        let empty = EntityTag::of_hasher(&hasher);
        let mut days: Vec<Day> = Vec::new();
        for (row, review) in reviews.iter().enumerate() {
            hasher.update(&json[span_of(offsets, row)]);
            hasher.update(b",");
            let next = reviews.get(row + 1);
            let is_last_of_day = next.is_none_or(|next| next.date != review.date);
            if is_last_of_day {
                days.push(Day {
                    date: review.date,
                    end: row + 1,
                    tag: EntityTag::of_hasher(&hasher),
                });
            }
        }
        let (removed, removals) = render_removed(removed);
        SinceTable {
            days,
            empty,
            removed,
            removals,
        }
    }

    /// Returns the reviews of `date` and later, and those removed on it or later: O(log days).
    pub(super) fn find(&self, date: Date) -> SinceRows {
        let mut found = SinceRows {
            matched: 0,
            removed: Bytes::new(),
            tag: self.empty,
        };
        if let Some(day) = earliest_from(&self.days, date) {
            found.matched = day.end as u32;
            found.tag = day.tag;
        }
        if let Some(day) = earliest_from(&self.removals, date) {
            found.removed = self.removed.slice(..day.end);
            found.tag = EntityTag::of(&[found.tag.as_bytes(), day.tag.as_bytes()]);
        }
        found
    }
}

/// Returns the earliest day that is not before `date`; `days` are newest first.
fn earliest_from(days: &[Day], date: Date) -> Option<&Day> {
    let count = days.partition_point(|day| day.date >= date);
    days[..count].last()
}

/// Renders the removed reviews, newest first, and returns where each day ends in them.
fn render_removed(removed: &[RemovedReview]) -> (Bytes, Vec<Day>) {
    let mut removed: Vec<&RemovedReview> = removed.iter().collect();
    removed.sort_unstable_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
    let mut json = Vec::new();
    let mut days = Vec::new();
    for of_day in removed.chunk_by(|left, right| left.date == right.date) {
        for review in of_day {
            if !json.is_empty() {
                json.push(b',');
            }
            let mut object = Object::begin(&mut json);
            object
                .string("id", &review.id)
                .string("date", &review.date.to_string());
            object.end();
        }
        days.push(Day {
            date: of_day[0].date,
            end: json.len(),
            tag: EntityTag::of(&[&json]),
        });
    }
    (json.into(), days)
}
