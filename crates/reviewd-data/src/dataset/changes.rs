//! `changes.json`: reads, compares, updates and renders the record of changes.
//!
//! The commands that change reviews write the record; the service only reads it. A review whose digest differs from the
//! record, or that the record lacks, was changed by hand: its change has the date of the dataset until `reviewd record`
//! or any other command records it. So an edit by hand may be told twice, and is never skipped.
//!
//! Every new time is later than each time that was told before: [`next_time`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::json::{JsonItem, JsonObject, TIME, is_id};
use crate::model::changes::{
    ChangeRecord, DatasetChanges, RecordedReview, RemovedChange, ReviewChange, ReviewDigest,
};
use crate::model::{Dataset, RemovedReview, Review};
use reviewd_wire::date::{Timestamp, parse_timestamp};
use reviewd_wire::form::unescape;
use reviewd_wire::text::hex;

/// How far a recorded time may be ahead of the clock, in seconds: one day. Times run ahead by a second for each further
/// command within one second; more is the error of another machine's clock, and would date all later changes.
const AHEAD_MAX_S: i64 = 86_400;

/// Returns the digest of a review as it is published.
#[must_use]
pub fn digest_review(review: &Review) -> ReviewDigest {
    if review.added_at.is_none() && review.changed_at.is_none() {
        return digest_without_times(review);
    }
    let mut review = review.clone();
    review.added_at = None;
    review.changed_at = None;
    digest_without_times(&review)
}

fn digest_without_times(review: &Review) -> ReviewDigest {
    let json = serde_json::to_vec(review).expect("strings and numbers are JSON");
    let digest: [u8; 32] = Sha256::digest(json).into();
    let (halves, _) = digest.as_chunks();
    ReviewDigest(halves[0])
}

/// Returns the time for a change that is recorded now, later than everything that was told of a dataset with the date
/// `told`.
#[must_use]
pub fn next_time(told: Timestamp, now: Timestamp) -> Timestamp {
    now.max(Timestamp::from_unix(told.unix() + 1))
}

impl ChangeRecord {
    /// Begins a record called `log` with the published reviews of `dataset`, which get no times of their own.
    #[must_use]
    pub fn begin(log: String, dataset: &Dataset) -> ChangeRecord {
        let reviews = dataset.reviews.iter().map(|review| {
            let recorded = RecordedReview {
                digest: Some(digest_review(review)),
                added_at: None,
                changed_at: None,
                removed_at: None,
            };
            (review.id.clone(), recorded)
        });
        ChangeRecord {
            log,
            began_at: dataset.updated_at,
            reviews: reviews.collect(),
        }
    }

    /// Records how the published reviews of `dataset` differ from the record, all at the time `at`; returns what did.
    pub fn update(&mut self, dataset: &Dataset, at: Timestamp) -> RecordedCounts {
        let mut counts = RecordedCounts::default();
        let mut gone = std::mem::take(&mut self.reviews);
        for review in &dataset.reviews {
            let digest = Some(digest_review(review));
            let last = gone.remove(&review.id);
            let recorded = match last {
                Some(last) if last.digest == digest => last,
                Some(last) => {
                    counts.changed += u64::from(last.removed_at.is_none());
                    counts.added += u64::from(last.removed_at.is_some());
                    RecordedReview {
                        digest,
                        added_at: last.added_at,
                        changed_at: Some(at),
                        removed_at: None,
                    }
                }
                None => {
                    counts.added += 1;
                    RecordedReview {
                        digest,
                        added_at: Some(at),
                        changed_at: Some(at),
                        removed_at: None,
                    }
                }
            };
            self.reviews.insert(review.id.clone(), recorded);
        }
        // Forgotten reviews that were never recorded may have been told by an earlier version.
        for removed in &dataset.removed {
            if !self.reviews.contains_key(&removed.id)
                && let Entry::Vacant(entry) = gone.entry(removed.id.clone())
            {
                entry.insert(RecordedReview {
                    digest: None,
                    added_at: None,
                    changed_at: None,
                    removed_at: None,
                });
            }
        }
        for (id, mut recorded) in gone {
            if recorded.removed_at.is_none() {
                counts.removed += 1;
                recorded.digest = None;
                recorded.removed_at = Some(at);
            }
            self.reviews.insert(id, recorded);
        }
        counts
    }

    /// Renders `changes.json`, one line for each review, by id.
    #[must_use]
    pub fn render(&self) -> String {
        let mut file = format!(
            "{{\n  \"log\": \"{}\",\n  \"began_at\": \"{}\",\n  \"reviews\": [",
            self.log, self.began_at
        );
        file.reserve(self.reviews.len() * 192);
        for (at, (id, recorded)) in self.reviews.iter().enumerate() {
            let digest = recorded.digest.map(|digest| hex(&digest.0));
            let separator = if at == 0 { "" } else { "," };
            // Cannot fail: the buffer grows if necessary. Ids need no escapes.
            let _ = write!(
                file,
                "{separator}\n    {{\"id\": \"{id}\", \"digest\": {}, \"added_at\": {}, \"changed_at\": {}, \"removed_at\": {}}}",
                quoted(digest.as_ref()),
                quoted(recorded.added_at.as_ref()),
                quoted(recorded.changed_at.as_ref()),
                quoted(recorded.removed_at.as_ref()),
            );
        }
        file.push_str("\n  ]\n}\n");
        file
    }

