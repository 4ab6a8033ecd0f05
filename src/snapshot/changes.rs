//! The log of changes: every review and every removed review, in the order of their last change.

use std::cmp::Ordering;

use crate::model::{Dataset, Row, id_order};
use crate::search::changes::ChangeCursor;
use crate::wire::date::Timestamp;

/// Bytes of reviews after which a page ends, even if it has fewer changes than its limit. Our choice: a thousand reviews of
/// usual length have less.
pub(super) const PAGE_BYTES_MAX: usize = 4 << 20;

/// The changes that follow a position in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesPage {
    /// The reviews that were added or changed.
    pub rows: Vec<Row>,
    /// The reviews that were removed.
    pub removed: Vec<Removal>,
    /// The position after the last of both; without any, the position that was asked for.
    pub next: ChangeCursor,
    /// Whether more changes follow.
    pub has_more: bool,
}

/// A review that is no longer published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The id of the review.
    pub id: String,
    /// When it was removed.
    pub at: Timestamp,
}

/// The last change of every review, published or removed.
#[derive(Debug)]
pub(super) struct ChangeTable {
    /// The name of the log.
    log: Option<String>,
    /// By time, then by id.
    entries: Vec<ChangeEntry>,
    removed: Vec<Removal>,
}

#[derive(Clone, Copy, Debug)]
struct ChangeEntry {
    at: Timestamp,
    subject: ChangeSubject,
}

#[derive(Clone, Copy, Debug)]
enum ChangeSubject {
    Published(Row),
    /// An index in `removed`.
    Removed(u32),
}

impl ChangeTable {
    /// Collects the changes of `dataset` and sorts them: O(n log n). What has no recorded time has the date of the dataset.
    pub(super) fn build(dataset: &Dataset) -> ChangeTable {
        let changes = &dataset.changes;
        let mut removed = Vec::with_capacity(changes.removed.len());
        for removal in &changes.removed {
            removed.push(Removal {
                id: removal.id.clone(),
                at: removal.at.unwrap_or(dataset.updated_at),
            });
        }
        let mut entries = Vec::with_capacity(dataset.reviews.len() + removed.len());
        for row in 0..dataset.reviews.len() {
            let recorded = changes.reviews.get(row).and_then(|change| change.at);
            entries.push(ChangeEntry {
                at: recorded.unwrap_or(dataset.updated_at),
                subject: ChangeSubject::Published(Row(row as u32)),
            });
        }
        for (index, removal) in removed.iter().enumerate() {
            entries.push(ChangeEntry {
                at: removal.at,
                subject: ChangeSubject::Removed(index as u32),
            });
        }
        sort_by_time(&mut entries, &removed, &|row| {
            &dataset.reviews[row.0 as usize].id
        });
        ChangeTable {
            log: changes.log.clone(),
            entries,
            removed,
        }
    }

    /// Returns the name of the log; `None` for a folder without a record.
    pub(super) fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// Returns how many changes are after the position. `id` returns the id of a published review.
    pub(super) fn count_after<'i>(
        &'i self,
        after: &ChangeCursor,
        id: impl Fn(Row) -> &'i str,
    ) -> usize {
        self.entries.len() - self.first_after(after, &id)
    }

    /// Returns the index of the first change after the position: O(log n).
    fn first_after<'i>(&'i self, after: &ChangeCursor, id: &impl Fn(Row) -> &'i str) -> usize {
        self.entries.partition_point(|entry| {
            let order = entry.at.cmp(&after.at);
            let id = entry.id(&self.removed, id);
            order.then_with(|| id.cmp(after.id.as_str())) != Ordering::Greater
        })
    }

    /// Returns at most `limit` changes after the position, or from the start: O(log n) to find it. `id` and `bytes` return the
    /// id of a published review and the length of its JSON.
    pub(super) fn page<'i>(
        &'i self,
        after: Option<&ChangeCursor>,
        limit: usize,
        id: impl Fn(Row) -> &'i str,
        bytes: impl Fn(Row) -> usize,
    ) -> ChangesPage {
        let start = ChangeCursor::start(self.log.clone());
        let after = after.unwrap_or(&start);
        let first = self.first_after(after, &id);
        let mut page = ChangesPage {
            rows: Vec::new(),
            removed: Vec::new(),
            next: after.clone(),
            has_more: false,
        };
        let mut bytes_left = PAGE_BYTES_MAX;
        for (taken, entry) in self.entries[first..].iter().enumerate() {
            if taken == limit || bytes_left == 0 {
                page.has_more = true;
                break;
            }
            match entry.subject {
                ChangeSubject::Published(row) => {
                    page.rows.push(row);
                    bytes_left = bytes_left.saturating_sub(bytes(row));
                }
                ChangeSubject::Removed(index) => {
                    page.removed.push(self.removed[index as usize].clone());
                }
            }
            page.next.at = entry.at;
            page.next.id = entry.id(&self.removed, &id).to_owned();
        }
        page
    }
}

impl ChangeEntry {
    /// Returns the id of its review; `id` returns those of published reviews.
    fn id<'i>(&self, removed: &'i [Removal], id: &impl Fn(Row) -> &'i str) -> &'i str {
        match self.subject {
            ChangeSubject::Published(row) => id(row),
            ChangeSubject::Removed(index) => &removed[index as usize].id,
        }
    }
}

/// Sorts by time, then by id.
fn sort_by_time<'i>(
    entries: &mut [ChangeEntry],
    removed: &'i [Removal],
    id: &impl Fn(Row) -> &'i str,
) {
    entries.sort_by_cached_key(|entry| (entry.at, id_order(entry.id(removed, id))));
    // `id_order` compares only the first 16 bytes of ids. Few ids agree in them; these are sorted again as a whole.
    for alike in entries.chunk_by_mut(|left, right| {
        left.at == right.at && id_order(left.id(removed, id)) == id_order(right.id(removed, id))
    }) {
        alike.sort_unstable_by(|left, right| left.id(removed, id).cmp(right.id(removed, id)));
    }
}
