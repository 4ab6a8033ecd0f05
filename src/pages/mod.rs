//! HTML pages, badge, widget, linked data and the OpenAPI document.
//!
//! A document without parameters is rendered once per snapshot, in the owner's language. Searches, pages of single
//! reviews, widgets with parameters, and pages in other languages are rendered per request.
//!
//! [`Pages`] holds the parts that are rendered once. `PageContext` gives them to the functions that render a stored
//! document; `http::documents` has the table of these functions. `layout` has the parts that all pages share. `api` has
//! the OpenAPI document; `/developers` is made from it. A search page follows the rules of the API's own search.
//!
//! The templates are compiled and escape every value; `json_ld` escapes its own. A URL becomes a link only if
//! `text::link` allows its scheme.

mod api;
pub(crate) mod developers;
pub(crate) mod discovery;
mod filters;
mod form;
mod fragment;
mod highlights;
mod home;
mod json_ld;
pub(crate) mod layout;
mod list_page;
mod listing;
mod logo;
mod messages;
mod permalink;
mod rating;
mod review;
mod search;
mod static_site;
mod text;
mod theme;
mod visit;
pub(crate) mod widget;
mod widget_data;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::model::insights::{Aspect, Insights};
use crate::search::query::PAIRS_MAX;
use crate::snapshot::Snapshot;
use crate::wire::etag::{EntityTag, QueryTags};
use crate::wire::form::pairs;
use crate::wire::negotiate::choose_language;

use api::Interface;
use layout::Layout;
use rating::RatingStats;

pub(crate) use messages::{Forms, Language, Messages, Pattern};
pub(crate) use static_site::{BrokenLink, StaticPage, StaticSite, with_photo_names};
pub(crate) use widget::theme;

/// The Content-Type of every page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// Most languages that the numbers of entity-tags have room for.
const LANGUAGES_MAX: u8 = 16;

/// A page that takes parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryPage {
    /// `/`: the front page, and searches.
    Home,
    /// `/widget.html`.
    Widget,
}

/// The browser security policy of a document, and which sites may embed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrowserPolicy {
    /// A page of this service: loads nothing from other hosts and may not be framed.
    Page,
    /// A page that any site may frame. Its script tells the page around the frame how high the content is.
    Widget,
    /// A drawing that any site may show: loads nothing, uses only its own styles.
    Drawing,
    /// Any other file that any site may load.
    Shared,
}

impl BrowserPolicy {
    /// Returns the Content-Security-Policy of documents that a browser displays; `None` for other files.
    pub(crate) fn content_security(self) -> Option<&'static str> {
        match self {
            BrowserPolicy::Page => Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            BrowserPolicy::Widget => Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'none'; \
                 base-uri 'none'; frame-ancestors *",
            ),
            BrowserPolicy::Drawing => {
                Some("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *")
            }
            BrowserPolicy::Shared => None,
        }
    }

    /// Returns whether other sites may load the document, also cross-origin isolated ones.
    pub(crate) fn is_shared(self) -> bool {
        self != BrowserPolicy::Page
    }
}

/// Returns the aspects that reviews mention, the most mentioned first; ties keep the order of the taxonomy.
fn mentioned_aspects(insights: Option<&Insights>) -> Vec<&Aspect> {
    let Some(insights) = insights else {
        return Vec::new();
    };
    let mut aspects: Vec<&Aspect> = insights.aspects.iter().collect();
    aspects.retain(|aspect| aspect.mention_count > 0);
    aspects.sort_by_key(|aspect| std::cmp::Reverse(aspect.mention_count));
    aspects
}

/// What the stored documents of one snapshot are rendered from: the pages, and the description of the API.
pub(crate) struct PageContext<'p> {
    pages: &'p Pages,
    interface: Interface,
}

