//! HTML pages, badge, widget, linked data and the OpenAPI document, rendered once per snapshot. Searches, pages of single
//! reviews, widgets with parameters, and pages in another language than the owner's are rendered per request.
//!
//! `Page` lists all stored documents of this folder, and [`Pages`] holds their bytes. `layout` has the parts that all
//! pages share. `api` has the OpenAPI document, from which the documentation is made as well. A search page is rendered
//! from the same parts and by the rules of the API's own search.
//!
//! The templates are compiled and escape every value; `json_ld` escapes its own. A URL becomes a link only if
//! `text::link` allows its scheme.

mod api;
mod developers;
mod discovery;
mod filters;
mod form;
mod highlights;
mod home;
mod json_ld;
mod layout;
mod list_page;
mod listing;
mod logo;
mod messages;
mod permalink;
mod rating;
mod review;
mod search;
mod text;
mod theme;
mod widget;
mod widget_data;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

use crate::model::insights::{Aspect, Insights};
use crate::search::query::PAIRS_MAX;
use crate::snapshot::{Resource, Snapshot};
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::form::pairs;
use crate::wire::negotiate::choose_language;

use api::Interface;
use layout::Layout;
use rating::RatingStats;

pub(crate) use messages::Language;
pub(crate) use widget::theme;

/// A stored document, in the order of [`Page::TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/`, without parameters.
    Home,
    Stylesheet,
    SiteStylesheet,
    SiteScript,
    Favicon,
    ReviewsJsonLd,
    /// `/badge.svg`, in the theme that the reader's system prefers.
    Badge,
    BadgeLight,
    BadgeDark,
    /// `/widget.html`, without parameters.
    Widget,
    WidgetStylesheet,
    WidgetScript,
    Developers,
    DevelopersScript,
    OpenApi,
    LlmsText,
    Robots,
    Sitemap,
    ApiCatalog,
}

/// The browser security policy of a document, and which sites may embed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A page of this service: loads nothing from other hosts and may not be framed.
    Page,
    /// A page that any site may frame: its script tells the page around it how high it is.
    Widget,
    /// A drawing that any site may show: loads nothing, uses only its own styles.
    Drawing,
    /// Any other file that any site may load.
    Shared,
}

impl Policy {
    /// Returns the Content-Security-Policy of documents that a browser displays; `None` for other files.
    pub(crate) fn content_security(self) -> Option<&'static str> {
        match self {
            Policy::Page => Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            Policy::Widget => Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'none'; \
                 base-uri 'none'; frame-ancestors *",
            ),
            Policy::Drawing => {
                Some("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *")
            }
            Policy::Shared => None,
        }
    }

    /// Returns whether other sites may load it, also cross-origin isolated ones.
    pub(crate) fn is_shared(self) -> bool {
        self != Policy::Page
    }
}

impl Page {
    /// Every document, in the order of the enum, with its Content-Type and its policy for browsers.
    const TABLE: [(Page, &'static str, Policy); 19] = [
        (Page::Home, HTML, Policy::Page),
        (Page::Stylesheet, CSS, Policy::Shared),
        (Page::SiteStylesheet, CSS, Policy::Shared),
        (Page::SiteScript, SCRIPT, Policy::Shared),
        (Page::Favicon, SVG, Policy::Drawing),
        (Page::ReviewsJsonLd, "application/ld+json", Policy::Shared),
        (Page::Badge, SVG, Policy::Drawing),
        (Page::BadgeLight, SVG, Policy::Drawing),
        (Page::BadgeDark, SVG, Policy::Drawing),
        (Page::Widget, HTML, Policy::Widget),
        (Page::WidgetStylesheet, CSS, Policy::Shared),
        (Page::WidgetScript, SCRIPT, Policy::Shared),
        (Page::Developers, HTML, Policy::Page),
        (Page::DevelopersScript, SCRIPT, Policy::Shared),
        (Page::OpenApi, "application/json", Policy::Shared),
        (Page::LlmsText, TEXT, Policy::Shared),
        (Page::Robots, TEXT, Policy::Shared),
        (Page::Sitemap, "application/xml", Policy::Shared),
        (Page::ApiCatalog, LINKSET, Policy::Shared),
    ];

    /// Returns every document, in the order of the enum.
    pub(crate) fn all() -> impl Iterator<Item = Page> {
        Page::TABLE.iter().map(|(page, ..)| *page)
    }

    pub(crate) fn media_type(self) -> &'static str {
        Page::TABLE[self as usize].1
    }

