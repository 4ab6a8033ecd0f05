//! Request bodies: their bounds, for the two addresses that read one.

use crate::exchange::service;

fn post(path: &str, fields: &str, body: &str) -> String {
    let request =
        format!("POST {path} HTTP/1.1\r\nHost: reviews.example\r\n{fields}\r\n\r\n{body}");
    service().exchange(request.as_bytes())
}

#[test]
fn a_declared_length_over_the_limit_is_413_at_once() {
    // Not a byte of the bodies comes, so whoever waits for one ends at 408.
    for (path, bytes) in [
        ("/api/websub/hub", 8_193u64),
        ("/mcp", (1 << 20) + 1),
        ("/mcp", 9_000_000_000_000_000_000),
    ] {
        let answer = post(
            path,
            &format!("Content-Type: x/y\r\nContent-Length: {bytes}"),
            "",
        );
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path} {answer}");
        assert!(answer.contains("connection: close"), "{path} {answer}");
    }
}

#[test]
fn a_body_in_chunks_is_counted_as_it_comes() {
    let chunk = format!("{:x}\r\n{}\r\n", 5_000, "x".repeat(5_000));
    let body = chunk.repeat(2) + "0\r\n\r\n";
    let answer = post("/api/websub/hub", "Transfer-Encoding: chunked", &body);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn a_body_that_does_not_come_is_408() {
    for fields in [
        "Content-Length: 10",
        "Transfer-Encoding: chunked",
        "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 10",
    ] {
        let answer = post("/mcp", fields, "");
        let answer = answer
            .strip_prefix("HTTP/1.1 100 Continue\r\n\r\n")
            .unwrap_or(&answer);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{fields} {answer}");
        assert!(answer.contains("connection: close"), "{fields} {answer}");
    }
}

#[test]
fn a_broken_chunk_is_400() {
    let answer = post("/api/websub/hub", "Transfer-Encoding: chunked", "zz\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[test]
fn a_body_in_chunks_is_read_and_ends_the_connection() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let fields =
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let chunked = format!("{fields}Transfer-Encoding: chunked");
    let answer = post(
        "/mcp",
        &chunked,
        &format!(
            "{:x};a=b\r\n{ping}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
            ping.len()
        ),
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[test]
fn a_body_as_long_as_the_limit_is_read() {
    let bytes = 1 << 20;
    let fields =
        format!("Content-Type: application/json\r\nConnection: close\r\nContent-Length: {bytes}");
    let answer = post("/mcp", &fields, &" ".repeat(bytes));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

/// A client that waits to hear whether to send its body.
#[test]
fn a_head_that_is_refused_anyway_is_not_asked_for_its_body() {
    for (target, fields, status) in [
        ("/mcp", "Content-Type: text/plain\r\n", "415"),
        ("/mcp", "", "415"),
        (
            "/mcp",
            "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
            "415",
        ),
        (
            "/api/websub/hub",
            "Content-Type: application/json\r\n",
            "415",
        ),
        ("/nowhere", "", "404"),
        ("/reviews.json", "", "405"),
    ] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: reviews.example\r\n{fields}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        );
        let answer = service().exchange(request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{target} {fields}: {answer}"
        );
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
}

#[test]
fn a_body_in_a_content_coding_is_415() {
    let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (coding, status) in [
        ("gzip", 415),
        ("identity, br", 415),
        ("identity", 200),
        ("", 200),
    ] {
        let fields = [
            ("Content-Type", "application/json"),
            ("Content-Encoding", coding),
        ];
        let mut connection = service().connect();
        connection.request("POST", "/mcp", &fields, message);
        let response = connection.response("POST");
        assert_eq!(response.status, status, "{coding}: {response:?}");
    }
    let fields = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Encoding", "gzip"),
    ];
    let mut connection = service().connect();
    connection.request("POST", "/api/websub/hub", &fields, b"x");
    let response = connection.response("POST");
    assert_eq!(response.status, 415);
    assert!(response.text().starts_with("content-encoding: "));
}
