//! Handles requests: the only code path from the head of a request to its response.
//!
//! hyper's parts become a [`RequestHead`], [`choose_reply`] finds its route and has the endpoint make the [`Reply`],
//! [`encode`] converts that to hyper's response, and an [`Exchange`] records it in the metrics and the access log.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::access_log::LogEntry;
use super::app_state::AppState;
use super::body::{self, Body};
use super::client::Peer;
use super::endpoint::{self, BodyAnswer, BodyRequest};
use super::error::HttpError;
use super::head::{HeadField, RequestHead};
use super::rate_limit::{RateLimitScope, RateLimitStatus};
use super::reply::{self, Reply};
use super::router::{self, Action, Matched, Path, Route, RouteRow, TargetError};
use super::served_state::ServedState;
use crate::clock;
use crate::limits::{Account, SMALL_BODY_BYTES, Share, Shortage};
use crate::mcp;
use crate::pages::BrowserPolicy;
use crate::wire::negotiate::prefers_html;

/// The answer to a request. Most are ready at once, and then no future is made, into which the request would be copied.
#[allow(
    clippy::large_enum_variant,
    reason = "most answers are the large variant, and a box would cost an allocation for each"
)]
pub enum HttpAnswer {
    /// The response.
    Now(Response<Body>),
    /// What gives the response, after it has waited for the body of the request.
    Later(Pin<Box<dyn Future<Output = Response<Body>>>>),
}

impl HttpAnswer {
    /// Waits for the response.
    pub async fn response(self) -> Response<Body> {
        match self {
            HttpAnswer::Now(response) => response,
            HttpAnswer::Later(response) => response.await,
        }
    }
}

/// Answers a request from hyper; `peer` is the connection's peer, and the turn of the request came at `began`.
pub fn handle(
    app: &Arc<AppState>,
    request: Request<Incoming>,
    peer: &Peer,
    began: Instant,
) -> HttpAnswer {
    let (parts, mut body) = request.into_parts();
    let received = Received {
        peer,
        began,
        has_body: !body.is_end_stream(),
    };
    // HTTP/1.1 uses a lingering close instead. A client that sent `Expect` has not sent its body yet.
    let is_discarded = received.has_body
        && parts.version == Version::HTTP_2
        && !parts.headers.contains_key(header::EXPECT);
    let responded = match respond_from_head(app, parts, &received) {
        Ok(response) if !is_discarded => return HttpAnswer::Now(response),
        responded => responded,
    };
    let app = Arc::clone(app);
    let peer = peer.clone();
    HttpAnswer::Later(Box::pin(async move {
        let response = match responded {
            Ok(response) => response,
            Err(request) => respond_with_body(&app, *request, &mut body, &peer).await,
        };
        if is_discarded {
            body::discard(body).await;
        }
        response
    }))
}

/// Answers a request from its head alone, like [`handle`]; `None` if its body is needed.
///
/// A GET of a stored document allocates only the copy of its header fields here. Other reads of stored bytes allocate
/// nothing if the header map of the request has the capacity that the response needs; it usually has, as hyper reuses the
/// map of a response for the next request of the connection.
#[must_use]
pub fn respond(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: &Peer,
) -> Option<Response<Body>> {
    let received = Received {
        peer,
        began: clock::instant(),
        has_body,
    };
    respond_from_head(app, parts, &received).ok()
}

/// What is known of a request besides its head.
struct Received<'p> {
    peer: &'p Peer,
    /// When the head was complete.
    began: Instant,
    has_body: bool,
}

/// A request that cannot be answered without its body.
struct AwaitsBody {
    head: RequestHead,
    row: &'static RouteRow,
    exchange: Exchange,
}

