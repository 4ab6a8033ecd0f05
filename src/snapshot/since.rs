//! The answers of `/api/reviews/since/{date}`: for each day with reviews, how many rows and which entity-tag.

use bytes::Bytes;

use crate::model::Review;
use crate::wire::date::Date;
use crate::wire::etag::{EntityTag, TagHasher};

/// The reviews on or after a day.
#[derive(Clone, Debug)]
pub struct Since {
    /// How many there are: the rows `0..matched`.
    pub matched: u32,
    /// Their JSON objects with commas between them, shared with `/reviews.json`; empty if there is none.
    pub array: Bytes,
    /// Changes only when these reviews change.
    pub tag: EntityTag,
}

/// One entry for each day that has reviews, newest day first.
#[derive(Debug)]
pub(super) struct SinceTable {
    days: Vec<Day>,
    empty: EntityTag,
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
    pub(super) fn build(reviews: &[Review], json: &[u8], offsets: &[u64]) -> SinceTable {
        let mut hasher = TagHasher::new();
        hasher.update(b"since\0");
        let empty = hasher.tag();
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
                    tag: hasher.tag(),
                });
            }
        }
        SinceTable { days, empty }
    }

    /// Returns the number of rows on or after `date` and their tag: O(log days).
    pub(super) fn find(&self, date: Date) -> (u32, EntityTag) {
        let days = self.days.partition_point(|day| day.date >= date);
        match days.checked_sub(1) {
            None => (0, self.empty),
            Some(last) => (self.days[last].rows, self.days[last].tag),
        }
    }
}
