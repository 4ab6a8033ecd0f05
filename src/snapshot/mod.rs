//! Everything that is served, built once for each dataset and never changed.
//!
//! A [`Snapshot`] has the four stored documents, each review's bytes as a slice of `/reviews.json`, the search index,
//! and the few other facts that responses need. Requests share it by reference count; a reload builds the next snapshot
//! in the background and then replaces the current one. Only the compressed variants of the documents are added later,
//! in write-once cells: until then a document is sent uncompressed.
//!
//! The insights of a large dataset take longest. So there are two snapshots: the first has no insights, or those of the
//! previous dataset; the second has the new ones, and shares everything else with the first.

mod changes;
pub mod resource;
mod since;
mod stored_review;
mod tallies;
mod verifications;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::dataset::publish;
use crate::insights::{self, IsCancelled, ReviewReadings};
use crate::model::insights::{ByPolarity, Insights};
use crate::model::photo_digest;
use crate::model::site::Site;
use crate::model::{Business, Dataset, Editorial, Review, Row, Taxonomy};
use crate::search::changes::ChangeCursor;
use crate::search::index::{Index, IndexOptions};
use crate::wire::date::{Date, Timestamp};
use crate::wire::etag::EntityTag;
use crate::wire::text::hex;

use changes::ChangeTable;
pub use changes::{ChangesPage, Removal};
pub use resource::Resource;
pub use since::Since;
use since::SinceTable;
pub(crate) use stored_review::{
    AuthoredText, JsonText, StoredMedia, StoredRating, StoredReply, StoredReview,
    StoredVerification,
};
pub use tallies::{Tallies, Tally};
pub use verifications::Verifications;

/// The settings of a snapshot; with the dataset they determine it.
#[derive(Clone, Debug)]
pub struct SnapshotSettings {
    /// The public address without a trailing slash, such as `https://reviews.example`.
    pub base_url: String,
    /// Memory and threads for the search index.
    pub index: IndexOptions,
}

/// One dataset, ready to be served. A clone shares all that is large.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// SHA-256 of the operator's files: two replicas with the same files agree on it.
    pub digest: [u8; 32],
    /// The dataset's own date: Last-Modified of everything that depends only on the dataset.
    pub updated_at: Timestamp,
    /// The public address that the documents contain.
    pub base_url: String,
    /// `/reviews.json`.
    pub reviews: Arc<Resource>,
    /// `/api/feed.json`.
    pub feed_json: Arc<Resource>,
    /// `/feed.xml`.
    pub feed_xml: Arc<Resource>,
    /// The business.
    pub business: Business,
    /// Displayed wherever reviews are.
    pub disclaimer: Option<String>,
    /// The names and phrases of the taxonomy, with the people and services that only the business lists.
    pub taxonomy: Taxonomy,
    /// Hand-written parts of the insights.
    pub editorial: Editorial,
    /// The look and the language of the pages.
    pub site: Site,
    /// How many published reviews have a text.
    pub with_text: u32,
    /// Number of reviews in the files that are not published because they are not verified.
    pub unverified_count: u32,
    /// Counts of the published reviews, for filters.
    pub tallies: Tallies,
    /// How the published reviews were verified.
    pub verifications: Verifications,
    /// The digests of the pictures, of reviews and of their authors, that the business stores itself; no other file is served.
    pictures: Arc<HashSet<String>>,
    /// The first 8 hexadecimal digits of `digest`.
    version: String,
    /// The last change of each review, by row.
    modified: Arc<[Date]>,
    /// Where each review begins in `/reviews.json`, by row; as in `Documents`.
    offsets: Arc<[u64]>,
    /// The part of each review's SHA-256 that its entity-tag has, by row: to hash a review at each request would cost more
    /// than to send it.
    review_digests: Arc<[[u8; 16]]>,
    since: Arc<SinceTable>,
    changes: Arc<ChangeTable>,
    /// The search index.
    pub index: Index,
    insights: Option<Arc<DerivedInsights>>,
}

