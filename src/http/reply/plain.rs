//! Heads as they go over the wire in HTTP/1.1, for replies that hyper does not see.

use hyper::{Response, StatusCode};

use crate::http::body::Body;
use crate::wire::json::push_u64;

/// Appends the head of `response` as hyper writes it, up to the value of Date, which is its last.
pub(crate) fn push_head(response: &Response<Body>, out: &mut Vec<u8>) {
    let status = response.status();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in response.headers() {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    // A 304 has no length of its own (RFC 9110 §8.6).
    if status != StatusCode::NOT_MODIFIED {
        out.extend_from_slice(b"content-length: ");
        push_u64(out, response.body().length());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"date: ");
}
