//! The route table: path, methods, handler, metric label and rate limit of every address.

use hyper::Method;

use super::rate_limit::RateLimitScope;
use crate::mcp;
use crate::pages::Page;

/// An address of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// One of the stored documents.
    Document(Document),
    /// A page for people, or a file of one; some take parameters.
    Page(Page),
    Search,
    /// `/api/reviews/since/{date}`, the date still as it came.
    Since(&'a str),
    /// `/api/reviews/{id}`, the id not yet looked up.
    Review(&'a str),
    Health,
    Ready,
    Hub,
    Mcp,
}

/// A stored document; the number is its place in the site's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Reviews = 0,
    Insights = 1,
    FeedJson = 2,
    FeedXml = 3,
    ServerCard = 4,
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

/// A row of the route table.
#[derive(Debug)]
pub(crate) struct RouteRow {
    /// The path, a parameter in braces; also the label in metrics.
    pub(crate) path: &'static str,
    pub(crate) route: Route<'static>,
    /// The Allow header.
    pub(crate) methods: &'static str,
    /// `None` for the questions of load balancers, which decide whether traffic comes here at all.
    pub(crate) scope: Option<RateLimitScope>,
}

const fn read(path: &'static str, route: Route<'static>) -> RouteRow {
    RouteRow {
        path,
        route,
        methods: "GET, HEAD, OPTIONS",
        scope: Some(RateLimitScope::Reads),
    }
}

const fn document(path: &'static str, document: Document) -> RouteRow {
    read(path, Route::Document(document))
}

const fn page(path: &'static str, page: Page) -> RouteRow {
    read(path, Route::Page(page))
}

const ROUTE_COUNT: usize = 29;

pub(crate) static ROUTES: [RouteRow; ROUTE_COUNT] = [
    document("/reviews.json", Document::Reviews),
    document("/insights.json", Document::Insights),
    document("/api/feed.json", Document::FeedJson),
    document("/feed.xml", Document::FeedXml),
    document("/mcp/server-card", Document::ServerCard),
    document("/.well-known/ai-catalog.json", Document::AiCatalog),
    page("/", Page::Home),
    page("/page.css", Page::Stylesheet),
    page("/page.js", Page::Script),
    page("/favicon.svg", Page::Favicon),
    page("/reviews.jsonld", Page::ReviewsJsonLd),
    page("/badge.svg", Page::Badge),
    page("/widget.html", Page::Widget),
    page("/widget.css", Page::WidgetStylesheet),
    page("/widget.js", Page::WidgetScript),
    read("/api/reviews/search", Route::Search),
    read("/api/reviews/since/{date}", Route::Since("")),
    read("/api/reviews/{id}", Route::Review("")),
    RouteRow {
        scope: None,
        ..read("/healthz", Route::Health)
    },
    RouteRow {
        scope: None,
        ..read("/readyz", Route::Ready)
    },
    RouteRow {
        path: "/api/websub/hub",
        route: Route::Hub,
        methods: "POST, OPTIONS",
        scope: Some(RateLimitScope::Hub),
    },
    RouteRow {
        path: "/mcp",
        route: Route::Mcp,
        methods: mcp::METHODS,
        scope: Some(RateLimitScope::Mcp),
    },
    page("/developers", Page::Developers),
    page("/developers.js", Page::DevelopersScript),
    page("/openapi.json", Page::OpenApi),
    page("/llms.txt", Page::LlmsText),
    page("/robots.txt", Page::Robots),
    page("/sitemap.xml", Page::Sitemap),
    page("/.well-known/api-catalog", Page::ApiCatalog),
];

/// The rows with a parameter; a test holds their places.
const SINCE: usize = 16;
const REVIEW: usize = 17;

/// The paths as metrics name them, behind that of unknown ones: no label is made of anything that a client sends.
pub(crate) static ROUTE_LABELS: [&str; ROUTE_COUNT + 1] = {
    let (mut labels, mut row) = (["other"; ROUTE_COUNT + 1], 0);
    while row < ROUTE_COUNT {
        labels[row + 1] = ROUTES[row].path;
        row += 1;
    }
    labels
};

/// The number in metrics of a request that was refused before it had a route.
pub(crate) const UNMATCHED: usize = 0;

/// The methods that some address here takes: the answer to `OPTIONS *`.
pub(crate) const ALLOW_ALL: &str = "GET, HEAD, POST, DELETE, OPTIONS";

/// A route that was found, with its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'a> {
    pub(crate) route: Route<'a>,
    pub(crate) row: &'static RouteRow,
    /// Its place in [`ROUTE_LABELS`].
    pub(crate) route_id: usize,
}

