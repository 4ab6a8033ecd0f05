//! Requests that are refused: unknown addresses, other methods, bad targets.

use crate::documents::READS;
use crate::exchange::service;

#[test]
fn unknown_paths_are_404() {
    let mut connection = service().connect();
    for path in [
        "//",
        "/reviews",
        "/reviews.json/",
        "/Reviews.json",
        "/api",
        "/api/reviews/",
        "/api/reviews/search/",
        "/api/reviews/since",
        "/api/reviews/since/2024-01-01/",
        "/api/../reviews.json",
        "/../../etc/passwd",
        "/%2e%2e/reviews.json",
        "/api%2Ffeed.json",
        "/%2572eviews.json",
        "/mcp/",
        "/api/websub/hub/",
        "/index.php?x=1",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let reply = connection.send(method, path, &[]);
            reply.assert_error(404, "not_found");
        }
    }
    for id in ["nobody", "..", "a%2Fb", "%C3%A9"] {
        let reply = connection.get(&format!("/api/reviews/{id}"));
        reply.assert_error(404, "not_found");
    }
}

#[test]
fn an_escaped_letter_is_the_letter() {
    let [plain, escaped] = ["/reviews.json", "/%72eviews%2ejson"].map(|path| service().get(path));
    assert_eq!((escaped.status, escaped.etag()), (200, plain.etag()));
    let search = service().get("/%61pi/reviews/%73earch?rating=5");
    assert_eq!(search.status, 200);
}

#[test]
fn broken_targets_are_400() {
    for target in [
        "/%",
        "/%zz",
        "/%4",
        "/reviews.json%00",
        "/%0d%0aX:1",
        "/%ff",
        "/%c3%28",
        "/%%41",
        "/%/a",
        "/%7f",
        "/%ed%a0%80",
        "/a%2Fb/%zz",
    ] {
        service().get(target).assert_error(400, "bad_request");
    }
}

#[test]
fn the_target_may_have_8192_bytes_and_no_more() {
    let target = |bytes: usize| format!("/reviews.json?{}", "a".repeat(bytes - 14));
    assert_eq!(service().get(&target(8_192)).status, 200);
    let beyond = service().get(&target(8_193));
    beyond.assert_error(414, "uri_too_long");
    // Beyond the bound of the header block hyper answers by itself.
    assert_eq!(service().get(&target(20_000)).status, 431);
}

#[test]
fn other_methods_are_405_with_allow() {
    for path in READS {
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"] {
            let reply = service().send(method, path, &[]);
            reply.assert_error(405, "method_not_allowed");
            let allow = reply.field("allow");
            assert_eq!(allow, Some("GET, HEAD, OPTIONS"), "{method} {path}");
        }
    }
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let reply = service().send(method, "/api/websub/hub", &[]);
        let found = (reply.status, reply.field("allow"));
        assert_eq!(found, (405, Some("POST, OPTIONS")), "{method}");
    }
}

#[test]
fn a_browser_gets_an_error_as_a_page() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let send = |method, path, accept| service().send(method, path, &[("Accept", accept)]);
    let method_refused = "This address is not for browsers";
    for (method, path, status, word, heading) in [
        ("GET", "/nowhere?x=1", 404, "not_found", "Page not found"),
        (
            "GET",
            "/api/reviews/nobody",
            404,
            "not_found",
            "Review not found",
        ),
        ("POST", "/", 405, "method_not_allowed", method_refused),
        (
            "GET",
            "/api/websub/hub",
            405,
            "method_not_allowed",
            method_refused,
        ),
        (
            "GET",
            "/%zz",
            400,
            "bad_request",
            "This address cannot be read",
        ),
    ] {
        let reply = send(method, path, BROWSER);
        assert_eq!(reply.status, status, "{method} {path}");
        let media_type = reply.field("content-type");
        assert_eq!(media_type, Some("text/html; charset=utf-8"));
        assert_eq!(reply.field("cache-control"), Some("no-store"));
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
        let policy = reply.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(reply.text().contains(heading), "{}", reply.text());
        assert_eq!(reply.field("allow").is_some(), status == 405);
        // A program gets JSON.
        for accept in ["*/*", "application/json, text/html;q=0.5"] {
            send(method, path, accept).assert_error(status, word);
        }
    }
    let head = send("HEAD", "/nowhere", BROWSER);
    assert_eq!((head.status, head.body.len()), (404, 0));
    // Issues of an interface stay what programs read.
    let issues = send("GET", "/api/reviews/search?rating=9", BROWSER);
    assert_eq!(issues.json()["error"], "validation_error");
}
