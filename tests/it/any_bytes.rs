//! Requests made by a grammar and then spoilt, over sockets: every response is one, and no connection is left.
//!
//! A generator that knows the grammar gets past the first line, where random bytes end. Each case is one connection:
//! some requests behind each other, cut into writes where no client would cut them, and a byte or two changed.
//! `REVIEWD_FUZZ_SECONDS` asks for the long form.

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::support::client::parse_head;
use crate::support::{Server, wait_until};

/// How long the long form goes on, in seconds; without it there are [`CASES`].
const SECONDS: &str = "REVIEWD_FUZZ_SECONDS";

/// Cases of the short form.
const CASES: u32 = 150;

/// Statuses that the service or hyper ever answers with.
const STATUSES: [u16; 22] = [
    200, 202, 204, 301, 304, 308, 400, 403, 404, 405, 406, 408, 412, 413, 414, 415, 421, 429, 431,
    501, 503, 505,
];

const METHODS: [&str; 12] = [
    "GET", "GET", "GET", "GET", "HEAD", "POST", "POST", "OPTIONS", "PUT", "CONNECT", "PRI", "get",
];

const PATHS: [&str; 15] = [
    "/reviews.json",
    "/api/reviews/search",
    "/api/reviews/since/2024-01-01",
    "/api/feed.json",
    "/api/websub/hub",
    "/mcp",
    "/%6dcp",
    "/healthz",
    "/",
    "*",
    "http://reviews.example/",
    "localhost:443",
    "//",
    "/%00",
    "/../etc/passwd",
];

const FIELDS: [&str; 19] = [
    "Host: reviews.example",
    "Host:",
    "Connection: close",
    "Connection: keep-alive, upgrade",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "Accept-Encoding: gzip;q=0, br",
    "If-None-Match: *",
    "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT",
    "Range: bytes=0-1",
    "Content-Type: application/json",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Encoding: gzip",
    "Accept: application/json, text/event-stream",
    "Origin: https://elsewhere.example",
    "X-Forwarded-For: 192.0.2.1, \"",
    "TE: trailers",
    " folded: line",
    "Bad Name: x",
];

const BODIES: [&str; 4] = [
    "",
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    "hub.mode=subscribe&hub.topic=x&hub.callback=https://a.example/",
    "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
];

const CODINGS: [&str; 6] = [
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "identity",
    "\x0bchunked",
];

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(texts).prop_map(str::to_owned)
}

fn target() -> impl Strategy<Value = String> {
    let query = prop_oneof![
        one_of(&["", "?limit=5&query=will", "?limit=0"]),
        "\\?[a-z%=&+0-9]{0,40}",
        (1_usize..9_000).prop_map(|length| format!("?query={}", "x".repeat(length))),
    ];
    (one_of(&PATHS), query).prop_map(|(path, query)| path + &query)
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => one_of(&FIELDS),
        1 => "[A-Za-z-]{1,12}: ?[ -~]{0,30}",
        1 => (1_usize..20_000).prop_map(|length| format!("X: {}", "y".repeat(length))),
        1 => (1_usize..120).prop_map(|count| vec!["A: b"; count].join("\r\n")),
    ]
}

/// The fields that frame a body, and the body.
fn framed() -> impl Strategy<Value = (String, String)> {
    let text = prop_oneof![4 => one_of(&BODIES), 1 => "[ -~]{0,200}"];
    let extension = one_of(&["", ";a=b", " ", ";\0"]);
    let parts = (text, one_of(&CODINGS), extension, 0_u8..7, -3_i64..4);
    parts.prop_map(|(text, coding, extension, shape, wrong)| {
        let length = text.len() as i64;
        let chunks = format!("{length:x}{extension}\r\n{text}\r\n0\r\n\r\n");
        let of_length = |length: i64| format!("Content-Length: {length}\r\n");
        let of_coding = format!("Transfer-Encoding: {coding}\r\n");
        match shape {
            0 | 1 => (String::new(), String::new()),
            2 => (of_length(length), text),
            3 => (of_length(length + wrong), text),
            4 => (of_coding, chunks),
            5 => (of_coding + &of_length(length), chunks),
            _ => (of_length(length) + &of_length(length + wrong), text),
        }
    })
}

