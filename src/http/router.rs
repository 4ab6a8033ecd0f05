//! Paths to endpoints by the table of addresses, and which methods each endpoint has.

use hyper::Method;

use crate::pages::Page;
use crate::pages::api::{self, Address};

/// An address of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// One of the stored documents.
    Document(Document),
    /// A page for people, or a file of one; some take parameters.
    Page(Page),
    /// `/api/reviews/search`.
    Search,
    /// `/api/reviews/since/{date}`, the date still as it came.
    Since(&'a str),
    /// `/api/reviews/{id}`, the id not yet looked up.
    Review(&'a str),
    /// `/healthz`.
    Health,
    /// `/readyz`.
    Ready,
    /// `/api/websub/hub`.
    Hub,
    /// `/mcp`.
    Mcp,
}

/// A stored document; the number is its place in the site's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    /// `/reviews.json`, a topic of the hub.
    Reviews = 0,
    /// `/insights.json`.
    Insights = 1,
    /// `/api/feed.json`, a topic of the hub.
    FeedJson = 2,
    /// `/feed.xml`, a topic of the hub.
    FeedXml = 3,
    /// `/mcp/server-card`.
    ServerCard = 4,
    /// `/.well-known/ai-catalog.json`.
    AiCatalog = 5,
}

impl Document {
    /// Every document, each at its number.
    pub(crate) const ALL: [Document; 6] = [
        Document::Reviews,
        Document::Insights,
        Document::FeedJson,
        Document::FeedXml,
        Document::ServerCard,
        Document::AiCatalog,
    ];
}

/// The addresses as metrics name them, each at the number that a route has: no label is made of anything
/// that a client sends.
pub const PLACES: [&str; 30] = [
    "other",
    "/reviews.json",
    "/insights.json",
    "/api/feed.json",
    "/feed.xml",
    "/mcp/server-card",
    "/.well-known/ai-catalog.json",
    "/",
    "/page.css",
    "/page.js",
    "/favicon.svg",
    "/reviews.jsonld",
    "/badge.svg",
    "/widget.html",
    "/widget.css",
    "/widget.js",
    "/api/reviews/search",
    "/api/reviews/since/{date}",
    "/api/reviews/{id}",
    "/healthz",
    "/readyz",
    "/api/websub/hub",
    "/mcp",
    "/developers",
    "/developers.js",
    "/openapi.json",
    "/llms.txt",
    "/robots.txt",
    "/sitemap.xml",
    "/.well-known/api-catalog",
];

/// The place of a request that was refused before it had a route.
pub(crate) const NO_PLACE: usize = 0;

/// The methods that some address here takes: the answer to `OPTIONS *`.
pub(crate) const ALLOW_ALL: &str = "GET, HEAD, POST, DELETE, OPTIONS";

/// What a method asks for on a route that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// GET or HEAD: hyper leaves out the body of the latter, or the body does itself.
    Read,
    /// POST to the hub, and whatever /mcp, which has methods and refusals of its own, is sent.
    Write,
    /// OPTIONS.
    Options,
    /// No method of this route.
    Refuse,
}

/// Returns the route of `/api/reviews/since/{date}`: the one with a parameter whose every fault, broken escapes
/// included, is answered by the rules of the query.
pub(crate) fn route_of_date<'a>(parent: &[u8], raw: &'a [u8]) -> Option<Route<'a>> {
    let is_date = parent == b"/api/reviews/since/" && !raw.is_empty();
    let raw = is_date.then(|| str::from_utf8(raw))?;
    raw.ok().map(Route::Since)
}

