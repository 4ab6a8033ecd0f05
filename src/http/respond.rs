//! From the head of a request to its response: the one path that all requests take.
//!
//! The fast path and hyper each make a [`RequestHead`], [`Routed::find`] routes it, and an [`Exchange`] decides on the
//! [`Reply`] and tells the counters and the access log of it. Each of the two encodes the reply in its own way: hyper's
//! is here, the other in `fast_path.rs`. Endpoints that read a body come through hyper alone, and answer later.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::access_log::LogEntryBuilder;
use super::app_state::{AppState, RateLimitScope};
use super::body::Body;
use super::endpoint;
use super::fast_path::{MADE_COST, documents};
use super::head::{Field, RequestHead};
use super::rate_limit::RateLimitStatus;
use super::reply::{self, Refusal, Reply};
use super::router::{self, Action, Route};
use super::served_state::ServedState;
use super::target::{self, Path, TargetError};
use crate::clock;
use crate::mcp;
use crate::wire::negotiate::prefers_html;

/// What a request asks for, found once.
pub(super) struct Routed<'p> {
    /// `None` for the `*` of OPTIONS.
    pub(super) route: Result<Option<Route<'p>>, Refusal>,
    /// From which rate the client takes before anything else is looked at; `None` if from none, or not yet.
    scope: Option<RateLimitScope>,
}

/// A path as the target has it.
pub(super) type FoundPath<'p> = Result<Option<Path<'p>>, TargetError>;

/// Cuts and decodes the path of a request.
pub(super) fn path_of<'r>(app: &AppState, head: &RequestHead<'r>) -> FoundPath<'r> {
    target::parse_target(
        head.method,
        head.path,
        head.target_bytes,
        app.limits.target_bytes,
    )
}

impl<'p> Routed<'p> {
    /// Routes a request with this path, and checks what needs no route, in the order that `mod.rs` names.
    pub(super) fn find(
        app: &AppState,
        head: &RequestHead<'_>,
        path: &'p FoundPath<'_>,
    ) -> Routed<'p> {
        let route = match path {
            Ok(path) => path.as_ref().map(route_of).transpose(),
            Err(error) => Err(Refusal::Target(*error)),
        };
        let scope = match route {
            // Load balancers ask these to decide whether traffic comes here at all.
            Ok(Some(Route::Health | Route::Ready)) => None,
            // A page cannot leave this question out, and the request that it asks about is counted.
            _ if head.is_preflight() => None,
            // They take when their head is checked.
            Ok(Some(Route::Mcp)) => None,
            Ok(Some(Route::Hub)) if *head.method == Method::POST => None,
            Ok(Some(Route::Hub)) => Some(RateLimitScope::Hub),
            _ => Some(RateLimitScope::Reads),
        };
        let route = check(app, head).and(route);
        Routed { route, scope }
    }
}