fn request() -> impl Strategy<Value = String> {
    let version = prop_oneof![8 => Just("1.1"), 1 => Just("1.0"), 1 => Just("2.0")];
    let host = prop_oneof![9 => Just("Host: reviews.example\r\n"), 1 => Just("")];
    let fields = proptest::collection::vec(field(), 0..5);
    let parts = (one_of(&METHODS), target(), version, host, fields, framed());
    parts.prop_map(|(method, target, version, host, fields, (framing, body))| {
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        format!("{method} {target} HTTP/{version}\r\n{host}{fields}{framing}\r\n{body}")
    })
}

/// What is sent on one connection, in the pieces in which it is written.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let requests = proptest::collection::vec(request(), 1..4);
    let spoilt = proptest::collection::vec((any::<u16>(), any::<u8>()), 0..3);
    let spoilt = prop_oneof![3 => Just(Vec::new()), 1 => spoilt];
    let cuts = proptest::collection::vec(any::<u16>(), 0..4);
    (requests, spoilt, cuts).prop_map(|(requests, spoilt, cuts)| {
        let mut bytes = requests.concat().into_bytes();
        let total = bytes.len();
        let place = |part: u16| (usize::from(part) * total) >> 16;
        for (part, byte) in spoilt {
            bytes[place(part)] = byte;
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(place).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        for cut in cuts.into_iter().rev() {
            pieces.push(bytes.split_off(cut));
        }
        pieces.push(bytes);
        pieces.reverse();
        pieces
    })
}

/// Sends the pieces and closes our side; returns the responses up to where the server closes.
fn exchange(server: &Server, pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut connection = server.connect();
    for piece in pieces {
        // The server may have closed already, and is right to.
        let _closed = connection.stream().write_all(piece);
    }
    let _closed = connection.stream().shutdown(Shutdown::Write);
    connection.rest()
}

/// Reads responses one behind the other, as a client does that knows no methods but GET and HEAD.
fn check(sent: &[u8], mut responses: &[u8]) {
    let asked = sent.windows(5).filter(|bytes| *bytes == b"HTTP/").count();
    let (mut count, mut last) = (0, 0);
    while !responses.is_empty() {
        let end = responses.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let (head, rest) = responses.split_at(end.expect("a head has an end") + 4);
        responses = rest;
        let head = str::from_utf8(head).expect("a head is ASCII");
        let (status, fields) = parse_head(head).expect("a head is one");
        if status == 100 {
            continue;
        }
        assert!(STATUSES.contains(&status), "{head}");
        (count, last) = (count + 1, status);
        let value = |name: &str| {
            let mut values = fields.iter().filter(|(field, _)| field == name);
            let value = values.next().map(|(_, value)| value.as_str());
            assert!(values.next().is_none(), "{name} came twice: {head}");
            value
        };
        let length = value("content-length").map_or(0, |text| text.parse().expect(text));
        // The response to a HEAD has a length and no body: then the next response begins here, or nothing does.
        let has_body = !responses.starts_with(b"HTTP/1.") && responses.len() >= length;
        if has_body && !matches!(status, 204 | 304) {
            responses = &responses[length..];
        }
        if value("connection") == Some("close") {
            assert!(responses.is_empty(), "more behind the last response");
        }
    }
    // What is left of a body that was shorter than it came is a request that is none, and the end.
    let refused = usize::from(matches!(last, 400 | 408 | 414 | 431));
    assert!(count <= asked + refused, "{count} responses to {asked}");
}

#[test]
fn any_bytes_over_a_socket_get_responses_and_leave_no_connection() {
    let seconds = std::env::var(SECONDS).ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
    let server = Server::start_with(|config| {
        let short = Duration::from_millis(300);
        config.limits.header_time = short;
        config.limits.body_time = short;
        config.limits.idle_time = short;
    });
    let mut runner = TestRunner::new(Config::default());
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut cases = 0;
    while cases < CASES || Instant::now() < until {
        let pieces = pieces().new_tree(&mut runner).expect("a case").current();
        let sent = pieces.concat();
        let responses = exchange(&server, &pieces);
        let checked = std::panic::catch_unwind(|| check(&sent, &responses));
        assert!(checked.is_ok(), "\"{}\"", sent.escape_ascii());
        cases += 1;
    }
    assert_eq!(server.get("/healthz").status, 200);
    wait_until("no connection is left", || {
        server.running().open_connections() == 0
    });
    println!("{cases} connections");
}
