//! Golden transcripts: what the server answers to one request of each kind, held against a file.
//!
//! GET requests go out over HTTP/2 as well, where status and body must be the same. A changed answer shows up as a changed
//! line; `UPDATE_GOLDEN=1` writes the file anew.

use std::fmt::Write;

use memchr::memmem::find;
use sha2::{Digest, Sha256};

use crate::help::assert_golden;
use crate::pipelining::{self, LAST, undated};
use crate::support::client::parse_head;
use crate::support::frames::Frames;
use crate::support::{Response, Server, wait_until};

/// A longer body is shown by length and digest.
const SHOWN_BODY_BYTES_MAX: usize = 600;

/// A review of the sample.
const REVIEW: &str = "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS";

/// GET requests without fields of their own.
const READS: [&str; 45] = [
    "/",
    "/?query=will",
    "/?rating=9",
    "/reviews.json",
    "/insights.json",
    "/api/feed.json",
    "/feed.xml",
    "/mcp/server-card",
    "/.well-known/ai-catalog.json",
    "/page.css",
    "/page.js",
    "/favicon.svg",
    "/reviews.jsonld",
    "/badge.svg",
    "/badge.svg?theme=dark",
    "/widget.html",
    "/widget.css",
    "/widget.js",
    "/developers",
    "/developers.js",
    "/openapi.json",
    "/llms.txt",
    "/robots.txt",
    "/sitemap.xml",
    "/.well-known/api-catalog",
    "/healthz",
    REVIEW,
    "/api/reviews/unknown",
    "/api/reviews/since/2024-01-01",
    "/api/reviews/since/2023-02-30",
    "/api/reviews/since/2024-01-01?utm_source=x",
    "/api/reviews/search",
    "/api/reviews/search?rating=5&limit=2",
    "/api/reviews/search?min_rating=4.5&since=2023-01-01&until=2023-12-31",
    "/api/reviews/search?query=probate&limit=1",
    "/api/reviews/search?query=nothing+has+this",
    "/api/reviews/search?mentions_service=estate-planning&limit=1",
    "/api/reviews/search?sort=lowest&limit=1&utm_source=x",
    "/api/reviews/search?rating=9&min_rating=x&since=2023-02-30&limit=0&sort=odd&cursor=!",
    "/api/reviews/search?rating=5&rating=4",
    "/api/reviews/search?query=%zz",
    "/nowhere",
    "/reviews.json/",
    "/mcp",
    "/api/websub/hub",
];

/// A request line and fields, without Host and the empty line, and a body.
const OTHERS: [(&str, &str); 23] = [
    ("HEAD /reviews.json HTTP/1.1", ""),
    ("HEAD /api/reviews/search?rating=5 HTTP/1.1", ""),
    ("GET /reviews.json HTTP/1.1\r\nAccept-Encoding: gzip", ""),
    ("GET /reviews.json HTTP/1.1\r\nAccept-Encoding: br", ""),
    ("GET /reviews.json HTTP/1.1\r\nIf-None-Match: *", ""),
    (
        "GET /reviews.json HTTP/1.1\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT",
        "",
    ),
    ("GET /reviews.json HTTP/1.1\r\nIf-Match: \"other\"", ""),
    (
        "GET /api/reviews/search?rating=5 HTTP/1.1\r\nIf-None-Match: *",
        "",
    ),
    ("POST /reviews.json HTTP/1.1", "x"),
    ("DELETE /api/reviews/search HTTP/1.1", ""),
    (
        "OPTIONS /reviews.json HTTP/1.1\r\nOrigin: https://elsewhere.example\r\nAccess-Control-Request-Method: GET",
        "",
    ),
    ("OPTIONS * HTTP/1.1", ""),
    (
        "OPTIONS /mcp HTTP/1.1\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Method: POST",
        "",
    ),
    (
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-06-18",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_business","arguments":{}}}"#,
    ),
    (
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    ),
    (
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream",
        "{",
    ),
    (
        "POST /mcp HTTP/1.1\r\nContent-Type: text/plain\r\nAccept: application/json, text/event-stream",
        "{}",
    ),
    (
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nOrigin: https://elsewhere.example",
        "{}",
    ),
    (
        "POST /api/websub/hub HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded",
        "hub.mode=subscribe",
    ),
    (
        "POST /api/websub/hub HTTP/1.1\r\nContent-Type: text/plain",
        "hub.mode=subscribe",
    ),
    ("GET /reviews.json HTTP/1.1\r\nExpect: something-else", ""),
    ("GET http://elsewhere.example/ HTTP/1.1", ""),
    ("BREW /reviews.json HTTP/1.1", ""),
];

