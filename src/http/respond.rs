//! From the head of a request to its response: the one path that all requests take.
//!
//! hyper's head becomes a [`RequestHead`], [`find_route`] routes it, and an [`Exchange`] decides on the [`Reply`] and
//! tells the counters and the access log of it.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::access_log::LogEntry;
use super::app_state::AppState;
use super::body::{self, Body};
use super::endpoint;
use super::error::HttpError;
use super::head::{Field, RequestHead};
use super::rate_limit::{RateLimitScope, RateLimitStatus};
use super::reply::{self, Reply};
use super::router::{self, Action, Matched, Path, Route, RouteRow, TargetError};
use super::served_state::ServedState;
use crate::clock;
use crate::mcp;
use crate::pages::Policy;
use crate::wire::negotiate::prefers_html;

/// What a path leads to; `None` for the `*` of OPTIONS.
type Found<'p> = Result<Option<Matched<'p>>, HttpError>;

fn find_route<'p>(path: &'p Result<Option<Path<'_>>, TargetError>) -> Found<'p> {
    let Some(path) = path.as_ref().map_err(|error| *error)? else {
        return Ok(None);
    };
    if let Some(matched) = router::route_of_date(&path.parent, path.raw) {
        return Ok(Some(matched));
    }
    let last = path.last.as_ref().map_err(|error| *error)?;
    let matched = router::route(&path.parent, last);
    matched.map(Some).ok_or(HttpError::UnknownPath)
}

/// Returns the rate limit that a request counts against before anything else is looked at, if any.
fn scope_of(head: &RequestHead<'_>, found: &Found<'_>) -> Option<RateLimitScope> {
    match found {
        // A page cannot leave this question out, and the request that it asks about is counted.
        _ if head.is_preflight() => None,
        // These are counted when their head is checked.
        Ok(Some(matched)) if matched.action(head.method) == Action::Write => None,
        Ok(Some(matched)) => matched.row.scope,
        _ => Some(RateLimitScope::Reads),
    }
}

/// Checks what needs no route, in the order that `mod.rs` names.
fn check_head(app: &AppState, head: &RequestHead<'_>) -> Result<(), HttpError> {
    if head.field_count > app.limits.header_fields {
        return Err(HttpError::Fields {
            count: head.field_count,
            count_max: app.limits.header_fields,
        });
    }
    head.host?;
    if !head.is_transfer_encoding_known() {
        return Err(HttpError::TransferEncoding);
    }
    match *head.method == Method::CONNECT {
        true => Err(HttpError::Connect),
        false => Ok(()),
    }
}

/// A request between its head and the end of its response: what the counters and the access log are told of it.
struct Exchange {
    began: Instant,
    route_id: usize,
    log_entry: Option<LogEntry>,
    /// What the client has left of its rate, where it has one.
    quota: Option<RateLimitStatus>,
}

impl Exchange {
    /// Begins with the request of `head`, which was there at `began`.
    fn begin(
        app: &AppState,
        head: &RequestHead<'_>,
        found: &Found<'_>,
        began: Instant,
    ) -> Exchange {
        let log = app.access_log.get();
        Exchange {
            began,
            route_id: match found {
                Ok(Some(matched)) => matched.route_id,
                _ => router::UNMATCHED,
            },
            log_entry: log.map(|_| LogEntry::begin(head, app.proxies.client_of(head))),
            quota: None,
        }
    }

    /// Decides what to reply. Allocates nothing for a stored document.
    fn respond<'s>(
        &mut self,
        app: &AppState,
        served: &'s ServedState,
        head: &RequestHead<'_>,
        found: Found<'_>,
        scope: Option<RateLimitScope>,
    ) -> Result<Reply<'s>, &'static RouteRow> {
        let found = match scope.and_then(|scope| self.count(app, head, scope)) {
            Some(error) => Err(error),
            None => found,
        };
        let options = |allow, preflight| Reply::Options { allow, preflight };
        let error = match found {
            Ok(None) => return Ok(options(router::ALLOW_ALL, false)),
            Ok(Some(matched)) => match matched.action(head.method) {
                Action::Write => return Err(matched.row),
                Action::Options => {
                    return Ok(options(matched.row.methods, head.has(Field::RequestMethod)));
                }
                Action::Refuse => HttpError::Method(matched.row.methods),
                Action::Read => match endpoint::read(app, served, &matched, head) {
                    Reply::Refuse(error) => error,
                    reply => return Ok(reply),
                },
            },
            Err(error) => error,
        };
        // A client that prefers HTML, as browsers do, gets a page of the same status.
        Ok(match error.page() {
            Some(heading) if prefers_html(head.lines_from_last("accept")) => {
                let page = served.pages.error(heading, &error.to_string());
                Reply::RefuseByPage(error, page.into(), Policy::Page)
            }
            _ => Reply::Refuse(error),
        })
    }

    /// Counts the request against the client's rate; returns the error where that is exceeded.
    fn count(
        &mut self,
        app: &AppState,
        head: &RequestHead<'_>,
        scope: RateLimitScope,
    ) -> Option<HttpError> {
        let logged = self.log_entry.as_ref();
        let client = || logged.map_or_else(|| app.proxies.client_of(head), |entry| entry.client);
        self.quota = app.take(scope, client);
        let exceeded = self.quota.filter(|quota| quota.is_exceeded);
        exceeded.map(|quota| HttpError::Rate(quota.per_minute))
    }

    /// Counts and logs the response, which tells what is left of the rate.
    fn end(self, app: &AppState, response: &mut Response<Body>) {
        if let Some(quota) = self.quota {
            reply::put_rate(response, &quota);
        }
        let (status, bytes) = (response.status().as_u16(), response.body().sent());
        let elapsed = self.began.elapsed();
        app.traffic.record(self.route_id, status, bytes, elapsed);
        if let (Some(entry), Some(log)) = (self.log_entry, app.access_log.get()) {
            log.push(LogEntry {
                status,
                bytes,
                elapsed,
                ..entry
            });
        }
    }
}

