//! Plain calls of MCP: whole messages of programs, answered by the same server as all others.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::Method;

use super::{Answered, cost, push_made, record};
use crate::clock;
use crate::http::access::Note;
use crate::http::app::{App, Surface};
use crate::http::client::client_of_plain;
use crate::http::reply;
use crate::http::router::Route;
use crate::mcp::{Field, Form, Head};
use crate::wire::plain::{NotPlain, PlainPost, parse_plain_post};

/// The one address that takes them.
const PATH: &str = "/mcp";

/// How they begin.
const START: &[u8] = b"POST /mcp HTTP/1.1\r\n";

/// Answers the plain call at the beginning of `bytes`, as [`answer_plain`](super::answer_plain) does; `began` is when its
/// last part was received. Whoever is refused before the message is read is left alone, also where the message is missing.
pub(super) fn answer(
    app: &App,
    bytes: &[u8],
    peer: SocketAddr,
    began: Instant,
    out: &mut Vec<u8>,
) -> Result<Answered, NotPlain> {
    let server = app.mcp.as_ref().ok_or(NotPlain::Other)?;
    // A rate is left to hyper: whoever is refused would lose the connection.
    if !is_begun(bytes) || app.has_rate(Surface::Mcp) {
        return Err(NotPlain::Other);
    }
    let post = parse_plain_post(bytes)?;
    if !is_simple(app, &post) {
        return Err(NotPlain::Other);
    }
    let head = head(&post);
    let visitor = server.judge(&head).map_err(|_| NotPlain::Other)?;
    if !post.is_whole() {
        let length = post.length;
        return Err(NotPlain::Body { length });
    }
    let note = app.access_log().map(|_| {
        let client = client_of_plain(app, post.lines, peer.ip());
        Note::of_plain(&Method::POST, post.path, post.traceparent, client)
    });
    let site = app.site.load();
    let reply = server.handle_judged(site.catalog(), &head, visitor, post.body, clock::now());
    let render = |headers| reply::mcp::render(reply, headers);
    let pushed = push_made(render, |_| None, false, out);
    let elapsed = record(app, Route::Mcp.place(), &pushed, began, note);
    Ok(Answered {
        length: post.length,
        // A batch holds up to 32 calls.
        cost: cost(elapsed),
        body: pushed.body,
    })
}

/// Tells whether these bytes begin like a call, as far as they go. A single one may as well be of HTTP/2.
fn is_begun(bytes: &[u8]) -> bool {
    bytes.starts_with(START) || (bytes.len() > 1 && START.starts_with(bytes))
}

/// Tells whether a call is within all bounds.
fn is_simple(app: &App, post: &PlainPost<'_>) -> bool {
    post.path == PATH
        && post.fields <= app.limits.header_fields
        && PATH.len() <= app.limits.target_bytes
        && post.body_bytes <= app.limits.mcp_body_bytes
        && app.is_authority(post.host)
}

/// What the protocol looks at of a call's head.
fn head<'p>(post: &PlainPost<'p>) -> Head<'p> {
    Head {
        method: b"POST",
        host: Field::One(post.host),
        origin: Field::Absent,
        form: Form::of(post.accept.into_iter()),
        content_type: field(post.content_type),
        protocol_version: field(post.protocol_version),
        session: field(post.session),
        mcp_method: field(post.mcp_method),
        mcp_name: field(post.mcp_name),
    }
}

fn field(value: Option<&[u8]>) -> Field<'_> {
    value.map_or(Field::Absent, Field::One)
}
