//! Encodes replies as responses: their status, header fields and body.
//!
//! The statuses of errors are in `error.rs`, those of `/mcp` in the module `mcp`. Only Strict-Transport-Security is added
//! elsewhere, as it belongs to the connection.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

use bytes::{BufMut, Bytes};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::arena;
use super::body::Body;
use super::date::HttpDate;
use super::error::HttpError;
use super::rate_limit::{RateLimitStatus, WINDOW};
use crate::hub::{RefusalKind, RequestRefusal};
use crate::mcp;
use crate::pages::{self, BrowserPolicy};
use crate::wire::negotiate::Coding;

/// Largest number of fields of a response with a document, those of the rate limit and of the connection included.
const FIELDS_MAX: usize = 20;

/// Usual length of a value of RateLimit or RateLimit-Policy, in bytes.
const RATE_VALUE_BYTES: usize = 32;
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Retry-After of a 503, in seconds. Our choice: long enough to prevent a busy retry loop, and short enough that clients
/// are back soon after a restart.
pub(crate) const RETRY_AFTER_S: u32 = 10;

/// The header of an MCP session's id.
pub(crate) const MCP_SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Request headers that pages may send to all routes but `/mcp`: any. `*` does not include Authorization (Fetch §4.9), so
/// it is named; the service ignores it.
const REQUEST_HEADERS: &str = "*, Authorization";

/// The Content-Type of JSON responses.
pub(crate) static JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The Content-Type of the metrics.
static OPENMETRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

static ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
/// The fields of a response that pages of other origins may read, besides those that Fetch always permits.
static EXPOSED: HeaderValue = HeaderValue::from_static("ETag, Last-Modified, Link, Retry-After");
static NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
static NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
static NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// The result of an endpoint, before it is encoded as a response.
#[derive(Debug)]
pub(crate) enum Reply<'s> {
    /// 200 with validators.
    Serve(Representation<'s>, Body),
    /// 304: the client's copy is current.
    NotModified(Representation<'s>),
    /// 303 to another URL, for clients that prefer HTML.
    SeeOther(String),
    /// 200, or 503 if `healthy` is false: the state of this process as JSON, with `no-store`.
    State { healthy: bool, body: Bytes },
    /// 200: the metrics of this process, with `no-store`.
    Metrics(Bytes),
    /// 204 with the methods of a route: the response to OPTIONS.
    Options {
        allow: &'static str,
        /// Whether the request is a CORS preflight.
        preflight: bool,
    },
    /// An error status (400 or higher) with a JSON body.
    Refuse(HttpError),
    /// An error status with an HTML page as its body.
    RefuseByPage(HttpError, Bytes, BrowserPolicy),
}

/// The header fields of a document or of a search response.
#[derive(Debug)]
pub(crate) struct Representation<'s> {
    pub(crate) media_type: &'s HeaderValue,
    pub(crate) etag: Cow<'s, HeaderValue>,
    /// Last-Modified; `None` for content that can change without a change of the dataset's date.
    pub(crate) last_modified: Option<&'s HttpDate>,
    /// Content-Encoding, which is sent unless it is identity.
    pub(crate) coding: Coding,
    pub(crate) link: Option<HeaderValue>,
    /// The header fields of a stored document, or `None` for content that is rendered for the request. If they are there,
    /// only `etag`, `last_modified` and `is_immutable` of the other fields of this struct are read.
    pub(crate) prepared: Option<&'s PreparedFields>,
    /// Browser security policy of pages and their files; `None` for documents that only programs read.
    pub(crate) policy: Option<BrowserPolicy>,
    /// Whether the URL identifies this version, so clients may cache the response without revalidation.
    pub(crate) is_immutable: bool,
    /// The fields of the request that select the representation.
    pub(crate) vary: Vary,
}

/// The request's fields that select a representation (RFC 9110 §12.5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vary {
    /// Accept-Encoding alone.
    Coding,
    /// Accept too: another type of document may be sent.
    Accept,
    /// Accept-Language too.
    Language,
}

impl Vary {
    fn value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Vary::Coding => "Accept-Encoding",
            Vary::Accept => "Accept, Accept-Encoding",
            Vary::Language => "Accept-Encoding, Accept-Language",
        })
    }
}

/// The header fields of the responses with one stored document in one coding, except those that depend on the request or
/// the time. Copying a map takes a third of the instructions of inserting each field.
#[derive(Debug)]
pub(crate) struct PreparedFields {
    served: HeaderMap,
    not_modified: HeaderMap,
}

impl PreparedFields {
    /// Prepares the fields for `representation`.
    pub(crate) fn new(representation: &Representation<'_>) -> PreparedFields {
        PreparedFields {
            served: prepare(representation, put_served),
            not_modified: prepare(representation, put_validators),
        }
    }
}