    pub(crate) fn policy(self) -> Policy {
        Page::TABLE[self as usize].2
    }

    /// Returns whether the document shows insights, so that it changes when they have been derived.
    pub(crate) fn shows_insights(self) -> bool {
        matches!(self, Page::Home | Page::Developers | Page::OpenApi)
    }

    /// Returns the Link header field: the descriptions of the service (RFC 8631), or the catalog (RFC 9727).
    pub(crate) fn link(self, base_url: &str) -> Option<String> {
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

    fn render(self, context: &Context<'_>) -> Bytes {
        let base_url = &context.snapshot.base_url;
        match self {
            Page::Home => context.home.to_owned().into(),
            Page::Stylesheet => layout::STYLESHEET.into(),
            Page::SiteStylesheet => context.layout.site_stylesheet.clone().into(),
            Page::SiteScript => layout::SITE_SCRIPT.into(),
            Page::Favicon => widget::FAVICON.into(),
            Page::ReviewsJsonLd => context.json_ld.to_owned().into(),
            Page::Badge => {
                let (light, dark) = (widget::LIGHT, widget::DARK);
                let style = format!("{light}@media(prefers-color-scheme:dark){{{dark}}}");
                widget::badge(context.stats, &style).into()
            }
            Page::BadgeLight => widget::badge(context.stats, widget::LIGHT).into(),
            Page::BadgeDark => widget::badge(context.stats, widget::DARK).into(),
            Page::Widget => widget::render_newest(context).into(),
            Page::WidgetStylesheet => widget::STYLESHEET.into(),
            Page::WidgetScript => widget::script().into(),
            Page::Developers => developers::render(context).into(),
            Page::DevelopersScript => layout::DEVELOPERS_SCRIPT.into(),
            Page::OpenApi => context.interface.render().into(),
            Page::LlmsText => discovery::llms(context).into(),
            Page::Robots => discovery::robots(base_url).into(),
            Page::Sitemap => discovery::sitemap(context).into(),
            Page::ApiCatalog => discovery::api_catalog(base_url).into(),
        }
    }
}

/// The Content-Type of every page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const SVG: &str = "image/svg+xml";
/// The Content-Type of the API catalog (RFC 9727 §5).
const LINKSET: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// The aspects with mentions, the most mentioned first; ties keep the order of the taxonomy.
fn mentioned(insights: Option<&Insights>) -> Vec<&Aspect> {
    let aspects = insights.into_iter().flat_map(|insights| &insights.aspects);
    let mut aspects: Vec<&Aspect> = aspects.filter(|one| one.mention_count > 0).collect();
    aspects.sort_by_key(|aspect| std::cmp::Reverse(aspect.mention_count));
    aspects
}

struct Context<'s> {
    snapshot: &'s Snapshot,
    stats: &'s RatingStats,
    layout: &'s Layout,
    json_ld: &'s str,
    interface: &'s Interface,
    /// The front page in the default language.
    home: &'s str,
    /// The language of visitors who ask for none.
    language: Language,
}

/// The language of a page, and how it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLanguage {
    pub(crate) chosen: Language,
    /// Whether the query names it, so that links keep it.
    pub(crate) is_explicit: bool,
    /// Whether it depends on Accept-Language.
    pub(crate) is_negotiated: bool,
}

impl PageLanguage {
    /// Returns a language that depends on nothing.
    fn of(chosen: Language) -> PageLanguage {
        PageLanguage {
            chosen,
            is_explicit: false,
            is_negotiated: false,
        }
    }
}

/// A document that is rendered per request; the number is part of its entity-tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rendered {
    List = 0,
    Widget = 1,
    Review = 2,
    SitemapPart = 3,
    WidgetData = 4,
    Logo = 5,
}

/// The stored documents of one snapshot, and the parts that pages are rendered from.
#[derive(Debug)]
pub struct Pages {
    snapshot: Arc<Snapshot>,
    /// Indexed by `Page as usize`.
    resources: Vec<Resource>,
    stats: RatingStats,
    layout: Layout,
    json_ld: String,
    tags: QueryTags,
}