/// The insights, as a document and as a parsed value.
#[derive(Debug)]
struct DerivedInsights {
    document: Arc<Resource>,
    value: Insights,
    /// What each review gave to the insights. Those of the next dataset take it over for unchanged reviews.
    readings: Option<Arc<ReviewReadings>>,
    /// Whether the insights were derived from the previous dataset.
    is_carried: bool,
}

/// The documents that come directly from a dataset.
struct Documents {
    reviews: Arc<Resource>,
    feed_json: Arc<Resource>,
    feed_xml: Arc<Resource>,
    /// The byte of `/reviews.json` at which each review begins, by row. One more number follows, as if a comma and another
    /// review came after the last.
    offsets: Vec<u64>,
    /// Half of the SHA-256 of each review, by row.
    review_digests: Vec<[u8; 16]>,
    since: SinceTable,
}

impl Documents {
    fn of(dataset: &Dataset, settings: &SnapshotSettings) -> Documents {
        let published = publish::publish(dataset, &settings.base_url);
        let json = Bytes::from(published.reviews_json);
        let offsets = published.offsets;
        // Both hash the document: as a whole, and up to the end of each day.
        let (reviews, since) = run_both(
            settings.index.threads,
            || resource(dataset, json.clone(), "application/json"),
            || SinceTable::build(&dataset.reviews, &json, &offsets, &dataset.removed),
        );
        let mut review_digests = Vec::with_capacity(dataset.reviews.len());
        for row in 0..dataset.reviews.len() {
            review_digests.push(half_digest(&json[span_of(&offsets, row)]));
        }
        Documents {
            reviews,
            feed_json: resource(dataset, published.feed_json.into(), "application/json"),
            feed_xml: resource(dataset, published.feed_xml.into(), "application/atom+xml"),
            offsets,
            review_digests,
            since,
        }
    }
}

/// Returns the bytes of `/reviews.json` that are the review in `row`. They end before the comma that precedes the next one.
fn span_of(offsets: &[u64], row: usize) -> Range<usize> {
    // Offsets index a buffer that is in memory, so they fit a usize.
    offsets[row] as usize..offsets[row + 1] as usize - 1
}

/// Returns the first 128 bits of the SHA-256 of `json`.
fn half_digest(json: &[u8]) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(json).into();
    let (halves, _) = digest.as_chunks();
    halves[0]
}

/// Returns a document with the date of `dataset`.
fn resource(dataset: &Dataset, body: Bytes, media_type: &'static str) -> Arc<Resource> {
    Arc::new(Resource::new(body, media_type, dataset.updated_at))
}

impl Snapshot {
    /// Builds everything that is served from `dataset`, including the insights: O(bytes of text), many seconds for
    /// 100,000 reviews, so not on request threads.
    #[must_use]
    pub fn build(dataset: Dataset, settings: &SnapshotSettings) -> Snapshot {
        let never = &|| false;
        let snapshot = Snapshot::build_without_insights(&dataset, settings, never);
        let snapshot = snapshot.expect("nothing cancels it");
        let document = insights::document(&dataset, settings.index.threads, never);
        snapshot.with_insights(document.expect("nothing cancels it"))
    }