/// Returns the fields that `put` adds, those of CORS, and a Date, which is replaced in each copy.
fn prepare(
    representation: &Representation<'_>,
    put: fn(&mut HeaderMap, &Representation<'_>),
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(FIELDS_MAX);
    put_any_origin(&mut headers);
    put(&mut headers, representation);
    headers.insert(header::DATE, HttpDate::now().value);
    headers
}

impl Reply<'_> {
    /// Returns the number of body bytes that were made for this response.
    pub(crate) fn made_bytes(&self) -> u64 {
        match self {
            Reply::Serve(_, body) => body.made_bytes(),
            Reply::RefuseByPage(_, page, _) => page.len() as u64,
            Reply::Refuse(HttpError::Issues(body)) => body.len() as u64,
            // Short texts; metrics are sent only to the administrator, whose connections are few.
            Reply::NotModified(_)
            | Reply::State { .. }
            | Reply::Metrics(_)
            | Reply::Options { .. }
            | Reply::SeeOther(_)
            | Reply::Refuse(_) => 0,
        }
    }
}

/// Encodes `reply`, reusing the memory of `headers`, the header map of the request.
pub(crate) fn render(
    reply: Reply<'_>,
    mut headers: HeaderMap,
    cache_control: &HeaderValue,
) -> Response<Body> {
    let date = HttpDate::now();
    match &reply {
        Reply::Serve(
            Representation {
                prepared: Some(fields),
                ..
            },
            _,
        ) => {
            headers = fields.served.clone();
        }
        Reply::NotModified(Representation {
            prepared: Some(fields),
            ..
        }) => {
            headers = fields.not_modified.clone();
        }
        _ => {
            headers.clear();
            put_any_origin(&mut headers);
        }
    }
    let (status, body) = put_reply(&mut headers, reply, cache_control, &date);
    response(status, headers, body, date)
}

/// Encodes `reply` without CORS headers, for the administrator.
pub(crate) fn render_private(reply: Reply<'_>) -> Response<Body> {
    let mut headers = HeaderMap::new();
    let date = HttpDate::now();
    let (status, body) = put_reply(&mut headers, reply, &NO_STORE, &date);
    response(status, headers, body, date)
}

/// Adds the fields of `reply`, except those that its prepared fields have; returns its status and body.
fn put_reply(
    headers: &mut HeaderMap,
    reply: Reply<'_>,
    cache_control: &HeaderValue,
    date: &HttpDate,
) -> (StatusCode, Body) {
    match reply {
        Reply::Serve(representation, body) => {
            if representation.prepared.is_none() {
                put_served(headers, &representation);
            }
            put_freshness(headers, &representation, cache_control, date);
            (StatusCode::OK, body)
        }
        Reply::NotModified(representation) => {
            if representation.prepared.is_none() {
                put_validators(headers, &representation);
            }
            put_freshness(headers, &representation, cache_control, date);
            (StatusCode::NOT_MODIFIED, Body::default())
        }
        Reply::SeeOther(location) => {
            put_location(headers, location, cache_control);
            (StatusCode::SEE_OTHER, Body::default())
        }
        Reply::State { healthy, body } => {
            put_unstored(headers, JSON.clone());
            let status = if healthy {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            (status, Body::full(body))
        }
        Reply::Metrics(body) => {
            put_unstored(headers, OPENMETRICS.clone());
            (StatusCode::OK, Body::full(body))
        }
        Reply::Options { allow, preflight } => {
            let allow = HeaderValue::from_static(allow);
            if preflight {
                put_preflight(headers, allow.clone(), REQUEST_HEADERS);
            }
            headers.insert(header::ALLOW, allow);
            (StatusCode::NO_CONTENT, Body::default())
        }
        Reply::Refuse(error) => {
            put_error(headers, &error);
            (error.status(), Body::full(error.body()))
        }
        Reply::RefuseByPage(error, page, policy) => {
            put_error(headers, &error);
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(pages::HTML));
            put_policy(headers, policy);
            (error.status(), Body::full(page))
        }
    }
}

/// Adds the CORS headers that let pages of any origin read the response.
fn put_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
}

/// Returns a response with these parts, and its Date.
fn response(
    status: StatusCode,
    mut headers: HeaderMap,
    body: Body,
    date: HttpDate,
) -> Response<Body> {
    set(&mut headers, &header::DATE, date.value);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Makes hyper close the connection after this response, as the bytes that follow may be an unread body.
pub(crate) fn close(response: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
}

/// Returns the complete HTTP/1.1 response to bytes that are not a valid request; it closes the connection.
pub(crate) fn protocol_error(error: HttpError) -> Vec<u8> {
    let mut response = render(Reply::Refuse(error), HeaderMap::new(), &NO_STORE);
    close(&mut response);
    let (head, body) = response.into_parts();
    let mut out = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("content-length: {}\r\n\r\n", body.length()).as_bytes());
    for slice in body.slices() {
        out.extend_from_slice(slice);
    }
    out
}

