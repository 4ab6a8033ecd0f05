//! Everything that is served, built once for each dataset and never changed.
//!
//! A [`Snapshot`] has the four stored documents, each review's bytes as a slice of `/reviews.json`, the search index,
//! and the few other facts that responses need. Requests share it by reference count; a reload builds the next snapshot
//! in the background and then replaces the current one. Only the compressed variants of the documents are added later,
//! in write-once cells: until then a document is sent uncompressed. The insights of a large dataset take longest: the
//! first snapshot has none, or those of the previous dataset; a second snapshot has the new insights and shares
//! everything else with the first.

mod changes;
pub mod resource;
mod since;
mod stored_review;
mod tallies;
mod verifications;

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::dataset::publish;
use crate::insights::{self, ReviewReadings};
use crate::model::insights::Insights;
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
    /// The digests of our own pictures that published reviews have; no other file is served.
    photos: Arc<HashSet<String>>,
    version: String,
    /// The last change of each review, by row.
    modified: Arc<[Date]>,
    offsets: Arc<[u64]>,
    /// The part of each review's SHA-256 that its entity-tag has, by row: hashing at a request would cost more than the rest.
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
    /// What single reviews gave, for the next dataset.
    readings: Option<Arc<ReviewReadings>>,
    /// Whether they were derived from the previous dataset.
    is_carried: bool,
}

/// The documents that come directly from a dataset.
struct Documents {
    reviews: Arc<Resource>,
    feed_json: Arc<Resource>,
    feed_xml: Arc<Resource>,
    /// Where each review begins in the first of them, and one more.
    offsets: Vec<u64>,
    review_digests: Vec<[u8; 16]>,
    since: SinceTable,
}

impl Documents {
    fn of(dataset: &Dataset, settings: &SnapshotSettings) -> Documents {
        let published = publish::publish(dataset, &settings.base_url);
        let json = Bytes::from(published.reviews_json);
        let offsets = published.offsets;
        // The document is hashed as a whole, and up to the end of each day.
        let (reviews, since) = beside(
            settings,
            || resource(dataset, json.clone(), "application/json"),
            || SinceTable::build(&dataset.reviews, &json, &offsets, &dataset.removed),
        );
        let ends = offsets.iter().skip(1).map(|next| *next as usize - 1);
        let bounds = offsets.iter().map(|start| *start as usize).zip(ends);
        let review_digests = bounds
            .map(|(start, end)| half_digest(&json[start..end]))
            .collect();
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
        let snapshot = Snapshot::without_insights_unless(&dataset, settings, &|| false);
        let document = insights::document(&dataset, settings.index.threads, &|| false);
        let built = snapshot.zip(document);
        let (snapshot, document) = built.expect("nothing cancels it");
        snapshot.with_insights(document)
    }

