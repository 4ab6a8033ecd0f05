//! When each review was added, changed and removed: the record in `changes.json`, and what it says about a dataset.

use std::collections::BTreeMap;

use reviewd_wire::date::Timestamp;

/// The first 128 bits of the SHA-256 of a review as it is published, without `added_at` and `changed_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReviewDigest(pub [u8; 16]);

/// What `changes.json` records of every review that was ever published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// A random name: a record that was lost and begun again has another one.
    pub log: String,
    /// When the record was begun; reviews that were there already have no times of their own.
    pub began_at: Timestamp,
    /// By id.
    pub reviews: BTreeMap<String, RecordedReview>,
}

/// What is recorded of one review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedReview {
    /// `None` for a review that is no longer published: nothing of it is kept.
    pub digest: Option<ReviewDigest>,
    /// When it was published first; `None` for a review that is older than the record.
    pub added_at: Option<Timestamp>,
    /// When it was published first or changed last; `None` for a review that has not changed since the record began.
    pub changed_at: Option<Timestamp>,
    /// When it was removed; `None` for a published review.
    pub removed_at: Option<Timestamp>,
}

/// What is known about the changes of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetChanges {
    /// The name of the record; `None` without one.
    pub log: Option<String>,
    /// One entry for each published review, in their order; empty without a record.
    pub reviews: Vec<ReviewChange>,
    /// Reviews that are no longer published, by id ascending.
    pub removed: Vec<RemovedChange>,
}

/// The last change of a published review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewChange {
    /// The digest of its present content.
    pub digest: ReviewDigest,
    /// When it was recorded; `None` for a change that is not recorded, which has the date of the dataset.
    pub at: Option<Timestamp>,
}

/// The removal of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedChange {
    /// The id that the review had.
    pub id: String,
    /// When it was recorded; `None` for a removal that is not recorded, which has the date of the dataset.
    pub at: Option<Timestamp>,
}
