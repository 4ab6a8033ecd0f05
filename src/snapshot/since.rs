//! The responses of `/api/reviews/since/{date}`: for each day with reviews, the number of rows and the entity-tag.

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

/// Number of rows, removed reviews and digests by day.
#[derive(Debug)]
pub(super) struct SinceTable {
    /// One entry for each day that has reviews, newest day first; `end` is a row.
    days: Vec<Day>,
    empty: EntityTag,
    /// The removed reviews as JSON objects with commas between them, newest first.
    removed: Bytes,
    /// One entry for each day on which reviews were removed, newest day first; `end` is a byte of `removed`.
    removals: Vec<Day>,
}

#[derive(Debug)]
struct Day {
    date: Date,
    /// End of the entries of this day and later.
    end: usize,
    /// Digest of all entries up to `end`.
    tag: EntityTag,
}

impl SinceTable {
    /// Hashes the stored array once, newest review first, and stores the digest at the end of each day: the
    /// response of a later day is a prefix of that of an earlier day, so one pass gives all tags.
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

    /// Returns the number of rows on or after `date`, the reviews removed since, and the tag of both: O(log days).
    pub(super) fn find(&self, date: Date) -> (u32, Bytes, EntityTag) {
        let days = self.days.partition_point(|day| day.date >= date);
        let (rows, tag) = match days.checked_sub(1) {
            None => (0, self.empty),
            Some(last) => (self.days[last].end as u32, self.days[last].tag),
        };
        let days_of_removals = self.removals.partition_point(|day| day.date >= date);
        let Some(last) = self.removals[..days_of_removals].last() else {
            return (rows, Bytes::new(), tag);
        };
        let tag = EntityTag::of(&[tag.as_bytes(), last.tag.as_bytes()]);
        (rows, self.removed.slice(..last.end), tag)
    }
}

/// Renders the removed reviews, newest first, and the end of each day.
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
