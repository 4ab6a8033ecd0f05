//! The answers of `/api/reviews/since/{date}`: for each day with reviews, how many rows and which entity-tag.

use bytes::Bytes;
use sha2::{Digest, Sha256};

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

/// One entry for each day that has reviews, newest day first.
#[derive(Debug)]
pub(super) struct SinceTable {
    days: Vec<Day>,
    empty: EntityTag,
    /// The removed reviews as JSON objects with commas between them, newest first.
    removed: Bytes,
    removals: Vec<RemovalDay>,
}

/// One entry for each day on which reviews were removed, newest day first.
#[derive(Debug)]
struct RemovalDay {
    date: Date,
    /// Where in `removed` those of this day end.
    end: usize,
    /// Digest of the bytes up to there.
    tag: EntityTag,
}

#[derive(Debug)]
struct Day {
    date: Date,
    /// Rows of this day and later.
    rows: u32,
    /// Digest of the bytes of those rows.
    tag: EntityTag,
}

impl SinceTable {
    /// Hashes the stored array once, newest review first, and notes the digest at the end of each day: since a
    /// later day's answer is a prefix of an earlier day's, all tags cost one pass.
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
            let span = offsets[row] as usize..offsets[row + 1] as usize - 1;
            hasher.update(&json[span]);
            hasher.update(b",");
            if reviews
                .get(row + 1)
                .is_none_or(|next| next.date != review.date)
            {
                let rows = u32::try_from(row + 1).unwrap_or(u32::MAX);
                days.push(Day {
                    date: review.date,
                    rows,
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

    /// Returns the number of rows on or after `date`, the reviews removed since, and the tag of both: O(log days).
    pub(super) fn find(&self, date: Date) -> (u32, Bytes, EntityTag) {
        let days = self.days.partition_point(|day| day.date >= date);
        let (rows, tag) = match days.checked_sub(1) {
            None => (0, self.empty),
            Some(last) => (self.days[last].rows, self.days[last].tag),
        };
        let days = self.removals.partition_point(|day| day.date >= date);
        let Some(last) = days.checked_sub(1).map(|last| &self.removals[last]) else {
            return (rows, Bytes::new(), tag);
        };
        let tag = EntityTag::of(&[tag.as_bytes(), last.tag.as_bytes()]);
        (rows, self.removed.slice(..last.end), tag)
    }
}

/// Renders the removed reviews, newest first, and notes where each day ends.
fn render_removed(removed: &[RemovedReview]) -> (Bytes, Vec<RemovalDay>) {
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
        days.push(RemovalDay {
            date: of_day[0].date,
            end: json.len(),
            tag: EntityTag::of(&[&json]),
        });
    }
    (json.into(), days)
}
