//! Heads as they go over the wire in HTTP/1.1, for replies that are written once and sent often.

use hyper::{Response, StatusCode};

use crate::http::body::Body;

/// Writes the head of `response` as hyper writes it, up to the value of Date, which is its last.
pub(crate) fn render_head(response: &Response<Body>) -> Box<[u8]> {
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or("<none>");
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in response.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    // A 304 has no length of its own (RFC 9110 §8.6).
    if status != StatusCode::NOT_MODIFIED {
        let length = format!("content-length: {}\r\n", response.body().length());
        head.extend_from_slice(length.as_bytes());
    }
    head.extend_from_slice(b"date: ");
    head.into_boxed_slice()
}
