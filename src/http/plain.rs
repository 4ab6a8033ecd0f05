//! Plain requests for stored documents, answered without hyper: the same decisions by the same code, and bytes that were
//! written before.
//!
//! What is not plain, not for a stored document, or depends on a setting that this file does not know is left alone, for
//! [`handle`](super::handle) to answer. The replies of both are the same, byte for byte, their date aside.

use std::cell::Cell;
use std::net::SocketAddr;

use bytes::Bytes;

use super::access::Note;
use super::app::{App, Surface};
use super::endpoint::{self, Read};
use super::fields::Fields;
use super::host;
use super::ready::Stored;
use super::reply::{self, Reply};
use super::router::{self, Route};
use crate::clock;
use crate::wire::date::Timestamp;
use crate::wire::plain::{Plain, parse_plain};

/// Bodies below this many bytes are copied behind their head: cheaper than telling the kernel of two places.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// What became of a plain request; its head, and its body where that is small, were appended.
#[derive(Debug)]
pub struct Answered {
    /// Bytes of the request.
    pub length: usize,
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
    let plain = parse_plain(bytes)?;
    if !is_simple(app, &plain) {
        return None;
    }
    let cut = plain.path.rfind('/')? + 1;
    let (parent, last) = plain.path.split_at(cut);
    let route = router::route(parent, last)
        .filter(|route| matches!(route, Route::Document(_) | Route::Page(_)))?;
    let note = app
        .access_log()
        .map(|_| Note::of_plain(app, &plain, peer.ip()));
    let site = app.site.load();
    let fields = Fields::of_plain(&plain);
    let read = Read {
        query: "",
        fields: &fields,
    };
    let reply = endpoint::read(app, &site, route, &read);
    let (status, stored) = push(app, reply, out)?;
    let stored = stored.filter(|_| !plain.is_head);
    let sent = stored
        .as_ref()
        .map_or(0, |stored| stored.bytes.len() as u64);
    let body = stored.and_then(|stored| copy_small(stored, out));
    app.traffic.record_plain();
    app.traffic
        .record(route.place(), status, sent, began.elapsed());
    if let (Some(note), Some(log)) = (note, app.access_log()) {
        note.push(log, status, sent);
    }
    Some(Answered {
        length: plain.length,
        body,
    })
}

/// Tells whether a request is within all bounds, and no setting asks for more than its answer.
fn is_simple(app: &App, plain: &Plain<'_>) -> bool {
    // Who sent it would have to be found out first.
    let names_client = plain.is_forwarded && app.access_log().is_some() && app.has_proxies();
    !app.has_rate(Surface::Reads)
        && !names_client
        && plain.fields <= app.limits.header_fields
        && plain.path.len() <= app.limits.target_bytes
        && host::is_authority(plain.host)
}

/// Appends the head of `reply`, which is rendered where this is the first of its kind; returns its status and its body.
/// `None` for a reply that no document gives.
fn push(app: &App, reply: Reply<'_>, out: &mut Vec<u8>) -> Option<(u16, Option<Stored>)> {
    let (status, head, file) = match &reply {
        Reply::Serve(representation, _) => {
            let (ready, coding) = (representation.ready?, representation.coding);
            (200, ready.served(coding), ready.file(coding).cloned())
        }
        Reply::NotModified(representation) => {
            let head = representation.ready?.not_modified(representation.coding);
            (304, head, None)
        }
        _ => return None,
    };
    let body = match (head.get(), reply) {
        (Some(head), reply) => {
            out.extend_from_slice(head);
            match reply {
                Reply::Serve(_, body) => body.into_slice(),
                _ => Bytes::new(),
            }
        }
        (None, reply) => {
            let response = reply::render(reply, Default::default(), &app.cache_control);
            let rendered = reply::plain::render_head(&response);
            out.extend_from_slice(&rendered);
            // Another thread has rendered the same.
            let _ = head.set(rendered);
            response.into_body().into_slice()
        }
    };
    push_date(out);
    out.extend_from_slice(b"\r\n\r\n");
    let stored = (status == 200).then_some(Stored { bytes: body, file });
    Some((status, stored))
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