/// Answers from the head alone; fails with the request if its body is needed.
fn respond_from_head(
    app: &AppState,
    parts: Parts,
    received: &Received<'_>,
) -> Result<Response<Body>, Box<AwaitsBody>> {
    let served = app.served.load();
    let peer = received.peer;
    let mut head = RequestHead::of_parts(&app.own_authority, parts, peer.address);
    let mut exchange = Exchange::begin(app, &head, received.began);
    let mut reply = match choose_reply(app, &served, &head, &mut exchange) {
        Ok(reply) => reply,
        Err(row) => {
            return Err(Box::new(AwaitsBody {
                head,
                row,
                exchange,
            }));
        }
    };
    let mut share = None;
    // A response to HEAD has no body.
    if *head.method() != Method::HEAD {
        match take_share(reply.made_bytes(), || app.proxies.account_of(peer, &head)) {
            Ok(taken) => share = taken,
            Err(shortage) => reply = Reply::Refuse(shortage.into()),
        }
    }
    let is_unread = received.has_body || head.has(HeadField::TransferEncoding);
    let mut response = encode(app, &mut head, reply, is_unread);
    response.body_mut().keep(share);
    exchange.end(app, &mut response);
    Ok(response)
}

/// Chooses the reply; fails with the row of a route that needs the body. Allocates nothing for a stored document.
fn choose_reply<'s>(
    app: &AppState,
    served: &'s ServedState,
    head: &RequestHead,
    exchange: &mut Exchange,
) -> Result<Reply<'s>, &'static RouteRow> {
    let bytes_max = app.limits.target_bytes;
    let path = router::parse_target(head.method(), head.path(), head.target_bytes(), bytes_max);
    let error = match check(app, head, &path, exchange) {
        Ok(None) => {
            return Ok(Reply::Options {
                allow: router::ALLOW_ALL,
                preflight: false,
            });
        }
        Ok(Some(matched)) => match matched.action(head.method()) {
            Action::NeedBody => return Err(matched.row),
            Action::Options => {
                return Ok(Reply::Options {
                    allow: matched.row.methods,
                    preflight: head.has(HeadField::AccessControlRequestMethod),
                });
            }
            Action::Refuse => HttpError::Method(matched.row.methods),
            Action::Read => match endpoint::read(app, served, &matched, head) {
                Reply::Refuse(error) => error,
                reply => return Ok(reply),
            },
        },
        Err(error) => error,
    };
    Ok(error_reply(served, head, error))
}

/// The route of a path, or why it has none; `None` for the `*` of OPTIONS.
type FoundRoute<'p> = Result<Option<Matched<'p>>, HttpError>;

/// Finds the route, and makes the checks that come before its endpoint, in the order documented in `mod.rs`. Counts the
/// request for its rate limit, and notes its route for the metrics.
fn check<'p>(
    app: &AppState,
    head: &RequestHead,
    path: &'p Result<Option<Path<'_>>, TargetError>,
    exchange: &mut Exchange,
) -> FoundRoute<'p> {
    let route = find_route(path);
    let scope = scope_of(head, &route);
    let checked = check_head(app, head).and(route);
    if let Ok(Some(matched)) = &checked {
        exchange.route_id = matched.route_id;
    }
    exchange.count(app, head, scope)?;
    checked
}

fn find_route<'p>(path: &'p Result<Option<Path<'_>>, TargetError>) -> FoundRoute<'p> {
    let Some(path) = path.as_ref().map_err(|error| *error)? else {
        return Ok(None);
    };
    if let Some(matched) = router::route_of_date(&path.parent, path.last_raw) {
        return Ok(Some(matched));
    }
    let last = path.last.as_ref().map_err(|error| *error)?;
    match router::route(&path.parent, last) {
        Some(matched) => Ok(Some(matched)),
        None => Err(HttpError::UnknownPath),
    }
}

/// Returns the rate limit that is checked before anything else; `None` for a route without one, and for a request that is
/// counted later or not at all.
fn scope_of(head: &RequestHead, route: &FoundRoute<'_>) -> Option<RateLimitScope> {
    // Browsers send preflights unasked, and the request that follows is counted.
    if head.is_preflight() {
        return None;
    }
    match route {
        // Counted by `respond_with_body`; on /mcp after the check of the origin.
        Ok(Some(matched)) if matched.action(head.method()) == Action::NeedBody => None,
        Ok(Some(matched)) => matched.row.scope,
        Ok(None) | Err(_) => Some(RateLimitScope::Reads),
    }
}

