//! One snapshot and everything that responses need from it, prepared once.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::date::HttpDate;
use super::head::{Field, RequestHead};
use super::reply::{Representation, Vary};
use super::router::Document;
use super::settings::SettingsError;
use crate::mcp;
use crate::pages::{Page, Pages};
use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::negotiate::{Coding, choose_coding};

/// The state that is served: immutable, and shared by the requests that began while it was current.
#[derive(Debug)]
pub struct ServedState {
    snapshot: Arc<Snapshot>,
    /// The data of the Model Context Protocol.
    pub(crate) catalog: mcp::Catalog,
    /// Indexed by `Document as usize`; `None` for insights that are still being derived.
    documents: Vec<Option<PreparedDocument>>,
    pub(crate) pages: Pages,
    /// Indexed by `Page as usize`.
    prepared_pages: Vec<PreparedDocument>,
    /// `Last-Modified` of the documents that depend only on the dataset.
    pub(crate) last_modified: HttpDate,
    search_tags: QueryTags,
    /// Tags of searches by aspect or polarity, which also depend on the insights.
    insights_tags: QueryTags,
}

#[derive(Debug)]
struct PreparedDocument {
    media_type: HeaderValue,
    link: Option<HeaderValue>,
    /// Entity-tags of the body in each coding, indexed by `Coding as usize`.
    etags: [HeaderValue; 3],
}

/// A stored document in the coding that the client prefers.
#[derive(Debug)]
pub(crate) struct Variant<'s> {
    pub(crate) body: &'s Bytes,
    pub(crate) representation: Representation<'s>,
}

impl ServedState {
    /// Prepares the responses for `snapshot`. Compressed variants may be added later.
    ///
    /// # Errors
    /// If the snapshot's base URL is not a valid header value.
    pub fn new(snapshot: Arc<Snapshot>) -> Result<ServedState, SettingsError> {
        let catalog = mcp::Catalog::new(Arc::clone(&snapshot));
        let base_url = &snapshot.base_url;
        let prepare = |document| {
            let resource = resource(&snapshot, &catalog, document);
            let hub = format!("<{base_url}/api/websub/hub>; rel=\"hub\"");
            let link =
                topic(document).map(|path| format!("<{base_url}{path}>; rel=\"self\", {hub}"));
            let prepared = resource.map(|resource| PreparedDocument::new(resource, link));
            prepared.transpose()
        };
        let documents = Document::ALL.into_iter().map(prepare);
        let documents = documents.collect::<Result<_, _>>()?;
        let pages = Pages::new(Arc::clone(&snapshot));
        let prepared_pages = Page::all()
            .map(|page| PreparedDocument::new(pages.resource(page), page.link(base_url)))
            .collect::<Result<_, _>>()?;
        // Another version of reviewd may answer the same query of the same dataset with other bytes.
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        // While the insights are being derived, searches use the previous ones, which change the result too.
        let carried = snapshot.insights().filter(|_| !snapshot.has_own_insights());
        let carried = carried.map_or(&[][..], |document| &document.digest);
        Ok(ServedState {
            documents,
            prepared_pages,
            last_modified: HttpDate::new(snapshot.updated_at),
            search_tags: QueryTags::new(&[&snapshot.digest, version]),
            insights_tags: QueryTags::new(&[&snapshot.digest, version, carried]),
            snapshot,
            catalog,
            pages,
        })
    }

    /// Returns the snapshot of this state.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Returns the date of the dataset, or `None` for content that shows insights while those of this dataset are not
    /// derived: deriving them changes the content, but not the date.
    pub(crate) fn last_modified_if_made_of(&self, insights: bool) -> Option<&HttpDate> {
        let is_whole = !insights || self.snapshot.has_own_insights();
        is_whole.then_some(&self.last_modified)
    }

