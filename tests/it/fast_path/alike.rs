//! Two servers over the same data, one with the fast path and one without: whatever is sent, both answer the same.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::{LAST, exchange, plain, start_with, undated};
use crate::support::{Server, wait_until};

/// Every stored document.
const PATHS: [&str; 22] = [
    "/reviews.json",
    "/insights.json",
    "/api/feed.json",
    "/feed.xml",
    "/mcp/server-card",
    "/.well-known/ai-catalog.json",
    "/",
    "/page.css",
    "/page.js",
    "/favicon.svg",
    "/reviews.jsonld",
    "/badge.svg",
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
];

pub(super) struct Pair {
    pub(super) fast: Server,
    pub(super) slow: Server,
}

impl Pair {
    /// Starts both, for one test alone that counts what they do.
    pub(super) fn start() -> Pair {
        Pair::start_with(|_| {})
    }

    /// Starts both with other settings.
    pub(super) fn start_with(change: impl Fn(&mut reviewd::server::Config)) -> Pair {
        let start = |fast_path| {
            start_with(|config| {
                config.base_url = Some("https://reviews.example".to_owned());
                config.fast_path = fast_path;
                change(config);
            })
        };
        Pair {
            fast: start(true),
            slow: start(false),
        }
    }

    /// Sends the same to both, and returns what both answer.
    #[track_caller]
    pub(super) fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let fast = undated(exchange(self.fast.address(), bytes));
        let slow = undated(exchange(self.slow.address(), bytes));
        assert!(
            fast == slow,
            "to {:?}\nfast {:?}\nslow {:?}",
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&fast[..fast.len().min(2_000)]),
            String::from_utf8_lossy(&slow[..slow.len().min(2_000)])
        );
        fast
    }
}

pub(super) fn pair() -> &'static Pair {
    static PAIR: OnceLock<Pair> = OnceLock::new();
    PAIR.get_or_init(|| {
        let pair = Pair::start();
        for server in [&pair.fast, &pair.slow] {
            wait_until("all variants are made", || {
                ["/reviews.json", "/insights.json"].into_iter().all(|path| {
                    let reply = server.get_with(path, &[("Accept-Encoding", "br")]);
                    reply.field("content-encoding") == Some("br")
                })
            });
        }
        pair
    })
}

fn request(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: reviews.example\r\n{fields}\r\n{LAST}")
}

#[test]
fn every_document_in_every_coding_is_the_same() {
    let pair = pair();
    let before = plain(&pair.fast);
    let mut asked = 0;
    for path in PATHS {
        for coding in [
            "",
            "gzip",
            "br",
            "zstd",
            "gzip;q=0.5, br;q=0.1",
            "identity;q=0",
        ] {
            let accepted = match coding {
                "" => String::new(),
                coding => format!("Accept-Encoding: {coding}\r\n"),
            };
            let reply = pair.exchange(request("GET", path, &accepted).as_bytes());
            let head = String::from_utf8_lossy(&reply);
            let tag = head.split_once("etag: ").expect(path).1;
            let tag = tag.split_once("\r\n").expect(path).0.to_owned();
            let fields = format!("{accepted}If-None-Match: {tag}\r\n");
            let reply = pair.exchange(request("GET", path, &fields).as_bytes());
            assert!(reply.starts_with(b"HTTP/1.1 304 "), "{path} {coding}");
            pair.exchange(request("HEAD", path, &accepted).as_bytes());
            pair.exchange(request("HEAD", path, &fields).as_bytes());
            asked += 4;
        }
        for since in [
            "Sat, 01 Jan 2000 00:00:00 GMT",
            "Sat, 01 Jan 2050 00:00:00 GMT",
            "never",
        ] {
            let fields = format!("If-Modified-Since: {since}\r\n");
            pair.exchange(request("GET", path, &fields).as_bytes());
            asked += 1;
        }
    }
    assert!(plain(&pair.fast) - before >= asked, "all by the fast path");
    assert_eq!(plain(&pair.slow), 0);
}

/// Searches and single reviews, answered and refused; the sample's newest review is of 2026.
const READS: [&str; 17] = [
    "/api/reviews/search",
    "/api/reviews/search?",
    "/api/reviews/search?limit=1",
    "/api/reviews/search?limit=100&sort=oldest",
    "/api/reviews/search?min_rating=4&limit=20&utm_source=a%20b",
    "/api/reviews/search?query=will&limit=3",
    "/api/reviews/search?query=caf%C3%A9",
    "/api/reviews/search?query=nothing+like+it",
    "/api/reviews/search?rating=9",
    "/api/reviews/search?query=%zz",
    "/api/reviews/since/2026-01-01",
    "/api/reviews/since/2000-01-01",
    "/api/reviews/since/2099-01-01?x=1",
    "/api/reviews/since/2026-02-30",
    "/api/reviews/since/",
    "/api/reviews/nobody",
    "/feed.xml?x=1",
];

