//! Malformed and ambiguous requests as raw bytes, and a few unusual but valid ones.

use crate::support::{service, statuses};

const CLOSING: &str = "Host: a\r\nConnection: close\r\n\r\n";

const BEHIND: &str = "GET /feed.xml HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Sends bytes, and another request after them. Asserts that the server answers the first with one of the `expected`
/// statuses, and closes the connection without answering the other.
fn assert_last_answer(bytes: &str, expected: &str) {
    let answer = service().exchange((bytes.to_owned() + BEHIND).as_bytes());
    let found = statuses(&answer);
    let is_expected = found.len() == 1 && expected.contains(found[0]);
    assert!(is_expected, "{bytes:?}: {answer:.800}");
}

#[test]
fn http_1_0_is_answered_and_closed_unless_it_asks_for_keep_alive() {
    let answer = service().exchange(b"GET /healthz HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
    let twice =
        "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n";
    let answer = service().exchange(twice.as_bytes());
    assert_eq!(answer.matches("200 OK").count(), 2, "{answer}");
}

#[test]
fn leading_empty_lines_and_bodies_of_a_declared_length_are_accepted() {
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (before, answers) in [
        ("\r\n\r\n", 1),
        (
            "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            2,
        ),
        (&format!("{post}Content-Length: 5\r\n\r\nhello"), 2),
    ] {
        let request = format!("{before}GET /healthz HTTP/1.1\r\n{CLOSING}");
        let answer = service().exchange(request.as_bytes());
        assert_eq!(answer.matches("HTTP/1.1 ").count(), answers, "{answer}");
        assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
    }
}

#[test]
fn malformed_request_lines_are_refused() {
    let lines = "hello|GET|GET /healthz|GET /healthz HTTP/1.1 |GET /healthz HTTP/3.0|GET  /healthz HTTP/1.1|\
        GET /heal\x00thz HTTP/1.1|GÉT /healthz HTTP/1.1|GET\r/healthz HTTP/1.1|GET /healthz HTTP/1.1\rX: b|\
        \x16\x03\x01\x02\x00\x01\x00\x01|GET a:443 HTTP/1.1|GET * HTTP/1.1|GET healthz HTTP/1.1|\
        GET http:///healthz HTTP/1.1";
    for line in lines.split('|') {
        assert_last_answer(&format!("{line}\r\nHost: a\r\n\r\n"), "400");
    }
}

#[test]
fn malformed_fields_are_refused() {
    for fields in [
        "",
        "Host: a\r\nX: \x00\r\n",
        "Host: a\r\n folded: b\r\n",
        "Host: a\r\nno colon\r\n",
        "Host: a\rX: b\r\n",
        "Host: a\r\nHost: a\r\n",
        "Host: a, b\r\n",
    ] {
        let bytes = format!("GET /healthz HTTP/1.1\r\n{fields}\r\n");
        assert_last_answer(&bytes, "400");
        let answer = service().exchange(bytes.as_bytes());
        let body = "{\"error\":\"bad_request\",\"message\":\"";
        assert!(answer.contains(body), "{answer}");
    }
}

#[test]
fn targets_that_are_not_of_this_service_are_refused() {
    for (target, expected) in [
        ("CONNECT /healthz", "400, 501"),
        ("CONNECT a:443", "501"),
        ("GET http://elsewhere.example/", "421"),
    ] {
        assert_last_answer(&format!("{target} HTTP/1.1\r\nHost: a\r\n\r\n"), expected);
    }
}

#[test]
fn ambiguous_framing_closes_the_connection() {
    for (fields, expected) in [
        ("Transfer-Encoding: gzip, chunked", "501"),
        ("Transfer-Encoding: chunked, chunked", "400, 501"),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "501",
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "400, 501",
        ),
        ("Transfer-Encoding: identity", "400, 501"),
        (
            "Transfer-Encoding: xchunked\r\nContent-Length: 5",
            "400, 501",
        ),
        ("Transfer-Encoding: \x0bchunked", "400, 501"),
        ("Transfer-Encoding : chunked", "400"),
        ("Transfer-Encoding:\r\n chunked", "400"),
        ("X: y\r\n Transfer-Encoding: chunked", "400"),
        ("X: y\rTransfer-Encoding: chunked", "400"),
        ("Content-Length: 5\r\nContent-Length: 6", "400"),
        ("Content-Length: +5", "400"),
        ("Content-Length: -5", "400"),
        ("Content-Length: 0x5", "400"),
        ("Content-Length: 5;", "400"),
        ("Content-Length: 5, 5", "400"),
        ("Content-Length : 5", "400"),
        ("Content-Length: 99999999999999999999", "400"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", "200"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3", "200"),
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n0\r\n\r\n");
        assert_last_answer(&request, expected);
    }
}

#[test]
fn malformed_chunks_close_the_connection() {
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for chunks in [
        "5\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-0\r\n\r\n",
        "5\r\nhelloXX0\r\n\r\n",
        "5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n",
        "5;\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "0\r\nContent-Length: 40\r\n\r\n",
        "0\r\n\n",
        "0\n\n",
    ] {
        let request = format!("{post}Transfer-Encoding: chunked\r\n\r\n{chunks}{BEHIND}");
        let answer = service().exchange(request.as_bytes());
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{chunks:?}");
        assert!(!answer.contains("<feed"), "{chunks:?}: {answer}");
    }
}

/// The body is not read, the response is larger than the socket buffers, and another request follows.
#[test]
fn a_read_with_a_body_is_answered_and_ends_the_connection() {
    for body in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        for method in ["GET", "HEAD", "OPTIONS"] {
            let request = format!("{method} /reviews.json HTTP/1.1\r\nHost: a\r\n{body}");
            assert_last_answer(&request, "200, 204");
            let answer = service().exchange(request.as_bytes());
            assert!(answer.contains("\r\nconnection: close\r\n"), "{method}");
        }
    }
}