    /// Builds everything except the insights, which [`Snapshot::with_insights`] adds: O(bytes of text), a few seconds
    /// for 100,000 reviews; `None` if `cancelled` returns true, which must then stay true. With more than one thread,
    /// documents and index are built in parallel.
    ///
    /// # Panics
    /// If the renderer and the index disagree about the number of reviews, which would be a bug.
    #[must_use]
    pub fn without_insights_unless(
        dataset: &Dataset,
        settings: &SnapshotSettings,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Snapshot> {
        let (index, documents) = beside(
            settings,
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
        let with_text = dataset
            .reviews
            .iter()
            .filter(|review| !review.text.is_empty());
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
            with_text: with_text.count() as u32,
            unverified_count: dataset.unverified_count,
            tallies: Tallies::of(&dataset.reviews),
            verifications: Verifications::of(&dataset.reviews),
            photos: Arc::new(photos(&dataset.reviews)),
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

    /// Like [`Snapshot::insights`], to be shared: a snapshot with the insights of the previous one shares them with it.
    #[must_use]
    pub fn insights_shared(&self) -> Option<&Arc<Resource>> {
        self.insights.as_ref().map(|derived| &derived.document)
    }

    /// Returns the parsed value of [`Snapshot::insights`], without the insights of single reviews.
    #[must_use]
    pub fn insights_value(&self) -> Option<&Insights> {
        self.insights.as_ref().map(|derived| &derived.value)
    }

    /// Returns what single reviews gave to its insights, from which those of the next dataset are derived in less time.
    #[must_use]
    pub fn readings(&self) -> Option<&Arc<ReviewReadings>> {
        self.insights.as_ref()?.readings.as_ref()
    }

    /// Returns the digests of the own pictures of its reviews, in no order.
    pub fn photo_digests(&self) -> impl Iterator<Item = &str> {
        self.photos.iter().map(String::as_str)
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
        self.with(DerivedInsights {
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
            for rows in aspect.rows_by_polarity.iter_mut().chain([&mut aspect.rows]) {
                *rows = rows.iter().filter_map(|row| unchanged.row(*row)).collect();
                rows.sort_unstable();
            }
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
        self.with(DerivedInsights {
            document: Arc::clone(&derived.document),
            value,
            readings: derived.readings.clone(),
            is_carried: true,
        })
    }

    fn with(&self, insights: DerivedInsights) -> Snapshot {
        Snapshot {
            index: self.index.with_aspects(&insights.value, &self.taxonomy),
            insights: Some(Arc::new(insights)),
            ..self.clone()
        }
    }

    /// Returns whether a published review has the picture with this digest, in hexadecimal digits.
    #[must_use]
    pub fn has_photo(&self, digest: &str) -> bool {
        self.photos.contains(digest)
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
    pub fn review(&self, row: Row) -> &[u8] {
        let (start, end) = self.span(row);
        &self.reviews.body[start..end]
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
        StoredReview::parse(self.review(row))
    }

    /// Parses the author and the text of the review in `row`, which costs less than all of it.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub(crate) fn authored_text(&self, row: Row) -> AuthoredText<'_> {
        AuthoredText::parse(self.review(row))
    }

    /// Returns the review in `row` as a value of its own, with the URLs of its pictures: some microseconds for each
    /// kilobyte.
    ///
    /// # Panics
    /// If `row` is not a row of this snapshot; rows come from its own index.
    #[must_use]
    pub(crate) fn published_review(&self, row: Row) -> Review {
        serde_json::from_slice(self.review(row)).expect("the snapshot rendered a review")
    }

    /// Like [`Snapshot::review`], but shares the stored bytes instead of borrowing them.
    #[must_use]
    pub fn review_shared(&self, row: Row) -> Bytes {
        let (start, end) = self.span(row);
        self.reviews.body.slice(start..end)
    }

    /// Returns the day of the last change of the review in `row` that its own dates tell.
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
            let (start, _) = self.span(run[0]);
            let (_, end) = self.span(run[run.len() - 1]);
            &self.reviews.body[start..end]
        })
    }

    /// Returns the reviews of `date` and later: a slice of the stored array, found by binary search, not copied.
    #[must_use]
    pub fn since(&self, date: Date) -> Since {
        let (matched, removed, tag) = self.since.find(date);
        let array = match matched.checked_sub(1) {
            None => Bytes::new(),
            Some(last) => {
                let (first, _) = self.span(Row(0));
                let (_, end) = self.span(Row(last));
                self.reviews.body.slice(first..end)
            }
        };
        Since {
            matched,
            array,
            removed,
            tag,
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

    /// Returns at most `limit` changes after a position in the log, or from its start; fewer if they have more than
    /// 4 MiB.
    #[must_use]
    pub fn changes(&self, after: Option<&ChangeCursor>, limit: usize) -> ChangesPage {
        self.changes.page(
            after,
            limit,
            |row| self.index.id(row),
            |row| self.review(row).len(),
        )
    }

    fn span(&self, row: Row) -> (usize, usize) {
        let row = row.0 as usize;
        // Offsets index a buffer that is in memory, so they fit a usize; the byte before the next start is the comma.
        (
            self.offsets[row] as usize,
            self.offsets[row + 1] as usize - 1,
        )
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
            rows.push(found.filter(|found| current.review(*found) == previous.review(row)));
        }
        UnchangedRows { previous, rows }
    }

    /// Returns the current row of the review in this previous row.
    fn row(&self, previous: Row) -> Option<Row> {
        self.rows[previous.0 as usize]
    }

    fn has_id(&self, id: &str) -> bool {
        let row = self.previous.index.row_of_id(id);
        row.is_some_and(|row| self.row(row).is_some())
    }
}

/// The digests of the own pictures of these reviews.
fn photos(reviews: &[Review]) -> HashSet<String> {
    let urls = reviews.iter().flat_map(Review::picture_urls);
    urls.filter_map(photo_digest).map(str::to_owned).collect()
}

/// Runs `main` and `other` and returns both results; with several threads, `other` runs on its own thread.
fn beside<T, U: Send>(
    settings: &SnapshotSettings,
    main: impl FnOnce() -> T,
    other: impl Fn() -> U + Sync,
) -> (T, U) {
    thread::scope(|scope| {
        let mut spawned = None;
        if settings.index.threads.get() > 1 {
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
