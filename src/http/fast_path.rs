//! The fast path's share of a request: from bytes to a [`RequestHead`], and from the reply to bytes.
//!
//! What stands between is [`respond`](super::respond), as for hyper. Only reads that are simple and frequent are taken;
//! all else is left to hyper. The responses of both are the same, byte for byte, their date aside: the check
//! `plain_reply` of the oracle compares them.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::app_state::AppState;
use super::body::Body;
use super::head::RequestHead;
use super::prerendered::{FileBody, MemFd, MemFdRange};
use super::reply::{self, Refusal, Reply, Representation};
use super::respond::{Exchange, Routed, path_of};
use super::router::Route;
use super::served_state::ServedState;
use crate::clock;
use crate::wire::date::Timestamp;
use crate::wire::json::push_u64;
use crate::wire::simple_request::parse_simple;

/// Bodies below this many bytes are copied after their head: cheaper than telling the kernel of two places.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// What a reply that is made for one request costs at the least, in ready documents. Our choice: most cost a few of
/// those, and single ones hundreds.
pub(super) const MADE_COST: usize = 16;

/// Microseconds that cost as much as a ready document, most of which the kernel takes.
const DOCUMENT_US: u128 = 8;

/// The response to a simple request; its head, and its body where that is small, were appended.
#[derive(Debug)]
pub struct FastResponse {
    /// Bytes of the request.
    pub length: usize,
    /// What it has cost, roughly: 1 for a document that was ready, more for what had to be made.
    pub cost: usize,
    /// The body that follows what was appended.
    pub body: Option<FileBody>,
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
    let head = RequestHead::of_simple(app, &simple, peer.ip());
    let path = path_of(app, &head);
    let routed = Routed::find(app, &head, &path);
    if !is_answered_here(&routed, head.query) {
        return None;
    }
    let mut exchange = Exchange::begin(app, &head, &routed, began);
    let served = app.served.load();
    let reply = exchange.respond(app, &served, &head, routed).ok()?;
    let is_ready = prerendered(&reply).is_some();
    let encoded = encode(app, &served, reply, &exchange, simple.is_head, out);
    app.traffic.record_plain();
    let elapsed = exchange.end(app, encoded.status.as_u16(), encoded.sent);
    Some(FastResponse {
        length: simple.length,
        cost: match is_ready {
            true => 1,
            false => MADE_COST.max(documents(elapsed)),
        },
        body: encoded.body,
    })
}

/// Tells whether a request is answered here: a read, unless it is rare, takes long or ends the connection.
fn is_answered_here(routed: &Routed<'_>, query: &str) -> bool {
    match routed.route {
        Ok(Some(Route::Document(_) | Route::Page(_))) => query.is_empty(),
        Ok(Some(Route::Search | Route::Since(_) | Route::Review(_))) => true,
        Err(Refusal::UnknownPath) => true,
        _ => false,
    }
}

/// Returns how many ready documents so much time would have served.
pub(super) fn documents(elapsed: Duration) -> usize {
    usize::try_from(elapsed.as_micros() / DOCUMENT_US).unwrap_or(usize::MAX)
}

/// What is kept of a document's responses: the head with any date, once one was encoded, and where the kernel has the
/// body.
type Prerendered<'s> = (&'s OnceLock<Box<[u8]>>, Option<&'s Arc<MemFd>>);

fn prerendered<'s>(reply: &Reply<'s>) -> Option<Prerendered<'s>> {
    match reply {
        Reply::Serve(Representation { ready, coding, .. }, _) => {
            ready.map(|ready| (ready.served(*coding), ready.file(*coding)))
        }
        Reply::NotModified(Representation { ready, coding, .. }) => {
            ready.map(|ready| (ready.not_modified(*coding), None))
        }
        _ => None,
    }
}

/// What was appended of a response.
struct Encoded {
    status: StatusCode,
    /// Bytes of its body, wherever they are.
    sent: u64,
    /// The body, where it follows what was appended.
    body: Option<FileBody>,
}

/// Encodes `reply` for HTTP/1.1 as hyper does, by appending to `out`.
fn encode(
    app: &AppState,
    served: &ServedState,
    reply: Reply<'_>,
    exchange: &Exchange,
    is_head: bool,
    out: &mut Vec<u8>,
) -> Encoded {
    let kept = prerendered(&reply);
    let kept_file = kept.and_then(|(_, file)| file);
    // The fields of a rate differ from one response to the next.
    let kept_head = kept
        .filter(|_| exchange.quota.is_none())
        .map(|(head, _)| head);
    let (status, body) = match (kept_head.and_then(OnceLock::get), reply) {
        (Some(head), Reply::Serve(_, body)) => (push_kept(head, StatusCode::OK, out), body),
        (Some(head), _) => (
            push_kept(head, StatusCode::NOT_MODIFIED, out),
            Body::empty(),
        ),
        (None, reply) => {
            let start = out.len();
            let mut response = reply::render(reply, HEADERS.take(), &app.cache_control);
            if let Some(quota) = exchange.quota {
                reply::rate::put(&mut response, &quota);
            }
            let (status, body) = push_head(response, out);
            if let Some(kept) = kept_head {
                // Another thread has encoded the same.
                let _ = kept.set(out[start..].into());
            }
            (status, body)
        }
    };
    let file = |bytes: &Bytes| {
        kept_file
            .map(MemFdRange::whole)
            .or_else(|| served.file_part(bytes))
    };
    let (sent, body) = push_body(body, file, is_head, out);
    Encoded { status, sent, body }
}

