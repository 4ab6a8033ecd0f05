//! One request in, one reply out.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::access::Note;
use super::app::{App, Surface};
use super::body::Body;
use super::browser::for_browser;
use super::client::client_address;
use super::endpoint::{self, Read};
use super::fields::{self, Field, Fields};
use super::host;
use super::plain;
use super::reply::{self, Refusal, Reply};
use super::router::{self, Action, Route};
use super::site::Site;
use super::target::{self, Path};
use crate::clock;
use crate::mcp;

/// A reply, at once for reads, and in a while where a request's body has to be read first.
///
/// Reads are the traffic, so they cost no boxed future.
#[allow(
    clippy::large_enum_variant,
    reason = "a box would cost each read an allocation"
)]
pub enum Answer {
    /// Ready at the first poll, and its cost in ready documents; `None` once taken.
    Ready(Option<Response<Body>>, usize),
    /// Waiting for the request's body, or for the hub's store, and its cost so far.
    Pending(Pin<Box<dyn Future<Output = Response<Body>> + Send>>, usize),
}

impl Answer {
    /// Returns what it has cost so far, roughly, as [`Answered::cost`](super::Answered::cost) counts; for what waits for a
    /// body that grows with the time of its polls.
    #[must_use]
    pub fn cost(&self) -> usize {
        match self {
            Answer::Ready(_, cost) | Answer::Pending(_, cost) => *cost,
        }
    }
}

impl Future for Answer {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            // hyper polls no future again that has answered; an empty reply is the harmless end of that case.
            Answer::Ready(reply, _) => Poll::Ready(Ok(reply.take().unwrap_or_default())),
            Answer::Pending(future, cost) => {
                let began = clock::instant();
                let polled = future.as_mut().poll(context);
                *cost = cost.saturating_add(plain::documents(began.elapsed()));
                polled.map(Ok)
            }
        }
    }
}

/// An endpoint that answers only after it has read the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// `/api/websub/hub`.
    Hub,
    /// `/mcp`.
    Mcp,
}

/// Answers one request of the client at `peer`.
pub fn handle(app: &Arc<App>, request: Request<Incoming>, peer: SocketAddr) -> Answer {
    let (parts, body) = request.into_parts();
    let has_body = !body.is_end_stream();
    let note = app
        .access_log()
        .map(|_| Note::of(&parts, client_address(app, &parts.headers, peer.ip())));
    let standing = surface_at_once(&parts)
        .and_then(|surface| app.take(surface, || client_of(app, &parts, note.as_ref(), peer)));
    if let Some(standing) = standing.filter(|standing| standing.is_exceeded) {
        let began = clock::instant();
        let place = place_of(app, &parts);
        let refusal = Reply::Refuse(Refusal::Rate(standing.per_minute));
        let mut response = finish(app, parts, refusal, has_body);
        reply::rate::put(&mut response, &standing);
        count(app, place, began, &response);
        log(app, note, &response);
        return Answer::Ready(Some(response), 1);
    }
    match respond_at_cost(app, parts, has_body) {
        Ok((mut response, cost)) => {
            if let Some(standing) = standing {
                reply::rate::put(&mut response, &standing);
            }
            log(app, note, &response);
            Answer::Ready(Some(response), cost)
        }
        Err((parts, write)) => {
            let answer = answer(app.clone(), parts, body, peer, write, note);
            Answer::Pending(Box::pin(answer), plain::MADE_COST)
        }
    }
}

/// Finds whom a request came from, once where it is in the access log, too.
fn client_of(app: &App, parts: &Parts, note: Option<&Note>, peer: SocketAddr) -> IpAddr {
    let looked_at = || client_address(app, &parts.headers, peer.ip());
    note.map_or_else(looked_at, Note::client)
}

/// Finds from whose rate a request takes before anything else is looked at; `None` if from none, or not yet.
fn surface_at_once(parts: &Parts) -> Option<Surface> {
    match parts.uri.path() {
        // Whoever asks these decides whether traffic comes here at all.
        "/healthz" | "/readyz" => None,
        // A page cannot leave its question out, and what it asks about is counted.
        _ if is_preflight(parts) => None,
        // They have rates of their own; an address that is only escaped like theirs takes from both.
        "/mcp" => None,
        "/api/websub/hub" if parts.method == Method::POST => None,
        "/api/websub/hub" => Some(Surface::Hub),
        _ => Some(Surface::Reads),
    }
}