/// Checks what every request has to be like, its path aside.
fn check(app: &AppState, head: &RequestHead<'_>) -> Result<(), Refusal> {
    if head.field_count > app.limits.header_fields {
        return Err(Refusal::Fields(app.limits.header_fields));
    }
    head.host.map_err(Refusal::Host)?;
    if !head.is_transfer_encoding_known() {
        return Err(Refusal::TransferEncoding);
    }
    match *head.method == Method::CONNECT {
        true => Err(Refusal::Connect),
        false => Ok(()),
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

/// A request between its head and the end of its response: what the counters and the access log are told of it.
pub(super) struct Exchange {
    began: Instant,
    route_id: usize,
    log_entry: Option<LogEntryBuilder>,
    /// What the client has left of its rate, where it has one.
    pub(super) quota: Option<RateLimitStatus>,
}

impl Exchange {
    /// Begins with the request of `head`, which was there at `began`.
    pub(super) fn begin(
        app: &AppState,
        head: &RequestHead<'_>,
        routed: &Routed<'_>,
        began: Instant,
    ) -> Exchange {
        Exchange {
            began,
            route_id: match routed.route {
                Ok(Some(route)) => route.route_id(),
                _ => router::UNMATCHED,
            },
            log_entry: app
                .access_log()
                .map(|_| LogEntryBuilder::new(head, app.proxies.client_of(head))),
            quota: None,
        }
    }

    /// Decides what to reply. Allocates nothing for a stored document.
    ///
    /// # Errors
    /// The endpoint, where that reads a body first.
    pub(super) fn respond<'s>(
        &mut self,
        app: &AppState,
        served: &'s ServedState,
        head: &RequestHead<'_>,
        routed: Routed<'_>,
    ) -> Result<Reply<'s>, BodyEndpoint> {
        let Routed { route, scope } = routed;
        let refusal = match scope.and_then(|scope| self.take(app, head, scope)) {
            Some(refusal) => Err(refusal),
            None => route,
        };
        let reply = match refusal {
            Ok(Some(route)) => match route.action(head.method) {
                Action::Read => endpoint::read(app, served, route, head),
                Action::Write if route == Route::Hub => return Err(BodyEndpoint::Hub),
                Action::Write => return Err(BodyEndpoint::Mcp),
                Action::Options => Reply::Options {
                    allow: route.allow(),
                    preflight: head.has(Field::RequestMethod),
                },
                Action::Refuse => Reply::Refuse(Refusal::Method(route.allow())),
            },
            Ok(None) => Reply::Options {
                allow: router::ALLOW_ALL,
                preflight: false,
            },
            Err(refusal) => Reply::Refuse(refusal),
        };
        Ok(for_browser(reply, served, || {
            head.lines_from_last("accept")
        }))
    }

    /// Takes the request from the client's rate; returns the refusal where that is exceeded.
    fn take(
        &mut self,
        app: &AppState,
        head: &RequestHead<'_>,
        scope: RateLimitScope,
    ) -> Option<Refusal> {
        let log_entry = self.log_entry.as_ref();
        let client =
            || log_entry.map_or_else(|| app.proxies.client_of(head), LogEntryBuilder::client);
        self.quota = app.take(scope, client);
        let exceeded = self.quota.filter(|quota| quota.is_exceeded);
        exceeded.map(|quota| Refusal::Rate(quota.per_minute))
    }

    /// Counts and logs the response, of which `bytes` of body are sent; returns how long it took.
    pub(super) fn end(self, app: &AppState, status: u16, bytes: u64) -> Duration {
        let elapsed = self.began.elapsed();
        app.traffic.record(self.route_id, status, bytes, elapsed);
        if let (Some(log_entry), Some(log)) = (self.log_entry, app.access_log()) {
            log_entry.push(log, status, bytes, elapsed);
        }
        elapsed
    }

    /// Ends with hyper's response, which tells what is left of the rate.
    fn end_with(self, app: &AppState, response: &mut Response<Body>) -> Duration {
        if let Some(quota) = self.quota {
            reply::rate::put(response, &quota);
        }
        self.end(app, response.status().as_u16(), response.body().sent())
    }
}

/// Turns an error into a page of the same status for a client that prefers HTML, as a browser says in `accept`.
fn for_browser<'s, 'a, A: Iterator<Item = &'a [u8]>>(
    reply: Reply<'s>,
    served: &ServedState,
    accept: impl FnOnce() -> A,
) -> Reply<'s> {
    let Reply::Refuse(refusal) = reply else {
        return reply;
    };
    match refusal.page() {
        Some((heading, message)) if prefers_html(accept()) => {
            let page = served.pages().error(heading, &message);
            Reply::RefuseByPage(refusal, page.into())
        }
        _ => Reply::Refuse(refusal),
    }
}

/// An endpoint that answers only after it has read the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEndpoint {
    /// `/api/websub/hub`.
    Hub,
    /// `/mcp`.
    Mcp,
}

/// A response of hyper's, at once for reads, and later where a request's body has to be read first.
///
/// Reads are the traffic, so they cost no boxed future.
#[allow(
    clippy::large_enum_variant,
    reason = "a box would cost each read an allocation"
)]
pub enum ResponseFuture {
    /// Ready at the first poll, and its cost in ready documents; `None` once taken.
    Ready(Option<Response<Body>>, usize),
    /// Waiting for the request's body, or for the hub's store, and its cost so far.
    Pending(Pin<Box<dyn Future<Output = Response<Body>> + Send>>, usize),
}

impl ResponseFuture {
    /// Returns what it has cost so far, roughly, as [`FastResponse::cost`](super::FastResponse::cost) counts; for what
    /// waits for a body that grows with the time of its polls.
    #[must_use]
    pub fn cost(&self) -> usize {
        match self {
            ResponseFuture::Ready(_, cost) | ResponseFuture::Pending(_, cost) => *cost,
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            // hyper polls no future again that has answered; an empty response is the harmless end of that case.
            ResponseFuture::Ready(response, _) => {
                Poll::Ready(Ok(response.take().unwrap_or_default()))
            }
            ResponseFuture::Pending(future, cost) => {
                let began = clock::instant();
                let polled = future.as_mut().poll(context);
                *cost = cost.saturating_add(documents(began.elapsed()));
                polled.map(Ok)
            }
        }
    }
}

