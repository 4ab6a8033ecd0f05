//! The fast path's share of a request: from bytes to a [`RequestHead`], and from the reply to bytes.
//!
//! What stands between is [`Exchange`], as for hyper. Only reads that are simple and frequent are taken; all else is left
//! to hyper. The responses of both are the same, byte for byte, their date aside: the check `plain_reply` of the oracle
//! compares them.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};

use super::app_state::AppState;
use super::body::Body;
use super::error::HttpError;
use super::head::RequestHead;
use super::reply::{self, Reply, Representation};
use super::respond::{Exchange, Routed, path_of};
use super::router::Route;
use crate::clock;
use crate::wire::date::Timestamp;
use crate::wire::json::push_u64;
use crate::wire::simple_request::parse_simple;

/// Bodies below this many bytes are copied after their head: cheaper than telling the kernel of two places.
const COPY_BYTES_MAX: u64 = 16 * 1024;

/// What a reply that is made for one request costs at the least, in stored documents. Our choice: most cost a few of
/// those, and single ones hundreds.
const MADE_COST: usize = 16;

/// Microseconds that cost as much as a stored document, most of which the kernel takes.
const DOCUMENT_US: u128 = 8;

/// The response to a simple request; its head, and its body where that is small, were appended.
#[derive(Debug)]
pub struct FastResponse {
    /// Bytes of the request.
    pub length: usize,
    /// What it has cost, roughly, in stored documents.
    pub cost: usize,
    /// The body, where it was not appended.
    pub body: Option<Body>,
}

/// Answers the simple request at the beginning of `bytes`, of the client at `peer`, by appending to `out`; its time is
/// counted from `began`.
///
/// `None` where there is none, or it is hyper's. Then nothing was counted, logged or taken from the client's rate, but
/// where a panic has ended it: then hyper begins anew.
pub fn respond_simple(
    app: &AppState,
    bytes: &[u8],
    peer: SocketAddr,
    began: Instant,
    out: &mut Vec<u8>,
) -> Option<FastResponse> {
    let simple = parse_simple(bytes)?;
    let head = RequestHead::of_simple(&app.own_authority, &simple, peer.ip());
    let path = path_of(app, &head);
    let routed = Routed::find(app, &head, &path);
    // All but what is rare, takes long or ends the connection.
    let is_taken = match &routed.matched {
        Ok(Some(matched)) => match matched.route {
            Route::Document(_) | Route::Page(_) => head.query.is_empty(),
            Route::Search | Route::Since(_) | Route::Review(_) => true,
            _ => false,
        },
        Err(error) => *error == HttpError::UnknownPath,
        Ok(None) => false,
    };
    if !is_taken {
        return None;
    }
    let mut exchange = Exchange::begin(app, &head, &routed, began);
    let served = app.served.load();
    let reply = exchange.respond(app, &served, &head, routed).ok()?;
    let kept = kept_head(&reply);
    let (status, body) = match kept.filter(|_| exchange.quota.is_none()) {
        Some(kept) => encode_stored(app, reply, kept, out),
        // The fields of a rate differ from one response to the next.
        None => {
            let mut response = reply::render(reply, HEADERS.take(), &app.cache_control);
            if let Some(quota) = exchange.quota {
                reply::put_rate(&mut response, &quota);
            }
            push_head(response, out)
        }
    };
    let body = match *head.method == Method::HEAD {
        true => body.into_head(),
        false => body,
    };
    let sent = body.sent();
    let body = push_small(body, out);
    app.traffic.record_plain();
    let elapsed = exchange.end(app, status.as_u16(), sent);
    Some(FastResponse {
        length: simple.length,
        cost: match kept {
            Some(_) => 1,
            None => MADE_COST.max(documents(elapsed)),
        },
        body,
    })
}

/// Returns how many stored documents so much time would have served.
pub(crate) fn documents(elapsed: Duration) -> usize {
    usize::try_from(elapsed.as_micros() / DOCUMENT_US).unwrap_or(usize::MAX)
}

