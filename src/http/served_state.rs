//! One snapshot and everything about it that replies need, prepared once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::app_state::SettingsError;
use super::prerendered::{MemFdRange, PrerenderedHeads};
use super::router::Document;
use crate::mcp;
use crate::pages::{Page, Pages};
use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::negotiate::{Coding, CodingSet};

/// What is served: immutable, shared by the requests that began while it was current.
#[derive(Debug)]
pub struct ServedState {
    snapshot: Arc<Snapshot>,
    catalog: mcp::Catalog,
    /// At `Document as usize`; `None` for insights that are still being derived.
    documents: [Option<PreparedDocument>; 6],
    pages: Pages,
    /// At `Page as usize`.
    prepared_pages: Vec<PreparedDocument>,
    last_modified: HeaderValue,
    /// The insights were there when the pages were made.
    is_whole: bool,
    /// Large bodies are kept for the kernel as well.
    keeps_files: AtomicBool,
    search_tags: QueryTags,
}

/// The header values of one stored document.
#[derive(Debug)]
struct PreparedDocument {
    media_type: HeaderValue,
    /// The body in each coding has its own, at `Coding as usize`.
    tags: [(EntityTag, HeaderValue); 3],
    /// The hub and the topic itself, on the documents that are topics.
    link: Option<HeaderValue>,
    ready: PrerenderedHeads,
}

/// A stored document in the coding that the client prefers.
#[derive(Debug)]
pub(crate) struct SelectedVariant<'s> {
    pub(crate) body: &'s Bytes,
    pub(crate) media_type: &'s HeaderValue,
    pub(crate) tag: &'s EntityTag,
    pub(crate) etag: &'s HeaderValue,
    pub(crate) coding: Coding,
    pub(crate) link: Option<&'s HeaderValue>,
    pub(crate) ready: &'s PrerenderedHeads,
}

impl ServedState {
    /// Prepares the replies for `snapshot`. Its compressed variants may arrive later.
    ///
    /// # Errors
    /// When the snapshot's base URL cannot be written into a header.
    pub fn new(snapshot: Arc<Snapshot>) -> Result<ServedState, SettingsError> {
        let catalog = mcp::Catalog::new(Arc::clone(&snapshot));
        let base_url = &snapshot.base_url;
        let is_whole = snapshot.insights().is_some();
        let topic = |path: &str| -> Result<Option<HeaderValue>, SettingsError> {
            let link = format!(
                "<{base_url}{path}>; rel=\"self\", <{base_url}/api/websub/hub>; rel=\"hub\""
            );
            shared(link.into_bytes()).map(Some)
        };
        let documents = [
            Some(PreparedDocument::new(
                &snapshot.reviews,
                topic("/reviews.json")?,
            )?),
            snapshot
                .insights()
                .map(|insights| PreparedDocument::new(insights, None))
                .transpose()?,
            Some(PreparedDocument::new(
                &snapshot.feed_json,
                topic("/api/feed.json")?,
            )?),
            Some(PreparedDocument::new(
                &snapshot.feed_xml,
                topic("/feed.xml")?,
            )?),
            Some(PreparedDocument::new(&catalog.server_card, None)?),
            Some(PreparedDocument::new(&catalog.ai_catalog, None)?),
        ];
        let pages = Pages::new(Arc::clone(&snapshot));
        let prepared_pages = Page::all()
            .map(|page| {
                let link = page.link(base_url).map(String::into_bytes);
                PreparedDocument::new(pages.resource(page), link.map(shared).transpose()?)
            })
            .collect::<Result<_, _>>()?;
        let last_modified = shared(snapshot.updated_at.render_http().to_vec())?;
        // Another version may answer the same query of the same dataset in other bytes.
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let search_tags = QueryTags::new(&[&snapshot.digest, version]);
        Ok(ServedState {
            snapshot,
            catalog,
            documents,
            pages,
            prepared_pages,
            last_modified,
            is_whole,
            keeps_files: AtomicBool::new(false),
            search_tags,
        })
    }

    /// Returns the snapshot that this site was made of.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Returns what the Model Context Protocol answers from.
    pub(crate) fn catalog(&self) -> &mcp::Catalog {
        &self.catalog
    }

    /// Returns the Last-Modified of what is made of the dataset alone: its date.
    pub(crate) fn last_modified(&self) -> &HeaderValue {
        &self.last_modified
    }

    /// Returns the Last-Modified of `page` and its searches: that of the dataset, or `None` while they go without the
    /// insights, which come later and leave that date as it is.
    pub(crate) fn last_modified_of(&self, page: Page) -> Option<&HeaderValue> {
        let is_whole = !page.shows_insights() || self.is_whole;
        is_whole.then_some(&self.last_modified)
    }