#[test]
fn every_read_of_reviews_is_the_same() {
    let pair = pair();
    let before = plain(&pair.fast);
    let newest = pair.fast.get("/api/reviews/search?limit=1").json();
    let id = newest["reviews"][0]["id"].as_str().expect("an id");
    let one = format!("/api/reviews/{id}");
    for path in READS.into_iter().chain([one.as_str()]) {
        let reply = pair.exchange(request("GET", path, "").as_bytes());
        let head = String::from_utf8_lossy(&reply).into_owned();
        pair.exchange(request("HEAD", path, "").as_bytes());
        pair.exchange(request("GET", path, "Accept-Encoding: gzip\r\n").as_bytes());
        let Some((_, rest)) = head.split_once("\r\netag: ") else {
            continue;
        };
        let tag = rest.split_once("\r\n").expect(path).0;
        let fields = format!("If-None-Match: {tag}\r\n");
        let reply = pair.exchange(request("GET", path, &fields).as_bytes());
        assert!(reply.starts_with(b"HTTP/1.1 304 "), "{path}");
        pair.exchange(request("HEAD", path, &fields).as_bytes());
    }
    // Eleven of them and the newest review have a tag and are asked for five times; one since is too long but for HEAD.
    assert!(plain(&pair.fast) - before >= 50, "by the fast path");
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// A field, most often one of those that matter.
fn field() -> impl Strategy<Value = String> {
    let name = one_of(&[
        "Accept-Encoding",
        "accept-encoding",
        "If-None-Match",
        "IF-MODIFIED-SINCE",
        "User-Agent",
        "Connection",
        "connection",
        "Range",
        "If-Match",
        "If-Range",
        "If-Unmodified-Since",
        "Expect",
        "Upgrade",
        "TE",
        "Trailer",
        "Host",
        "Content-Length",
        "Authorization",
        "Origin",
        "Access-Control-Request-Method",
        "X-Forwarded-For",
        "traceparent",
        "x-empty",
    ]);
    let value = one_of(&[
        "gzip",
        "br;q=0.5, gzip;q=0.4",
        "*",
        "*;q=0",
        "zstd ,br",
        "\"a\"",
        "W/\"a\", *",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Fri, 01 Jan 2100 00:00:00 GMT",
        "keep-alive",
        "Keep-Alive",
        "reviews.example",
        "0",
        "bytes=0-3",
        "100-continue",
        "",
        "x\ty",
        "caf\u{e9}",
    ]);
    let join = prop_oneof![8 => Just(": "), 1 => Just(":"), 1 => Just(": \t"), 1 => Just(" : ")];
    let end =
        prop_oneof![12 => Just("\r\n"), 2 => Just(" \r\n"), 1 => Just("\n"), 1 => Just("\r\n ")];
    (name, join, value, end)
        .prop_map(|(name, join, value, end)| format!("{name}{join}{value}{end}"))
}

/// A head, most often a plain one.
fn head() -> impl Strategy<Value = String> {
    let method = prop_oneof![
        12 => Just("GET "),
        6 => Just("HEAD "),
        1 => Just("OPTIONS "),
        1 => Just("get "),
        1 => Just("GET  "),
        1 => Just("\r\nGET "),
    ];
    let path = prop_oneof![
        20 => one_of(&PATHS),
        10 => one_of(&READS),
        1 => one_of(&["/nowhere", "/reviews.json/", "/reviews%2ejson", "//", "/healthz", "/badge.svg?theme=dark", "/?query=will", "*", "http://localhost/feed.xml", "/api/reviews/search?limit=1", "/feed.xml#x"]),
    ];
    let version = prop_oneof![20 => Just(" HTTP/1.1\r\n"), 1 => Just(" HTTP/1.1\n"), 1 => Just("  HTTP/1.1\r\n"), 1 => Just(" HTTP/2.0\r\n")];
    let host = prop_oneof![
        20 => Just("Host: reviews.example\r\n"),
        4 => Just("host:127.0.0.1:80\r\n"),
        1 => Just(""),
        1 => Just("Host: a b\r\n"),
        1 => Just("Host: a\r\nHost: a\r\n"),
        1 => Just("Host:\r\n"),
    ];
    let fields = prop::collection::vec(
        prop_oneof![1 => field(), 2 => Just("Accept: */*\r\n".to_owned())],
        0..5,
    );
    (method, path, version, host, fields).prop_map(|(method, path, version, host, fields)| {
        format!("{method}{path}{version}{host}{}\r\n", fields.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

    #[test]
    fn whatever_is_sent_is_answered_alike(heads in prop::collection::vec(head(), 1..4)) {
        pair().exchange((heads.concat() + LAST).as_bytes());
    }
}
