//! Every stored document of the service, in one table: its address, the headers of its response, and how its bytes are made.
//!
//! To add a document, add a row and describe its path in `templates/openapi.json`. From the table the router makes the
//! routes, [`ServedState`](super::ServedState) makes the responses with entity-tags and compressed variants, and the hub gets
//! its topics. If a query changes the response, [`ByQuery`] only names how; `endpoint` does it.

use std::sync::Arc;

use bytes::Bytes;

use crate::mcp;
use crate::pages::{
    self, BrowserPolicy, PageContext, QueryPage, developers, discovery, layout, widget,
};
use crate::snapshot::{Resource, Snapshot};

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const SVG: &str = "image/svg+xml";
/// The Content-Type of the API catalog (RFC 9727 §5).
const LINKSET: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// A row of the table: what is fixed about a document.
pub(crate) struct DocumentRow {
    /// The path; for a variant that the query selects, the path with that query.
    pub(crate) address: &'static str,
    /// Where the body comes from.
    pub(crate) source: BodySource,
    /// Security policy for browsers; `None` for documents that only programs read.
    pub(crate) policy: Option<BrowserPolicy>,
    /// Whether it shows insights, so that it changes when they have been derived.
    pub(crate) shows_insights: bool,
    /// The Link header.
    pub(crate) links: Links,
    /// What the query of a request changes.
    pub(crate) by_query: ByQuery,
}

/// Where the bytes of a document come from.
pub(crate) enum BodySource {
    /// Made together with the snapshot; the function returns `None` for insights that are not derived yet.
    Snapshot(fn(&Snapshot) -> Option<&Arc<Resource>>),
    /// Made for each served state, and sent with this Content-Type.
    Rendered(&'static str, fn(&PageContext<'_>) -> Bytes),
}

/// The Link header of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    None,
    /// The document is a topic of the hub, which pushes it: `self` and `hub` (WebSub §4).
    Topic,
    /// The descriptions of the service (RFC 8631, RFC 9727).
    Descriptions,
    /// The API catalog names itself (RFC 9727 §3).
    Catalog,
}

/// What the query of a request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByQuery {
    /// Nothing: any query is ignored.
    Nothing,
    /// `v=` and the version of the bytes: the response may be cached for ever.
    Version,
    /// `theme=` selects another row, and `lang=` another language.
    Badge,
    /// The filters of a search select the reviews; without any, the document is sent.
    Feed(FeedFormat),
    /// The page is rendered per request; the document is the one without parameters.
    Page(QueryPage),
}

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedFormat {
    Atom,
    Json,
}

/// The rows. The most frequent paths stand first, as the router compares the paths in this order.
pub(crate) static DOCUMENTS: [DocumentRow; 25] = [
    topic("/reviews.json", |snapshot| Some(&snapshot.reviews)),
    DocumentRow {
        shows_insights: true,
        ..data(
            "/insights.json",
            BodySource::Snapshot(Snapshot::insights_shared),
        )
    },
    DocumentRow {
        by_query: ByQuery::Feed(FeedFormat::Json),
        ..topic("/api/feed.json", |snapshot| Some(&snapshot.feed_json))
    },
    DocumentRow {
        by_query: ByQuery::Feed(FeedFormat::Atom),
        ..topic("/feed.xml", |snapshot| Some(&snapshot.feed_xml))
    },
    data(
        "/mcp/server-card",
        BodySource::Rendered(mcp::SERVER_CARD, |context| {
            mcp::server_card(context.snapshot()).into()
        }),
    ),
    data(
        "/.well-known/ai-catalog.json",
        BodySource::Rendered(mcp::AI_CATALOG, |context| {
            mcp::ai_catalog(context.snapshot()).into()
        }),
    ),
    DocumentRow {
        shows_insights: true,
        links: Links::Descriptions,
        by_query: ByQuery::Page(QueryPage::Home),
        ..page("/", |context| context.home().clone())
    },
    DocumentRow {
        by_query: ByQuery::Version,
        ..file("/page.css", CSS, |_| layout::STYLESHEET.into())
    },
    drawing("/favicon.svg", |_| widget::FAVICON.into()),
    file("/reviews.jsonld", "application/ld+json", |context| {
        context.json_ld().into()
    }),
    DocumentRow {
        by_query: ByQuery::Badge,
        ..drawing("/badge.svg", |context| widget::badge(context).into())
    },
    drawing("/badge.svg?theme=light", |context| {
        widget::light_badge(context).into()
    }),
    drawing("/badge.svg?theme=dark", |context| {
        widget::dark_badge(context).into()
    }),
    DocumentRow {
        policy: Some(BrowserPolicy::Widget),
        by_query: ByQuery::Page(QueryPage::Widget),
        ..page("/widget.html", |context| {
            widget::render_newest(context).into()
        })
    },
    file("/widget.css", CSS, |context| {
        widget::stylesheet(context).into()
    }),
    file("/widget.js", SCRIPT, |_| widget::script().into()),
    DocumentRow {
        shows_insights: true,
        links: Links::Descriptions,
        ..page("/developers", |context| developers::render(context).into())
    },
    DocumentRow {
        by_query: ByQuery::Version,
        ..file("/developers.js", SCRIPT, |_| {
            layout::DEVELOPERS_SCRIPT.into()
        })
    },
    DocumentRow {
        shows_insights: true,
        ..file("/openapi.json", "application/json", |context| {
            context.openapi().into()
        })
    },
    file("/llms.txt", TEXT, |context| discovery::llms(context).into()),
    file("/robots.txt", TEXT, |context| {
        discovery::robots(context.base_url()).into()
    }),
    file("/sitemap.xml", "application/xml", |context| {
        discovery::sitemap(context).into()
    }),
    DocumentRow {
        links: Links::Catalog,
        ..file("/.well-known/api-catalog", LINKSET, |context| {
            discovery::api_catalog(context.base_url()).into()
        })
    },
    DocumentRow {
        by_query: ByQuery::Version,
        ..file("/site.css", CSS, |context| context.site_stylesheet().into())
    },
    DocumentRow {
        by_query: ByQuery::Version,
        ..file("/site.js", SCRIPT, |_| layout::SITE_SCRIPT.into())
    },
];