/// Returns the route of any other path, that is cut before its last segment, or `None` for an unknown path.
///
/// A trailing slash is another, unknown, path; nothing is normalised, so `..` is a segment like any other.
pub(crate) fn route<'a>(parent: &[u8], last: &'a [u8]) -> Option<Route<'a>> {
    if parent == b"/api/reviews/" {
        return match last {
            b"search" => Some(Route::Search),
            // No review can have these ids: both are addresses, and an empty one is a trailing slash.
            b"since" | b"" => None,
            id => str::from_utf8(id).ok().map(Route::Review),
        };
    }
    match api::find(parent, last)? {
        Address::Reviews => Some(Route::Document(Document::Reviews)),
        Address::Insights => Some(Route::Document(Document::Insights)),
        Address::FeedJson => Some(Route::Document(Document::FeedJson)),
        Address::FeedXml => Some(Route::Document(Document::FeedXml)),
        Address::ServerCard => Some(Route::Document(Document::ServerCard)),
        Address::AiCatalog => Some(Route::Document(Document::AiCatalog)),
        Address::Health => Some(Route::Health),
        Address::Ready => Some(Route::Ready),
        Address::Mcp => Some(Route::Mcp),
        Address::Hub => Some(Route::Hub),
        Address::Page(page) => Some(Route::Page(page)),
        // Found above, and by their parameters.
        Address::Search | Address::Since | Address::Review => None,
    }
}

