//! One snapshot and everything that responses need from it, prepared once.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::date::HttpDate;
use super::documents::{ByQuery, DOCUMENTS, DocumentRow, Links};
use super::head::{HeadField, RequestHead};
use super::reply::{PreparedFields, Representation, Vary};
use super::settings::SettingsError;
use crate::hub::Topic;
use crate::mcp;
use crate::pages::{PageContext, Pages};
use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::negotiate::{Coding, choose_coding};

/// All codings, in the order of their numbers.
const CODINGS: [Coding; 3] = [Coding::Identity, Coding::Gzip, Coding::Brotli];

/// The state that is served: immutable, and shared by the requests that began while it was current.
#[derive(Debug)]
pub struct ServedState {
    snapshot: Arc<Snapshot>,
    /// The data of the Model Context Protocol.
    pub(crate) catalog: mcp::Catalog,
    /// In the order of [`DOCUMENTS`]; `None` for insights that are still being derived.
    documents: Vec<Option<StoredDocument>>,
    pub(crate) pages: Pages,
    /// `Last-Modified` of the documents that depend only on the dataset.
    pub(crate) last_modified: HttpDate,
    search_tags: QueryTags,
    /// Tags of searches by aspect or polarity, which also depend on the insights.
    insights_tags: QueryTags,
}

/// A document that is ready to be sent.
#[derive(Debug)]
struct StoredDocument {
    resource: Arc<Resource>,
    media_type: HeaderValue,
    /// Indexed by `Coding as usize`.
    variants: Vec<StoredVariant>,
    /// `Last-Modified`, if the date of the dataset identifies this content.
    last_modified: Option<HttpDate>,
    /// The query of a URL that identifies these bytes, such as `v=0a1b2c3d`; `None` if the document has no such URLs.
    version: Option<String>,
}

