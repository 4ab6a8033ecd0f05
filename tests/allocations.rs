//! Counts the allocations of a request: the copied header fields of a stored document, none for a `since`, one buffer
//! for a search.
//!
//! hyper reuses the header map of a response for the next request of the connection, so each case here is measured
//! with a reused map, on a thread that has already answered requests.

use std::net::{IpAddr, Ipv4Addr};

use allocation_counter::AllocationInfo;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use oracle::service;
use reviewd::http::{AppState, Body, Peer, respond};
use reviewd::search::query::{Buffers, parse_query};
use reviewd::search::run::{Scratch, run};

/// A service, and a client that has limits.
struct Service {
    app: AppState,
    peer: Peer,
}

fn start() -> Service {
    let snapshot = service::snapshot(service::sample());
    let app = service::app(service::settings(), snapshot);
    app.current().compress(|| false);
    let peer = app.peer(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    Service { app, peer }
}

/// Makes a request in `headers`, as hyper does.
fn request(target: &str, fields: &[(&'static str, String)], mut headers: HeaderMap) -> Parts {
    headers.clear();
    headers.insert("host", HeaderValue::from_static("reviews.example"));
    headers.insert("user-agent", HeaderValue::from_static("test"));
    headers.insert("accept", HeaderValue::from_static("*/*"));
    for (name, value) in fields {
        let value = HeaderValue::from_str(value).expect("a test's values fit");
        headers.append(HeaderName::from_static(name), value);
    }
    let request = Request::get(target).body(());
    let (mut parts, ()) = request.expect("a test's targets fit").into_parts();
    parts.headers = headers;
    parts
}

fn answer(service: &Service, parts: Parts) -> Response<Body> {
    respond(&service.app, parts, false, &service.peer).expect("a read is answered at once")
}

/// Answers the same request 300 times as warm-up, then once more, and returns the allocations of that.
fn measure(
    service: &Service,
    target: &str,
    fields: &[(&'static str, String)],
    status: u16,
) -> AllocationInfo {
    let mut headers = HeaderMap::new();
    for _ in 0..300 {
        let response = answer(service, request(target, fields, headers));
        assert_eq!(response.status(), status, "{target}");
        headers = response.into_parts().0.headers;
    }
    let parts = request(target, fields, headers);
    let mut response = None;
    let counted = allocation_counter::measure(|| response = Some(answer(service, parts)));
    assert_eq!(response.expect("a response").status(), status, "{target}");
    counted
}

/// The entries of a copied header map, and their hash table.
const COPIED_FIELDS: u64 = 2;

#[test]
fn a_stored_document_allocates_only_its_header_fields() {
    let service = start();
    for target in [
        "/",
        "/badge.svg?theme=dark",
        "/reviews.json",
        "/insights.json",
        "/feed.xml",
    ] {
        for accepted in ["identity", "gzip, deflate, br, zstd"] {
            let fields = [("accept-encoding", accepted.to_owned())];
            let counted = measure(&service, target, &fields, 200);
            assert_eq!(counted.count_total, COPIED_FIELDS, "{target} {accepted}");
        }
    }
    for target in ["/", "/reviews.json"] {
        let fields = [("if-none-match", tag_of(&service, target))];
        let counted = measure(&service, target, &fields, 304);
        assert_eq!(counted.count_total, COPIED_FIELDS, "304 of {target}");
    }
}

#[test]
fn parts_of_stored_documents_and_their_304_allocate_nothing() {
    let service = start();
    for target in [
        "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
        "/api/reviews/since/2019-01-01",
        "/api/reviews/since/9999-12-31",
    ] {
        for accepted in ["identity", "gzip, deflate, br, zstd"] {
            let fields = [("accept-encoding", accepted.to_owned())];
            let counted = measure(&service, target, &fields, 200);
            assert_eq!(counted.count_total, 0, "{target} {accepted}");
        }
    }
    for target in [
        "/api/reviews/since/2024-01-01",
        "/api/reviews/search?rating=5&query=probate&mentions_service=estate-planning",
        "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
    ] {
        let fields = [("if-none-match", tag_of(&service, target))];
        let counted = measure(&service, target, &fields, 304);
        assert_eq!(counted.count_total, 0, "304 of {target}");
    }
}

fn tag_of(service: &Service, target: &str) -> String {
    let response = answer(service, request(target, &[], HeaderMap::new()));
    let tag = response.headers()["etag"].to_str();
    tag.expect("ASCII").to_owned()
}

/// Only searches that find reviews; a search without results also allocates hints.
#[test]
fn a_search_allocates_its_reply_and_nothing_else() {
    let service = start();
    for query in [
        "",
        "?rating=5&limit=10",
        "?min_rating=4.5&since=2023-01-01&until=2025-12-31&limit=100",
        "?query=Caf%C3%A9",
        "?query=will&sort=highest&limit=5",
        "?mentions_technician=Ingrid+Thornquist&mentions_service=estate-planning",
        "?words=will+estate&limit=5",
        "?utm_source=letter&utm_medium=email&rating=4",
    ] {
        let target = format!("/api/reviews/search{query}");
        let counted = measure(&service, &target, &[], 200);
        let whole = answer(&service, request(&target, &[], HeaderMap::new()));
        let found = (counted.count_total, counted.bytes_total);
        assert_eq!(found, (1, whole.body().length()), "{query}");
    }
}

#[test]
fn a_search_of_the_index_allocates_nothing() {
    let service = start();
    let site = service.app.current();
    let index = &site.snapshot().index;
    let mut buffers = Buffers::default();
    let mut scratch = Scratch::default();
    for text in [
        "",
        "rating=5&limit=100",
        "query=e",
        "query=the+will",
        "query=no+such+words",
        "query=the&min_rating=3&since=2023-01-01&sort=lowest",
        "query=a&mentions_technician=Ingrid+Thornquist&mentions_service=estate-planning&sort=oldest",
    ] {
        let mut search = || {
            let query =
                parse_query(text.as_bytes(), &mut buffers).expect("a test's queries are right");
            run(index, &query, &mut scratch).matched
        };
        let matched = search();
        let mut again = 0;
        let counted = allocation_counter::measure(|| again = search());
        assert_eq!((again, counted.count_total), (matched, 0), "{text}");
    }
}
