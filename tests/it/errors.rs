//! Requests that are refused: unknown addresses, other methods, bad targets.

use crate::interface::targets;
use crate::support::service;

#[test]
fn unknown_paths_are_404() {
    let mut connection = service().connect();
    let unknown = "//|/reviews|/reviews.json/|/Reviews.json|/api|/api/reviews/|/api/reviews/search/|/api/reviews/since|\
        /api/reviews/since/2024-01-01/|/api/../reviews.json|/../../etc/passwd|/%2e%2e/reviews.json|\
        /api%2Ffeed.json|/%2572eviews.json|/mcp//|/api/websub/hub/|/index.php?x=1";
    for path in unknown.split('|') {
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
fn broken_targets_are_400() {
    let broken = "/%|/%4|/reviews.json%00|/%0d%0aX:1|/%c3%28|/%%41|/%/a|/%7f|/%ed%a0%80|/a%2Fb/%zz";
    for target in broken.split('|') {
        service().get(target).assert_error(400, "bad_request");
    }
}

#[test]
fn the_target_may_have_8192_bytes_and_no_more() {
    let get = |bytes: usize| service().get(&format!("/reviews.json?{}", "a".repeat(bytes - 14)));
    assert_eq!(get(8_192).status, 200);
    get(8_193).assert_error(414, "uri_too_long");
    // Above the limit of the header block, hyper itself answers.
    assert_eq!(get(20_000).status, 431);
}

#[test]
fn other_methods_are_405_with_allow() {
    let mut connection = service().connect();
    let mut assert_refused = |path: &str, methods: &[&str], allow| {
        for method in methods {
            let reply = connection.send(method, path, &[]);
            reply.assert_error(405, "method_not_allowed");
            assert_eq!(reply.field("allow"), Some(allow), "{method} {path}");
        }
    };
    for path in &targets() {
        let others = ["POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"];
        assert_refused(path, &others, "GET, HEAD, OPTIONS");
    }
    let others = ["GET", "PUT", "DELETE"];
    assert_refused("/api/websub/hub", &others, "POST, OPTIONS");
}

#[test]
fn a_browser_gets_an_error_as_a_page_and_a_program_gets_json() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let send = |method, path, accept| service().send(method, path, &[("Accept", accept)]);
    for (method, path, status, word, heading) in [
        (
            "GET",
            "/nowhere?x=1",
            404,
            "not_found",
            "This page does not exist",
        ),
        (
            "GET",
            "/api/reviews/x",
            404,
            "not_found",
            "This page does not exist",
        ),
        ("POST", "/", 405, "method_not_allowed", "not for browsers"),
        ("GET", "/%zz", 400, "bad_request", "is not valid"),
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
        for accept in ["*/*", "application/json, text/html;q=0.5"] {
            send(method, path, accept).assert_error(status, word);
        }
    }
    // Validation errors of the API stay JSON, even for browsers.
    let issues = send("GET", "/api/reviews/search?rating=9", BROWSER);
    issues.assert_error(400, "validation_error");
}