/// What a method asks for on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    /// What comes with a body: POST to the hub, and everything to /mcp, whose protocol refuses methods itself.
    Write,
    Options,
    /// No method of this route.
    Refuse,
}

/// Returns the route of `/api/reviews/since/{date}`: the one with a parameter whose every fault, broken escapes
/// included, is answered by the rules of the query.
pub(crate) fn route_of_date<'a>(parent: &str, raw: &'a str) -> Option<Matched<'a>> {
    let is_date = parent == "/api/reviews/since/" && !raw.is_empty();
    is_date.then(|| matched(SINCE, Route::Since(raw)))
}

/// Returns the route of any other path, cut before its last segment, or `None` for an unknown path.
///
/// A trailing slash is another, unknown, path; nothing is normalised, so `..` is a segment like any other.
pub(crate) fn route<'a>(parent: &str, last: &'a str) -> Option<Matched<'a>> {
    let is_path = |row: &RouteRow| {
        row.path.len() == parent.len() + last.len() && row.path.strip_prefix(parent) == Some(last)
    };
    match ROUTES.iter().position(is_path) {
        // An escaped slash is no slash of an address.
        Some(at) if at != SINCE && at != REVIEW && !last.contains('/') => {
            Some(matched(at, ROUTES[at].route))
        }
        // No review can have these ids: an address without its date, and a trailing slash.
        _ if parent != "/api/reviews/" || matches!(last, "since" | "") => None,
        _ => Some(matched(REVIEW, Route::Review(last))),
    }
}

fn matched(at: usize, route: Route<'_>) -> Matched<'_> {
    Matched {
        route,
        row: &ROUTES[at],
        route_id: at + 1,
    }
}

impl Matched<'_> {
    pub(crate) fn action(&self, method: &Method) -> Action {
        match (self.route, method.as_str()) {
            (Route::Mcp, _) | (Route::Hub, "POST") => Action::Write,
            (_, "OPTIONS") => Action::Options,
            (Route::Hub, _) => Action::Refuse,
            (_, "GET" | "HEAD") => Action::Read,
            _ => Action::Refuse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Matched<'_>> {
        let cut = path.rfind('/').expect("paths begin with a slash") + 1;
        let (parent, last) = path.split_at(cut);
        route_of_date(parent, last).or_else(|| route(parent, last))
    }

    #[test]
    fn parameters_follow_the_last_slash() {
        for (path, expected) in [
            ("/api/reviews/since/2024-01-01", Route::Since("2024-01-01")),
            ("/api/reviews/since/..", Route::Since("..")),
            ("/api/reviews/01J", Route::Review("01J")),
            ("/api/reviews/..", Route::Review("..")),
        ] {
            assert_eq!(
                find(path).map(|found| found.route),
                Some(expected),
                "{path}"
            );
        }
    }

    #[test]
    fn every_document_has_a_row_and_every_row_is_found_by_its_path() {
        let has_row = |route| ROUTES.iter().any(|row| row.route == route);
        assert!(Document::ALL.into_iter().map(Route::Document).all(has_row));
        for page in Page::all() {
            // The badge in colours is a parameter of the badge.
            let expected = !matches!(page, Page::BadgeLight | Page::BadgeDark);
            assert_eq!(has_row(Route::Page(page)), expected, "{page:?}");
        }
        for (label, number) in ROUTE_LABELS.into_iter().zip(0..).skip(1) {
            // No id has braces, but the router does not mind.
            let found = find(label).expect(label);
            assert_eq!((found.row.path, found.route_id), (label, number));
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
        for row in &ROUTES {
            let item = paths.get(row.path).expect(row.path);
            for name in METHODS {
                let is_described = match name {
                    "HEAD" => item.get("get").is_some(),
                    "OPTIONS" => true,
                    name => item.get(name.to_ascii_lowercase()).is_some(),
                };
                let is_allowed = row.methods.split(", ").any(|allowed| allowed == name);
                assert_eq!(is_described, is_allowed, "{name} {}", row.path);
                let method = Method::from_bytes(name.as_bytes()).expect("a method");
                let action = find(row.path).expect(row.path).action(&method);
                let expected = match name {
                    // What /mcp refuses it refuses in the words of its protocol.
                    _ if row.route == Route::Mcp => Action::Write,
                    _ if !is_allowed => Action::Refuse,
                    "POST" => Action::Write,
                    "OPTIONS" => Action::Options,
                    _ => Action::Read,
                };
                assert_eq!(action, expected, "{name} {}", row.path);
            }
        }
    }
}
