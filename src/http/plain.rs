//! Plain requests for stored documents and reviews, and plain calls of MCP, answered without hyper: the same decisions by
//! the same code; of documents the bytes were written before.
//!
//! What is not plain, or is for something else, is left alone, for [`handle`](super::handle) to answer. The replies of
//! both are the same, byte for byte, their date aside; the check `plain_reply` of the oracle compares them.

mod call;

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Response};

use super::access::Note;
use super::app::{App, Surface};
use super::body::Body;
use super::browser::for_browser;
use super::client::client_of_plain;
use super::endpoint::{self, Read};
use super::fields::Fields;
use super::ready::{FilePart, SealedFile, Stored};
use super::reply::{self, Refusal, Reply, Representation};
use super::router::{self, Route};
use crate::clock;
use crate::wire::date::Timestamp;
use crate::wire::plain::{NotPlain, Plain, parse_plain};

/// Bodies below this many bytes are copied behind their head: cheaper than telling the kernel of two places.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// What a reply that is made for one request costs at the least, in ready documents. Our choice: most cost a few of
/// those, and single ones hundreds.
pub(super) const MADE_COST: usize = 16;

/// Microseconds that cost as much as a ready document, most of which the kernel takes.
const DOCUMENT_US: u128 = 8;

/// What became of a plain request; its head, and its body where that is small, were appended.
#[derive(Debug)]
pub struct Answered {
    /// Bytes of the request.
    pub length: usize,
    /// What it has cost, roughly: 1 for a document that was ready, more for what had to be made.
    pub cost: usize,
    /// The body that follows what was appended.
    pub body: Option<Stored>,
}

/// Answers the plain request at the beginning of `bytes`, of the client at `peer`, by appending to `out`; its time is counted
/// from `began`.
///
/// # Errors
/// Where there is none, or it is not for this function, or is not all there. Nothing has been noted of such a request, and
/// nothing taken from its client's rate (a panic aside, after which hyper begins anew).
pub fn answer_plain(
    app: &App,
    bytes: &[u8],
    peer: SocketAddr,
    began: Instant,
    out: &mut Vec<u8>,
) -> Result<Answered, NotPlain> {
    let plain = match parse_plain(bytes) {
        Ok(plain) => plain,
        Err(NotPlain::Part) => return Err(NotPlain::Part),
        Err(_) => return call::answer(app, bytes, peer, began, out),
    };
    let slash = plain.path.iter().rposition(|byte| *byte == b'/');
    let (parent, last) = plain.path.split_at(slash.map_or(0, |slash| slash + 1));
    let route = router::route_of_date(parent, last).or_else(|| router::route(parent, last));
    if !is_within_bounds(app, &plain) || !is_answered_here(route, plain.query) {
        return Err(NotPlain::Other);
    }
    let client = || client_of_plain(app, plain.lines, peer.ip());
    let note = app.access_log().map(|_| {
        let method = if plain.is_head {
            &Method::HEAD
        } else {
            &Method::GET
        };
        let path = str::from_utf8(plain.path).unwrap_or_default();
        Note::of_plain(method, path, plain.traceparent, client())
    });
    let standing = app.take(Surface::Reads, || {
        note.as_ref().map_or_else(client, Note::client)
    });
    let site = app.site.load();
    let fields = Fields::of_plain(&plain);
    let read = Read {
        query: plain.query,
        fields: &fields,
    };
    let reply = match (standing, route) {
        (Some(standing), _) if standing.is_exceeded => {
            Reply::Refuse(Refusal::Rate(standing.per_minute))
        }
        (_, Some(route)) => endpoint::read(app, &site, route, &read),
        (_, None) => Reply::Refuse(Refusal::UnknownPath),
    };
    let reply = for_browser(reply, &site, || plain.lines.from_last("accept"));
    let written = written_of(&reply);
    let is_ready = written.is_some();
    let pushed = match (written, standing) {
        (Some(written), None) => push_stored(app, reply, written, plain.is_head, out),
        (written, standing) => {
            let file = written.and_then(|written| written.file);
            let file = |bytes: &Bytes| file.map(FilePart::whole).or_else(|| site.file_part(bytes));
            let render = |headers| {
                let mut response = reply::render(reply, headers, &app.cache_control);
                if let Some(standing) = standing {
                    reply::rate::put(&mut response, &standing);
                }
                response
            };
            push_made(render, file, plain.is_head, out)
        }
    };
    let place = route.map_or(router::NO_PLACE, Route::place);
    let elapsed = record(app, place, &pushed, began, note);
    Ok(Answered {
        length: plain.length,
        cost: if is_ready { 1 } else { cost(elapsed) },
        body: pushed.body,
    })
}

