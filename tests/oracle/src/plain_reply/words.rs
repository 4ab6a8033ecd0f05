//! The words that bytes of an input stand for.

use std::ops::Range;

/// How requests begin and end.
pub(super) const FRAME: [&str; 4] = [
    "GET ",
    "HEAD ",
    " HTTP/1.1\r\nHost: reviews.example\r\n",
    "\r\n",
];

pub(crate) const TARGETS: [&str; 38] = [
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
    "/developers",
    "/openapi.json",
    "/llms.txt",
    "/robots.txt",
    "/sitemap.xml",
    "/.well-known/api-catalog",
    "/api/reviews/search",
    "/api/reviews/search?limit=1",
    "?query=will",
    "?min_rating=4&limit=100",
    "?rating=9",
    "?sort=oldest&limit=2",
    "&cursor=%zz",
    "/api/reviews/since/",
    "/api/reviews/since/2026-01-01",
    "/api/reviews/since/2000-01-01",
    "/api/reviews/since/2026-02-30",
    "/api/reviews/nobody",
    NEWEST,
    "/healthz",
    "/mcp",
    "/api/websub/hub",
    "/nowhere",
    "/%2e",
    "?x=1",
];

pub(super) const NAMES: [&str; 16] = [
    "Accept-Encoding: ",
    "If-None-Match: ",
    "if-modified-since:",
    "Connection: ",
    "User-Agent: ",
    "X-Forwarded-For: ",
    "x-forwarded-for:\t",
    "Forwarded: ",
    "traceparent: ",
    "Range: ",
    "If-Match: ",
    "Origin: ",
    "Accept: ",
    "Cookie: ",
    "Host: ",
    "Authorization: ",
];

pub(super) const VALUES: [&str; 24] = [
    "gzip",
    "br",
    "zstd",
    "identity;q=0",
    "*;q=0",
    ";q=0.5, ",
    ", ",
    "*",
    "W/",
    "\"a\"",
    "keep-alive",
    "close",
    "192.0.2.1",
    "127.0.0.1",
    "for=192.0.2.1",
    "for=\"[2001:db8::1]:80\"",
    ";proto=https",
    "unknown",
    "Sat, 01 Jan 2000 00:00:00 GMT",
    "Fri, 01 Jan 2100 00:00:00 GMT",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "bytes=0-9",
    "text/html,*/*",
    " ",
];

/// Targets whose entity-tags are words, in each coding; as many as there are bytes left for.
pub(super) const TAGGED: [&str; 11] = [
    "/reviews.json",
    "/insights.json",
    "/feed.xml",
    "/",
    "/llms.txt",
    "/favicon.svg",
    "/page.css",
    "/api/reviews/search",
    "/api/reviews/search?limit=1",
    "/api/reviews/since/2026-01-01",
    NEWEST,
];

/// The newest review of the sample.
const NEWEST: &str = "/api/reviews/01M7RB7931B2V45C15TAXBHACQ";

/// The bytes that stand for words of each kind: [`FRAME`], targets, names, and values with the tags behind them.
pub(crate) const FRAME_BYTES: Range<u8> = 0x80..0x84;
#[cfg(test)]
pub(crate) const TARGET_BYTES: Range<u8> = FRAME_BYTES.end..FRAME_BYTES.end + TARGETS.len() as u8;
#[cfg(test)]
pub(crate) const NAME_BYTES: Range<u8> = TARGET_BYTES.end..TARGET_BYTES.end + NAMES.len() as u8;
#[cfg(test)]
pub(crate) const VALUE_BYTES: Range<u8> = NAME_BYTES.end..0xff;