impl Route<'_> {
    /// Returns the number of this address in [`PLACES`].
    pub(crate) fn place(self) -> usize {
        match self {
            Route::Document(document) => 1 + document as usize,
            Route::Page(page) => match page {
                Page::Home => 7,
                Page::Stylesheet => 8,
                Page::Script => 9,
                Page::Favicon => 10,
                Page::ReviewsJsonLd => 11,
                Page::Badge | Page::BadgeLight | Page::BadgeDark => 12,
                Page::Widget => 13,
                Page::WidgetStylesheet => 14,
                Page::WidgetScript => 15,
                Page::Developers => 23,
                Page::DevelopersScript => 24,
                Page::OpenApi => 25,
                Page::LlmsText => 26,
                Page::Robots => 27,
                Page::Sitemap => 28,
                Page::ApiCatalog => 29,
            },
            Route::Search => 16,
            Route::Since(_) => 17,
            Route::Review(_) => 18,
            Route::Health => 19,
            Route::Ready => 20,
            Route::Hub => 21,
            Route::Mcp => 22,
        }
    }

    /// Returns what `method` does here.
    pub(crate) fn action(self, method: &Method) -> Action {
        match (self, method.as_str()) {
            (Route::Mcp, _) => Action::Write,
            (Route::Hub, "POST") => Action::Write,
            (_, "OPTIONS") => Action::Options,
            (Route::Hub, _) => Action::Refuse,
            (_, "GET" | "HEAD") => Action::Read,
            _ => Action::Refuse,
        }
    }

    /// Returns the methods that this route has, as the Allow header lists them.
    pub(crate) fn allow(self) -> &'static str {
        match self {
            Route::Mcp => "POST, DELETE, OPTIONS",
            Route::Hub => "POST, OPTIONS",
            _ => "GET, HEAD, OPTIONS",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Route<'_>> {
        let cut = path.rfind('/').expect("paths begin with a slash") + 1;
        let (parent, last) = path.as_bytes().split_at(cut);
        route_of_date(parent, last).or_else(|| route(parent, last))
    }

    #[test]
    fn every_address_of_the_interface_has_its_route() {
        for (path, expected) in [
            ("/reviews.json", Route::Document(Document::Reviews)),
            ("/insights.json", Route::Document(Document::Insights)),
            ("/api/feed.json", Route::Document(Document::FeedJson)),
            ("/feed.xml", Route::Document(Document::FeedXml)),
            ("/api/reviews/search", Route::Search),
            ("/api/reviews/since/2024-01-01", Route::Since("2024-01-01")),
            ("/api/reviews/since/..", Route::Since("..")),
            ("/api/reviews/01J", Route::Review("01J")),
            ("/api/reviews/..", Route::Review("..")),
            ("/healthz", Route::Health),
            ("/readyz", Route::Ready),
            ("/api/websub/hub", Route::Hub),
            ("/mcp", Route::Mcp),
            ("/mcp/server-card", Route::Document(Document::ServerCard)),
            (
                "/.well-known/ai-catalog.json",
                Route::Document(Document::AiCatalog),
            ),
        ] {
            assert_eq!(find(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn every_page_has_an_address() {
        for (path, page) in [
            ("/", Page::Home),
            ("/page.css", Page::Stylesheet),
            ("/page.js", Page::Script),
            ("/favicon.svg", Page::Favicon),
            ("/reviews.jsonld", Page::ReviewsJsonLd),
            ("/badge.svg", Page::Badge),
            ("/widget.html", Page::Widget),
            ("/widget.css", Page::WidgetStylesheet),
            ("/widget.js", Page::WidgetScript),
            ("/developers", Page::Developers),
            ("/developers.js", Page::DevelopersScript),
            ("/openapi.json", Page::OpenApi),
            ("/llms.txt", Page::LlmsText),
            ("/robots.txt", Page::Robots),
            ("/sitemap.xml", Page::Sitemap),
            ("/.well-known/api-catalog", Page::ApiCatalog),
        ] {
            assert_eq!(find(path), Some(Route::Page(page)), "{path}");
        }
    }

    #[test]
    fn every_place_is_named_by_its_own_address() {
        let mut found = 0;
        for (place, path) in PLACES.iter().enumerate().skip(1) {
            let route = find(path).expect(path);
            assert_eq!(route.place(), place, "{path}");
            found += 1;
        }
        assert_eq!((found, PLACES[NO_PLACE]), (PLACES.len() - 1, "other"));
    }

    #[test]
    fn anything_else_is_unknown() {
        for path in [
            "//",
            "/index.html",
            "/page.css/",
            "/api/page.css",
            "/reviews.json/",
            "/Reviews.json",
            "/reviews",
            "/api",
            "/api/",
            "/api/reviews",
            "/api/reviews/",
            "/api/reviews/since",
            "/api/reviews/since/",
            "/api/reviews/search/",
            "/api/reviews/since/a/b",
            "/mcp/",
            "/api/../reviews.json",
            "//reviews.json",
            "/api/websub/",
            "/api/websub/hub/",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn the_table_describes_the_methods_that_routes_have() {
        const METHODS: [&str; 9] = [
            "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
        ];
        for entry in api::TABLE {
            let path = entry.path();
            // No id has braces, but the router does not mind.
            let route = find(&path).unwrap_or_else(|| panic!("{path} is described and not served"));
            assert_eq!(entry.methods().join(", "), route.allow(), "{path}");
            for method in METHODS {
                let known = Method::from_bytes(method.as_bytes()).expect("a method");
                // What /mcp refuses it refuses in the words of its protocol.
                let is_taken = route.action(&known) != Action::Refuse && route != Route::Mcp;
                let is_described = entry.methods().contains(&method) && route != Route::Mcp;
                assert_eq!(is_taken, is_described, "{method} {path}");
            }
        }
        assert_eq!(Route::Mcp.allow(), crate::mcp::METHODS);
    }

    #[test]
    fn every_page_is_in_the_table_once() {
        for page in Page::ALL {
            let addresses = api::TABLE
                .iter()
                .filter(|entry| entry.address == Address::Page(page));
            // The badge in colours is a parameter of the badge.
            let expected = usize::from(!matches!(page, Page::BadgeLight | Page::BadgeDark));
            assert_eq!(addresses.count(), expected, "{page:?}");
        }
    }

    #[test]
    fn a_read_route_takes_get_head_and_options_alone() {
        for (method, action) in [
            (Method::GET, Action::Read),
            (Method::HEAD, Action::Read),
            (Method::OPTIONS, Action::Options),
            (Method::POST, Action::Refuse),
            (Method::TRACE, Action::Refuse),
            (Method::DELETE, Action::Refuse),
        ] {
            assert_eq!(Route::Search.action(&method), action, "{method}");
        }
        assert_eq!(Route::Hub.action(&Method::POST), Action::Write);
        assert_eq!(Route::Hub.action(&Method::GET), Action::Refuse);
        assert_eq!(Route::Mcp.action(&Method::GET), Action::Write);
    }
}