    /// Builds everything except the insights, which [`Snapshot::with_insights`] adds: O(bytes of text), a few seconds
    /// for 100,000 reviews. With more than one thread, documents and index are built in parallel.
    ///
    /// `None` if it is cancelled.
    ///
    /// # Panics
    /// If the renderer and the index disagree about the number of reviews, which would be a bug.
    #[must_use]
    pub fn build_without_insights(
        dataset: &Dataset,
        settings: &SnapshotSettings,
        cancelled: IsCancelled<'_>,
    ) -> Option<Snapshot> {
        let (index, documents) = run_both(
            settings.index.threads,
            || {
                Index::build_unless(
                    &dataset.reviews,
                    &dataset.taxonomy,
                    &dataset.business.locations,
                    &settings.index,
                    cancelled,
                )
            },
            || Documents::of(dataset, settings),
        );
        let index = index?;
        assert_eq!(
            documents.offsets.len(),
            index.len() as usize + 1,
            "the index holds every published review, and each has an offset"
        );
        let reviews = dataset.reviews.iter();
        let with_text = reviews.filter(|review| !review.text.is_empty()).count();
        let digest = dataset.digest;
        Some(Snapshot {
            digest,
            updated_at: dataset.updated_at,
            base_url: settings.base_url.clone(),
            reviews: documents.reviews,
            feed_json: documents.feed_json,
            feed_xml: documents.feed_xml,
            business: dataset.business.clone(),
            disclaimer: dataset.disclaimer.clone(),
            taxonomy: dataset.taxonomy.clone(),
            editorial: dataset.editorial.clone(),
            site: dataset.site.clone(),
            with_text: with_text as u32,
            unverified_count: dataset.unverified_count,
            tallies: Tallies::of(&dataset.reviews),
            verifications: Verifications::of(&dataset.reviews),
            pictures: Arc::new(picture_digests(&dataset.reviews)),
            version: hex(&digest[..4]),
            modified: dataset.reviews.iter().map(Review::modified).collect(),
            offsets: documents.offsets.into(),
            review_digests: documents.review_digests.into(),
            since: Arc::new(documents.since),
            changes: Arc::new(ChangeTable::build(dataset)),
            index,
            insights: None,
        })
    }

    /// Returns `/insights.json`; while it is being derived, that of the previous dataset, or `None` if there is none.
    #[must_use]
    pub fn insights(&self) -> Option<&Resource> {
        self.insights.as_ref().map(|derived| &*derived.document)
    }

    /// Like [`Snapshot::insights`], with a shared reference: a snapshot that still has the insights of the previous one has
    /// the same document.
    #[must_use]
    pub fn insights_shared(&self) -> Option<&Arc<Resource>> {
        self.insights.as_ref().map(|derived| &derived.document)
    }

    /// Returns the parsed value of [`Snapshot::insights`], without the insights of single reviews.
    #[must_use]
    pub fn insights_value(&self) -> Option<&Insights> {
        self.insights.as_ref().map(|derived| &derived.value)
    }

    /// Returns what each review gave to the insights. With it, the insights of the next dataset are derived in less time.
    #[must_use]
    pub fn readings(&self) -> Option<&Arc<ReviewReadings>> {
        self.insights.as_ref()?.readings.as_ref()
    }

    /// Returns the digests of the pictures that the business stores itself, in no order.
    pub fn picture_digests(&self) -> impl Iterator<Item = &str> {
        self.pictures.iter().map(String::as_str)
    }

    /// Tells whether the snapshot has insights that were derived from its own dataset.
    #[must_use]
    pub fn has_own_insights(&self) -> bool {
        let derived = self.insights.as_ref();
        derived.is_some_and(|derived| !derived.is_carried)
    }

    /// Returns this snapshot with its insights; `document` must come from the same dataset.
    #[must_use]
    pub fn with_insights(&self, document: insights::Document) -> Snapshot {
        let bytes = document.bytes.into();
        let resource = Resource::new(bytes, "application/json", self.updated_at);
        self.with_derived(DerivedInsights {
            document: Arc::new(resource),
            value: document.insights,
            readings: document.readings,
            is_carried: false,
        })
    }

