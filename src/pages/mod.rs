//! HTML pages, badge, widget, linked data and the description of the interface, rendered once per snapshot.
//! Only search pages are rendered per request.
//!
//! [`Page`] is the table of all stored documents of this folder, and [`Pages`] holds their bytes. One file renders one
//! document; `layout` has what all pages have in common. `api` is the description of the
//! interface, from which `/openapi.json` and the documentation are made. A search
//! page is rendered per request, from the same parts and by the rules of the interface's own search.
//!
//! The templates are compiled and escape every value; drawings and JSON-LD escape by `wire`. A URL becomes a link only
//! if `text::link` allows its scheme.

mod api;
mod badge;
mod chart;
mod developers;
mod discovery;
mod error;
mod filters;
mod form;
mod highlight;
mod home;
mod insights;
mod json_ld;
mod layout;
mod query_params;
mod rating_stats;
mod review;
mod search;
mod text;
mod widget;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};

use api::Interface;
use form::Lists;
use insights::Insights;
use layout::Layout;
use rating_stats::RatingStats;

pub use search::{InvalidQuery, PageQuery, Scratch};

/// A stored document; the number is its index in [`Page::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// `/`, without parameters.
    Home = 0,
    /// `/page.css`.
    Stylesheet = 1,
    /// `/page.js`.
    Script = 2,
    /// `/favicon.svg`.
    Favicon = 3,
    /// `/reviews.jsonld`.
    ReviewsJsonLd = 4,
    /// `/badge.svg`, in the colours that the reader's system prefers.
    Badge = 5,
    /// `/badge.svg?theme=light`.
    BadgeLight = 6,
    /// `/badge.svg?theme=dark`.
    BadgeDark = 7,
    /// `/widget.html`, without parameters.
    Widget = 8,
    /// `/widget.css`.
    WidgetStylesheet = 9,
    /// `/widget.js`.
    WidgetScript = 10,
    /// `/developers`.
    Developers = 11,
    /// `/developers.js`.
    DevelopersScript = 12,
    /// `/openapi.json`.
    OpenApi = 13,
    /// `/llms.txt`.
    LlmsText = 14,
    /// `/robots.txt`.
    Robots = 15,
    /// `/sitemap.xml`.
    Sitemap = 16,
    /// `/.well-known/api-catalog`.
    ApiCatalog = 17,
}

/// What a document may do in a browser, and which sites may embed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A page of this service: loads nothing from other hosts and may not be framed.
    Page,
    /// A page that any site may frame: runs no script.
    Widget,
    /// A drawing that any site may show: loads nothing, uses only its own styles.
    Drawing,
    /// Any other file that any site may load.
    Shared,
}

impl Policy {
    /// Returns the Content-Security-Policy of documents that a browser displays; `None` for other files.
    #[must_use]
    pub fn content_security(self) -> Option<&'static str> {
        match self {
            Policy::Page => Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            Policy::Widget => Some(
                "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors *",
            ),
            Policy::Drawing => {
                Some("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *")
            }
            Policy::Shared => None,
        }
    }

    /// Returns whether other sites may load it, also cross-origin isolated ones.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self != Policy::Page
    }
}

impl Page {
    /// Every document, in the order of the numbers.
    pub const ALL: [Page; 18] = [
        Page::Home,
        Page::Stylesheet,
        Page::Script,
        Page::Favicon,
        Page::ReviewsJsonLd,
        Page::Badge,
        Page::BadgeLight,
        Page::BadgeDark,
        Page::Widget,
        Page::WidgetStylesheet,
        Page::WidgetScript,
        Page::Developers,
        Page::DevelopersScript,
        Page::OpenApi,
        Page::LlmsText,
        Page::Robots,
        Page::Sitemap,
        Page::ApiCatalog,
    ];

    /// The Content-Type of the API catalog (RFC 9727 §5).
    const LINKSET: &'static str =
        "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

