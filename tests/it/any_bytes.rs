//! Bytes over a socket, made like requests and then spoilt: whatever comes, the answers are answers.
//!
//! A generator that knows the grammar gets past the first line, where random bytes end. Each case is one connection:
//! some requests behind each other, each with a method, a target, fields and a body of some framing, cut into pieces
//! at places that no client would choose, and a byte or two changed. `REVIEWD_FUZZ_SECONDS` asks for the long form.

use std::fmt;
use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Connection, Response, Server, wait_until};

/// How long the long form goes on, in seconds; without it there are [`CASES`].
const SECONDS: &str = "REVIEWD_FUZZ_SECONDS";

/// Cases of the short form.
const CASES: u32 = 150;

/// Statuses that the service or hyper ever answers with.
const STATUSES: [u16; 22] = [
    200, 202, 204, 301, 304, 308, 400, 403, 404, 405, 406, 408, 412, 413, 414, 415, 421, 429, 431,
    501, 503, 505,
];

/// What is sent on one connection.
#[derive(Clone)]
struct Case {
    bytes: Vec<u8>,
    /// Where the bytes are cut into writes, as parts of 65,536 of their length.
    cuts: Vec<u16>,
}

impl fmt::Debug for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "\"{}\" cut at {:?}",
            self.bytes.escape_ascii(),
            self.cuts
        )
    }
}

/// One of the lines of a text.
fn one_of(lines: &'static str) -> impl Strategy<Value = String> {
    proptest::sample::select(lines.lines().map(str::to_owned).collect::<Vec<_>>())
}

const PATHS: &str = "/reviews.json
/api/reviews/search
/api/reviews/since/2024-01-01
/api/feed.json
/api/websub/hub
/mcp
/%6dcp
/healthz
/
*
http://reviews.example/
localhost:443
//
/%00
/../etc/passwd";

const FIELDS: &str = "Host: reviews.example
Host:
Connection: close
Connection: keep-alive, upgrade
Upgrade: h2c
Expect: 100-continue
Accept-Encoding: gzip;q=0, br
If-None-Match: *
If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT
Range: bytes=0-1
Content-Type: application/json
Content-Type: application/x-www-form-urlencoded
Content-Encoding: gzip
Accept: application/json, text/event-stream
Origin: https://elsewhere.example
Access-Control-Request-Method: GET
X-Forwarded-For: 192.0.2.1, \"
TE: trailers
 folded: line
Bad Name: x";

fn target() -> impl Strategy<Value = String> {
    let query = prop_oneof![
        Just(String::new()),
        Just("?limit=5&query=will".to_owned()),
        Just("?limit=0".to_owned()),
        "\\?[a-z%=&+0-9]{0,40}",
        (1_usize..9_000).prop_map(|length| format!("?query={}", "x".repeat(length))),
    ];
    (one_of(PATHS), query).prop_map(|(path, query)| path + &query)
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => one_of(FIELDS),
        1 => "[A-Za-z-]{1,12}: ?[ -~]{0,30}",
        1 => (1_usize..20_000).prop_map(|length| format!("X: {}", "y".repeat(length))),
        1 => (1_usize..120).prop_map(|count| vec!["A: b"; count].join("\r\n")),
    ]
}

