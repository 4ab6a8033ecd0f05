//! Routing: parses the target of a request and finds its row in the route table, which has path, route, methods and rate
//! limit. The path is also the label in metrics; `endpoint` calls the function of each route.

use std::borrow::Cow;

use hyper::Method;
use hyper::http::uri::Uri;

use super::documents::DOCUMENTS;
use super::rate_limit::RateLimitScope;
use crate::mcp;
use crate::wire::form::{self, FormError};

/// The routes that are not stored documents.
const ENDPOINTS: [RouteRow; 13] = [
    read("/api/reviews/search", Route::Search),
    read("/api/reviews/since/{date}", Route::Since("")),
    read("/api/reviews/{id}", Route::Review("")),
    read("/reviews/{id}", Route::ReviewPage("")),
    read("/sitemaps/{number}", Route::SitemapPart("")),
    read("/media/{digest}", Route::Photo("")),
    read("/widget.json", Route::WidgetData),
    read("/logo", Route::Logo),
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
    read("/api/reviews/changes", Route::Changes),
];

/// The number of documents with a path of their own.
const DOCUMENT_ROUTES: usize = {
    let mut count = 0;
    let mut index = 0;
    while index < DOCUMENTS.len() {
        if DOCUMENTS[index].is_path() {
            count += 1;
        }
        index += 1;
    }
    count
};

const ROUTE_COUNT: usize = DOCUMENT_ROUTES + ENDPOINTS.len();

/// Every route: the stored documents in the order of their table, then the endpoints.
pub(crate) static ROUTES: [RouteRow; ROUTE_COUNT] = {
    let mut routes = [ENDPOINTS[0]; ROUTE_COUNT];
    let mut filled = 0;
    let mut index = 0;
    while index < DOCUMENTS.len() {
        if DOCUMENTS[index].is_path() {
            routes[filled] = read(DOCUMENTS[index].address, Route::Document(index));
            filled += 1;
        }
        index += 1;
    }
    let mut endpoint = 0;
    while endpoint < ENDPOINTS.len() {
        routes[filled + endpoint] = ENDPOINTS[endpoint];
        endpoint += 1;
    }
    routes
};

/// Indices in [`ROUTES`] of the rows with a parameter; a test compares them with the paths.
const SINCE: usize = DOCUMENT_ROUTES + 1;
const REVIEW: usize = DOCUMENT_ROUTES + 2;
const REVIEW_PAGE: usize = DOCUMENT_ROUTES + 3;
const SITEMAP_PART: usize = DOCUMENT_ROUTES + 4;
const PHOTO: usize = DOCUMENT_ROUTES + 5;
const WITH_PARAMETER: [usize; 5] = [SINCE, REVIEW, REVIEW_PAGE, SITEMAP_PART, PHOTO];

/// Labels in metrics: "other" for unknown paths, then the path of each row. No label depends on input from clients.
pub(crate) static ROUTE_LABELS: [&str; ROUTE_COUNT + 1] = {
    let mut labels = ["other"; ROUTE_COUNT + 1];
    let mut row = 0;
    while row < ROUTE_COUNT {
        labels[row + 1] = ROUTES[row].path;
        row += 1;
    }
    labels
};

/// Index in [`ROUTE_LABELS`] of a request without a route.
pub(crate) const UNMATCHED: usize = 0;

/// The methods of all routes together: the response to `OPTIONS *`.
pub(crate) const ALLOW_ALL: &str = "GET, HEAD, POST, DELETE, OPTIONS";

