//! Plain calls of MCP: whole messages of programs, answered by the same server as all others.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::Method;

use super::{Answered, cost, push_made, record};
use crate::clock;
use crate::http::access::Note;
use crate::http::app::{App, Surface};
use crate::http::client::client_of_plain;
use crate::http::router::Route;
use crate::http::{host, reply};
use crate::mcp::{Field, Form, Head};
use crate::wire::plain::{NotPlain, PlainPost, parse_plain_post};

/// The one address that takes them.
const PATH: &str = "/mcp";

/// Answers the plain call at the beginning of `bytes`, as [`answer_plain`](super::answer_plain) does; `began` is when it
/// was looked at first. Whoever is refused before the message is read is left alone.
pub(super) fn answer(
    app: &App,
    bytes: &[u8],
    peer: SocketAddr,
    out: &mut Vec<u8>,
    began: Instant,
) -> Result<Answered, NotPlain> {
    let post = parse_plain_post(bytes).ok_or(NotPlain::Other)?;
    let server = app.mcp.as_ref().ok_or(NotPlain::Other)?;
    if !is_simple(app, &post) {
        return Err(NotPlain::Other);
    }
    let head = head(&post);
    let visitor = server.judge(&head).map_err(|_| NotPlain::Other)?;
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
        // A batch holds up to 64 calls.
        cost: cost(elapsed),
        body: pushed.body,
    })
}

/// Tells whether a call is within all bounds, and has no rate: one that is refused would end the connection.
fn is_simple(app: &App, post: &PlainPost<'_>) -> bool {
    post.path == PATH
        && !app.has_rate(Surface::Mcp)
        && post.fields <= app.limits.header_fields
        && PATH.len() <= app.limits.target_bytes
        && post.body.len() <= app.limits.mcp_body_bytes
        && host::is_authority(post.host)
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