/// The fields that frame a body, and the body.
fn framed() -> impl Strategy<Value = (String, String)> {
    let text = prop_oneof![
        Just(String::new()),
        Just(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()),
        Just("hub.mode=subscribe&hub.topic=x&hub.callback=https://a.example/".to_owned()),
        Just("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        "[ -~]{0,200}",
    ];
    let coding = one_of("chunked\nChunked\ngzip, chunked\nchunked, chunked\nidentity\n\x0bchunked");
    let extension = prop_oneof![Just(""), Just(";a=b"), Just(" "), Just(";\0")];
    let parts = (text, coding, extension, 0_u8..7, -3_i64..4);
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
    let method = one_of("GET\nGET\nGET\nGET\nHEAD\nPOST\nPOST\nOPTIONS\nPUT\nCONNECT\nPRI\nget");
    let version =
        prop_oneof![8 => Just("1.1"), 1 => Just("1.0"), 1 => Just("2.0"), 1 => Just("1.1 ")];
    let host = prop_oneof![9 => Just("Host: reviews.example\r\n"), 1 => Just("")];
    let fields = proptest::collection::vec(field(), 0..5);
    let parts = (method, target(), version, host, fields, framed());
    parts.prop_map(|(method, target, version, host, fields, (framing, body))| {
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        format!("{method} {target} HTTP/{version}\r\n{host}{fields}{framing}\r\n{body}")
    })
}

fn case() -> impl Strategy<Value = Case> {
    let requests = proptest::collection::vec(request(), 1..4);
    let spoilt = proptest::collection::vec((any::<u16>(), any::<u8>()), 0..3);
    let spoilt = prop_oneof![3 => Just(Vec::new()), 1 => spoilt];
    let cuts = proptest::collection::vec(any::<u16>(), 0..4);
    (requests, spoilt, cuts).prop_map(|(requests, spoilt, cuts)| {
        let mut bytes = requests.concat().into_bytes();
        for (place, byte) in spoilt {
            let at = (usize::from(place) * bytes.len()) >> 16;
            bytes[at] = byte;
        }
        Case { bytes, cuts }
    })
}

/// Sends a case and closes our side; returns the answers up to where the server closes.
fn exchange(server: &Server, case: &Case) -> Vec<u8> {
    let mut connection = server.connect();
    let mut places: Vec<usize> = case
        .cuts
        .iter()
        .map(|cut| (usize::from(*cut) * case.bytes.len()) >> 16)
        .collect();
    places.sort_unstable();
    places.push(case.bytes.len());
    let mut from = 0;
    for to in places {
        // The server may have closed already, and is right to.
        let _closed = connection.stream().write_all(&case.bytes[from..to]);
        from = to;
    }
    let _closed = connection.stream().shutdown(Shutdown::Write);
    connection.rest()
}

/// Reads answers one behind the other, as a client does that knows no methods but GET and HEAD.
fn check(case: &Case, mut answers: &[u8]) {
    let asked = case
        .bytes
        .windows(5)
        .filter(|bytes| *bytes == b"HTTP/")
        .count();
    let (mut count, mut last) = (0, 0);
    while !answers.is_empty() {
        let Some(end) = answers.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            // A HEAD in between: what stands here is the answer to it, and has no body.
            panic!(
                "{case:?}: no head in {:?}",
                String::from_utf8_lossy(answers)
            );
        };
        let head = String::from_utf8(answers[..end].to_vec()).expect("a head is ASCII");
        answers = &answers[end + 4..];
        let response = parse(&head);
        if response.status == 100 {
            continue;
        }
        assert!(STATUSES.contains(&response.status), "{case:?}: {head}");
        (count, last) = (count + 1, response.status);
        let length = response
            .field("content-length")
            .map_or(0, |text| text.parse().expect(text));
        // The answer to a HEAD tells a length and has no body: then the next answer begins here, or nothing.
        let has_body = !answers.starts_with(b"HTTP/1.") && answers.len() >= length;
        if has_body && !matches!(response.status, 204 | 304) {
            answers = &answers[length..];
        }
        if response.field("connection") == Some("close") {
            assert!(answers.is_empty(), "{case:?}: more behind the last answer");
        }
    }
    // What is left of a body that was shorter than it came is a request that is none, and the end.
    let refused = usize::from(matches!(last, 400 | 408 | 414 | 431));
    assert!(
        count <= asked + refused,
        "{case:?}: {count} answers to {asked} requests"
    );
}

/// Reads a head, whose fields may stand there once each.
fn parse(head: &str) -> Response {
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap();
    let status = first.get(9..12).and_then(|digits| digits.parse().ok());
    let fields = lines.map(|line| {
        let (name, value) = line
            .split_once(": ")
            .unwrap_or((line.trim_end_matches(':'), ""));
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Response {
        status: status.unwrap_or_else(|| panic!("no status in {first}")),
        fields: fields.collect(),
        body: Vec::new(),
    }
}

#[test]
fn whatever_comes_over_a_socket_the_answers_are_answers_and_nothing_is_left() {
    let seconds = std::env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok());
    let short = Duration::from_millis(300);
    let server = Server::start_with(|config| {
        config.limits.header_time = short;
        config.limits.body_time = short;
        config.limits.idle_time = short;
    });
    let mut runner = TestRunner::new(Config::default());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut cases = 0;
    while cases < CASES || Instant::now() < until {
        let tree = case().new_tree(&mut runner).expect("cases can be made");
        let case = tree.current();
        check(&case, &exchange(&server, &case));
        cases += 1;
    }
    let mut after: Connection = server.connect();
    assert_eq!(after.get("/healthz").status, 200);
    drop(after);
    wait_until("nothing is left", || {
        server.running().open_connections() == 0
    });
    if seconds.is_some() {
        println!("{cases} connections");
    }
}