/// Tells whether a browser asks whether a page may ask (Fetch §3.3.2).
fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Hands what was noted of a request to the access log, where there is one.
fn log(app: &App, note: Option<Note>, response: &Response<Body>) {
    if let (Some(note), Some(log)) = (note, app.access_log()) {
        note.push(log, response.status().as_u16(), response.body().sent());
    }
}

/// Answers a request whose body is read first.
async fn answer(
    app: Arc<App>,
    parts: Parts,
    body: Incoming,
    peer: SocketAddr,
    write: Write,
    note: Option<Note>,
) -> Response<Body> {
    let began = clock::instant();
    // Chunks are where parsers disagree (RFC 9112 §7.1), so nothing that follows them is taken for a request.
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING) && parts.version < Version::HTTP_2;
    let unread = !body.is_end_stream() && parts.version < Version::HTTP_2;
    let surface = match write {
        Write::Hub => Surface::Hub,
        Write::Mcp => Surface::Mcp,
    };
    let judged = match write {
        Write::Hub => Ok(mcp::Visitor::Direct),
        // Before the rate, which a foreign page is not to spend for whoever looks at it.
        Write::Mcp => endpoint::judge(&app, &parts),
    };
    let is_free = judged.is_err() || is_preflight(&parts);
    let standing = match is_free {
        true => None,
        false => app.take(surface, || client_of(&app, &parts, note.as_ref(), peer)),
    };
    // Before the body, so that a flood costs no more than its heads.
    let exceeded = standing.filter(|standing| standing.is_exceeded);
    let is_refused = exceeded.is_some() || judged.is_err();
    let mut response = match (judged, write, exceeded) {
        (Err(reply), ..) => reply::mcp::render(reply, parts.headers),
        (Ok(_), Write::Hub, None) => endpoint::hub(Arc::clone(&app), parts, body).await,
        (Ok(visitor), Write::Mcp, None) => {
            endpoint::mcp(Arc::clone(&app), parts, visitor, body).await
        }
        (Ok(_), Write::Hub, Some(standing)) => {
            reply::hub::render_unread(&Refusal::Rate(standing.per_minute), parts.headers)
        }
        (Ok(visitor), Write::Mcp, Some(_)) => {
            let reply = mcp::Reply {
                visitor,
                ..mcp::Reply::too_many()
            };
            reply::mcp::render(reply, parts.headers)
        }
    };
    if let Some(standing) = standing {
        reply::rate::put(&mut response, &standing);
    }
    if chunked || (unread && is_refused) {
        reply::close(&mut response);
    }
    let route = match write {
        Write::Hub => Route::Hub,
        Write::Mcp => Route::Mcp,
    };
    count(&app, route.place(), began, &response);
    log(&app, note, &response);
    response
}

/// Adds a reply to the numbers of its address; returns how long it took.
fn count(app: &App, place: usize, began: Instant, response: &Response<Body>) -> Duration {
    let (status, bytes) = (response.status().as_u16(), response.body().sent());
    let elapsed = began.elapsed();
    app.traffic.record(place, status, bytes, elapsed);
    elapsed
}

/// Answers a request at once from its head, or hands it back where its body is needed first.
///
/// A GET of a stored document allocates nothing here, given a header map of the size that the reply needs; hyper
/// hands the map of a reply to the next request of the connection.
///
/// # Errors
/// The request, untouched, if it is one for an endpoint that reads a body.
#[allow(
    clippy::result_large_err,
    reason = "the error is the way of the few requests that have a body"
)]
pub fn respond(app: &App, parts: Parts, has_body: bool) -> Result<Response<Body>, (Parts, Write)> {
    respond_at_cost(app, parts, has_body).map(|(response, _)| response)
}

/// Answers like [`respond`], and tells what that has cost in ready documents: one for hyper's part, and its time.
#[allow(
    clippy::result_large_err,
    reason = "the error is the way of the few requests that have a body"
)]
fn respond_at_cost(
    app: &App,
    parts: Parts,
    has_body: bool,
) -> Result<(Response<Body>, usize), (Parts, Write)> {
    let began = clock::instant();
    let site = app.site.load();
    let mut place = router::NO_PLACE;
    let (reply, chunked) = {
        let fields = Fields::read(&parts.headers);
        let reply = match decide(app, &site, &parts, &fields, &mut place) {
            Ok(reply) => reply,
            Err(Stop::Refuse(refusal)) => Reply::Refuse(refusal),
            Err(Stop::Write(write)) => return Err((parts, write)),
        };
        let accept = parts.headers.get_all(ACCEPT).iter();
        let reply = for_browser(reply, &site, || accept.map(HeaderValue::as_bytes));
        (reply, fields.has(Field::TransferEncoding))
    };
    let response = finish(app, parts, reply, has_body || chunked);
    let elapsed = count(app, place, began, &response);
    Ok((response, 1 + plain::documents(elapsed)))
}