/// Checks the parts of a head that need no route, in the order documented in `mod.rs`.
fn check_head(app: &AppState, head: &RequestHead) -> Result<(), HttpError> {
    if head.field_count() > app.limits.header_fields {
        return Err(HttpError::Fields {
            count: head.field_count(),
            count_max: app.limits.header_fields,
        });
    }
    head.host?;
    if !head.is_transfer_encoding_known() {
        return Err(HttpError::TransferEncoding);
    }
    if *head.method() == Method::CONNECT {
        return Err(HttpError::Connect);
    }
    Ok(())
}

/// Returns the reply with `error`: as a page for a client that prefers HTML, as browsers do, or else as JSON.
fn error_reply<'s>(served: &'s ServedState, head: &RequestHead, error: HttpError) -> Reply<'s> {
    match error.page_heading() {
        Some(heading) if prefers_html(head.lines_from_last("accept")) => {
            let status = error.status().as_u16();
            let pages = &served.pages;
            let accepted = head.lines_from_last("accept-language");
            let language = pages.language(head.query().as_bytes(), accepted);
            let page = pages.error(language, status, heading, &error.to_string());
            Reply::RefuseByPage(error, page.into(), BrowserPolicy::Page)
        }
        _ => Reply::Refuse(error),
    }
}

/// Takes a share of the budgets for `made_bytes` bytes that were made for a response, from the account that `account`
/// returns; `None` if they are too few to be counted.
fn take_share(
    made_bytes: u64,
    account: impl FnOnce() -> Account,
) -> Result<Option<Share>, Shortage> {
    if made_bytes < SMALL_BODY_BYTES {
        return Ok(None);
    }
    account().take(made_bytes).map(Some)
}

