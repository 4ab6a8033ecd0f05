//! The route table: paths to endpoints, and which methods each endpoint has.

use hyper::Method;

use crate::pages::Page;

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

/// The route table: every path with its route, a parameter in braces. The index of a row, plus one, is the number of
/// its route in metrics.
pub(crate) const ROUTES: [(&str, Route<'static>); 29] = [
    ("/reviews.json", Route::Document(Document::Reviews)),
    ("/insights.json", Route::Document(Document::Insights)),
    ("/api/feed.json", Route::Document(Document::FeedJson)),
    ("/feed.xml", Route::Document(Document::FeedXml)),
    ("/mcp/server-card", Route::Document(Document::ServerCard)),
    (
        "/.well-known/ai-catalog.json",
        Route::Document(Document::AiCatalog),
    ),
    ("/", Route::Page(Page::Home)),
    ("/page.css", Route::Page(Page::Stylesheet)),
    ("/page.js", Route::Page(Page::Script)),
    ("/favicon.svg", Route::Page(Page::Favicon)),
    ("/reviews.jsonld", Route::Page(Page::ReviewsJsonLd)),
    ("/badge.svg", Route::Page(Page::Badge)),
    ("/widget.html", Route::Page(Page::Widget)),
    ("/widget.css", Route::Page(Page::WidgetStylesheet)),
    ("/widget.js", Route::Page(Page::WidgetScript)),
    ("/api/reviews/search", Route::Search),
    ("/api/reviews/since/{date}", Route::Since("")),
    ("/api/reviews/{id}", Route::Review("")),
    ("/healthz", Route::Health),
    ("/readyz", Route::Ready),
    ("/api/websub/hub", Route::Hub),
    ("/mcp", Route::Mcp),
    ("/developers", Route::Page(Page::Developers)),
    ("/developers.js", Route::Page(Page::DevelopersScript)),
    ("/openapi.json", Route::Page(Page::OpenApi)),
    ("/llms.txt", Route::Page(Page::LlmsText)),
    ("/robots.txt", Route::Page(Page::Robots)),
    ("/sitemap.xml", Route::Page(Page::Sitemap)),
    ("/.well-known/api-catalog", Route::Page(Page::ApiCatalog)),
];

/// The paths as metrics name them, each at the number that a route has: no label is made of anything that a client
/// sends.
pub const ROUTE_LABELS: [&str; ROUTES.len() + 1] = {
    let mut places = ["other"; ROUTES.len() + 1];
    let mut row = 0;
    while row < ROUTES.len() {
        places[row + 1] = ROUTES[row].0;
        row += 1;
    }
    places
};

/// The place of a request that was refused before it had a route.
pub(crate) const UNMATCHED: usize = 0;

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
    let mut slot = slot_of(parent.len(), last);
    // At least half of the slots are empty.
    while let Some((path, route)) = ROUTES.get(usize::from(SLOTS[slot])) {
        if path.as_bytes().strip_prefix(parent) == Some(last) {
            return Some(*route);
        }
        slot = (slot + 1) % SLOTS.len();
    }
    None
}

/// A hash table of the rows of [`ROUTES`] without parameters: each row in its slot or the next free one, and a number
/// that is no row where there is none. Every request is looked up.
const SLOTS: [u8; 64] = {
    let mut slots = [u8::MAX; 64];
    assert!(ROUTES.len() <= slots.len() / 2);
    let mut row = 0;
    while row < ROUTES.len() {
        let path = ROUTES[row].0.as_bytes();
        let mut cut = path.len();
        while path[cut - 1] != b'/' {
            cut -= 1;
        }
        let (_, last) = path.split_at(cut);
        if !matches!(last, [b'{', ..]) {
            let mut slot = slot_of(cut, last);
            while slots[slot] != u8::MAX {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = row as u8;
        }
        row += 1;
    }
    slots
};

/// Returns the slot to begin at, for a path whose last segment follows `cut` bytes.
const fn slot_of(cut: usize, last: &[u8]) -> usize {
    let first = match last {
        [first, ..] => *first as usize,
        [] => 0,
    };
    // Our choice: of the first letters and the lengths few are alike.
    (first + 5 * last.len() + 11 * cut) % 64
}

impl Route<'_> {
    /// Returns the number of this address in [`ROUTE_LABELS`].
    pub(crate) fn route_id(self) -> usize {
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
    fn the_part_behind_the_last_slash_is_the_parameter() {
        for (path, expected) in [
            ("/api/reviews/since/2024-01-01", Route::Since("2024-01-01")),
            ("/api/reviews/since/..", Route::Since("..")),
            ("/api/reviews/01J", Route::Review("01J")),
            ("/api/reviews/..", Route::Review("..")),
        ] {
            assert_eq!(find(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn every_stored_document_has_a_row() {
        for document in Document::ALL {
            assert!(
                ROUTES
                    .iter()
                    .any(|(_, route)| *route == Route::Document(document))
            );
        }
        for page in Page::all() {
            // The badge in colours is a parameter of the badge.
            let expected = !matches!(page, Page::BadgeLight | Page::BadgeDark);
            let found = ROUTES.iter().any(|(_, route)| *route == Route::Page(page));
            assert_eq!(found, expected, "{page:?}");
        }
    }

    #[test]
    fn every_place_is_named_by_its_own_address() {
        for (row, (path, route)) in ROUTES.iter().enumerate() {
            assert_eq!((route.route_id(), ROUTE_LABELS[row + 1]), (row + 1, *path));
            // No id has braces, but the router does not mind.
            assert_eq!(find(path).map(Route::route_id), Some(row + 1), "{path}");
        }
        assert_eq!(ROUTE_LABELS[UNMATCHED], "other");
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
    fn every_route_is_described_with_its_methods() {
        const METHODS: [&str; 9] = [
            "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
        ];
        let document: serde_json::Value =
            serde_json::from_str(include_str!("../../templates/openapi.json")).expect("JSON");
        let paths = document["paths"].as_object().expect("paths");
        assert_eq!(paths.len(), ROUTES.len());
        for (path, route) in ROUTES {
            let item = paths
                .get(path)
                .unwrap_or_else(|| panic!("{path} is not described"));
            for method in METHODS {
                let is_described = match method {
                    "HEAD" => item.get("get").is_some(),
                    "OPTIONS" => true,
                    method => item.get(method.to_ascii_lowercase()).is_some(),
                };
                let is_allowed = route.allow().split(", ").any(|allowed| allowed == method);
                assert_eq!(is_described, is_allowed, "{method} {path}");
                // What /mcp refuses it refuses in the words of its protocol.
                if route != Route::Mcp {
                    let known = Method::from_bytes(method.as_bytes()).expect("a method");
                    assert_eq!(
                        route.action(&known) != Action::Refuse,
                        is_allowed,
                        "{method} {path}"
                    );
                }
            }
        }
        assert_eq!(Route::Mcp.allow(), crate::mcp::METHODS);
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