/// Adds the fields of a response with content, except those of [`put_freshness`].
fn put_served(headers: &mut HeaderMap, representation: &Representation<'_>) {
    headers.insert(header::CONTENT_TYPE, representation.media_type.clone());
    if representation.coding != Coding::Identity {
        let name = HeaderValue::from_static(representation.coding.name());
        headers.insert(header::CONTENT_ENCODING, name);
    }
    if let Some(link) = &representation.link {
        headers.insert(header::LINK, link.clone());
    }
    if let Some(policy) = representation.policy {
        put_policy(headers, policy);
    }
    put_validators(headers, representation);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
}

/// Adds ETag, Last-Modified, Cache-Control and Vary, which a 304 must repeat (RFC 9110 §15.4.5). [`put_freshness`]
/// replaces the Cache-Control.
fn put_validators(headers: &mut HeaderMap, representation: &Representation<'_>) {
    headers.insert(header::ETAG, (*representation.etag).clone());
    if let Some(last_modified) = representation.last_modified {
        headers.insert(header::LAST_MODIFIED, last_modified.value.clone());
    }
    headers.insert(header::CACHE_CONTROL, NO_CACHE.clone());
    headers.insert(header::VARY, representation.vary.value());
}

/// Sets the fields that depend on the settings, the query and the clock: Cache-Control, and Last-Modified if it is later
/// than the clock.
fn put_freshness(
    headers: &mut HeaderMap,
    representation: &Representation<'_>,
    cache_control: &HeaderValue,
    date: &HttpDate,
) {
    let cache_control = match representation.last_modified {
        _ if representation.is_immutable => {
            HeaderValue::from_static("public, max-age=31536000, immutable")
        }
        Some(_) => cache_control.clone(),
        // A document without a date is replaced soon, when the insights of the dataset are derived.
        None => NO_CACHE.clone(),
    };
    set(headers, &header::CACHE_CONTROL, cache_control);
    // Never later than Date, even if the clock was set back (RFC 9110 §8.8.2.1).
    if let Some(last_modified) = representation.last_modified
        && last_modified.time > date.time
    {
        set(headers, &header::LAST_MODIFIED, date.value.clone());
    }
}

/// Sets a field that is usually there already. `HeaderMap::insert` would first make room for one more field.
fn set(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) {
    match headers.get_mut(name) {
        Some(present) => *present = value,
        None => drop(headers.insert(name, value)),
    }
}

/// Adds the browser security headers of a page.
fn put_policy(headers: &mut HeaderMap, policy: BrowserPolicy) {
    if let Some(content_security) = policy.content_security() {
        let value = HeaderValue::from_static(content_security);
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
        // URLs contain search terms, which other sites must not see.
        let referrer = HeaderValue::from_static("same-origin");
        headers.insert(header::REFERRER_POLICY, referrer);
    }
    if policy.is_shared() {
        let name = HeaderName::from_static("cross-origin-resource-policy");
        headers.insert(name, HeaderValue::from_static("cross-origin"));
    }
}

/// Adds the fields of a redirect, which depends on Accept.
fn put_location(headers: &mut HeaderMap, location: String, cache_control: &HeaderValue) {
    // The location consists of the public address and an id, so it is always valid.
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(header::LOCATION, location);
    }
    headers.insert(header::CACHE_CONTROL, cache_control.clone());
    headers.insert(header::VARY, Vary::Accept.value());
}

/// Adds the headers of a response that must not be cached.
fn put_unstored(headers: &mut HeaderMap, media_type: HeaderValue) {
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
}

