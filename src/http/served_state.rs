//! One snapshot and everything about it that responses need, prepared once.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::head::{Field, RequestHead};
use super::reply::Representation;
use super::router::Document;
use super::settings::SettingsError;
use crate::mcp;
use crate::pages::{Page, Pages};
use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::negotiate::{Coding, choose_coding};

/// What is served: immutable, shared by the requests that began while it was current.
#[derive(Debug)]
pub struct ServedState {
    snapshot: Arc<Snapshot>,
    /// What the Model Context Protocol answers from.
    pub(crate) catalog: mcp::Catalog,
    /// At `Document as usize`; `None` for insights that are still being derived.
    documents: Vec<Option<PreparedDocument>>,
    pub(crate) pages: Pages,
    /// At `Page as usize`.
    prepared_pages: Vec<PreparedDocument>,
    /// `Last-Modified` of the documents that are made of the dataset alone.
    pub(crate) last_modified: HeaderValue,
    search_tags: QueryTags,
    /// Of searches by aspect or polarity, which depend on the insights as well.
    insights_tags: QueryTags,
}

#[derive(Debug)]
struct PreparedDocument {
    media_type: HeaderValue,
    link: Option<HeaderValue>,
    /// Of the body in each coding, at `Coding as usize`.
    variants: [PreparedVariant; 3],
}

#[derive(Debug)]
struct PreparedVariant {
    tag: EntityTag,
    etag: HeaderValue,
}

/// A stored document in the coding that the client prefers.
#[derive(Debug)]
pub(crate) struct Variant<'s> {
    pub(crate) body: &'s Bytes,
    pub(crate) tag: &'s EntityTag,
    pub(crate) representation: Representation<'s>,
}

impl ServedState {
    /// Prepares the responses for `snapshot`. Its compressed variants may arrive later.
    ///
    /// # Errors
    /// When the snapshot's base URL cannot be written into a header.
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
        // Another version may answer the same query of the same dataset in other bytes.
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        // So may the insights of the dataset before, by which aspects are searched while the own ones are derived.
        let carried = snapshot.insights().filter(|_| !snapshot.has_own_insights());
        let carried = carried.map_or(&[][..], |document| &document.digest);
        Ok(ServedState {
            documents,
            prepared_pages,
            last_modified: shared(snapshot.updated_at.render_http().as_bytes())?,
            search_tags: QueryTags::new(&[&snapshot.digest, version]),
            insights_tags: QueryTags::new(&[&snapshot.digest, version, carried]),
            snapshot,
            catalog,
            pages,
        })
    }

    /// Returns the snapshot that this state was made of.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Returns the Last-Modified of `page` and its searches.
    pub(crate) fn last_modified_of(&self, page: Page) -> Option<&HeaderValue> {
        self.last_modified_if_made_of(page.shows_insights())
    }

    /// Returns the date of the dataset, or `None` for what shows the insights while those of this dataset are missing:
    /// they come later and leave that date as it is.
    fn last_modified_if_made_of(&self, insights: bool) -> Option<&HeaderValue> {
        let is_whole = !insights || self.snapshot.has_own_insights();
        is_whole.then_some(&self.last_modified)
    }

    /// Returns `document` in the coding that the client prefers of those that are ready, or `None` where the document
    /// itself was not ready when this state was made.
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
        representation.last_modified = self.last_modified_of(page);
        representation.policy = Some(page.policy());
        representation.is_immutable = self.pages.is_versioned(page, head.query);
        variant
    }

    /// Makes the compressed variants of all that is stored, the small ones first; seconds for a large dataset, so on a
    /// background thread. `cancelled` is asked between two variants.
    pub fn compress(&self, cancelled: impl Fn() -> bool) {
        self.pages.compress(&cancelled);
        self.snapshot.compress(&cancelled);
    }

    /// Returns the entity-tag and the Last-Modified of a search for the raw `query`. The tag depends on the dataset and on the
    /// query's bytes, not on the answer, so a client's copy is confirmed without searching.
    pub(crate) fn search_validators(
        &self,
        query: &[u8],
        needs_insights: bool,
    ) -> (EntityTag, Option<&HeaderValue>) {
        let tags = match needs_insights {
            true => &self.insights_tags,
            false => &self.search_tags,
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
        let variant = |coding| {
            let tag = resource.etag.with_coding(coding);
            Ok(PreparedVariant {
                etag: shared(tag.as_bytes())?,
                tag,
            })
        };
        Ok(PreparedDocument {
            media_type: HeaderValue::from_static(resource.media_type),
            link: link.map(|link| shared(link.as_bytes())).transpose()?,
            variants: [
                variant(Coding::Identity)?,
                variant(Coding::Gzip)?,
                variant(Coding::Brotli)?,
            ],
        })
    }

    /// Returns `resource`, which this was prepared for, in the coding that the client prefers of those that are ready.
    fn select<'s>(&'s self, resource: &'s Resource, head: &RequestHead<'_>) -> Variant<'s> {
        let preferred = match head.has(Field::AcceptEncoding) {
            true => choose_coding(head.values(Field::AcceptEncoding), |coding| {
                resource.encoded(coding).is_some()
            }),
            false => Coding::Identity,
        };
        // A variant never goes away once it is there; the body as it is stands in for a coding never offered.
        let (coding, body) = match resource.encoded(preferred) {
            Some(body) => (preferred, body),
            None => (Coding::Identity, &resource.body),
        };
        let PreparedVariant { tag, etag } = &self.variants[coding as usize];
        Variant {
            body,
            tag,
            representation: Representation {
                media_type: &self.media_type,
                etag: Cow::Borrowed(etag),
                last_modified: None,
                coding,
                link: self.link.clone(),
                policy: None,
                is_immutable: false,
            },
        }
    }
}

/// Makes a header value whose clones cost a reference count.
fn shared(value: &[u8]) -> Result<HeaderValue, SettingsError> {
    let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value))
        .map_err(|_| SettingsError::BaseUrl)?;
    // The first clone of such a value turns its buffer into a counted one, which allocates: so not on a request.
    drop(value.clone());
    Ok(value)
}