/// Returns the [`Answered::cost`] of a reply that was made in so much time.
fn cost(elapsed: Duration) -> usize {
    MADE_COST.max(documents(elapsed))
}

/// Returns how many ready documents so much time would have served.
pub(super) fn documents(elapsed: Duration) -> usize {
    usize::try_from(elapsed.as_micros() / DOCUMENT_US).unwrap_or(usize::MAX)
}

/// Adds a reply to the numbers of its address, and to the access log; returns how long it took.
fn record(
    app: &App,
    place: usize,
    pushed: &Pushed,
    began: Instant,
    note: Option<Note>,
) -> Duration {
    let &Pushed { status, sent, .. } = pushed;
    let elapsed = began.elapsed();
    app.traffic.record_plain();
    app.traffic.record(place, status, sent, elapsed);
    if let Some(log) = app.access_log()
        && let Some(note) = note
    {
        note.push(log, status, sent);
    }
    elapsed
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

/// Returns the whole reply to what is no request, as it goes over the wire in HTTP/1.1; the connection ends with it.
#[must_use]
pub fn protocol_error(error: ProtocolError) -> Vec<u8> {
    let refusal = match error {
        ProtocolError::Malformed => Refusal::Malformed,
        ProtocolError::HeadBytes => Refusal::HeadBytes,
        ProtocolError::HeadTime => Refusal::HeadTime,
        ProtocolError::Plaintext => Refusal::Plaintext,
    };
    let render = |headers| {
        let no_store = HeaderValue::from_static("no-store");
        let mut response = reply::render(Reply::Refuse(refusal), headers, &no_store);
        reply::close(&mut response);
        response
    };
    let mut out = Vec::new();
    push_made(render, |_| None, false, &mut out);
    out
}

/// Tells whether a path of this route, or of none, is answered here. What is not is rare, or takes long.
fn is_answered_here(route: Option<Route<'_>>, query: &str) -> bool {
    match route {
        Some(Route::Document(_) | Route::Page(_)) => query.is_empty(),
        Some(Route::Search | Route::Since(_) | Route::Review(_)) | None => true,
        Some(Route::Health | Route::Ready | Route::Hub | Route::Mcp) => false,
    }
}

/// Tells whether a request is within all bounds.
fn is_within_bounds(app: &App, plain: &Plain<'_>) -> bool {
    plain.fields <= app.limits.header_fields
        && plain.path.len() + 1 + plain.query.len() <= app.limits.target_bytes
        && app.is_authority(plain.host)
}

/// What is written already of a reply: its head with whatever date, in a place that may still be empty.
struct Written<'s> {
    status: u16,
    head: &'s OnceLock<Box<[u8]>>,
    file: Option<&'s Arc<SealedFile>>,
}

/// Returns what is written already of `reply`, if it is a document's.
fn written_of<'s>(reply: &Reply<'s>) -> Option<Written<'s>> {
    match reply {
        Reply::Serve(Representation { ready, coding, .. }, _) => ready.map(|ready| Written {
            status: 200,
            head: ready.served(*coding),
            file: ready.file(*coding),
        }),
        Reply::NotModified(Representation { ready, coding, .. }) => ready.map(|ready| Written {
            status: 304,
            head: ready.not_modified(*coding),
            file: None,
        }),
        _ => None,
    }
}