/// A route of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// The stored document with this index in [`DOCUMENTS`], or what its row says about a query.
    Document(usize),
    Search,
    /// `/api/reviews/changes`.
    Changes,
    /// `/api/reviews/since/{date}`, with the date as received.
    Since(&'a str),
    /// `/api/reviews/{id}`, with the id not yet looked up.
    Review(&'a str),
    /// `/reviews/{id}`, with the id not yet looked up.
    ReviewPage(&'a str),
    /// `/sitemaps/{number}`, with the number as received.
    SitemapPart(&'a str),
    /// `/media/{digest}`, with the digest not yet looked up.
    Photo(&'a str),
    /// The owner's logo.
    Logo,
    /// `/widget.json`, with the parameters of a search.
    WidgetData,
    Health,
    Ready,
    Hub,
    Mcp,
}

/// A row of the route table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteRow {
    /// The path, with its parameter in braces; also the label in metrics.
    pub(crate) path: &'static str,
    pub(crate) route: Route<'static>,
    /// The Allow header.
    pub(crate) methods: &'static str,
    /// The rate limit; `None` for the health checks of load balancers, which must not be refused.
    pub(crate) scope: Option<RateLimitScope>,
}

/// The route of a path, with its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'a> {
    pub(crate) route: Route<'a>,
    pub(crate) row: &'static RouteRow,
    /// Its index in [`ROUTE_LABELS`].
    pub(crate) route_id: usize,
}

/// What a method does on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    /// Read the body first: POST to the hub, and every method on /mcp, whose endpoint refuses methods itself.
    NeedBody,
    Options,
    /// Not a method of this route.
    Refuse,
}

/// Returns the row of a path that is only read.
const fn read(path: &'static str, route: Route<'static>) -> RouteRow {
    RouteRow {
        path,
        route,
        methods: "GET, HEAD, OPTIONS",
        scope: Some(RateLimitScope::Reads),
    }
}

/// Returns the route of `/api/reviews/since/{date}`, or `None` for any other path. The last segment is not decoded: the
/// endpoint reports every error in the date, broken escapes included, like an error in a query parameter.
pub(crate) fn route_of_date<'a>(parent: &str, last_raw: &'a str) -> Option<Matched<'a>> {
    if parent != "/api/reviews/since/" || last_raw.is_empty() {
        return None;
    }
    Some(matched(SINCE, Route::Since(last_raw)))
}

/// Returns the route of any other path, split before its last segment, or `None` for an unknown path.
///
/// Paths are not normalized: one with a trailing slash is unknown, and `..` is an ordinary segment. Only `/mcp/` is
/// `/mcp`, as some clients add the slash and follow no redirect.
pub(crate) fn route<'a>(parent: &str, last: &'a str) -> Option<Matched<'a>> {
    if parent == "/mcp/" && last.is_empty() {
        return route("/", "mcp");
    }
    match ROUTES.iter().position(|row| row.is_at(parent, last)) {
        // A slash in the last segment was escaped, so it does not separate segments of a row's path.
        Some(row) if !WITH_PARAMETER.contains(&row) && !last.contains('/') => {
            Some(matched(row, ROUTES[row].route))
        }
        _ => route_with_parameter(parent, last),
    }
}

/// Returns the route of a path that ends with the id of a review, the number of a part or the digest of a picture.
fn route_with_parameter<'a>(parent: &str, last: &'a str) -> Option<Matched<'a>> {
    match (parent, last) {
        (_, "") => None,
        // Lacks its date.
        ("/api/reviews/", "since") => None,
        ("/api/reviews/", id) => Some(matched(REVIEW, Route::Review(id))),
        ("/reviews/", id) => Some(matched(REVIEW_PAGE, Route::ReviewPage(id))),
        ("/sitemaps/", number) => Some(matched(SITEMAP_PART, Route::SitemapPart(number))),
        ("/media/", digest) => Some(matched(PHOTO, Route::Photo(digest))),
        _ => None,
    }
}

/// Returns `route` with the row of this index in [`ROUTES`].
fn matched(row: usize, route: Route<'_>) -> Matched<'_> {
    Matched {
        route,
        row: &ROUTES[row],
        route_id: row + 1,
    }
}

impl RouteRow {
    /// Tells whether the path consists of these two parts.
    fn is_at(&self, parent: &str, last: &str) -> bool {
        self.path.len() == parent.len() + last.len() && self.path.strip_prefix(parent) == Some(last)
    }
}

impl Matched<'_> {
    /// Returns what `method` does on this route.
    pub(crate) fn action(&self, method: &Method) -> Action {
        match (self.route, method.as_str()) {
            (Route::Mcp, _) | (Route::Hub, "POST") => Action::NeedBody,
            (_, "OPTIONS") => Action::Options,
            (Route::Hub, _) => Action::Refuse,
            (_, "GET" | "HEAD") => Action::Read,
            _ => Action::Refuse,
        }
    }
}

