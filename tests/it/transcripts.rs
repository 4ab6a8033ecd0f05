//! Golden transcripts: the responses to one request of each kind, compared with a file.
//!
//! The requests are read from that file: to add one, write its lines there. A GET without fields is also sent over
//! HTTP/2, where status and body must be the same. A changed response is a changed line; `UPDATE_GOLDEN=1` rewrites
//! the file.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::help::assert_golden;
use crate::support::frames::Frames;
use crate::support::{Response, service};

/// A longer body is shown by length and digest.
const SHOWN_BODY_BYTES_MAX: usize = 600;

#[test]
fn responses_match_the_transcripts() {
    let mut transcripts = String::new();
    for request in requests() {
        let (head, body) = match request.rsplit_once('\n') {
            Some((head, body)) if !body.contains(": ") => (head, body),
            _ => (&*request, ""),
        };
        let response = exchange(&head.replace('\n', "\r\n"), body);
        let target = head
            .strip_prefix("GET ")
            .and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
        if let Some(target) = target {
            assert_http2(target, &response);
        }
        show(&request.replace('\n', "\n> "), &response, &mut transcripts);
    }
    // Larger than a limit, so shown by name only.
    let target = format!("GET /{} HTTP/1.1", "a".repeat(8_192));
    let fields = format!("GET / HTTP/1.1{}", "\r\nX: y".repeat(65));
    let form = "POST /api/websub/hub HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded";
    for (name, head, body_bytes) in [
        ("a target of 8,193 bytes", &*target, 0),
        ("65 fields", &fields, 0),
        ("a body of 8,193 bytes at the hub", form, 8_193),
    ] {
        let response = exchange(head, &"a".repeat(body_bytes));
        show(name, &response, &mut transcripts);
    }
    assert_golden("transcripts.txt", &transcripts);
}

/// Returns the requests in the file, whose lines begin with `> `: a request line, fields, and a body without `: `.
fn requests() -> Vec<String> {
    let mut requests: Vec<String> = Vec::new();
    let mut is_request = false;
    for line in include_str!("golden/transcripts.txt").lines() {
        match line.strip_prefix("> ") {
            Some(first) if first.ends_with(" HTTP/1.1") => requests.push(first.to_owned()),
            Some(more) if is_request => {
                *requests.last_mut().expect("a request") += &format!("\n{more}")
            }
            _ => {
                is_request = false;
                continue;
            }
        }
        is_request = true;
    }
    assert!(requests.len() > 60, "{requests:?}");
    requests
}

/// Sends a request on a new connection.
fn exchange(head: &str, body: &str) -> Response {
    let length = match body {
        "" => String::new(),
        body => format!("Content-Length: {}\r\n", body.len()),
    };
    let request = format!("{head}\r\nHost: reviews.example\r\n{length}\r\n{body}");
    let mut connection = service().connect();
    // The server may refuse the head and close the connection before the end of the body.
    let _gone = connection.try_write(request.as_bytes());
    connection.response(head.split(' ').next().expect("a method"))
}

fn show(request: &str, response: &Response, transcripts: &mut String) {
    writeln!(transcripts, "> {request}\n< {}", response.status).unwrap();
    let mut fields = response.fields.clone();
    fields.retain(|(name, _)| name != "date");
    fields.sort();
    for (name, value) in fields {
        writeln!(transcripts, "< {name}: {value}").unwrap();
    }
    let body = match std::str::from_utf8(&response.body) {
        Ok(text) if text.len() <= SHOWN_BODY_BYTES_MAX => text.to_owned(),
        _ => {
            let digest = Sha256::digest(&response.body);
            let short: String = digest[..8]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("[{} bytes, sha256 {short}]", response.body.len())
        }
    };
    writeln!(transcripts, "{body}\n").unwrap();
}

/// Asserts status and body of a GET over HTTP/2.
fn assert_http2(target: &str, expected: &Response) {
    /// Statuses of the static table and their indexed fields (RFC 7541 appendix A).
    const INDEXED: [(u16, u8); 3] = [(200, 0x88), (400, 0x8c), (404, 0x8d)];
    let mut indexed = INDEXED.iter();
    if let Some((_, field)) = indexed.find(|(status, _)| *status == expected.status) {
        let mut frames = Frames::open(service().address(), &[]);
        frames.get(1, target);
        let answer = frames.answer(1);
        assert_eq!(answer, (*field, expected.body.clone()), "{target}");
    }
}