/// A document for programs.
const fn data(address: &'static str, source: BodySource) -> DocumentRow {
    DocumentRow {
        address,
        source,
        policy: None,
        shows_insights: false,
        links: Links::None,
        by_query: ByQuery::Nothing,
    }
}

/// A document that the hub pushes.
const fn topic(
    address: &'static str,
    find: fn(&Snapshot) -> Option<&Arc<Resource>>,
) -> DocumentRow {
    DocumentRow {
        links: Links::Topic,
        ..data(address, BodySource::Snapshot(find))
    }
}

/// A page for people.
const fn page(address: &'static str, render: fn(&PageContext<'_>) -> Bytes) -> DocumentRow {
    DocumentRow {
        policy: Some(BrowserPolicy::Page),
        ..data(address, BodySource::Rendered(pages::HTML, render))
    }
}

/// A drawing that any site may show.
const fn drawing(address: &'static str, render: fn(&PageContext<'_>) -> Bytes) -> DocumentRow {
    DocumentRow {
        policy: Some(BrowserPolicy::Drawing),
        ..data(address, BodySource::Rendered(SVG, render))
    }
}

/// Any other file that any site may load.
const fn file(
    address: &'static str,
    media_type: &'static str,
    render: fn(&PageContext<'_>) -> Bytes,
) -> DocumentRow {
    DocumentRow {
        policy: Some(BrowserPolicy::Shared),
        ..data(address, BodySource::Rendered(media_type, render))
    }
}

impl DocumentRow {
    /// Returns the document, which may have to be rendered; `None` if it is not ready.
    pub(crate) fn resource(&self, context: &PageContext<'_>) -> Option<Arc<Resource>> {
        let snapshot = context.snapshot();
        match self.source {
            BodySource::Snapshot(find) => find(snapshot).cloned(),
            BodySource::Rendered(media_type, render) => {
                let body = render(context);
                Some(Arc::new(Resource::new(
                    body,
                    media_type,
                    snapshot.updated_at,
                )))
            }
        }
    }

    /// Returns the value of the Link header, if the response has one.
    pub(crate) fn link(&self, base_url: &str) -> Option<String> {
        let address = self.address;
        match self.links {
            Links::None => None,
            Links::Topic => Some(format!(
                "<{base_url}{address}>; rel=\"self\", <{base_url}/api/websub/hub>; rel=\"hub\""
            )),
            Links::Descriptions => Some(format!(
                "<{base_url}/openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
                 <{base_url}/developers>; rel=\"service-doc\"; type=\"text/html\", \
                 <{base_url}/.well-known/api-catalog>; rel=\"api-catalog\""
            )),
            Links::Catalog => Some(format!("<{base_url}{address}>; rel=\"api-catalog\"")),
        }
    }

    /// Returns whether the address is a path of its own, and not a variant of another row.
    pub(crate) const fn is_path(&self) -> bool {
        let address = self.address.as_bytes();
        let mut index = 0;
        while index < address.len() {
            if address[index] == b'?' {
                return false;
            }
            index += 1;
        }
        true
    }
}

/// Returns the index of the row with this address.
pub(crate) fn index_of(address: &str) -> Option<usize> {
    DOCUMENTS.iter().position(|row| row.address == address)
}