    /// Returns `document` in the coding that the client prefers of those that are ready, or `None` if the document
    /// itself was not ready when this state was created.
    pub(crate) fn document(
        &self,
        document: Document,
        head: &RequestHead<'_>,
    ) -> Option<Variant<'_>> {
        let prepared = self.documents[document as usize].as_ref()?;
        let resource = resource(&self.snapshot, &self.catalog, document)?;
        let mut variant = prepared.select(resource, head);
        let shows_insights = matches!(document, Document::Insights);
        variant.representation.last_modified = self.last_modified_if_made_of(shows_insights);
        Some(variant)
    }

    /// Returns a page's document in the coding that the client prefers of those that are ready.
    pub(crate) fn page(&self, page: Page, head: &RequestHead<'_>) -> Variant<'_> {
        let prepared = &self.prepared_pages[page as usize];
        let mut variant = prepared.select(self.pages.resource(page), head);
        let representation = &mut variant.representation;
        representation.last_modified = self.last_modified_if_made_of(page.shows_insights());
        representation.policy = Some(page.policy());
        representation.is_immutable = self.pages.is_versioned(page, head.query);
        if matches!(page, Page::Home | Page::Widget) && self.pages.is_negotiated() {
            representation.vary = Vary::Language;
        }
        variant
    }

    /// Creates the compressed variants of all stored documents, small ones first. Takes seconds for a large dataset, so
    /// it runs on a background thread. `cancelled` is called between two variants.
    pub fn compress(&self, cancelled: impl Fn() -> bool) {
        self.pages.compress(&cancelled);
        self.snapshot.compress(&cancelled);
    }

    /// Returns the entity-tag and the Last-Modified of a search for the raw `query`. The tag depends on the dataset and
    /// the bytes of the query, not on the result, so a client's copy is validated without searching.
    pub(crate) fn search_validators(
        &self,
        query: &[u8],
        needs_insights: bool,
    ) -> (EntityTag, Option<&HttpDate>) {
        let tags = if needs_insights {
            &self.insights_tags
        } else {
            &self.search_tags
        };
        let last_modified = self.last_modified_if_made_of(needs_insights);
        (tags.tag(0, query), last_modified)
    }
}

fn resource<'s>(
    snapshot: &'s Snapshot,
    catalog: &'s mcp::Catalog,
    document: Document,
) -> Option<&'s Resource> {
    match document {
        Document::Reviews => Some(&snapshot.reviews),
        Document::Insights => snapshot.insights(),
        Document::FeedJson => Some(&snapshot.feed_json),
        Document::FeedXml => Some(&snapshot.feed_xml),
        Document::ServerCard => Some(&catalog.server_card),
        Document::AiCatalog => Some(&catalog.ai_catalog),
    }
}

/// Returns the path of a document that is a topic of the hub.
fn topic(document: Document) -> Option<&'static str> {
    match document {
        Document::Reviews => Some("/reviews.json"),
        Document::FeedJson => Some("/api/feed.json"),
        Document::FeedXml => Some("/feed.xml"),
        _ => None,
    }
}

impl PreparedDocument {
    fn new(resource: &Resource, link: Option<String>) -> Result<PreparedDocument, SettingsError> {
        let etag = |coding| shared(resource.etag.with_coding(coding).as_bytes());
        Ok(PreparedDocument {
            media_type: HeaderValue::from_static(resource.media_type),
            link: link.map(|link| shared(link.as_bytes())).transpose()?,
            etags: [
                etag(Coding::Identity)?,
                etag(Coding::Gzip)?,
                etag(Coding::Brotli)?,
            ],
        })
    }

    /// Returns `resource`, which this was prepared for, in the coding that the client prefers of those that are ready.
    fn select<'s>(&'s self, resource: &'s Resource, head: &RequestHead<'_>) -> Variant<'s> {
        let coding = if head.has(Field::AcceptEncoding) {
            choose_coding(head.values(Field::AcceptEncoding), |coding| {
                resource.encoded(coding).is_some()
            })
        } else {
            Coding::Identity
        };
        let body = resource.encoded(coding);
        let body = body.expect("a variant that is ready stays ready");
        Variant {
            body,
            representation: Representation {
                media_type: &self.media_type,
                etag: Cow::Borrowed(&self.etags[coding as usize]),
                last_modified: None,
                coding,
                link: self.link.clone(),
                policy: None,
                is_immutable: false,
                vary: Vary::Coding,
            },
        }
    }
}

/// Creates a header value whose clones only increment a reference count.
fn shared(value: &[u8]) -> Result<HeaderValue, SettingsError> {
    let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value))
        .map_err(|_| SettingsError::BaseUrl)?;
    // The first clone allocates the reference count of the buffer, so it is done here and not by a request.
    drop(value.clone());
    Ok(value)
}