/// Encodes `reply` for hyper, reusing the header map of the request; `is_unread` if the body of the request was not read.
fn encode(
    app: &AppState,
    head: &mut RequestHead,
    reply: Reply<'_>,
    is_unread: bool,
) -> Response<Body> {
    // On HTTP/1.1 an unread body would be parsed as the next request, or stall hyper.
    let must_close = is_unread
        || matches!(
            &reply,
            Reply::Refuse(error) | Reply::RefuseByPage(error, ..) if error.ends_connection()
        );
    let is_head = *head.method() == Method::HEAD;
    let is_http1 = head.version() < Version::HTTP_2;
    let mut response = reply::render(reply, head.take_headers(), &app.cache_control);
    if is_head {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    if must_close && is_http1 {
        reply::close(&mut response);
    }
    response
}

/// Answers a request that needs its body. The rate limit is checked before the body is read, so a flood costs only its
/// heads.
async fn respond_with_body(
    app: &AppState,
    request: AwaitsBody,
    body: &mut Incoming,
    peer: &Peer,
) -> Response<Body> {
    let AwaitsBody {
        head,
        row,
        mut exchange,
    } = request;
    let is_http1 = head.version() < Version::HTTP_2;
    // Parsers disagree on chunked bodies (RFC 9112 §7.1), so the connection is closed after one.
    let is_chunked = head.has(HeadField::TransferEncoding);
    let has_body = !body.is_end_stream();
    let account = app.proxies.account_of(peer, &head);
    // Preflights are not counted; see `scope_of`.
    let scope = if head.is_preflight() { None } else { row.scope };
    let body_request = BodyRequest {
        app,
        head: &head,
        body,
        account: &account,
    };
    let answer = if row.route == Route::Mcp {
        let answered = endpoint::mcp(body_request, || exchange.count(app, &head, scope).is_ok());
        let answer = answered.await;
        BodyAnswer {
            reply: respond_mcp(answer.reply, head, &account),
            is_body_read: answer.is_body_read,
        }
    } else {
        match exchange.count(app, &head, scope) {
            Ok(()) => endpoint::hub(body_request, app.proxies.client_of(&head)).await,
            Err(error) => BodyAnswer {
                reply: reply::render_error_line(&error),
                is_body_read: false,
            },
        }
    };
    let mut response = answer.reply;
    if is_http1 && (is_chunked || (has_body && !answer.is_body_read)) {
        reply::close(&mut response);
    }
    exchange.end(app, &mut response);
    response
}

/// Encodes a reply of `/mcp`, or the refusal of a reply for which the budgets have no room.
fn respond_mcp(reply: mcp::McpReply, mut head: RequestHead, account: &Account) -> Response<Body> {
    let made_bytes = reply.body.capacity() as u64;
    match take_share(made_bytes, || account.clone()) {
        Ok(share) => {
            let mut response = reply::render_mcp(reply, head.take_headers());
            response.body_mut().keep(share);
            response
        }
        Err(_) => {
            let busy = mcp::McpReply {
                origin: reply.origin,
                ..mcp::McpReply::of_refusal(mcp::McpRefusal::Busy)
            };
            reply::render_mcp(busy, head.take_headers())
        }
    }
}

/// State of a request from its head to its response: the data for metrics and access log.
struct Exchange {
    began: Instant,
    /// Its index in [`router::ROUTE_LABELS`].
    route_id: usize,
    /// `None` if requests are not logged.
    log_entry: Option<LogEntry>,
    /// The client's rate limit status; `None` until the request is counted, and for a request without a limit.
    quota: Option<RateLimitStatus>,
}

impl Exchange {
    /// Starts the exchange of a request whose head was complete at `began`, and whose route is not known yet.
    fn begin(app: &AppState, head: &RequestHead, began: Instant) -> Exchange {
        let log_entry = if app.logs_requests {
            Some(LogEntry::begin(head, app.proxies.client_of(head)))
        } else {
            None
        };
        Exchange {
            began,
            route_id: router::UNMATCHED,
            log_entry,
            quota: None,
        }
    }

    /// Counts the request against the client's rate limit, if it has one.
    ///
    /// # Errors
    /// The limit is exceeded.
    fn count(
        &mut self,
        app: &AppState,
        head: &RequestHead,
        scope: Option<RateLimitScope>,
    ) -> Result<(), HttpError> {
        let Some(scope) = scope else {
            return Ok(());
        };
        self.quota = app.take(scope, self.began, || match &self.log_entry {
            Some(entry) => entry.client,
            None => app.proxies.client_of(head),
        });
        match self.quota {
            Some(quota) if quota.is_exceeded => Err(HttpError::Rate(quota.per_minute)),
            _ => Ok(()),
        }
    }

    /// Adds the rate limit headers to the response. Then records the response in the metrics and in the access log.
    fn end(self, app: &AppState, response: &mut Response<Body>) {
        if let Some(quota) = self.quota {
            reply::put_rate(response, &quota);
        }
        let status = response.status().as_u16();
        let bytes = response.body().sent();
        let elapsed = self.began.elapsed();
        app.traffic.record(self.route_id, status, bytes, elapsed);
        if let Some(mut entry) = self.log_entry {
            entry.status = status;
            entry.bytes = bytes;
            entry.elapsed = elapsed;
            entry.log();
        }
    }
}

/// Counts and logs a response with `error` that was sent to `peer` without a call of [`handle`], because the head was
/// invalid or late. A proxy counts as the client: no field of the head is trusted.
pub(crate) fn record_refusal(app: &AppState, peer: IpAddr, error: HttpError) {
    app.traffic.count_refusal(error.status().as_u16());
    if app.logs_requests {
        LogEntry::of_refused(peer, error).log();
    }
}

/// Returns the response to a request whose handler panicked: 500, and the connection is closed.
pub(crate) fn internal_error() -> Response<Body> {
    let reply = Reply::Refuse(HttpError::Internal);
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(reply, HeaderMap::new(), &no_store);
    reply::close(&mut response);
    response
}