    /// Returns the Content-Type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Page::Home | Page::Widget | Page::Developers => HTML,
            Page::Stylesheet | Page::WidgetStylesheet => "text/css; charset=utf-8",
            Page::Script | Page::WidgetScript | Page::DevelopersScript => {
                "text/javascript; charset=utf-8"
            }
            Page::Favicon | Page::Badge | Page::BadgeLight | Page::BadgeDark => "image/svg+xml",
            Page::ReviewsJsonLd => "application/ld+json",
            Page::OpenApi => "application/json",
            Page::LlmsText | Page::Robots => "text/plain; charset=utf-8",
            Page::Sitemap => "application/xml",
            Page::ApiCatalog => Page::LINKSET,
        }
    }

    /// Returns the policy for browsers.
    #[must_use]
    pub fn policy(self) -> Policy {
        match self {
            Page::Home | Page::Developers => Policy::Page,
            Page::Widget => Policy::Widget,
            Page::Favicon | Page::Badge | Page::BadgeLight | Page::BadgeDark => Policy::Drawing,
            _ => Policy::Shared,
        }
    }

    /// Returns whether the document shows insights, so that it changes when they have been derived.
    #[must_use]
    pub fn shows_insights(self) -> bool {
        matches!(self, Page::Home | Page::Developers | Page::OpenApi)
    }

    /// Returns the Link header field: the descriptions of the service (RFC 8631), or the catalog (RFC 9727).
    #[must_use]
    pub fn link(self, base_url: &str) -> Option<String> {
        match self {
            Page::Home | Page::Developers => Some(format!(
                "<{base_url}/openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
                 <{base_url}/developers>; rel=\"service-doc\"; type=\"text/html\", \
                 <{base_url}/.well-known/api-catalog>; rel=\"api-catalog\""
            )),
            Page::ApiCatalog => Some(format!(
                "<{base_url}/.well-known/api-catalog>; rel=\"api-catalog\""
            )),
            _ => None,
        }
    }

    fn render(self, context: &Context<'_>) -> Vec<u8> {
        match self {
            Page::Home => home::render(context),
            Page::Stylesheet => layout::STYLESHEET.into(),
            Page::Script => layout::SCRIPT.into(),
            Page::Favicon => badge::FAVICON.into(),
            Page::ReviewsJsonLd => context.json_ld.to_vec(),
            Page::Badge => badge::render(context.stats, badge::Theme::System),
            Page::BadgeLight => badge::render(context.stats, badge::Theme::Light),
            Page::BadgeDark => badge::render(context.stats, badge::Theme::Dark),
            Page::Widget => widget::render_newest(context),
            Page::WidgetStylesheet => widget::STYLESHEET.into(),
            Page::WidgetScript => widget::SCRIPT.into(),
            Page::Developers => developers::render(context),
            Page::DevelopersScript => developers::SCRIPT.into(),
            Page::OpenApi => context.interface.render(),
            Page::LlmsText => discovery::llms(context.snapshot, context.stats, context.interface),
            Page::Robots => discovery::robots(&context.snapshot.base_url),
            Page::Sitemap => discovery::sitemap(context.snapshot),
            Page::ApiCatalog => discovery::api_catalog(&context.snapshot.base_url),
        }
    }
}

/// The Content-Type of every page.
pub const HTML: &str = "text/html; charset=utf-8";

/// The inputs of all documents.
struct Context<'s> {
    snapshot: &'s Snapshot,
    stats: &'s RatingStats,
    insights: Option<&'s Insights>,
    lists: &'s Lists,
    layout: &'s Layout,
    json_ld: &'s [u8],
    interface: &'s Interface,
}

/// The stored documents of one snapshot, and the parts that search pages are rendered from.
#[derive(Debug)]
pub struct Pages {
    snapshot: Arc<Snapshot>,
    /// Indexed by `Page as usize`.
    resources: Vec<Resource>,
    stats: RatingStats,
    insights: Option<Insights>,
    lists: Lists,
    layout: Layout,
    search_tags: QueryTags,
}

impl Pages {
    /// Renders the documents of `snapshot`; without insights while those are still being derived.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Pages {
        let stats = RatingStats::of(&snapshot);
        let insights = snapshot
            .insights_value()
            .map(|value| Insights::of(value, &snapshot));
        let lists = Lists::new(&snapshot, insights.as_ref());
        let layout = Layout::new(&snapshot, &stats);
        let json_ld = json_ld::render(&snapshot, &stats);
        let interface = Interface::new(&snapshot, insights.as_ref(), &json_ld);
        let context = Context {
            snapshot: &snapshot,
            stats: &stats,
            insights: insights.as_ref(),
            lists: &lists,
            layout: &layout,
            json_ld: &json_ld,
            interface: &interface,
        };
        let resource = |page: Page| {
            let body = Bytes::from(page.render(&context));
            Resource::new(body, page.media_type(), snapshot.updated_at)
        };
        let resources: Vec<Resource> = Page::ALL.into_iter().map(resource).collect();
        // The entity-tag of a search page covers everything it is rendered from: the front page for the shared parts,
        // the insights for the evidence, and the version for the templates.
        let derived: &[u8] = snapshot.insights().map_or(&[], |document| &document.digest);
        let search_tags = QueryTags::new(&[
            &snapshot.digest,
            &resources[Page::Home as usize].digest,
            derived,
            env!("CARGO_PKG_VERSION").as_bytes(),
        ]);
        Pages {
            snapshot,
            resources,
            stats,
            insights,
            lists,
            layout,
            search_tags,
        }
    }

    /// Returns a stored document.
    #[must_use]
    pub fn resource(&self, page: Page) -> &Resource {
        &self.resources[page as usize]
    }

    /// Returns whether `query` is `v=` and the current version of a file that pages load; such a response may be cached
    /// for ever.
    #[must_use]
    pub fn is_versioned(&self, page: Page, query: &str) -> bool {
        let version = match page {
            Page::Stylesheet => &self.layout.stylesheet_version,
            Page::Script => &self.layout.script_version,
            Page::DevelopersScript => &self.layout.developers_version,
            _ => return false,
        };
        query.strip_prefix("v=") == Some(version)
    }

    /// Returns the entity-tag of `page` for `query`; it depends on the dataset, the templates and the query's bytes.
    #[must_use]
    pub fn search_tag(&self, page: Page, query: &[u8]) -> EntityTag {
        self.search_tags.tag(page as u8, query)
    }

    /// Makes the compressed variants of the documents; asks `cancelled` before each.
    pub fn compress(&self, cancelled: &impl Fn() -> bool) {
        for resource in &self.resources {
            resource.compress(cancelled);
        }
    }
}