/// Writes `reply` to the request that `parts` are of; `unread` tells that its body, or some of it, was left alone.
pub(crate) fn finish(app: &App, parts: Parts, reply: Reply<'_>, unread: bool) -> Response<Body> {
    // A body that nobody reads would be taken for the next request, or stall hyper. HTTP/2 has no such problem.
    let refused = matches!(
        &reply,
        Reply::Refuse(refusal) | Reply::RefuseByPage(refusal, _) if refusal.ends_connection()
    );
    let close = (unread || refused) && parts.version < Version::HTTP_2;
    let mut response = match parts.version {
        Version::HTTP_2 => reply::http2::render(reply, parts.headers, &app.cache_control),
        _ => reply::render(reply, parts.headers, &app.cache_control),
    };
    if parts.method == Method::HEAD {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    if close {
        reply::close(&mut response);
    }
    response
}

/// Returns the answer to a request whose handler panicked: 500, and the connection ends.
#[must_use]
pub fn broken() -> Response<Body> {
    let reply = Reply::Refuse(Refusal::Internal);
    let mut response = reply::render(
        reply,
        HeaderMap::new(),
        &HeaderValue::from_static("no-store"),
    );
    reply::close(&mut response);
    response
}

/// Why a request is not answered by a document.
enum Stop {
    Refuse(Refusal),
    Write(Write),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refuse(refusal)
    }
}

/// Checks a request in the order that `mod.rs` names, and asks its endpoint; `place` becomes its address's.
fn decide<'s>(
    app: &App,
    site: &'s Site,
    parts: &Parts,
    fields: &Fields<'_>,
    place: &mut usize,
) -> Result<Reply<'s>, Stop> {
    if parts.headers.len() > app.limits.header_fields {
        return Err(Refusal::Fields(app.limits.header_fields).into());
    }
    host::check(
        parts.version,
        &parts.uri,
        &parts.headers,
        app.own_authority(),
    )
    .map_err(Refusal::Host)?;
    if !fields::is_transfer_encoding_known(fields) {
        return Err(Refusal::TransferEncoding.into());
    }
    if parts.method == Method::CONNECT {
        return Err(Refusal::Connect.into());
    }
    let preflight = fields.has(Field::RequestMethod);
    let path = target::parse_target(&parts.method, &parts.uri, app.limits.target_bytes)
        .map_err(Refusal::Target)?;
    let Some(path) = path else {
        return Ok(Reply::Options {
            allow: router::ALLOW_ALL,
            preflight: false,
        });
    };
    let route = route_of(&path)?;
    *place = route.place();
    match route.action(&parts.method) {
        Action::Read => {
            let query = parts.uri.query().unwrap_or("");
            Ok(endpoint::read(app, site, route, &Read { query, fields }))
        }
        Action::Write if route == Route::Hub => Err(Stop::Write(Write::Hub)),
        Action::Write => Err(Stop::Write(Write::Mcp)),
        Action::Options => Ok(Reply::Options {
            allow: route.allow(),
            preflight,
        }),
        Action::Refuse => Err(Refusal::Method(route.allow()).into()),
    }
}

/// Finds what a path is about.
fn route_of<'p>(path: &'p Path<'_>) -> Result<Route<'p>, Refusal> {
    if let Some(route) = router::route_of_date(path.parent.as_bytes(), path.raw.as_bytes()) {
        return Ok(route);
    }
    let last = path
        .last
        .as_deref()
        .map_err(|error| Refusal::Target(*error))?;
    router::route(path.parent.as_bytes(), last.as_bytes()).ok_or(Refusal::UnknownPath)
}

/// Finds the number of a request's address, of one that is not looked at any further.
fn place_of(app: &App, parts: &Parts) -> usize {
    let path = target::parse_target(&parts.method, &parts.uri, app.limits.target_bytes);
    let place = |path: Path<'_>| route_of(&path).ok().map(|route| route.place());
    let found = path.ok().flatten().and_then(place);
    found.unwrap_or(router::NO_PLACE)
}