/// Returns where the head of a stored document's response is kept.
fn kept_head<'s>(reply: &Reply<'s>) -> Option<&'s OnceLock<Box<[u8]>>> {
    match reply {
        Reply::Serve(Representation { heads, .. }, _) => heads.map(|heads| &heads.served),
        Reply::NotModified(Representation { heads, .. }) => heads.map(|heads| &heads.not_modified),
        _ => None,
    }
}

/// Appends the head of a stored document's response, with the date of now; returns the rest of it.
fn encode_stored(
    app: &AppState,
    reply: Reply<'_>,
    kept: &OnceLock<Box<[u8]>>,
    out: &mut Vec<u8>,
) -> (StatusCode, Body) {
    let Some(head) = kept.get() else {
        let start = out.len();
        let rest = push_head(
            reply::render(reply, HEADERS.take(), &app.cache_control),
            out,
        );
        // Another thread may have encoded the same.
        let _ = kept.set(out[start..].into());
        return rest;
    };
    out.extend_from_slice(head);
    // The date stands at the end, before the empty line.
    if let Some(end) = out.last_chunk_mut::<{ DATE_BYTES + 4 }>() {
        end[..DATE_BYTES].copy_from_slice(&date());
    }
    match reply {
        Reply::Serve(_, body) => (StatusCode::OK, body),
        _ => (StatusCode::NOT_MODIFIED, Body::empty()),
    }
}

thread_local! {
    /// The header map of the response before, so that none has to allocate one.
    static HEADERS: Cell<HeaderMap> = Cell::default();
}

/// Appends the head of `response` as hyper writes it, and keeps its map for the next; returns the rest of it.
fn push_head(response: Response<Body>, out: &mut Vec<u8>) -> (StatusCode, Body) {
    let (parts, body) = response.into_parts();
    let status = parts.status;
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in &parts.headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    // A 304 has no length of its own (RFC 9110 §8.6).
    if status != StatusCode::NOT_MODIFIED {
        out.extend_from_slice(b"content-length: ");
        push_u64(out, body.length());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"date: ");
    out.extend_from_slice(&date());
    out.extend_from_slice(b"\r\n\r\n");
    let mut headers = parts.headers;
    // The values that it refers to are not to be kept alive by it.
    headers.clear();
    HEADERS.set(headers);
    (status, body)
}

/// Appends a small body; returns any other.
fn push_small(body: Body, out: &mut Vec<u8>) -> Option<Body> {
    if body.sent() >= COPY_BYTES_MAX {
        return Some(body);
    }
    for slice in body.slices() {
        out.extend_from_slice(slice);
    }
    None
}

/// Bytes of a Date.
const DATE_BYTES: usize = 29;

/// Returns the value of Date, written once a second by each thread.
fn date() -> [u8; DATE_BYTES] {
    thread_local! {
        static DATE: Cell<(i64, [u8; DATE_BYTES])> =
            const { Cell::new((i64::MIN, [0; DATE_BYTES])) };
    }
    let second = clock::unix_s();
    let (of, mut text) = DATE.get();
    if of != second {
        text = Timestamp::from_unix(second).render_http();
        DATE.set((second, text));
    }
    text
}

/// Returns the whole response to what is no request, as it goes over the wire in HTTP/1.1; the connection ends with it.
pub(crate) fn protocol_error(error: HttpError) -> Vec<u8> {
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(Reply::Refuse(error), HEADERS.take(), &no_store);
    reply::close(&mut response);
    let mut out = Vec::new();
    let (_, body) = push_head(response, &mut out);
    push_small(body, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_small_body_is_copied_behind_its_head_and_a_large_one_is_not() {
        let push = |bytes: u64| {
            let [head, tail] = [&b"[["[..], b"]"].map(Bytes::from_static);
            let middle = Bytes::from(vec![b'x'; bytes as usize - 3]);
            let mut out = Vec::new();
            let rest = push_small(Body::joined(head, middle, tail), &mut out);
            (out, rest.map(|body| body.sent()))
        };
        let (out, rest) = push(COPY_BYTES_MAX - 1);
        assert!(out.starts_with(b"[[x") && out.ends_with(b"x]"));
        assert_eq!((out.len() as u64, rest), (COPY_BYTES_MAX - 1, None));
        assert_eq!(push(COPY_BYTES_MAX), (Vec::new(), Some(COPY_BYTES_MAX)));
    }
}
