//! Requests that are refused: unknown addresses, other methods, bad targets, bad hosts.

use crate::documents::READS;
use crate::exchange::service;

#[test]
fn unknown_paths_are_404() {
    for path in [
        "//",
        "/reviews",
        "/reviews.json/",
        "/Reviews.json",
        "/api",
        "/api/",
        "/api/reviews",
        "/api/reviews/",
        "/api/reviews/search/",
        "/api/reviews/since",
        "/api/reviews/since/",
        "/api/reviews/since/2024-01-01/",
        "/api/../reviews.json",
        "/./reviews.json",
        "/..",
        "/../../etc/passwd",
        "/%2e%2e/reviews.json",
        "/api%2Ffeed.json",
        "/reviews.json%2F",
        "/mcp/",
        "/api/websub/hub/",
        "/favicon.ico",
        "/index.php?x=1",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            service()
                .send(method, path, &[])
                .assert_error(404, "not_found");
        }
    }
}

#[test]
fn an_escaped_letter_is_the_letter() {
    let reply = service().get("/%72eviews%2ejson");
    assert_eq!(
        (reply.status, reply.etag()),
        (200, service().get("/reviews.json").etag())
    );
    assert_eq!(
        service().get("/%61pi/reviews/%73earch?rating=5").status,
        200
    );
    assert_eq!(service().get("/%2572eviews.json").status, 404);
}

#[test]
fn broken_targets_are_400() {
    for target in [
        "/%",
        "/%zz",
        "/reviews.json%",
        "/%4",
        "/%00",
        "/reviews.json%00",
        "/%0d%0aX:1",
        "/%ff",
        "/%c3%28",
    ] {
        service().get(target).assert_error(400, "bad_request");
    }
    service()
        .send("GET", "*", &[])
        .assert_error(400, "bad_request");
}

#[test]
fn the_target_may_have_8192_bytes_and_no_more() {
    let target = |bytes: usize| format!("/reviews.json?{}", "a".repeat(bytes - 14));
    assert_eq!(service().get(&target(8_192)).status, 200);
    service()
        .get(&target(8_193))
        .assert_error(414, "uri_too_long");
    service()
        .get(&target(12_000))
        .assert_error(414, "uri_too_long");
    // Beyond the bound of the header block hyper answers by itself.
    assert_eq!(service().get(&target(20_000)).status, 431);
}

#[test]
fn other_methods_are_405_with_allow() {
    for path in READS {
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"] {
            let reply = service().send(method, path, &[]);
            reply.assert_error(405, "method_not_allowed");
            assert_eq!(
                reply.field("allow"),
                Some("GET, HEAD, OPTIONS"),
                "{method} {path}"
            );
        }
    }
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let reply = service().send(method, "/api/websub/hub", &[]);
        assert_eq!(
            (reply.status, reply.field("allow")),
            (405, Some("POST, OPTIONS")),
            "{method}"
        );
    }
}

#[test]
fn connect_is_501_and_ends_the_connection() {
    let answer =
        service().exchange(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
}

#[test]
fn an_authorization_is_ignored() {
    let reply = service().send(
        "GET",
        "/reviews.json",
        &[("Authorization", "Bearer nonsense")],
    );
    assert_eq!(reply.status, 200);
}

#[test]
fn a_host_is_needed_once_and_well_formed() {
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a:b\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a:99999\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: user@a\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
        (
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "200",
        ),
        (
            "GET /healthz HTTP/1.1\r\nhOST:\t[::1]:8080 \r\nConnection: close\r\n\r\n",
            "200",
        ),
        ("GET /healthz HTTP/1.0\r\n\r\n", "200"),
        ("GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
    ] {
        let answer = service().exchange(request.as_bytes());
        assert_eq!(
            answer.split(' ').nth(1),
            Some(status),
            "{request:?} {answer}"
        );
    }
}

#[test]
fn an_absolute_target_must_be_ours() {
    for (target, status) in [
        ("https://reviews.example/healthz", "200"),
        ("http://localhost/healthz", "200"),
        ("http://127.0.0.1:8080/healthz", "200"),
        ("http://example.com/healthz", "421"),
        ("ftp://reviews.example/healthz", "400"),
        ("http://user@reviews.example/healthz", "400"),
    ] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: reviews.example\r\nConnection: close\r\n\r\n");
        let answer = service().exchange(request.as_bytes());
        assert_eq!(answer.split(' ').nth(1), Some(status), "{target} {answer}");
    }
}

const BROWSER: (&str, &str) = (
    "Accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);

#[test]
fn a_browser_gets_an_error_as_a_page() {
    for (method, path, status, heading) in [
        ("GET", "/nowhere", 404, "Page not found"),
        ("GET", "/nowhere?x=1", 404, "Page not found"),
        ("GET", "/api/reviews/nobody", 404, "Review not found"),
        ("POST", "/", 405, "This address is not for browsers"),
        (
            "GET",
            "/api/websub/hub",
            405,
            "This address is not for browsers",
        ),
        ("GET", "/%zz", 400, "This address cannot be read"),
    ] {
        let reply = service().send(method, path, &[BROWSER]);
        assert_eq!(reply.status, status, "{method} {path}");
        assert_eq!(
            reply.field("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(reply.field("cache-control"), Some("no-store"));
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
        let policy = reply.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(reply.text().contains(heading), "{}", reply.text());
        assert_eq!(reply.field("allow").is_some(), status == 405);
        // A program gets what it always got.
        let error = match status {
            404 => "not_found",
            405 => "method_not_allowed",
            _ => "bad_request",
        };
        for accept in [
            "*/*",
            "application/json",
            "application/json, text/html;q=0.5",
        ] {
            let reply = service().send(method, path, &[("Accept", accept)]);
            reply.assert_error(status, error);
        }
    }
    let head = service().send("HEAD", "/nowhere", &[BROWSER]);
    assert_eq!((head.status, head.body.len()), (404, 0));
    // Issues of an interface stay what programs read.
    let issues = service().send("GET", "/api/reviews/search?rating=9", &[BROWSER]);
    assert_eq!(issues.json()["error"], "validation_error");
}
