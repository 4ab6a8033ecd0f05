//! Handles requests: the only code path from the head of a request to its response.
//!
//! hyper's parts become a [`RequestHead`], [`find_route`] finds its route, and an [`Exchange`] chooses the [`Reply`]
//! and records it in the metrics and the access log.

use std::net::IpAddr;
use std::time::Instant;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::access_log::LogEntry;
use super::app_state::AppState;
use super::body::{self, Body};
use super::client::Peer;
use super::endpoint;
use super::error::HttpError;
use super::head::{HeadField, RequestHead};
use super::rate_limit::{RateLimitScope, RateLimitStatus};
use super::reply::{self, Reply};
use super::router::{self, Action, Matched, Path, Route, RouteRow, TargetError};
use super::served_state::ServedState;
use crate::clock;
use crate::limits::{Account, SMALL_BODY_BYTES, Share};
use crate::mcp;
use crate::pages::BrowserPolicy;
use crate::wire::negotiate::prefers_html;

/// The route of a path, or why it has none; `None` for the `*` of OPTIONS.
type FoundRoute<'p> = Result<Option<Matched<'p>>, HttpError>;

fn find_route<'p>(path: &'p Result<Option<Path<'_>>, TargetError>) -> FoundRoute<'p> {
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

/// Returns the rate limit that is checked before anything else, if any.
fn scope_of(head: &RequestHead, found: &FoundRoute<'_>) -> Option<RateLimitScope> {
    match found {
        // Browsers send preflights unasked, and the request that follows is counted.
        _ if head.is_preflight() => None,
        // Counted by `respond_to_body`; on /mcp after the check of the origin.
        Ok(Some(matched)) if matched.action(head.method()) == Action::Write => None,
        Ok(Some(matched)) => matched.row.scope,
        _ => Some(RateLimitScope::Reads),
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

/// State of a request from its head to its response: the data for metrics and access log.
struct Exchange {
    began: Instant,
    route_id: usize,
    log_entry: Option<LogEntry>,
    /// The client's rate limit status, if the route has a limit.
    quota: Option<RateLimitStatus>,
}

impl Exchange {
    /// Starts the exchange of a request whose head was complete at `began`.
    fn begin(
        app: &AppState,
        head: &RequestHead,
        found: &FoundRoute<'_>,
        began: Instant,
    ) -> Exchange {
        Exchange {
            began,
            route_id: match found {
                Ok(Some(matched)) => matched.route_id,
                _ => router::UNMATCHED,
            },
            log_entry: app
                .logs_requests
                .then(|| LogEntry::begin(head, app.proxies.client_of(head))),
            quota: None,
        }
    }

    /// Chooses the reply; fails with the row of a route that reads the body. Allocates nothing for a stored document.
    fn respond<'s>(
        &mut self,
        app: &AppState,
        served: &'s ServedState,
        head: &RequestHead,
        found: FoundRoute<'_>,
        scope: Option<RateLimitScope>,
    ) -> Result<Reply<'s>, &'static RouteRow> {
        let found = match scope.and_then(|scope| self.count(app, head, scope)) {
            Some(error) => Err(error),
            None => found,
        };
        let error = match found {
            Ok(None) => {
                return Ok(Reply::Options {
                    allow: router::ALLOW_ALL,
                    preflight: false,
                });
            }
            Ok(Some(matched)) => match matched.action(head.method()) {
                Action::Write => return Err(matched.row),
                Action::Options => {
                    return Ok(Reply::Options {
                        allow: matched.row.methods,
                        preflight: head.has(HeadField::RequestMethod),
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
        // A client that prefers HTML, as browsers do, gets the error as a page.
        Ok(match error.page() {
            Some(heading) if prefers_html(head.lines_from_last("accept")) => {
                let status = error.status().as_u16();
                let pages = &served.pages;
                let accepted = head.lines_from_last("accept-language");
                let language = pages.language(head.query().as_bytes(), accepted);
                let page = pages.error(language, status, heading, &error.to_string());
                Reply::RefuseByPage(error, page.into(), BrowserPolicy::Page)
            }
            _ => Reply::Refuse(error),
        })
    }

    /// Counts the request against the client's rate limit; returns an error if it is exceeded.
    fn count(
        &mut self,
        app: &AppState,
        head: &RequestHead,
        scope: RateLimitScope,
    ) -> Option<HttpError> {
        self.quota = app.take(scope, self.began, || match &self.log_entry {
            Some(entry) => entry.client,
            None => app.proxies.client_of(head),
        });
        let exceeded = self.quota.filter(|quota| quota.is_exceeded);
        exceeded.map(|quota| HttpError::Rate(quota.per_minute))
    }

    /// Adds the rate limit headers to the response, then counts and logs it.
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

/// Answers a request from hyper; `peer` is the connection's peer, and the head was complete at `began`.
pub async fn handle(
    app: &AppState,
    request: Request<Incoming>,
    peer: &Peer,
    began: Instant,
) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let has_body = !body.is_end_stream();
    // HTTP/1.1 uses a lingering close instead. A client that sent `Expect` has not sent its body yet.
    let is_discarded =
        has_body && parts.version == Version::HTTP_2 && !parts.headers.contains_key(header::EXPECT);
    match respond_to(app, parts, has_body, peer, began) {
        Ok(response) if !is_discarded => response,
        // Boxed, so the futures of reads, which are far more frequent, stay small.
        responded => {
            let respond = async move {
                let response = match responded {
                    Ok(response) => response,
                    Err(unanswered) => respond_to_body(app, unanswered, &mut body, peer).await,
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

/// Answers a request from its head alone, like [`handle`]; `None` if its body is needed.
///
/// A GET of a stored document allocates only the copy of its header fields here, other reads of stored bytes nothing if
/// the header map has the capacity that the response needs; hyper reuses the map of a response for the next request of
/// the connection.
#[must_use]
pub fn respond(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: &Peer,
) -> Option<Response<Body>> {
    respond_to(app, parts, has_body, peer, clock::instant()).ok()
}

/// A request whose body is needed.
struct Unanswered {
    head: RequestHead,
    row: &'static RouteRow,
    exchange: Exchange,
}

/// Answers from the head alone; fails with the request if its body is needed.
#[allow(
    clippy::result_large_err,
    reason = "only the few requests that need their body return the error"
)]
fn respond_to(
    app: &AppState,
    parts: Parts,
    has_body: bool,
    peer: &Peer,
    began: Instant,
) -> Result<Response<Body>, Unanswered> {
    let served = app.served.load();
    let head = RequestHead::of_parts(&app.own_authority, parts, peer.address);
    let bytes_max = app.limits.target_bytes;
    let path = router::parse_target(head.method(), head.path(), head.target_bytes(), bytes_max);
    let route = find_route(&path);
    let scope = scope_of(&head, &route);
    let found = check_head(app, &head).and(route);
    let mut exchange = Exchange::begin(app, &head, &found, began);
    let reply = exchange.respond(app, &served, &head, found, scope);
    let unread = has_body || head.has(HeadField::TransferEncoding);
    drop(path);
    match reply {
        Ok(reply) => {
            let (reply, share) = admit(app, reply, &head, peer);
            let mut response = encode(app, head, reply, unread);
            response.body_mut().keep(share);
            exchange.end(app, &mut response);
            Ok(response)
        }
        Err(row) => Err(Unanswered {
            head,
            row,
            exchange,
        }),
    }
}

/// Takes a share of the budgets for the bytes that were made for `reply`; replaces it by 503 if there is no room.
fn admit<'s>(
    app: &AppState,
    reply: Reply<'s>,
    head: &RequestHead,
    peer: &Peer,
) -> (Reply<'s>, Option<Share>) {
    let bytes = reply.made_bytes();
    if bytes < SMALL_BODY_BYTES || *head.method() == Method::HEAD {
        return (reply, None);
    }
    match app.proxies.account_of(peer, head).take(bytes) {
        Ok(share) => (reply, Some(share)),
        Err(shortage) => (Reply::Refuse(shortage.into()), None),
    }
}

/// Encodes `reply` for hyper, reusing the header map of the request; `unread` if its body was not read.
fn encode(app: &AppState, head: RequestHead, reply: Reply<'_>, unread: bool) -> Response<Body> {
    // On HTTP/1.1 an unread body would be parsed as the next request, or stall hyper.
    let close = unread
        || matches!(
            &reply,
            Reply::Refuse(error) | Reply::RefuseByPage(error, ..) if error.ends_connection()
        );
    let is_head = *head.method() == Method::HEAD;
    let is_http1 = head.version() < Version::HTTP_2;
    let mut response = reply::render(reply, head.into_headers(), &app.cache_control);
    if is_head {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    if close && is_http1 {
        reply::close(&mut response);
    }
    response
}

/// Answers a request that needs its body. The rate limit is checked before the body is read, so a flood costs only its
/// heads.
async fn respond_to_body(
    app: &AppState,
    unanswered: Unanswered,
    body: &mut Incoming,
    peer: &Peer,
) -> Response<Body> {
    let Unanswered {
        head,
        row,
        mut exchange,
    } = unanswered;
    let is_http1 = head.version() < Version::HTTP_2;
    // Parsers disagree on chunked bodies (RFC 9112 §7.1), so the connection is closed after one.
    let chunked = head.has(HeadField::TransferEncoding);
    let has_body = !body.is_end_stream();
    let account = app.proxies.account_of(peer, &head);
    let scope = row.scope.filter(|_| !head.is_preflight());
    let (mut response, is_read) = match row.route {
        Route::Mcp => {
            let exceeded = || scope.and_then(|scope| exchange.count(app, &head, scope));
            let (reply, is_read) = endpoint::mcp(app, &head, body, &account, exceeded).await;
            let (reply, share) = admit_mcp(reply, &account);
            let mut response = reply::render_mcp(reply, head.into_headers());
            response.body_mut().keep(share);
            (response, is_read)
        }
        _ => match scope.and_then(|scope| exchange.count(app, &head, scope)) {
            Some(error) => (reply::render_error_line(&error), false),
            None => {
                let client = app.proxies.client_of(&head);
                endpoint::hub(app, &head, body, &account, client).await
            }
        },
    };
    if is_http1 && (chunked || (has_body && !is_read)) {
        reply::close(&mut response);
    }
    exchange.end(app, &mut response);
    response
}

/// Counts and logs a response with `error` to a request from `client` whose head was invalid or late.
pub(crate) fn record_refusal(app: &AppState, client: IpAddr, error: HttpError) {
    app.traffic.record_refusal(error.status().as_u16());
    if app.logs_requests {
        LogEntry::of_refused(client, error).log();
    }
}

/// Does for a reply of `/mcp` what [`admit`] does for others.
fn admit_mcp(reply: mcp::McpReply, account: &Account) -> (mcp::McpReply, Option<Share>) {
    let bytes = reply.body.capacity() as u64;
    if bytes < SMALL_BODY_BYTES {
        return (reply, None);
    }
    if let Ok(share) = account.take(bytes) {
        return (reply, Some(share));
    }
    let busy = mcp::McpReply {
        origin: reply.origin,
        ..mcp::McpReply::of_refusal(mcp::McpRefusal::Busy)
    };
    (busy, None)
}

/// Returns the response to a request whose handler panicked: 500, and the connection is closed.
pub(crate) fn internal_error() -> Response<Body> {
    let reply = Reply::Refuse(HttpError::Internal);
    let no_store = HeaderValue::from_static("no-store");
    let mut response = reply::render(reply, HeaderMap::new(), &no_store);
    reply::close(&mut response);
    response
}
