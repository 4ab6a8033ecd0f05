//! Bytes on the socket that no well-behaved client sends, and a few that some do.

use crate::exchange::service;

const CLOSING: &str = "Host: a\r\nConnection: close\r\n\r\n";

fn status_of(answer: &str) -> Option<&str> {
    answer.split(' ').nth(1)
}

#[test]
fn http_1_0_is_answered_and_closed_unless_it_asks_otherwise() {
    let answer = service().exchange(b"GET /healthz HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
    let twice =
        "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n";
    let answer = service().exchange(twice.as_bytes());
    assert_eq!(answer.matches("200 OK").count(), 2, "{answer}");
}

#[test]
fn bare_line_feeds_and_leading_empty_lines_do_no_harm() {
    let request = format!("GET /healthz HTTP/1.1\r\n{CLOSING}");
    let answer = service().exchange(format!("\r\n\r\n{request}").as_bytes());
    assert_eq!(status_of(&answer), Some("200"));
    // RFC 9112 §2.2 lets a recipient take a bare line feed for the end of a line.
    let answer = service().exchange(request.replace('\r', "").as_bytes());
    let status = status_of(&answer);
    assert!(matches!(status, Some("200" | "400")), "{answer}");
}

#[test]
fn what_is_no_request_is_400() {
    for bytes in [
        &b"hello\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n",
        b"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /heal\x00thz HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"G\xc3\xa9T /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n",
    ] {
        let answer = service().exchange(bytes);
        let body = "{\"error\":\"bad_request\",\"message\":\"";
        assert!(answer.contains(body), "{answer}");
        let said = bytes.escape_ascii();
        assert_eq!(status_of(&answer), Some("400"), "{said} {answer}");
    }
}

#[test]
fn framing_that_parsers_disagree_about_ends_the_connection() {
    for (fields, statuses) in [
        ("Transfer-Encoding: gzip, chunked\r\n", &["501"][..]),
        ("Transfer-Encoding: chunked, chunked\r\n", &["400", "501"]),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            &["501"],
        ),
        ("Transfer-Encoding: identity\r\n", &["400", "501"]),
        ("Transfer-Encoding: \x0bchunked\r\n", &["400", "501"]),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", &["400"]),
        ("Content-Length: +5\r\n", &["400"]),
        ("Content-Length: 5, 5\r\n", &["400"]),
        ("Content-Length: 99999999999999999999\r\n", &["400"]),
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            &["200"],
        ),
    ] {
        let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{fields}\r\n{smuggled}");
        let answer = service().exchange(request.as_bytes());
        let status = status_of(&answer).unwrap_or("");
        assert!(statuses.contains(&status), "{fields:?} {answer}");
        let answers = answer.matches("HTTP/1.1 ").count();
        assert_eq!(answers, 1, "{fields:?} {answer}");
    }
}

#[test]
fn a_read_with_a_body_is_answered_and_ends_the_connection() {
    for body in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        for method in ["GET", "HEAD", "OPTIONS"] {
            // A body that is ignored, a reply larger than the socket's buffers, and a request behind it.
            let request = format!("{method} /reviews.json HTTP/1.1\r\nHost: a\r\n{body}");
            let behind = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
            let answer = service().exchange((request + behind).as_bytes());
            let status = status_of(&answer);
            assert!(
                matches!(status, Some("200" | "204")),
                "{method} {answer:.80}"
            );
            let closes = answer.contains("\r\nconnection: close\r\n");
            assert!(closes, "{method} {answer:.800}");
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{method}");
        }
    }
    let empty = format!("GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n{CLOSING}");
    let answer = service().exchange(empty.as_bytes());
    assert_eq!(status_of(&answer), Some("200"));
}

#[test]
fn no_framing_lets_what_is_behind_a_body_be_taken_for_a_request() {
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    let behind = "GET /feed.xml HTTP/1.1\r\nHost: a\r\n\r\n";
    for (fields, body) in [
        // One parser counts, another takes chunks.
        (
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n",
            "0\r\n\r\n",
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
        ),
        (
            "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n",
            "hello",
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "0\r\n\r\n",
        ),
        ("Transfer-Encoding : chunked\r\n\r\n", "0\r\n\r\n"),
        ("X: y\r\n Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"),
        ("X: y\rTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding:\r\n chunked\r\n\r\n", "0\r\n\r\n"),
        ("Content-Length : 5\r\n\r\n", "hello"),
        ("Content-Length: 0x5\r\n\r\n", "hello"),
        ("Content-Length: -5\r\n\r\n", "hello"),
        ("Content-Length: 5;\r\n\r\n", "hello"),
        // One parser reads a chunk, another its neighbour.
        (chunked, "5\nhello\r\n0\r\n\r\n"),
        (chunked, "5 \r\nhello\r\n0\r\n\r\n"),
        (chunked, "0x5\r\nhello\r\n0\r\n\r\n"),
        (chunked, "+5\r\nhello\r\n0\r\n\r\n"),
        (chunked, "-0\r\n\r\n"),
        (chunked, "5\r\nhelloXX0\r\n\r\n"),
        (chunked, "5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n"),
        (chunked, "5;\nhello\r\n0\r\n\r\n"),
        (chunked, "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        (chunked, "0\r\nContent-Length: 40\r\n\r\n"),
        (chunked, "0\r\n\n"),
        (chunked, "0\n\n"),
    ] {
        let answer = service().exchange(format!("{post}{fields}{body}{behind}").as_bytes());
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{fields:?} {body:?}: {answer}");
        assert!(!answer.contains("<feed"), "{fields:?} {body:?}");
    }
}

#[test]
fn a_body_of_a_declared_length_is_followed_by_the_next_request() {
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let request = format!("{post}Content-Length: 5\r\n\r\nhelloGET /healthz HTTP/1.1\r\n{CLOSING}");
    let answer = service().exchange(request.as_bytes());
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 2, "{answer}");
    assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
}

#[test]
fn bare_carriage_returns_and_targets_of_other_forms_are_refused() {
    for (request, statuses) in [
        ("GET /healthz HTTP/1.1\rHost: a\r\n", &["400"][..]),
        ("GET /healthz HTTP/1.1\r\nHost: a\rX: b\r\n", &["400"]),
        ("GET\r/healthz HTTP/1.1\r\nHost: a\r\n", &["400"]),
        ("CONNECT /healthz HTTP/1.1\r\nHost: a\r\n", &["400", "501"]),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n", &["501"]),
        ("GET a:443 HTTP/1.1\r\nHost: a\r\n", &["400"]),
        ("GET * HTTP/1.1\r\nHost: a\r\n", &["400"]),
        ("GET healthz HTTP/1.1\r\nHost: a\r\n", &["400"]),
        ("GET http:///healthz HTTP/1.1\r\nHost: a\r\n", &["400"]),
        (
            "GET http://elsewhere.example/ HTTP/1.1\r\nHost: a\r\n",
            &["421"],
        ),
        ("GET /healthz#part HTTP/1.1\r\nHost: a\r\n", &["200", "400"]),
    ] {
        let request = format!("{request}\r\nGET /feed.xml HTTP/1.1\r\n{CLOSING}");
        let answer = service().exchange(request.as_bytes());
        let status = status_of(&answer).unwrap_or("");
        assert!(statuses.contains(&status), "{request:?} {answer}");
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(status == "200" || answers == 1, "{request:?} {answer}");
    }
}