/// Answers one request that hyper has read, of the client at `peer`; it was there at `began`.
pub async fn handle(
    app: &AppState,
    request: Request<Incoming>,
    peer: SocketAddr,
    began: Instant,
) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let (peer, has_body) = (peer.ip(), !body.is_end_stream());
    // HTTP/1.1 has its own way, the lingering close. A client that waits to hear whether to send its body has sent none.
    let is_discarded =
        has_body && parts.version == Version::HTTP_2 && !parts.headers.contains_key(header::EXPECT);
    match respond_to(app, parts, has_body, peer, began) {
        Ok(response) if !is_discarded => response,
        // Boxed, as reads are the traffic and their futures should stay small.
        responded => {
            let respond = async move {
                let response = match responded {
                    Ok(response) => response,
                    Err((parts, row, exchange)) => {
                        respond_to_body(app, parts, &mut body, peer, row, exchange).await
                    }
                };
                if is_discarded {
                    body::discard(body).await;
                }
                response
            };
            Box::pin(respond).await
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
    respond_to(app, parts, has_body, peer, clock::instant()).ok()
}

/// Answers from the head alone.
#[allow(
    clippy::result_large_err,
    reason = "the error is the way of the few requests that have a body"
)]
fn respond_to(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: IpAddr,
    began: Instant,
) -> Result<Response<Body>, (Parts, &'static RouteRow, Exchange)> {
    let served = app.served.load();
    let head = RequestHead::of_parts(&app.own_authority, &parts, peer);
    let bytes_max = app.limits.target_bytes;
    let path = router::parse_target(head.method, head.path, head.target_bytes, bytes_max);
    let found = find_route(&path);
    let scope = scope_of(&head, &found);
    let found = check_head(app, &head).and(found);
    let mut exchange = Exchange::begin(app, &head, &found, began);
    let reply = exchange.respond(app, &served, &head, found, scope);
    let unread = has_body || head.has(Field::TransferEncoding);
    drop(path);
    match reply {
        Ok(reply) => {
            let mut response = encode(app, parts, reply, unread);
            exchange.end(app, &mut response);
            Ok(response)
        }
        Err(row) => Err((parts, row, exchange)),
    }
}

/// Encodes `reply` for hyper, in the header map of the request, whose body was left alone if `unread`.
fn encode(app: &AppState, parts: Parts, reply: Reply<'_>, unread: bool) -> Response<Body> {
    // A body that is not read would be taken for the next request, or stall hyper. HTTP/2 has streams.
    let close = unread
        || matches!(
            &reply,
            Reply::Refuse(error) | Reply::RefuseByPage(error, ..) if error.ends_connection()
        );
    let mut response = reply::render(reply, parts.headers, &app.cache_control);
    if parts.method == Method::HEAD {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    if close && parts.version < Version::HTTP_2 {
        reply::close(&mut response);
    }
    response
}

/// Answers a request whose body is read first. Rate and origin are checked before, so that a flood costs no more than its
/// heads; the origin first: a page of a foreign one does not spend the rate of the browser that shows it.
async fn respond_to_body(
    app: &AppState,
    parts: Parts,
    body: &mut Incoming,
    peer: IpAddr,
    row: &'static RouteRow,
    mut exchange: Exchange,
) -> Response<Body> {
    let is_http1 = parts.version < Version::HTTP_2;
    // Chunks are where parsers disagree (RFC 9112 §7.1), so nothing that follows them is taken for a request.
    let chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
    let has_body = !body.is_end_stream();
    let origin = match row.route {
        Route::Mcp => endpoint::check_mcp_origin(app, &parts),
        _ => Ok(mcp::Origin::Absent),
    };
    let head = RequestHead::of_parts(&app.own_authority, &parts, peer);
    let scope = row.scope.filter(|_| origin.is_ok() && !head.is_preflight());
    let exceeded = scope.and_then(|scope| exchange.count(app, &head, scope));
    let (mut response, is_read) = match (origin, row.route, exceeded) {
        (Err(reply), ..) => (reply::render_mcp(reply, parts.headers), false),
        (Ok(origin), Route::Mcp, None) => endpoint::mcp(app, parts, origin, body).await,
        (Ok(origin), Route::Mcp, Some(_)) => {
            let mut reply = mcp::Reply::refuse(mcp::Refusal::TooMany);
            reply.origin = origin;
            (reply::render_mcp(reply, parts.headers), false)
        }
        (Ok(_), _, None) => endpoint::hub(app, parts, body).await,
        (Ok(_), _, Some(error)) => (reply::render_error_line(&error, parts.headers), false),
    };
    if is_http1 && (chunked || (has_body && !is_read)) {
        reply::close(&mut response);
    }
    exchange.end(app, &mut response);
    response
}

/// Returns the response to a request whose handler panicked: 500, and the connection ends.
pub(crate) fn internal_error() -> Response<Body> {
    let reply = Reply::Refuse(HttpError::Internal);
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(reply, HeaderMap::new(), &no_store);
    reply::close(&mut response);
    response
}