thread_local! {
    /// The header map of the response before, so that none has to allocate one.
    static HEADERS: Cell<HeaderMap> = Cell::default();
}

/// Appends a head that was kept, with the date of now.
fn push_kept(head: &[u8], status: StatusCode, out: &mut Vec<u8>) -> StatusCode {
    out.extend_from_slice(head);
    // The date stands at the end, before the empty line.
    if let Some(end) = out.last_chunk_mut::<{ DATE_BYTES + 4 }>() {
        end[..DATE_BYTES].copy_from_slice(&date());
    }
    status
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

/// Appends a small body, and the beginning of one in several pieces; returns how long it is, and what follows of any
/// other.
fn push_body(
    body: Body,
    file: impl FnOnce(&Bytes) -> Option<MemFdRange>,
    is_head: bool,
    out: &mut Vec<u8>,
) -> (u64, Option<FileBody>) {
    let sent = if is_head { 0 } else { body.length() };
    if sent < COPY_BYTES_MAX as u64 {
        if !is_head {
            for slice in body.slices() {
                out.extend_from_slice(slice);
            }
        }
        return (sent, None);
    }
    let [first, middle, last] = body.into_slices();
    out.extend_from_slice(&first);
    // The only piece of a body is its last.
    let (bytes, tail) = match middle.is_empty() {
        true => (last, middle),
        false => (middle, last),
    };
    let file = file(&bytes);
    (sent, Some(FileBody { bytes, file, tail }))
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

/// What a peer sent in place of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// Bytes that are none.
    Malformed,
    /// A head longer than the limit.
    HeadBytes,
    /// A head that did not come to its end in time.
    HeadTime,
    /// HTTP where TLS is spoken.
    Plaintext,
}

/// Returns the whole response to what is no request, as it goes over the wire in HTTP/1.1; the connection ends with it.
#[must_use]
pub fn protocol_error(error: ProtocolError) -> Vec<u8> {
    let refusal = match error {
        ProtocolError::Malformed => Refusal::Malformed,
        ProtocolError::HeadBytes => Refusal::HeadBytes,
        ProtocolError::HeadTime => Refusal::HeadTime,
        ProtocolError::Plaintext => Refusal::Plaintext,
    };
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(Reply::Refuse(refusal), HEADERS.take(), &no_store);
    reply::close(&mut response);
    let mut out = Vec::new();
    let (_, body) = push_head(response, &mut out);
    push_body(body, |_| None, false, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends `body`; returns what was appended, what follows, and what that ends with.
    fn push(body: Body, is_head: bool) -> (Vec<u8>, Option<(usize, Bytes)>, u64) {
        let mut out = Vec::new();
        let (sent, body) = push_body(body, |_| None, is_head, &mut out);
        let body = body.map(|stored| (stored.bytes.len(), stored.tail));
        (out, body, sent)
    }

    fn many(bytes: usize) -> Bytes {
        vec![b'x'; bytes].into()
    }

    #[test]
    fn a_small_body_is_copied_behind_its_head_and_a_large_one_follows() {
        let below = COPY_BYTES_MAX - 1;
        let (out, body, sent) = push(Body::full(many(below)), false);
        assert_eq!((out.len(), body, sent), (below, None, below as u64));
        let (out, body, sent) = push(Body::full(many(COPY_BYTES_MAX)), false);
        assert_eq!((out.len(), sent), (0, COPY_BYTES_MAX as u64));
        assert_eq!(body, Some((COPY_BYTES_MAX, Bytes::new())));
        let (out, body, sent) = push(Body::full(many(COPY_BYTES_MAX)), true);
        assert_eq!((out.len(), body, sent), (0, None, 0));
    }

    #[test]
    fn a_body_of_several_pieces_is_copied_or_begun() {
        let [head, tail] = [&b"[["[..], b"]"].map(Bytes::from_static);
        let pieces = |bytes| Body::joined(head.clone(), many(bytes - 3), tail.clone());
        let (out, body, _) = push(pieces(COPY_BYTES_MAX - 1), false);
        assert!(out.starts_with(b"[[x") && out.ends_with(b"x]"));
        assert_eq!((out.len(), body), (COPY_BYTES_MAX - 1, None));
        let (out, body, sent) = push(pieces(COPY_BYTES_MAX), false);
        assert_eq!((&out[..], sent), (&b"[["[..], COPY_BYTES_MAX as u64));
        assert_eq!(body, Some((COPY_BYTES_MAX - 3, tail.clone())));
    }
}
