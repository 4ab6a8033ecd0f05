//! Request bodies: their bounds, for the two addresses that read one.

use crate::exchange::service;
use crate::support::Response;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Sends a POST as it is, and returns everything up to the close, without a `100 Continue`.
fn post(path: &str, fields: &str, body: &str) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nHost: reviews.example\r\n{fields}\r\n\r\n");
    let answer = service().exchange((head + body).as_bytes());
    let rest = answer.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n");
    rest.map_or_else(|| answer.clone(), str::to_owned)
}

#[test]
fn a_body_that_is_too_long_broken_or_missing_ends_the_connection() {
    let chunk = format!("{:x}\r\n{}\r\n", 5_000, "x".repeat(5_000));
    let long = chunk.repeat(2) + "0\r\n\r\n";
    for (path, fields, body, status) in [
        // Not a byte of these comes, so a server that waits for one ends at 408.
        ("/api/websub/hub", "Content-Length: 8193", "", 413),
        ("/mcp", "Content-Length: 1048577", "", 413),
        ("/mcp", "Content-Length: 9000000000000000000", "", 413),
        // Counted as it comes.
        ("/api/websub/hub", "Transfer-Encoding: chunked", &long, 413),
        (
            "/api/websub/hub",
            "Transfer-Encoding: chunked",
            "zz\r\n",
            400,
        ),
        ("/mcp", "Content-Length: 10", "", 408),
        (
            "/mcp",
            "Expect: 100-continue\r\nContent-Length: 10",
            "",
            408,
        ),
        ("/mcp", "Transfer-Encoding: chunked", "", 408),
    ] {
        let answer = post(
            path,
            &format!("Content-Type: application/json\r\n{fields}"),
            body,
        );
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{fields}: {answer}");
        assert!(answer.contains("connection: close"), "{fields}: {answer}");
    }
}

#[test]
fn a_body_in_chunks_is_read_and_ends_the_connection() {
    let fields = "Content-Type: application/json\r\nTransfer-Encoding: chunked";
    let behind = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let body = format!("{:x};a=b\r\n{PING}\r\n0\r\n\r\n{behind}", PING.len());
    let answer = post("/mcp", fields, &body);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[test]
fn a_body_as_long_as_the_limit_is_read() {
    for (path, media_type, bytes) in [
        ("/mcp", "application/json", 1 << 20),
        (
            "/api/websub/hub",
            "application/x-www-form-urlencoded",
            8_192,
        ),
    ] {
        let mut connection = service().connect();
        let body = vec![b' '; bytes];
        connection.request("POST", path, &[("Content-Type", media_type)], &body);
        let status = connection.response("POST").status;
        // There is no hub here; 400 says what is wrong with the content.
        assert!(matches!(status, 400 | 503), "{path}: {status}");
    }
}

/// A client that waits to hear whether to send its body.
#[test]
fn a_head_that_is_refused_anyway_is_not_asked_for_its_body() {
    const JSON: &str = "Content-Type: application/json\r\n";
    const GZIP: &str = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    for (target, fields, status) in [
        ("/mcp", "Content-Type: text/plain\r\n", "415"),
        ("/mcp", "", "415"),
        ("/mcp", GZIP, "415"),
        ("/api/websub/hub", JSON, "415"),
        ("/nowhere", "", "404"),
        ("/reviews.json", "", "405"),
    ] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: reviews.example\r\n{fields}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        );
        let answer = service().exchange(request.as_bytes());
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{target} {fields}: {answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
}

#[test]
fn a_body_in_a_content_coding_is_415() {
    let send = |path, media_type, coding, body: &str| -> Response {
        let fields = [("Content-Type", media_type), ("Content-Encoding", coding)];
        let mut connection = service().connect();
        connection.request("POST", path, &fields, body.as_bytes());
        connection.response("POST")
    };
    for (coding, status) in [
        ("gzip", 415),
        ("identity, br", 415),
        ("identity", 200),
        ("", 200),
    ] {
        let response = send("/mcp", "application/json", coding, PING);
        assert_eq!(response.status, status, "{coding}: {response:?}");
    }
    let form = "application/x-www-form-urlencoded";
    let response = send("/api/websub/hub", form, "gzip", "x");
    assert_eq!(response.status, 415);
    assert!(response.text().starts_with("content-encoding: "));
}