/// What was appended of a reply.
struct Pushed {
    status: u16,
    /// Bytes of its body, wherever they are.
    sent: u64,
    /// The body, where it follows what was appended.
    body: Option<Stored>,
}

/// Appends the reply of a document, whose head is rendered where this is the first of its kind.
fn push_stored(
    app: &App,
    reply: Reply<'_>,
    written: Written<'_>,
    is_head: bool,
    out: &mut Vec<u8>,
) -> Pushed {
    let Written { status, head, file } = written;
    let start = out.len();
    let body = match head.get() {
        Some(head) => {
            out.extend_from_slice(head);
            match reply {
                Reply::Serve(_, body) => body,
                _ => Body::empty(),
            }
        }
        None => {
            let response = reply::render(reply, Default::default(), &app.cache_control);
            reply::plain::push_head(&response, out);
            push_date(out);
            // Another thread has rendered the same.
            let _ = head.set(out[start..].into());
            response.into_body()
        }
    };
    // The date stands at the end, before the empty line.
    if let Some(end) = out.last_chunk_mut::<{ DATE_BYTES + 4 }>() {
        end[..DATE_BYTES].copy_from_slice(&date());
    }
    push_body(status, body, |_| file.map(FilePart::whole), is_head, out)
}

/// Appends the reply that `render` writes into a header map that has served before; `file` finds where the kernel has its
/// body.
fn push_made(
    render: impl FnOnce(HeaderMap) -> Response<Body>,
    file: impl FnOnce(&Bytes) -> Option<FilePart>,
    is_head: bool,
    out: &mut Vec<u8>,
) -> Pushed {
    thread_local! {
        /// The map of the reply before, so that none has to allocate one.
        static HEADERS: Cell<HeaderMap> = Cell::default();
    }
    let response = render(HEADERS.take());
    reply::plain::push_head(&response, out);
    push_date(out);
    let (parts, body) = response.into_parts();
    let mut headers = parts.headers;
    // What it refers to is not to be kept alive by it.
    headers.clear();
    HEADERS.set(headers);
    push_body(parts.status.as_u16(), body, file, is_head, out)
}

/// Appends a small body, and the beginning of one in several pieces, and returns what follows of any other.
fn push_body(
    status: u16,
    body: Body,
    file: impl FnOnce(&Bytes) -> Option<FilePart>,
    is_head: bool,
    out: &mut Vec<u8>,
) -> Pushed {
    let sent = if is_head { 0 } else { body.length() };
    let body = if sent >= COPY_BYTES_MAX as u64 {
        let [first, middle, last] = body.into_slices();
        out.extend_from_slice(&first);
        // The only piece of a body is its last.
        let (bytes, tail) = match middle.is_empty() {
            true => (last, middle),
            false => (middle, last),
        };
        let file = file(&bytes);
        Some(Stored { bytes, file, tail })
    } else {
        if !is_head {
            for slice in body.slices() {
                out.extend_from_slice(slice);
            }
        }
        None
    };
    Pushed { status, sent, body }
}

/// Appends the value of Date, and the end of the head.
fn push_date(out: &mut Vec<u8>) {
    out.extend_from_slice(&date());
    out.extend_from_slice(b"\r\n\r\n");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends `body`; returns what was appended, what follows, and what that ends with.
    fn push(body: Body, is_head: bool) -> (Vec<u8>, Option<(usize, Bytes)>, u64) {
        let mut out = Vec::new();
        let pushed = push_body(200, body, |_| None, is_head, &mut out);
        let body = pushed.body.map(|stored| (stored.bytes.len(), stored.tail));
        (out, body, pushed.sent)
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