/// Adds the fields of a JSON response with `error`.
fn put_error(headers: &mut HeaderMap, error: &HttpError) {
    put_unstored(headers, JSON.clone());
    if let HttpError::Method(allow) = error {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    if let HttpError::Unavailable(_) | HttpError::Busy(_) = error {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
}

/// Adds the fields that permit a preflight's request with these methods and request headers.
fn put_preflight(headers: &mut HeaderMap, methods: HeaderValue, request_headers: &'static str) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let request_headers = HeaderValue::from_static(request_headers);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, request_headers);
    // In seconds; browsers apply lower limits of their own.
    let one_day = HeaderValue::from_static("86400");
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, one_day);
}

/// Encodes the hub's response: a status and a line of plain text.
pub(crate) fn render_hub(result: Result<(), RequestRefusal>) -> Response<Body> {
    let Err(refusal) = result else {
        return render_line(
            StatusCode::ACCEPTED,
            "accepted; the callback will be verified",
        );
    };
    let status = match refusal.kind {
        RefusalKind::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        RefusalKind::Field => StatusCode::BAD_REQUEST,
        RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = render_line(status, &refusal.reason);
    let headers = response.headers_mut();
    if let Some(wait_s) = refusal.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
    }
    if refusal.kind == RefusalKind::MediaType {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert("accept-post", form);
    }
    response
}

/// Encodes an error like a response of the hub: as a line of plain text.
pub(crate) fn render_error_line(error: &HttpError) -> Response<Body> {
    let mut response = render_line(error.status(), &error.to_string());
    if let HttpError::Busy(_) = error {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    response
}

/// Encodes a line of plain text.
fn render_line(status: StatusCode, line: &str) -> Response<Body> {
    let mut headers = HeaderMap::new();
    put_any_origin(&mut headers);
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    put_unstored(&mut headers, plain);
    let body = Body::full(format!("{line}\n").into());
    response(status, headers, body, HttpDate::now())
}

/// Encodes the response of `/mcp`, reusing the request's `headers`. Their Origin is sent back if it is allowed.
pub(crate) fn render_mcp(reply: mcp::McpReply, mut headers: HeaderMap) -> Response<Body> {
    let origin = headers.remove(header::ORIGIN);
    headers.clear();
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    // A response cached for one origin cannot be used for another.
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin
        && reply.origin == mcp::Origin::Allowed
    {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed =
            HeaderValue::from_static("Mcp-Session-Id, RateLimit, RateLimit-Policy, Retry-After");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        if reply.is_preflight {
            let methods = HeaderValue::from_static(mcp::METHODS);
            put_preflight(&mut headers, methods, mcp::REQUEST_HEADERS);
        }
    }
    if let Some(media_type) = reply.content_type {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
    }
    if let Some(allow) = reply.allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    if reply.status == 503 {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    // A token is base64, which is always a valid header value.
    if let Some(token) = reply.session
        && let Ok(value) = HeaderValue::from_str(token.as_str())
    {
        headers.insert(MCP_SESSION, value);
    }
    // `mcp` uses only statuses from 100 to 999, so this never fails.
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response(status, headers, Body::made(reply.body), HttpDate::now())
}

/// Adds RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), and Retry-After if the limit is
/// exceeded. Pages of other origins may read them if they may read other fields of the response.
pub(crate) fn put_rate(response: &mut Response<Body>, quota: &RateLimitStatus) {
    let policy = quota.policy;
    let limit = quota.per_minute;
    let left = quota.left;
    // Whole seconds, rounded up: a client that waits this long is admitted.
    let next_s = quota.next.as_nanos().div_ceil(1_000_000_000).max(1);
    let window_s = WINDOW.as_secs();
    let headers = response.headers_mut();
    let policy_value = rate_value(format_args!("\"{policy}\";q={limit};w={window_s}"));
    headers.insert(RATELIMIT_POLICY, policy_value);
    let value = rate_value(format_args!("\"{policy}\";r={left};t={next_s}"));
    headers.insert(RATELIMIT, value);
    // `/mcp` already exposes them.
    if let Some(exposed) = headers.get_mut(header::ACCESS_CONTROL_EXPOSE_HEADERS)
        && *exposed == EXPOSED
    {
        let all = "ETag, Last-Modified, Link, Retry-After, RateLimit, RateLimit-Policy";
        *exposed = HeaderValue::from_static(all);
    }
    if quota.is_exceeded {
        let wait_s = u64::try_from(next_s).unwrap_or(u64::MAX);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
    }
}

/// Returns a header value, whose bytes are in the arena; `text` consists of constants and numbers.
fn rate_value(text: fmt::Arguments<'_>) -> HeaderValue {
    let value = arena::write_bytes(RATE_VALUE_BYTES, |value| {
        // Cannot fail: the buffer grows if necessary.
        let _ = value.writer().write_fmt(text);
    });
    HeaderValue::from_maybe_shared(value).expect("constants and numbers are visible ASCII")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_client_that_waits_for_retry_after_is_admitted() {
        for (next, expected) in [
            (Duration::from_nanos(1), "1"),
            (Duration::from_secs(1), "1"),
            (Duration::new(1, 1), "2"),
            (Duration::new(59, 999_999_999), "60"),
        ] {
            let mut response = Response::new(Body::default());
            let quota = RateLimitStatus {
                policy: "test",
                per_minute: 1,
                left: 0,
                next,
                is_exceeded: true,
            };
            put_rate(&mut response, &quota);
            assert_eq!(response.headers()[header::RETRY_AFTER], expected);
        }
    }
}
