//! Plain requests for stored documents and reviews, and plain calls of MCP, answered without hyper: the same decisions by
//! the same code; of documents the bytes were written before.
//!
//! What is not plain, is for something else, or depends on a setting that this file does not know is left alone, for
//! [`handle`](super::handle) to answer. The replies of both are the same, byte for byte, their date aside.

mod call;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, Response};

use super::access::Note;
use super::app::{App, Surface};
use super::body::Body;
use super::client::client_address;
use super::endpoint::{self, Read};
use super::fields::Fields;
use super::host;
use super::ready::{Ready, Stored};
use super::reply::{self, Reply};
use super::router::{self, Route};
use crate::clock;
use crate::wire::date::Timestamp;
use crate::wire::plain::{Plain, parse_plain};

/// Bodies below this many bytes are copied behind their head: cheaper than telling the kernel of two places.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// Bodies of several pieces below this many bytes are copied, too: larger ones are left to hyper.
const JOIN_BYTES_MAX: usize = 64 * 1024;

/// What a reply that is made for one request costs at the least, in ready documents. Our choice: most cost a few of
/// those, and single ones hundreds.
const MADE_COST: usize = 16;

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

/// Answers the plain request at the beginning of `bytes`, of the client at `peer`, by appending to `out`; `None` where
/// there is none, or it is not for this function. Nothing has been noted of such a request; `out` may have grown.
pub fn answer_plain(
    app: &App,
    bytes: &[u8],
    peer: SocketAddr,
    out: &mut Vec<u8>,
) -> Option<Answered> {
    let began = clock::instant();
    let Some(plain) = parse_plain(bytes) else {
        return call::answer(app, bytes, peer, out, began);
    };
    if !is_simple(app, &plain) {
        return None;
    }
    let cut = plain.path.rfind('/')? + 1;
    let (parent, last) = plain.path.split_at(cut);
    let route = route_of(parent, last, plain.query)?;
    // Whoever names a client by a field has not sent a plain request where that counts.
    let client = || client_address(app, &HeaderMap::new(), peer.ip());
    let note = app.access_log().map(|_| {
        let method = if plain.is_head {
            &Method::HEAD
        } else {
            &Method::GET
        };
        Note::of_plain(method, plain.path, plain.traceparent, client())
    });
    let site = app.site.load();
    let fields = Fields::of_plain(&plain);
    let read = Read {
        query: plain.query,
        fields: &fields,
    };
    let reply = endpoint::read(app, &site, route, &read);
    let ready = ready_of(&reply);
    let pushed = match ready {
        Some(ready) => push_stored(app, reply, ready, plain.is_head, out)?,
        None => push_made(app, reply, plain.is_head, out)?,
    };
    let elapsed = record(app, route, &pushed, began, note);
    Some(Answered {
        length: plain.length,
        cost: if ready.is_some() { 1 } else { cost(elapsed) },
        body: pushed.body,
    })
}

/// Returns the [`Answered::cost`] of a reply that was made in so much time.
fn cost(elapsed: Duration) -> usize {
    let documents = elapsed.as_micros() / DOCUMENT_US;
    MADE_COST.max(usize::try_from(documents).unwrap_or(usize::MAX))
}

/// Adds a reply to the numbers and to the access log; returns how long it took.
fn record(
    app: &App,
    route: Route<'_>,
    pushed: &Pushed,
    began: Instant,
    note: Option<Note>,
) -> Duration {
    let &Pushed { status, sent, .. } = pushed;
    let elapsed = began.elapsed();
    app.traffic.record_plain();
    app.traffic.record(route.place(), status, sent, elapsed);
    if let (Some(note), Some(log)) = (note, app.access_log()) {
        note.push(log, status, sent);
    }
    elapsed
}

/// Finds what a path is about, if it is one that is answered here.
fn route_of<'p>(parent: &str, last: &'p str, query: &str) -> Option<Route<'p>> {
    if let Some(route) = router::route_of_date(parent, last) {
        return Some(route);
    }
    let route = router::route(parent, last)?;
    match route {
        Route::Document(_) | Route::Page(_) => query.is_empty().then_some(route),
        Route::Search | Route::Review(_) => Some(route),
        _ => None,
    }
}

/// Tells whether a request is within all bounds, and no setting asks for more than its answer.
fn is_simple(app: &App, plain: &Plain<'_>) -> bool {
    // Who sent it would have to be found out first.
    let names_client = plain.is_forwarded && app.access_log().is_some() && app.has_proxies();
    !app.has_rate(Surface::Reads)
        && !names_client
        && plain.fields <= app.limits.header_fields
        && plain.path.len() + 1 + plain.query.len() <= app.limits.target_bytes
        && host::is_authority(plain.host)
}

/// What was appended of a reply.
struct Pushed {
    status: u16,
    /// Bytes of its body, wherever they are.
    sent: u64,
    /// The body, where it follows what was appended.
    body: Option<Stored>,
}

/// Returns what is written already of `reply`.
fn ready_of<'s>(reply: &Reply<'s>) -> Option<&'s Ready> {
    match reply {
        Reply::Serve(representation, _) | Reply::NotModified(representation) => {
            representation.ready
        }
        _ => None,
    }
}

