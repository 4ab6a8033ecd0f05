//! Limits of request bodies, on the two endpoints that read one.

use crate::support::{PING, send, service, statuses};

/// Sends a raw POST, and asserts the statuses of all responses, a 100 (Continue) included, and that the last one closes
/// the connection.
fn assert_ends(path: &str, fields: &str, body: &str, expected: &str) {
    let head = format!("POST {path} HTTP/1.1\r\nHost: reviews.example\r\n{fields}\r\n\r\n");
    let answer = service().exchange((head + body).as_bytes());
    assert_eq!(statuses(&answer).join(" "), expected, "{fields}: {answer}");
    let closes = answer.contains("connection: close\r\n");
    assert!(closes, "{fields}: {answer}");
}

#[test]
fn a_body_that_is_too_long_broken_or_missing_ends_the_connection() {
    let chunk = format!("{:x}\r\n{}\r\n", 5_000, "x".repeat(5_000));
    let long = chunk.repeat(2) + "0\r\n\r\n";
    let behind = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let whole = format!("{:x};a=b\r\n{PING}\r\n0\r\n\r\n{behind}", PING.len());
    let hub = "/api/websub/hub";
    let chunked = "Transfer-Encoding: chunked";
    let expecting = "Expect: 100-continue\r\nContent-Length: 10";
    for (path, fields, body, status) in [
        // No byte of the body is sent, so a server that waits for one would answer 408.
        (hub, "Content-Length: 8193", "", "413"),
        ("/mcp", "Content-Length: 1048577", "", "413"),
        ("/mcp", "Content-Length: 9000000000000000000", "", "413"),
        // Counted while it arrives.
        (hub, chunked, &*long, "413"),
        (hub, chunked, "zz\r\n", "400"),
        ("/mcp", chunked, &whole, "200"),
        ("/mcp", "Content-Length: 10", "", "408"),
        ("/mcp", expecting, "", "100 408"),
        ("/mcp", chunked, "", "408"),
    ] {
        let media_type = match path {
            "/mcp" => "application/json",
            _ => "application/x-www-form-urlencoded",
        };
        let fields = format!("Content-Type: {media_type}\r\n{fields}");
        assert_ends(path, &fields, body, status);
    }
}

#[test]
fn a_body_as_long_as_the_limit_is_read() {
    let form = "application/x-www-form-urlencoded";
    for (path, media_type, bytes) in [
        ("/mcp", "application/json", 1 << 20),
        ("/api/websub/hub", form, 8_192),
    ] {
        let fields = [("Content-Type", media_type)];
        let body = vec![b' '; bytes];
        let status = send(service().address(), "POST", path, &fields, &body).status;
        // 503 because this server has no hub; 400 because of the content.
        assert!(matches!(status, 400 | 503), "{path}: {status}");
    }
}

/// The client waits for 100 (Continue).
#[test]
fn with_expect_100_continue_an_invalid_head_is_refused_without_its_body() {
    let gzip = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    for (target, fields, status) in [
        ("/mcp", "Content-Type: text/plain\r\n", "415"),
        ("/mcp", "", "415"),
        ("/mcp", gzip, "415"),
        (
            "/api/websub/hub",
            "Content-Type: application/json\r\n",
            "415",
        ),
        ("/nowhere", "", "404"),
        ("/reviews.json", "", "405"),
    ] {
        let fields = format!("{fields}Expect: 100-continue\r\nContent-Length: 5");
        assert_ends(target, &fields, "", status);
    }
}

#[test]
fn a_body_in_a_content_coding_is_415() {
    for coding in ["identity", ""] {
        let response = service().post_mcp(&[("Content-Encoding", coding)], PING);
        assert_eq!(response.status, 200, "{coding}: {response:?}");
    }
    for coding in ["gzip", "identity, br"] {
        let response = service().post_mcp(&[("Content-Encoding", coding)], PING);
        assert_eq!(response.status, 415, "{coding}: {response:?}");
    }
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let fields = [form, ("Content-Encoding", "gzip")];
    let address = service().address();
    let hub = "/api/websub/hub";
    let response = send(address, "POST", hub, &fields, b"x");
    assert_eq!(response.status, 415);
    assert!(response.text().starts_with("content-encoding: "));
}

#[test]
fn without_a_hub_a_valid_form_is_503_with_a_line_of_text() {
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let body = b"hub.mode=subscribe&hub.topic=https://a.example/&hub.callback=https://b.example/";
    let address = service().address();
    let response = send(address, "POST", "/api/websub/hub", &[form], body);
    assert_eq!(response.status, 503);
    assert_eq!(response.text(), "the hub is not running\n");
    assert_eq!(response.field("retry-after"), Some("10"));
    assert_eq!(response.field("cache-control"), Some("no-store"));
}

#[test]
fn a_page_with_an_allowed_origin_can_read_why_its_body_is_refused() {
    let head = "POST /mcp HTTP/1.1\r\nHost: reviews.example\r\nOrigin: http://localhost:3000\r\n\
        Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let answer = service().exchange(head.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let is_allowed = answer.contains("access-control-allow-origin: http://localhost:3000\r\n");
    assert!(is_allowed, "{answer}");
}