/// Answers one request that hyper has read, of the client at `peer`.
pub fn handle(app: &Arc<AppState>, request: Request<Incoming>, peer: SocketAddr) -> ResponseFuture {
    let (parts, body) = request.into_parts();
    let has_body = !body.is_end_stream();
    match respond_to(app, parts, has_body, peer.ip()) {
        Ok((response, elapsed)) => ResponseFuture::Ready(Some(response), 1 + documents(elapsed)),
        Err((parts, endpoint, exchange)) => {
            let response = respond_to_body(app.clone(), parts, body, peer, endpoint, exchange);
            ResponseFuture::Pending(Box::pin(response), MADE_COST)
        }
    }
}

/// Answers a request of `peer` at once from its head, as [`handle`] does; `None` where its body is needed.
///
/// A GET of a stored document allocates nothing here, given a header map of the size that the response needs; hyper
/// hands the map of a response to the next request of the connection.
#[must_use]
pub fn respond(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: IpAddr,
) -> Option<Response<Body>> {
    let responded = respond_to(app, parts, has_body, peer);
    responded.ok().map(|(response, _)| response)
}

/// Answers from the head alone, and tells how long that took.
///
/// # Errors
/// The request and what was noted of it, where the endpoint reads a body.
#[allow(
    clippy::result_large_err,
    reason = "the error is the way of the few requests that have a body"
)]
fn respond_to(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: IpAddr,
) -> Result<(Response<Body>, Duration), (Parts, BodyEndpoint, Exchange)> {
    let began = clock::instant();
    let served = app.served.load();
    let head = RequestHead::of_parts(app, &parts, peer);
    let path = path_of(app, &head);
    let routed = Routed::find(app, &head, &path);
    let mut exchange = Exchange::begin(app, &head, &routed, began);
    let reply = exchange.respond(app, &served, &head, routed);
    let unread = has_body || head.has(Field::TransferEncoding);
    drop(path);
    match reply {
        Ok(reply) => {
            let mut response = encode(app, parts, reply, unread);
            let elapsed = exchange.end_with(app, &mut response);
            Ok((response, elapsed))
        }
        Err(endpoint) => Err((parts, endpoint, exchange)),
    }
}

/// Answers a request whose body is read first.
async fn respond_to_body(
    app: Arc<AppState>,
    parts: Parts,
    body: Incoming,
    peer: SocketAddr,
    endpoint: BodyEndpoint,
    mut exchange: Exchange,
) -> Response<Body> {
    // Chunks are where parsers disagree (RFC 9112 §7.1), so nothing that follows them is taken for a request.
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING) && parts.version < Version::HTTP_2;
    let unread = !body.is_end_stream() && parts.version < Version::HTTP_2;
    let (scope, origin) = match endpoint {
        BodyEndpoint::Hub => (RateLimitScope::Hub, Ok(mcp::Visitor::Direct)),
        // Before the rate: a page of a foreign origin is not to spend the rate of the browser that shows it.
        BodyEndpoint::Mcp => (RateLimitScope::Mcp, endpoint::judge(&app, &parts)),
    };
    // Before the body, so that a flood costs no more than its heads.
    let head = RequestHead::of_parts(&app, &parts, peer.ip());
    let exceeded = match origin.is_err() || head.is_preflight() {
        true => None,
        false => exchange.take(&app, &head, scope),
    };
    let is_refused = exceeded.is_some() || origin.is_err();
    let mut response = match (origin, endpoint, exceeded) {
        (Err(reply), ..) => reply::mcp::render(reply, parts.headers),
        (Ok(_), BodyEndpoint::Hub, None) => endpoint::hub(Arc::clone(&app), parts, body).await,
        (Ok(visitor), BodyEndpoint::Mcp, None) => {
            endpoint::mcp(Arc::clone(&app), parts, visitor, body).await
        }
        (Ok(_), BodyEndpoint::Hub, Some(refusal)) => {
            reply::hub::render_unread(&refusal, parts.headers)
        }
        (Ok(visitor), BodyEndpoint::Mcp, Some(_)) => {
            let reply = mcp::Reply {
                visitor,
                ..mcp::Reply::refuse(mcp::Refusal::TooMany)
            };
            reply::mcp::render(reply, parts.headers)
        }
    };
    if chunked || (unread && is_refused) {
        reply::close(&mut response);
    }
    exchange.end_with(&app, &mut response);
    response
}

/// Encodes `reply` for hyper, in the header map of the request; `unread` tells that its body, or some of it, was left
/// alone.
pub(super) fn encode(
    app: &AppState,
    parts: Parts,
    reply: Reply<'_>,
    unread: bool,
) -> Response<Body> {
    // A body that is not read would be taken for the next request, or stall hyper. HTTP/2 has no such problem.
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

/// Returns the response to a request whose handler panicked: 500, and the connection ends.
#[must_use]
pub fn internal_error() -> Response<Body> {
    let reply = Reply::Refuse(Refusal::Internal);
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(reply, HeaderMap::new(), &no_store);
    reply::close(&mut response);
    response
}