    /// Returns `document` in the coding that `choose` takes from those that are ready, or `None` where the document
    /// itself was not ready when this site was made.
    pub(crate) fn document(
        &self,
        document: Document,
        choose: impl FnOnce(CodingSet) -> Coding,
    ) -> Option<SelectedVariant<'_>> {
        let prepared = self.documents[document as usize].as_ref()?;
        Some(prepared.choose(self.resource(document)?, choose))
    }

    /// Returns a page's document in the coding that `choose` takes from those that are ready.
    pub(crate) fn page(
        &self,
        page: Page,
        choose: impl FnOnce(CodingSet) -> Coding,
    ) -> SelectedVariant<'_> {
        self.prepared_pages[page as usize].choose(self.pages.resource(page), choose)
    }

    /// Returns what searches for people are rendered from.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Makes the compressed variants of all that is stored, the small ones first, and stores what is large where the
    /// kernel sends it by itself; seconds for a large dataset, so on a background thread. `cancelled` is asked between
    /// two variants.
    pub fn compress(&self, cancelled: impl Fn() -> bool) {
        self.store(&cancelled);
        self.pages.compress(&cancelled);
        self.snapshot.compress(&cancelled);
        self.store(&cancelled);
    }

    /// Says whether [`compress`](ServedState::compress) is to keep large bodies for the kernel as well.
    pub(crate) fn enable_sendfile(&self, kept: bool) {
        self.keeps_files.store(kept, Relaxed);
    }

    /// Stores every body that is there for the kernel, if they are to be.
    fn store(&self, cancelled: &impl Fn() -> bool) {
        if !self.keeps_files.load(Relaxed) {
            return;
        }
        let documents = Document::ALL.into_iter().filter_map(|document| {
            let prepared = self.documents[document as usize].as_ref()?;
            Some((prepared, self.resource(document)?))
        });
        let pages = Page::all().map(|page| {
            (
                &self.prepared_pages[page as usize],
                self.pages.resource(page),
            )
        });
        for (prepared, resource) in documents.chain(pages) {
            for coding in Coding::ALL {
                if let Some(body) = resource.encoded(coding)
                    && !cancelled()
                {
                    prepared.ready.store(coding, body);
                }
            }
        }
    }

    /// Returns the entity-tag of a search: it depends on the dataset and on the query's bytes, not on the answer,
    /// so a client's copy is confirmed without searching.
    pub(crate) fn search_tag(&self, query: &[u8]) -> EntityTag {
        self.search_tags.tag(0, query)
    }

    /// Returns where the kernel has `bytes`, if they are a large part of `/reviews.json`.
    pub(crate) fn file_part(&self, bytes: &[u8]) -> Option<MemFdRange> {
        let reviews = self.documents[Document::Reviews as usize].as_ref()?;
        reviews.ready.part(&self.snapshot.reviews.body, bytes)
    }

    fn resource(&self, document: Document) -> Option<&Resource> {
        Some(match document {
            Document::Reviews => &self.snapshot.reviews,
            Document::Insights => self.snapshot.insights()?,
            Document::FeedJson => &self.snapshot.feed_json,
            Document::FeedXml => &self.snapshot.feed_xml,
            Document::ServerCard => &self.catalog.server_card,
            Document::AiCatalog => &self.catalog.ai_catalog,
        })
    }
}

impl PreparedDocument {
    fn new(
        resource: &Resource,
        link: Option<HeaderValue>,
    ) -> Result<PreparedDocument, SettingsError> {
        let tag = |coding: Coding| {
            let tag = resource.etag.with_coding(coding);
            shared(tag.as_bytes().to_vec()).map(|value| (tag, value))
        };
        Ok(PreparedDocument {
            media_type: HeaderValue::from_static(resource.media_type),
            tags: [
                tag(Coding::Identity)?,
                tag(Coding::Gzip)?,
                tag(Coding::Brotli)?,
            ],
            link,
            ready: PrerenderedHeads::default(),
        })
    }

    /// Returns `resource`, which this was prepared for, in the coding that `choose` takes from those that are ready.
    fn choose<'s>(
        &'s self,
        resource: &'s Resource,
        choose: impl FnOnce(CodingSet) -> Coding,
    ) -> SelectedVariant<'s> {
        let chosen = choose(available(resource));
        // A variant never goes away once it is there; the body as it is stands in for a coding never offered.
        let (coding, body) = match resource.encoded(chosen) {
            Some(body) => (chosen, body),
            None => (Coding::Identity, &resource.body),
        };
        let (tag, etag) = &self.tags[coding as usize];
        SelectedVariant {
            body,
            media_type: &self.media_type,
            tag,
            etag,
            coding,
            link: self.link.as_ref(),
            ready: &self.ready,
        }
    }
}

fn available(resource: &Resource) -> CodingSet {
    [Coding::Gzip, Coding::Brotli]
        .into_iter()
        .filter(|coding| resource.encoded(*coding).is_some())
        .fold(CodingSet::IDENTITY, CodingSet::with)
}

/// Makes a header value whose clones cost a reference count.
fn shared(value: Vec<u8>) -> Result<HeaderValue, SettingsError> {
    let value =
        HeaderValue::from_maybe_shared(Bytes::from(value)).map_err(|_| SettingsError::BaseUrl)?;
    // The first clone of such a value turns its buffer into a counted one, which allocates: so not on a request.
    drop(value.clone());
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_coding_is_its_number() {
        let codings = [Coding::Identity, Coding::Gzip, Coding::Brotli];
        assert_eq!(codings.map(|coding| coding as usize), [0, 1, 2]);
    }
}