/// What is prepared for a stored document in one coding.
#[derive(Debug)]
struct StoredVariant {
    etag: HeaderValue,
    fields: PreparedFields,
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
        let pages = Pages::new(Arc::clone(&snapshot));
        let last_modified = HttpDate::new(snapshot.updated_at);
        let documents = stored_documents(&pages, &last_modified)?;
        // Another version of reviewd may answer the same query of the same dataset with other bytes.
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        // While the insights are being derived, searches use those of the previous dataset, which change the result too.
        let previous_insights: &[u8] = match snapshot.insights() {
            Some(document) if !snapshot.has_own_insights() => &document.digest,
            _ => &[],
        };
        Ok(ServedState {
            documents,
            last_modified,
            search_tags: QueryTags::new(&[&snapshot.digest, version]),
            insights_tags: QueryTags::new(&[&snapshot.digest, version, previous_insights]),
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

    /// Returns the date of content, which is that of the dataset. `None` for content that shows insights, until those of this
    /// dataset are derived: then the content changes, but not the date.
    pub(crate) fn date_of_content(&self, shows_insights: bool) -> Option<&HttpDate> {
        if shows_insights && !self.snapshot.has_own_insights() {
            return None;
        }
        Some(&self.last_modified)
    }

    /// Returns the document with this index in [`DOCUMENTS`], in the coding that the client prefers of those that are
    /// ready; `None` if the document itself was not ready when this state was created.
    pub(crate) fn document(&self, index: usize, head: &RequestHead) -> Option<Variant<'_>> {
        Some(self.documents[index].as_ref()?.select(head))
    }

    /// Returns the documents that the hub pushes.
    #[must_use]
    pub fn topics(&self) -> Vec<Topic> {
        let mut topics = Vec::new();
        for (row, stored) in DOCUMENTS.iter().zip(&self.documents) {
            if let Some(stored) = stored
                && row.links == Links::Topic
            {
                let resource = &stored.resource;
                topics.push(Topic {
                    path: row.address,
                    media_type: resource.media_type,
                    body: resource.body.clone(),
                    digest: resource.digest,
                    updated_at: resource.last_modified,
                });
            }
        }
        topics
    }

    /// Creates the compressed variants of all stored documents, small documents first. Takes seconds for a large dataset, so
    /// it runs on a background thread. Ends early if `cancelled`, which is called between two variants, returns true.
    pub fn compress(&self, cancelled: impl Fn() -> bool) {
        let stored = self.documents.iter().flatten();
        let mut resources: Vec<&Resource> = stored.map(|document| &*document.resource).collect();
        resources.sort_by_key(|resource| resource.body.len());
        for resource in resources {
            resource.compress(&cancelled);
        }
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
        (tags.tag(0, query), self.date_of_content(needs_insights))
    }
}

/// Prepares the documents, in the order of [`DOCUMENTS`]; `None` for those that are not ready.
fn stored_documents(
    pages: &Pages,
    last_modified: &HttpDate,
) -> Result<Vec<Option<StoredDocument>>, SettingsError> {
    let context = pages.context();
    let mut documents = Vec::with_capacity(DOCUMENTS.len());
    for row in &DOCUMENTS {
        documents.push(StoredDocument::prepare(
            row,
            pages,
            &context,
            last_modified,
        )?);
    }
    Ok(documents)
}

impl StoredDocument {
    /// Prepares the document of `row`; `None` if it is not ready. `dataset_date` is the date of the dataset.
    fn prepare(
        row: &DocumentRow,
        pages: &Pages,
        context: &PageContext<'_>,
        dataset_date: &HttpDate,
    ) -> Result<Option<StoredDocument>, SettingsError> {
        let Some(resource) = row.resource(context) else {
            return Ok(None);
        };
        let media_type = HeaderValue::from_static(resource.media_type);
        // As in `ServedState::date_of_content`.
        let is_dated = !row.shows_insights || context.snapshot().has_own_insights();
        let last_modified = if is_dated { Some(dataset_date) } else { None };
        let has_languages = matches!(row.by_query, ByQuery::Page(_)) && pages.is_negotiated();
        let vary = if has_languages {
            Vary::Language
        } else {
            Vary::Coding
        };
        let link = match row.link(context.base_url()) {
            Some(link) => Some(shared(link.as_bytes())?),
            None => None,
        };
        let mut variants = Vec::with_capacity(CODINGS.len());
        for coding in CODINGS {
            let etag = shared(resource.etag.with_coding(coding).as_bytes())?;
            let fields = PreparedFields::new(&Representation {
                media_type: &media_type,
                etag: Cow::Borrowed(&etag),
                last_modified,
                coding,
                link: link.clone(),
                prepared: None,
                policy: row.policy,
                is_immutable: false,
                vary,
            });
            variants.push(StoredVariant { etag, fields });
        }
        let mut version = None;
        if row.by_query == ByQuery::Version {
            version = Some(format!("v={}", resource.version()));
        }
        Ok(Some(StoredDocument {
            media_type,
            variants,
            last_modified: last_modified.cloned(),
            version,
            resource,
        }))
    }

    /// Returns the document in the coding that the client prefers of those that are ready.
    fn select(&self, head: &RequestHead) -> Variant<'_> {
        let resource = &*self.resource;
        let coding = if head.has(HeadField::AcceptEncoding) {
            choose_coding(head.values(HeadField::AcceptEncoding), |coding| {
                resource.encoded(coding).is_some()
            })
        } else {
            Coding::Identity
        };
        let body = resource
            .encoded(coding)
            .expect("a variant that is ready stays ready");
        let variant = &self.variants[coding as usize];
        Variant {
            body,
            representation: Representation {
                etag: Cow::Borrowed(&variant.etag),
                last_modified: self.last_modified.as_ref(),
                is_immutable: self.version.as_deref() == Some(head.query()),
                prepared: Some(&variant.fields),
                // Not read, as the prepared fields have these.
                media_type: &self.media_type,
                coding,
                link: None,
                policy: None,
                vary: Vary::Coding,
            },
        }
    }
}

/// Creates a header value whose clones only increment a reference count.
fn shared(value: &[u8]) -> Result<HeaderValue, SettingsError> {
    let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value))
        .map_err(|_| SettingsError::BaseUrl(String::from_utf8_lossy(value).into_owned()))?;
    // The first clone allocates the reference count of the buffer, so it is done here and not by a request.
    drop(value.clone());
    Ok(value)
}