impl Pages {
    /// Renders the documents of `snapshot`, without insights if these are not derived yet.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Pages {
        let stats = RatingStats::of(&snapshot);
        let layout = Layout::new(&snapshot, &stats);
        let json_ld = json_ld::render(&snapshot, &stats);
        let mut pages = Pages {
            stats,
            layout,
            json_ld,
            snapshot,
            resources: Vec::new(),
            tags: QueryTags::new(&[]),
        };
        pages.resources = pages.render_all();
        pages.tags = pages.tags_of_all();
        pages
    }

    fn render_all(&self) -> Vec<Resource> {
        let snapshot = &self.snapshot;
        let home = self.home(PageLanguage::of(self.default_language()));
        let interface = Interface::new(snapshot, snapshot.insights_value());
        let context = Context {
            snapshot,
            stats: &self.stats,
            layout: &self.layout,
            json_ld: &self.json_ld,
            interface: &interface,
            home: &home,
            language: self.default_language(),
        };
        let resources = Page::all().map(|page| {
            let body = page.render(&context);
            Resource::new(body, page.media_type(), snapshot.updated_at)
        });
        resources.collect()
    }

    /// Returns the entity-tags of the documents that are rendered per request. They cover everything that such a
    /// document is rendered from: the front page for the shared parts, the insights for the evidence, and the version
    /// for the templates.
    fn tags_of_all(&self) -> QueryTags {
        let insights = self.snapshot.insights();
        let derived: &[u8] = insights.map_or(&[], |document| &document.digest);
        QueryTags::new(&[
            &self.snapshot.digest,
            &self.resources[Page::Home as usize].digest,
            derived,
            env!("CARGO_PKG_VERSION").as_bytes(),
        ])
    }

    /// Returns the language of pages for visitors who ask for none.
    pub(crate) fn default_language(&self) -> Language {
        self.owner_language().unwrap_or(Language::DEFAULT)
    }

    /// Returns the language that the owner has set.
    fn owner_language(&self) -> Option<Language> {
        let tag = self.snapshot.site.language.as_ref()?;
        Language::of_tag(tag.as_bytes())
    }

    /// Tells whether the language of pages depends on Accept-Language.
    pub(crate) fn is_negotiated(&self) -> bool {
        self.owner_language().is_none()
    }

    pub(crate) fn resource(&self, page: Page) -> &Resource {
        &self.resources[page as usize]
    }

    /// Returns whether `query` is `v=` and the current version of the file `page`; the response may then be cached for
    /// ever.
    pub(crate) fn is_versioned(&self, page: Page, query: &str) -> bool {
        let version = match page {
            Page::Stylesheet => &self.layout.stylesheet_version,
            Page::SiteStylesheet => &self.layout.site_stylesheet_version,
            Page::SiteScript => &self.layout.site_script_version,
            Page::DevelopersScript => &self.layout.developers_version,
            _ => return false,
        };
        query.strip_prefix("v=") == Some(version)
    }

    /// Returns the entity-tag of a document that is rendered per request, for the bytes of its query or its name.
    pub(crate) fn tag(&self, kind: Rendered, language: Language, name: &[u8]) -> EntityTag {
        let number = 16 * kind as u8 + language.number();
        self.tags.tag(number, name)
    }

    /// Chooses the language of a page: by `lang` in the query, else the owner's, else by the visitor's Accept-Language.
    pub(crate) fn language<'a>(
        &self,
        query: &[u8],
        accepted: impl Iterator<Item = &'a [u8]>,
    ) -> PageLanguage {
        let mut pairs = pairs(query).take(PAIRS_MAX);
        let lang = pairs.find(|pair| pair.name == b"lang");
        if let Some(chosen) = lang.and_then(|pair| Language::of_tag(pair.value)) {
            return PageLanguage {
                chosen,
                is_explicit: true,
                is_negotiated: false,
            };
        }
        if let Some(owner_language) = self.owner_language() {
            return PageLanguage::of(owner_language);
        }
        let accepted = choose_language(accepted, Language::of_tag);
        PageLanguage {
            chosen: accepted.unwrap_or(Language::DEFAULT),
            is_explicit: false,
            is_negotiated: true,
        }
    }

    /// Creates the compressed variants of the documents; calls `cancelled` before each.
    pub(crate) fn compress(&self, cancelled: &impl Fn() -> bool) {
        for resource in &self.resources {
            resource.compress(cancelled);
        }
    }
}