/// Why a request target is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("the request target has {bytes} bytes; at most {bytes_max} are accepted")]
    TooLong { bytes: usize, bytes_max: usize },
    /// `*` with another method than OPTIONS, or the authority-form of CONNECT (RFC 9112 §3.2).
    #[error("the request target must be a path")]
    Form,
    #[error("the path has a % without two hexadecimal digits")]
    Escape,
    #[error("the decoded path is not UTF-8")]
    Encoding,
    #[error("the path has a control character or an unescaped non-ASCII byte")]
    Character,
}

/// A path, split before its last segment, the only one that can be a parameter.
///
/// It is split before it is decoded, so an escaped slash stays part of its segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// The decoded path up to and including the last slash. Empty if it contains an escaped slash: so it is no known path.
    pub(crate) parent: Cow<'a, str>,
    /// The last segment as received.
    pub(crate) last_raw: &'a str,
    /// The decoded last segment, or why it cannot be decoded.
    pub(crate) last: Result<Cow<'a, str>, TargetError>,
}

/// Checks the form of a target with this number of bytes, and returns its path, or `None` for the `*` of OPTIONS.
///
/// Allocates only for a path with escapes; no row of the table has any.
pub(crate) fn parse_target<'a>(
    method: &Method,
    path: &'a str,
    bytes: usize,
    bytes_max: usize,
) -> Result<Option<Path<'a>>, TargetError> {
    if bytes > bytes_max {
        return Err(TargetError::TooLong { bytes, bytes_max });
    }
    if path == "*" && *method == Method::OPTIONS {
        return Ok(None);
    }
    if !path.starts_with('/') {
        return Err(TargetError::Form);
    }
    parse_path(path).map(Some)
}

/// Returns the length of a target in bytes: of its path, its query and its authority, without its scheme.
pub(crate) fn target_length(uri: &Uri) -> usize {
    let path = uri.path_and_query().map(|path| path.as_str().len());
    let authority = uri.authority().map(|authority| authority.as_str().len());
    path.unwrap_or(0) + authority.unwrap_or(0)
}

/// Splits and decodes a path that begins with a slash.
fn parse_path(path: &str) -> Result<Path<'_>, TargetError> {
    let last_start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (parent_raw, last_raw) = path.split_at(last_start);
    let mut parent = decode(parent_raw)?;
    let has_escapes = matches!(parent, Cow::Owned(_));
    if has_escapes && count_slashes(&parent) != count_slashes(parent_raw) {
        parent = Cow::Borrowed("");
    }
    Ok(Path {
        parent,
        last_raw,
        last: decode(last_raw),
    })
}

fn count_slashes(text: &str) -> usize {
    text.matches('/').count()
}

/// Decodes a part of a path (RFC 3986 §2.1).
fn decode(text: &str) -> Result<Cow<'_, str>, TargetError> {
    if text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'%')
    {
        return Ok(Cow::Borrowed(text));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TargetError::Character);
    }
    let mut decoded = String::with_capacity(text.len());
    form::decode_path(text.as_bytes(), &mut decoded).map_err(|error| match error {
        FormError::BrokenEscape { .. } => TargetError::Escape,
        FormError::NotUtf8 => TargetError::Encoding,
    })?;
    if decoded.bytes().any(|byte| byte.is_ascii_control()) {
        Err(TargetError::Character)
    } else {
        Ok(Cow::Owned(decoded))
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
    fn every_route_is_described_with_its_methods() {
        const METHODS: [&str; 9] = [
            "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
        ];
        let document: serde_json::Value =
            serde_json::from_str(include_str!("../../templates/openapi.json")).expect("JSON");
        let paths = document["paths"].as_object().expect("paths");
        assert_eq!(paths.len(), ROUTES.len());
        for (row, route_id) in ROUTES.iter().zip(1..) {
            // Braces are invalid in an id, but the router does not check ids.
            let found = find(row.path).expect(row.path);
            assert_eq!((found.row.path, found.route_id), (row.path, route_id));
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
                let action = found.action(&method);
                let expected = match name {
                    // The endpoint of /mcp refuses methods itself.
                    _ if row.route == Route::Mcp => Action::NeedBody,
                    _ if !is_allowed => Action::Refuse,
                    "POST" => Action::NeedBody,
                    "OPTIONS" => Action::Options,
                    _ => Action::Read,
                };
                assert_eq!(action, expected, "{name} {}", row.path);
            }
        }
    }
}