fn server() -> Server {
    let server = Server::start_with(|config| {
        config.base_url = Some("https://reviews.example".to_owned());
    });
    wait_until("all variants are made", || {
        ["/reviews.json", "/insights.json"].into_iter().all(|path| {
            let reply = server.get_with(path, &[("Accept-Encoding", "br")]);
            reply.field("content-encoding") == Some("br")
        })
    });
    server
}

#[test]
fn answers_are_those_of_the_transcripts() {
    let server = server();
    let mut transcripts = String::new();
    for target in READS {
        let response = transcribe(
            &server,
            &format!("GET {target} HTTP/1.1"),
            "",
            &mut transcripts,
        );
        assert_http2(&server, target, &response);
    }
    for (head, body) in OTHERS {
        transcribe(&server, head, body, &mut transcripts);
    }
    // Larger than a limit, so shown by name only.
    let fields = "X: y\r\n".repeat(65);
    for (name, head) in [
        (
            "a target of 8,193 bytes",
            format!("GET /{} HTTP/1.1", "a".repeat(8_192)),
        ),
        (
            "65 fields",
            format!("GET / HTTP/1.1\r\n{}", fields.trim_end()),
        ),
        (
            "a body of 8,193 bytes at the hub",
            "POST /api/websub/hub HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"
                .to_owned(),
        ),
    ] {
        let body = if name.contains("body") {
            "a".repeat(8_193)
        } else {
            String::new()
        };
        let response = exchange(&server, &head, &body);
        show(name, &response, &mut transcripts);
    }
    assert_golden("transcripts.txt", &transcripts);
}

/// Sends a request, and adds it and its answer to `transcripts`.
fn transcribe(server: &Server, head: &str, body: &str, transcripts: &mut String) -> Response {
    let response = exchange(server, head, body);
    let request = [head.replace("\r\n", "\n> "), body.to_owned()].join("\n> ");
    show(request.trim_end_matches("\n> "), &response, transcripts);
    response
}

fn exchange(server: &Server, head: &str, body: &str) -> Response {
    let length = match body {
        "" => String::new(),
        body => format!("Content-Length: {}\r\n", body.len()),
    };
    let request = format!("{head}\r\nHost: reviews.example\r\n{length}\r\n{body}{LAST}");
    let answer = undated(pipelining::exchange(server.address(), request.as_bytes()));
    let end = find(&answer, b"\r\n\r\n").expect("a head comes") + 4;
    let head = str::from_utf8(&answer[..end]).expect("a head is text");
    let (status, fields) = parse_head(head).expect("a head is well formed");
    let mut response = Response {
        status,
        fields,
        body: Vec::new(),
    };
    if !request.starts_with("HEAD")
        && let Some(length) = response.field("content-length")
    {
        let length: usize = length.parse().expect("a length is a number");
        response.body = answer[end..end + length].to_owned();
    }
    response
}

fn show(request: &str, response: &Response, transcripts: &mut String) {
    writeln!(transcripts, "> {request}\n< {}", response.status).unwrap();
    let mut fields: Vec<_> = response
        .fields
        .iter()
        .filter(|(name, _)| name != "date")
        .collect();
    fields.sort();
    for (name, value) in fields {
        writeln!(transcripts, "< {name}: {value}").unwrap();
    }
    match std::str::from_utf8(&response.body) {
        Ok(text) if text.len() <= SHOWN_BODY_BYTES_MAX => {
            writeln!(transcripts, "{text}\n").unwrap()
        }
        _ => {
            let digest = Sha256::digest(&response.body);
            let short: String = digest[..8]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            writeln!(
                transcripts,
                "[{} bytes, sha256 {short}]\n",
                response.body.len()
            )
            .unwrap();
        }
    }
}

/// Asserts status and body of a GET over HTTP/2.
fn assert_http2(server: &Server, target: &str, expected: &Response) {
    /// Statuses of the static table and their indexed fields (RFC 7541 appendix A).
    const INDEXED: [(u16, u8); 4] = [(200, 0x88), (304, 0x8b), (400, 0x8c), (404, 0x8d)];
    let Some((_, field)) = INDEXED
        .iter()
        .find(|(status, _)| *status == expected.status)
    else {
        return;
    };
    let mut frames = Frames::open(server.address(), &[]);
    frames.get(1, target);
    assert_eq!(
        frames.answer(1),
        (*field, expected.body.clone()),
        "{target}"
    );
}