/// Appends the reply of a document, whose head is rendered where this is the first of its kind; `None` for a reply that
/// no document gives.
fn push_stored(
    app: &App,
    reply: Reply<'_>,
    ready: &Ready,
    is_head: bool,
    out: &mut Vec<u8>,
) -> Option<Pushed> {
    let (status, head, file) = match &reply {
        Reply::Serve(representation, _) => {
            let coding = representation.coding;
            (200, ready.served(coding), ready.file(coding).cloned())
        }
        Reply::NotModified(representation) => {
            (304, ready.not_modified(representation.coding), None)
        }
        _ => return None,
    };
    let bytes = match (head.get(), reply) {
        (Some(head), reply) => {
            out.extend_from_slice(head);
            match reply {
                Reply::Serve(_, body) => body.into_slice(),
                _ => Bytes::new(),
            }
        }
        (None, reply) => {
            let response = reply::render(reply, Default::default(), &app.cache_control);
            let start = out.len();
            reply::plain::push_head(&response, out);
            // Another thread has rendered the same.
            let _ = head.set(out[start..].into());
            response.into_body().into_slice()
        }
    };
    push_date(out);
    out.extend_from_slice(b"\r\n\r\n");
    Some(match is_head {
        true => Pushed {
            status,
            sent: 0,
            body: None,
        },
        false => Pushed {
            status,
            sent: bytes.len() as u64,
            body: copy_small(Stored { bytes, file }, out),
        },
    })
}

/// Appends a reply that is made for one request; `None` for a refusal, and for a long body in several pieces.
fn push_made(app: &App, reply: Reply<'_>, is_head: bool, out: &mut Vec<u8>) -> Option<Pushed> {
    let is_taken = match &reply {
        Reply::Serve(_, body) => is_head || is_sent_from_here(body),
        Reply::NotModified(_) => true,
        _ => false,
    };
    is_taken.then(|| {
        let render = |headers| reply::render(reply, headers, &app.cache_control);
        push_response(render, is_head, out)
    })
}

/// Appends the reply that `render` writes into a header map that has served before; its body has to be one that
/// [`is_sent_from_here`].
fn push_response(
    render: impl FnOnce(HeaderMap) -> Response<Body>,
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
    out.extend_from_slice(b"\r\n\r\n");
    let (parts, body) = response.into_parts();
    let mut headers = parts.headers;
    // What it refers to is not to be kept alive by it.
    headers.clear();
    HEADERS.set(headers);
    debug_assert!(is_head || is_sent_from_here(&body), "pieces would be lost");
    let sent = if is_head { 0 } else { body.length() };
    let body = match sent {
        0 => None,
        _ if is_copied(&body) => {
            for slice in body.slices() {
                out.extend_from_slice(slice);
            }
            None
        }
        _ => Some(Stored {
            bytes: body.into_slice(),
            file: None,
        }),
    };
    Pushed {
        status: parts.status.as_u16(),
        sent,
        body,
    }
}

/// Tells whether a body is copied behind its head, or is one piece that can follow it.
fn is_sent_from_here(body: &Body) -> bool {
    is_copied(body) || is_one_piece(body)
}

fn is_copied(body: &Body) -> bool {
    let bytes_max = match is_one_piece(body) {
        true => COPY_BYTES_MAX,
        false => JOIN_BYTES_MAX,
    };
    body.length() < bytes_max as u64
}

fn is_one_piece(body: &Body) -> bool {
    let [first, second, _] = body.slices();
    first.is_empty() && second.is_empty()
}

/// Appends a small body; returns any other.
fn copy_small(stored: Stored, out: &mut Vec<u8>) -> Option<Stored> {
    if stored.bytes.len() >= COPY_BYTES_MAX {
        return Some(stored);
    }
    out.extend_from_slice(&stored.bytes);
    None
}

/// Appends the value of Date, written once a second by each thread.
fn push_date(out: &mut Vec<u8>) {
    thread_local! {
        static DATE: Cell<(i64, [u8; 29])> = const { Cell::new((i64::MIN, [0; 29])) };
    }
    let second = clock::unix_s();
    let (of, mut text) = DATE.get();
    if of != second {
        text = Timestamp::from_unix(second).render_http();
        DATE.set((second, text));
    }
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of three pieces, so many bytes in all.
    fn pieces(bytes: usize) -> Body {
        let [head, tail] = [b"[", b"]"].map(|text| Bytes::from_static(text));
        Body::joined(head, vec![b'x'; bytes - 2].into(), tail)
    }

    #[test]
    fn a_small_body_is_copied_behind_its_head() {
        let one = |bytes: usize| Body::full(vec![b'x'; bytes].into());
        assert!(is_copied(&one(COPY_BYTES_MAX - 1)));
        assert!(!is_copied(&one(COPY_BYTES_MAX)));
        // It follows its head all the same.
        assert!(is_sent_from_here(&one(COPY_BYTES_MAX)));
        for (bytes, is_small) in [(COPY_BYTES_MAX - 1, true), (COPY_BYTES_MAX, false)] {
            let stored = Stored {
                bytes: vec![b'x'; bytes].into(),
                file: None,
            };
            let mut out = b"head".to_vec();
            assert_eq!(copy_small(stored, &mut out).is_none(), is_small);
            assert_eq!(out.len(), if is_small { 4 + bytes } else { 4 });
        }
    }

    #[test]
    fn a_body_of_several_pieces_is_copied_up_to_its_bound_and_left_to_hyper_from_there() {
        assert!(is_sent_from_here(&pieces(JOIN_BYTES_MAX - 1)));
        assert!(!is_sent_from_here(&pieces(JOIN_BYTES_MAX)));
    }
}