    /// The newest time of the record.
    fn latest(&self) -> Timestamp {
        let all = self.reviews.values();
        let times = all.flat_map(|one| [one.changed_at, one.removed_at]);
        times.flatten().fold(self.began_at, Timestamp::max)
    }
}

/// How many reviews [`ChangeRecord::update`] found to differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedCounts {
    /// Published for the first time, or again.
    pub added: u64,
    /// Published already, with other content.
    pub changed: u64,
    /// No longer published.
    pub removed: u64,
}

impl RecordedCounts {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == RecordedCounts::default()
    }
}

fn quoted(value: Option<&impl ToString>) -> String {
    match value {
        Some(value) => format!("\"{}\"", value.to_string()),
        None => "null".to_owned(),
    }
}

/// Reads `changes.json`; times more than a day after `now` are problems.
pub(super) fn record(item: JsonItem<'_>, now: Timestamp) -> ChangeRecord {
    item.object(|keys| {
        let log = keys.key("log").permitted_string(
            "a name: 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
            is_id,
        );
        let began_at = recorded_time(keys.key("began_at"), now);
        let list = keys.key("reviews");
        let mut reviews = BTreeMap::new();
        list.each_item(|item| {
            let (id, recorded) = item.object(|keys| recorded_review(keys, now));
            if reviews.insert(id, recorded).is_some() {
                item.push_problem("has the id of an earlier entry");
            }
        });
        ChangeRecord {
            log: log.unwrap_or_default(),
            began_at: began_at.unwrap_or(Timestamp::MIN),
            reviews,
        }
    })
}

fn recorded_review(keys: &mut JsonObject<'_>, now: Timestamp) -> (String, RecordedReview) {
    let id = keys.key("id").review_id();
    let recorded = RecordedReview {
        digest: keys.key("digest").non_null().and_then(digest),
        added_at: keys
            .key("added_at")
            .non_null()
            .and_then(|item| recorded_time(item, now)),
        changed_at: keys
            .key("changed_at")
            .non_null()
            .and_then(|item| recorded_time(item, now)),
        removed_at: keys
            .key("removed_at")
            .non_null()
            .and_then(|item| recorded_time(item, now)),
    };
    (id, recorded)
}

fn digest(item: JsonItem<'_>) -> Option<ReviewDigest> {
    item.parsed_string("a digest: 32 hexadecimal digits", |text| {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 16 || !rest.is_empty() {
            return None;
        }
        let mut digest = [0; 16];
        for (byte, digits) in digest.iter_mut().zip(pairs) {
            *byte = unescape(digits)?;
        }
        Some(ReviewDigest(digest))
    })
}

fn recorded_time(item: JsonItem<'_>, now: Timestamp) -> Option<Timestamp> {
    let time = item.parsed_string(TIME, |text| parse_timestamp(text.as_bytes()))?;
    if time.unix() > now.unix() + AHEAD_MAX_S {
        item.push_problem("is more than a day in the future");
    }
    Some(time)
}

/// What [`compare`] finds.
pub(super) struct Comparison {
    pub(super) changes: DatasetChanges,
    /// The earliest date that the dataset may have, so that unrecorded changes are later than recorded ones.
    pub(super) date_min: Option<Timestamp>,
}

/// Compares the published reviews with the record, and gives them its times.
pub(super) fn compare(
    record: Option<&ChangeRecord>,
    reviews: &mut [Review],
    forgotten: &[RemovedReview],
) -> Comparison {
    let mut removed: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
    for review in forgotten {
        removed.insert(review.id.clone(), None);
    }
    let Some(record) = record else {
        return Comparison {
            changes: DatasetChanges {
                removed: removed_changes(removed),
                ..DatasetChanges::default()
            },
            date_min: None,
        };
    };
    for (id, recorded) in &record.reviews {
        removed.insert(id.clone(), recorded.removed_at);
    }
    let mut changes = Vec::with_capacity(reviews.len());
    for review in reviews {
        let digest = digest_review(review);
        let recorded = record.reviews.get(&review.id);
        removed.remove(&review.id);
        let mut at = None;
        if let Some(recorded) = recorded {
            review.added_at = recorded.added_at.or(review.added_at);
            if recorded.digest == Some(digest) {
                at = Some(recorded.changed_at.unwrap_or(record.began_at));
                review.changed_at = recorded.changed_at.or(review.changed_at);
            }
        }
        changes.push(ReviewChange { digest, at });
    }
    let removed = removed_changes(removed);
    let is_recorded = changes.iter().all(|change| change.at.is_some())
        && removed.iter().all(|change| change.at.is_some());
    let ahead_s = i64::from(!is_recorded);
    let latest = record.latest();
    Comparison {
        changes: DatasetChanges {
            log: Some(record.log.clone()),
            reviews: changes,
            removed,
        },
        date_min: Some(Timestamp::from_unix(latest.unix() + ahead_s)),
    }
}

fn removed_changes(removed: BTreeMap<String, Option<Timestamp>>) -> Vec<RemovedChange> {
    let removed = removed.into_iter();
    removed.map(|(id, at)| RemovedChange { id, at }).collect()
}

#[cfg(test)]
mod tests;