    /// Returns this snapshot with the insights of the `previous` one, to be served while its own are being derived. The
    /// document is unchanged. In the parsed value, references to reviews that were changed or removed are left out, and
    /// the operator's own texts are those of this dataset.
    #[must_use]
    pub fn with_insights_of(&self, previous: &Snapshot) -> Snapshot {
        let Some(derived) = &previous.insights else {
            return self.clone();
        };
        let mut value = derived.value.clone();
        let unchanged = UnchangedRows::of(previous, self);
        for aspect in &mut value.aspects {
            aspect.rows = unchanged.rows_of(&aspect.rows);
            let rows_before = &aspect.rows_by_polarity;
            aspect.rows_by_polarity =
                ByPolarity::from_fn(|polarity| unchanged.rows_of(&rows_before[polarity]));
            aspect.example_review_ids.retain(|id| unchanged.has_id(id));
            if let Some(evidence) = &mut aspect.evidence {
                evidence.retain(|evidence| unchanged.has_id(&evidence.review_id));
            }
        }
        for topic in &mut value.topics {
            topic.review_ids.retain(|id| unchanged.has_id(id));
        }
        // The operator's texts may quote a review, and were edited together with it.
        value.faq.clone_from(&self.editorial.faq);
        value.pull_quote.clone_from(&self.editorial.pull_quote);
        if value.method.summary == "editorial" {
            value.summary.clone_from(&self.editorial.summary);
        }
        self.with_derived(DerivedInsights {
            document: Arc::clone(&derived.document),
            value,
            readings: derived.readings.clone(),
            is_carried: true,
        })
    }

    fn with_derived(&self, insights: DerivedInsights) -> Snapshot {
        Snapshot {
            index: self.index.with_aspects(&insights.value, &self.taxonomy),
            insights: Some(Arc::new(insights)),
            ..self.clone()
        }
    }

    /// Tells whether a published review has the picture with this digest, in hexadecimal digits.
    #[must_use]
    pub fn has_picture(&self, digest: &str) -> bool {
        self.pictures.contains(digest)
    }

    /// Returns the dataset's version: the first 8 hex digits of its digest.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns how many reviews are published.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.index.len()
    }

    /// Tells whether no review is published.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the JSON object of the review in `row`, as it is in `/reviews.json`.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub fn review_json(&self, row: Row) -> &[u8] {
        &self.reviews.body[self.span(row)]
    }

    /// Returns the address at which the review with this id can be read and cited.
    #[must_use]
    pub fn review_url(&self, id: &str) -> String {
        format!("{}/reviews/{id}", self.base_url)
    }

    /// Returns the review in `row`, parsed: a microsecond for each kilobyte.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub(crate) fn stored_review(&self, row: Row) -> StoredReview<'_> {
        StoredReview::parse(self.review_json(row))
    }

    /// Parses the author and the text of the review in `row`, which costs less than all of it.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub(crate) fn author_and_text(&self, row: Row) -> AuthoredText<'_> {
        AuthoredText::parse(self.review_json(row))
    }

    /// Returns the review in `row` as a value of its own, with the URLs of its pictures: some microseconds for each
    /// kilobyte.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub(crate) fn owned_review(&self, row: Row) -> Review {
        serde_json::from_slice(self.review_json(row)).expect("the snapshot rendered a review")
    }

    /// Like [`Snapshot::review_json`], but shares the stored bytes instead of borrowing them.
    #[must_use]
    pub fn review_json_shared(&self, row: Row) -> Bytes {
        self.reviews.body.slice(self.span(row))
    }

    /// Returns the day of the last change of the review in `row`, as its own dates tell it.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub fn modified(&self, row: Row) -> Date {
        self.modified[row.0 as usize]
    }

    /// Returns the entity-tag of the review in `row`, which changes only when that review does.
    #[must_use]
    pub fn review_tag(&self, row: Row) -> EntityTag {
        EntityTag::from_half_digest(&self.review_digests[row.0 as usize])
    }

    /// Returns slices of the stored array that contain `rows`, in their order. Adjacent rows are one slice, including
    /// the commas between them; the caller adds a comma between two slices.
    pub fn runs(&self, rows: &[Row]) -> impl Iterator<Item = &[u8]> {
        let runs = rows.chunk_by(|left, right| left.0 + 1 == right.0);
        runs.map(|run| {
            let first = self.span(run[0]);
            let last = self.span(run[run.len() - 1]);
            &self.reviews.body[first.start..last.end]
        })
    }

    /// Returns the reviews of `date` and later: a slice of the stored array, found by binary search, not copied.
    #[must_use]
    pub fn since(&self, date: Date) -> Since {
        let found = self.since.find(date);
        let mut array = Bytes::new();
        if let Some(last) = found.matched.checked_sub(1) {
            let first = self.span(Row(0));
            let last = self.span(Row(last));
            array = self.reviews.body.slice(first.start..last.end);
        }
        Since {
            matched: found.matched,
            array,
            removed: found.removed,
            tag: found.tag,
        }
    }

    /// Returns the name of the log of changes; `None` for a folder without `changes.json`.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        self.changes.log()
    }

    /// Returns how many changes are after a position in the log.
    #[must_use]
    pub fn count_changes(&self, after: &ChangeCursor) -> usize {
        self.changes.count_after(after, |row| self.index.id(row))
    }

    /// Returns at most `limit` changes after a position in the log, or from its start. There are fewer if their reviews have
    /// more than 4 MiB.
    #[must_use]
    pub fn changes(&self, after: Option<&ChangeCursor>, limit: usize) -> ChangesPage {
        self.changes.page(
            after,
            limit,
            |row| self.index.id(row),
            |row| self.review_json(row).len(),
        )
    }

    /// Returns the bytes of `/reviews.json` that are the review in `row`.
    fn span(&self, row: Row) -> Range<usize> {
        span_of(&self.offsets, row.0 as usize)
    }
}