impl<'p> PageContext<'p> {
    pub(crate) fn snapshot(&self) -> &'p Snapshot {
        &self.pages.snapshot
    }

    pub(crate) fn base_url(&self) -> &'p str {
        &self.snapshot().base_url
    }

    /// Returns the front page in the language of visitors who ask for none.
    pub(crate) fn home(&self) -> &'p Bytes {
        &self.pages.home
    }

    /// Returns `/reviews.jsonld`.
    pub(crate) fn json_ld(&self) -> String {
        self.pages.json_ld.clone()
    }

    /// Returns the stylesheet with the owner's colors.
    pub(crate) fn site_stylesheet(&self) -> String {
        self.pages.layout.site_stylesheet.clone()
    }

    /// Returns `/openapi.json`.
    pub(crate) fn openapi(&self) -> String {
        self.interface.render()
    }
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
    /// Returns a language that no query and no visitor has chosen, such as the owner's.
    fn of(chosen: Language) -> PageLanguage {
        PageLanguage {
            chosen,
            is_explicit: false,
            is_negotiated: false,
        }
    }
}

/// The kinds of documents that are rendered per request; the number of the kind is part of the entity-tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rendered {
    List = 0,
    Widget = 1,
    Review = 2,
    SitemapPart = 3,
    WidgetData = 4,
    Logo = 5,
    Badge = 6,
}

/// The parts that the pages of one snapshot are rendered from.
#[derive(Debug)]
pub struct Pages {
    snapshot: Arc<Snapshot>,
    /// The front page in the default language.
    home: Bytes,
    stats: RatingStats,
    layout: Layout,
    json_ld: String,
    tags: QueryTags,
}

impl Pages {
    /// Renders the parts for `snapshot`, without insights if these are not derived yet.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Pages {
        Pages::with(snapshot, false)
    }

    /// Like [`Pages::new`], for pages that are written to files: without what needs the service, such as the search.
    pub(crate) fn for_files(snapshot: Arc<Snapshot>) -> Pages {
        Pages::with(snapshot, true)
    }

    fn with(snapshot: Arc<Snapshot>, is_static: bool) -> Pages {
        let stats = RatingStats::of(&snapshot);
        let mut layout = Layout::new(&snapshot, &stats);
        layout.is_static = is_static;
        let json_ld = json_ld::render(&snapshot, &stats);
        let mut pages = Pages {
            stats,
            layout,
            json_ld,
            snapshot,
            // The front page is rendered from the other parts, and the tags cover the front page.
            home: Bytes::new(),
            tags: QueryTags::new(&[]),
        };
        let home = pages.home(PageLanguage::of(pages.default_language()));
        pages.home = home.into();
        pages.tags = pages.query_tags();
        pages
    }

    /// Returns what the stored documents are rendered from. Describing the API takes about 2 ms.
    pub(crate) fn context(&self) -> PageContext<'_> {
        PageContext {
            pages: self,
            interface: Interface::new(&self.snapshot, self.snapshot.insights_value()),
        }
    }

    /// Returns the entity-tags of the documents that are rendered per request. They cover everything that such a
    /// document is rendered from: the front page for the shared parts, the insights for the evidence, and the version
    /// for the templates.
    fn query_tags(&self) -> QueryTags {
        let insights = self.snapshot.insights();
        let insights_digest: &[u8] = insights.map_or(&[], |document| &document.digest);
        QueryTags::new(&[
            &self.snapshot.digest,
            &Sha256::digest(&self.home),
            insights_digest,
            env!("CARGO_PKG_VERSION").as_bytes(),
        ])
    }

    /// Returns the data that the pages are rendered from.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
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

    /// Returns whether the language of pages depends on Accept-Language, as the owner has set none.
    pub(crate) fn is_negotiated(&self) -> bool {
        self.owner_language().is_none()
    }

    /// Returns the entity-tag of a document that is rendered per request; `name` is its query, or the id of a review.
    pub(crate) fn tag(&self, kind: Rendered, language: Language, name: &[u8]) -> EntityTag {
        let number = LANGUAGES_MAX * kind as u8 + language.number();
        self.tags.tag(number, name)
    }

    /// Chooses the language of a page: that of `lang` in the query, else the owner's, else the one that the visitor
    /// prefers by Accept-Language (`accepted`).
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
}