/// The reviews that two snapshots have in common, byte for byte.
struct UnchangedRows<'s> {
    previous: &'s Snapshot,
    /// The current row of each previous review; `None` if it was changed or removed.
    rows: Vec<Option<Row>>,
}

impl<'s> UnchangedRows<'s> {
    fn of(previous: &'s Snapshot, current: &Snapshot) -> UnchangedRows<'s> {
        let mut rows = Vec::with_capacity(previous.len() as usize);
        for row in (0..previous.len()).map(Row) {
            let found = current.index.row_of_id(previous.index.id(row));
            rows.push(
                found.filter(|found| current.review_json(*found) == previous.review_json(row)),
            );
        }
        UnchangedRows { previous, rows }
    }

    /// Returns the current rows of the unchanged ones of these previous reviews, ascending.
    fn rows_of(&self, previous: &[Row]) -> Vec<Row> {
        let current = previous.iter().map(|row| self.rows[row.0 as usize]);
        let mut rows: Vec<Row> = current.flatten().collect();
        rows.sort_unstable();
        rows
    }

    /// Tells whether the previous review with this id is unchanged.
    fn has_id(&self, id: &str) -> bool {
        match self.previous.index.row_of_id(id) {
            Some(row) => self.rows[row.0 as usize].is_some(),
            None => false,
        }
    }
}

/// Returns the digests of the pictures of these reviews that the business stores itself.
fn picture_digests(reviews: &[Review]) -> HashSet<String> {
    let urls = reviews.iter().flat_map(Review::picture_urls);
    urls.filter_map(photo_digest).map(str::to_owned).collect()
}

/// Runs `main` and `other` and returns both results. With several threads, `other` runs on its own thread, unless that
/// cannot be started.
fn run_both<T, U: Send>(
    threads: NonZeroUsize,
    main: impl FnOnce() -> T,
    other: impl Fn() -> U + Sync,
) -> (T, U) {
    thread::scope(|scope| {
        let mut spawned = None;
        if threads.get() > 1 {
            spawned = thread::Builder::new().spawn_scoped(scope, &other).ok();
        }
        let main = main();
        match spawned {
            Some(thread) => (main, thread.join().expect("rendering has no panic")),
            None => (main, other()),
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
