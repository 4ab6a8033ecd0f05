//! Replies into responses: every header of a response is chosen here, every status here and in `error.rs`.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::Body;
use super::error::HttpError;
use super::rate_limit::{RateLimitStatus, WINDOW};
use crate::clock;
use crate::hub::{Refusal, RefusalKind};
use crate::mcp;
use crate::pages::{self, Policy};
use crate::wire::date::Timestamp;
use crate::wire::negotiate::Coding;

/// An answer before it is written: what an endpoint has decided.
#[derive(Debug)]
pub(crate) enum Reply<'s> {
    /// 200 with validators.
    Serve(Representation<'s>, Body),
    /// 304: the client's copy is still good.
    NotModified(Representation<'s>),
    /// 200, or 503 if `healthy` is false: the state of this process, never stored.
    State { healthy: bool, body: Bytes },
    /// 204 with the methods of a route, for an OPTIONS.
    Options {
        allow: &'static str,
        /// Whether a browser asks before a request from another origin.
        preflight: bool,
    },
    /// A status from 400 up.
    Refuse(HttpError),
    /// The same, told by a page.
    RefuseByPage(HttpError, Bytes, Policy),
}

/// The header fields of a document or of a search's answer.
#[derive(Debug)]
pub(crate) struct Representation<'s> {
    pub(crate) media_type: &'s HeaderValue,
    pub(crate) etag: Cow<'s, HeaderValue>,
    /// Last-Modified, where the date of the dataset tells this content from another.
    pub(crate) last_modified: Option<&'s HeaderValue>,
    /// Content-Encoding, where it is not identity.
    pub(crate) coding: Coding,
    pub(crate) link: Option<HeaderValue>,
    /// What the document may do in a browser, on pages and their files.
    pub(crate) policy: Option<Policy>,
    /// Whether the address names this version, so that it is never asked for again.
    pub(crate) is_immutable: bool,
}

/// Writes `reply`, using `headers`, the request's own map, so that its memory serves twice.
pub(crate) fn render(
    reply: Reply<'_>,
    mut headers: HeaderMap,
    cache_control: &HeaderValue,
) -> Response<Body> {
    headers.clear();
    put_any_origin(&mut headers);
    let (status, body) = fill(reply, &mut headers, cache_control);
    response(status, headers, body)
}

/// Adds the fields of `reply`; returns its status and body.
fn fill(
    reply: Reply<'_>,
    headers: &mut HeaderMap,
    cache_control: &HeaderValue,
) -> (StatusCode, Body) {
    match reply {
        Reply::Serve(mut representation, body) => {
            headers.insert(header::CONTENT_TYPE, representation.media_type.clone());
            if representation.coding != Coding::Identity {
                let name = HeaderValue::from_static(representation.coding.name());
                headers.insert(header::CONTENT_ENCODING, name);
            }
            if let Some(link) = representation.link.take() {
                headers.insert(header::LINK, link);
            }
            if let Some(policy) = representation.policy {
                put_policy(headers, policy);
            }
            put_validators(headers, representation, cache_control);
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
            (StatusCode::OK, body)
        }
        Reply::NotModified(representation) => {
            put_validators(headers, representation, cache_control);
            (StatusCode::NOT_MODIFIED, Body::default())
        }
        Reply::State { healthy, body } => {
            put_unstored(headers, JSON.clone());
            let status = match healthy {
                true => StatusCode::OK,
                false => StatusCode::SERVICE_UNAVAILABLE,
            };
            (status, Body::full(body))
        }
        Reply::Options { allow, preflight } => {
            let allow = HeaderValue::from_static(allow);
            headers.insert(header::ALLOW, allow.clone());
            if preflight {
                put_preflight(headers, allow, REQUEST_HEADERS);
            }
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

/// Lets pages of any origin read the response.
fn put_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
}

/// Writes `reply` without the fields that admit pages of other origins.
pub(crate) fn render_private(reply: Reply<'_>) -> Response<Body> {
    let mut headers = HeaderMap::new();
    let (status, body) = fill(reply, &mut headers, &NO_STORE);
    response(status, headers, body)
}

fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Ends the connection after this response: what follows on it may be a body that is not read.
pub(crate) fn close(response: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
}

/// Returns the whole response to what is no request, as it goes over the wire in HTTP/1.1; the connection ends with it.
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
    let date = Timestamp::from_unix(clock::unix_s()).render_http();
    out.extend_from_slice(format!("content-length: {}\r\ndate: ", body.length()).as_bytes());
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
    for slice in body.slices() {
        out.extend_from_slice(slice);
    }
    out
}

/// Adds ETag, Last-Modified, Cache-Control and Vary: what a 304 must repeat (RFC 9110 §15.4.5).
fn put_validators(
    headers: &mut HeaderMap,
    representation: Representation<'_>,
    cache_control: &HeaderValue,
) {
    headers.insert(header::ETAG, representation.etag.into_owned());
    let cache_control = match representation.last_modified {
        _ if representation.is_immutable => {
            HeaderValue::from_static("public, max-age=31536000, immutable")
        }
        Some(_) => cache_control.clone(),
        // What has no date is about to be replaced.
        None => HeaderValue::from_static("no-cache"),
    };
    if let Some(last_modified) = representation.last_modified {
        headers.insert(header::LAST_MODIFIED, last_modified.clone());
    }
    headers.insert(header::CACHE_CONTROL, cache_control);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// Adds what a browser may do with a page, and tell others of it.
fn put_policy(headers: &mut HeaderMap, policy: Policy) {
    if let Some(content_security) = policy.content_security() {
        let value = HeaderValue::from_static(content_security);
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
        // Searches stand in addresses; other sites need not see them.
        let referrer = HeaderValue::from_static("same-origin");
        headers.insert(header::REFERRER_POLICY, referrer);
    }
    if policy.is_shared() {
        let name = HeaderName::from_static("cross-origin-resource-policy");
        headers.insert(name, HeaderValue::from_static("cross-origin"));
    }
}

/// Adds the fields of a response that belongs to one moment or one mistake.
fn put_unstored(headers: &mut HeaderMap, media_type: HeaderValue) {
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
}

fn put_error(headers: &mut HeaderMap, error: &HttpError) {
    put_unstored(headers, JSON.clone());
    if let HttpError::Method(allow) = error {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    if let HttpError::Unavailable(_) = error {
        // Long enough not to be asked in a loop, short enough for a restart.
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
    }
}

fn put_preflight(headers: &mut HeaderMap, methods: HeaderValue, allowed: &'static str) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed = HeaderValue::from_static(allowed);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    // A day, in seconds; browsers shorten it as they like.
    let day = HeaderValue::from_static("86400");
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, day);
}

/// Writes the hub's answer to a request, using `headers`, the request's own map: a status and a line of plain text.
pub(crate) fn render_hub(result: Result<(), Refusal>, headers: HeaderMap) -> Response<Body> {
    let Err(refusal) = result else {
        let line = "accepted, the callback will be asked";
        return render_line(StatusCode::ACCEPTED, line, headers);
    };
    let status = match refusal.kind {
        RefusalKind::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        RefusalKind::Field => StatusCode::BAD_REQUEST,
        RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = render_line(status, &refusal.reason, headers);
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

/// Writes an error as the hub does.
pub(crate) fn render_error_line(error: &HttpError, headers: HeaderMap) -> Response<Body> {
    render_line(error.status(), &error.to_string(), headers)
}

/// Writes a line of plain text.
fn render_line(status: StatusCode, line: &str, mut headers: HeaderMap) -> Response<Body> {
    headers.clear();
    put_any_origin(&mut headers);
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    put_unstored(&mut headers, plain);
    let line = Bytes::from(format!("{line}\n"));
    response(status, headers, Body::full(line))
}

/// Writes the answer of `/mcp`; `headers` are the request's own, whose Origin is echoed to a page that may read it.
pub(crate) fn render_mcp(reply: mcp::Reply, mut headers: HeaderMap) -> Response<Body> {
    let origin = headers.remove(header::ORIGIN);
    headers.clear();
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    // A copy for one origin is of no use to another.
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if let (mcp::Origin::Allowed, Some(origin)) = (reply.origin, origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = "Mcp-Session-Id, RateLimit, RateLimit-Policy, Retry-After";
        let exposed = HeaderValue::from_static(exposed);
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
    // A token is base64, which a header can always carry.
    if let Some(token) = reply.session
        && let Ok(value) = HeaderValue::from_str(token.as_str())
    {
        headers.insert(MCP_SESSION, value);
    }
    // The protocol knows no status that is not a number from 100 to 999.
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    response(status, headers, Body::full(Bytes::from(reply.body)))
}

/// Adds RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), Retry-After where the limit is
/// exceeded, and lets pages read them where they may read others.
pub(crate) fn put_rate(response: &mut Response<Body>, quota: &RateLimitStatus) {
    let (policy, limit, left) = (quota.policy, quota.per_minute, quota.left);
    // Whole seconds, rounded up: a client that waits so long is admitted.
    let next_s = quota.next.as_nanos().div_ceil(1_000_000_000).max(1);
    let window_s = WINDOW.as_secs();
    let headers = response.headers_mut();
    let mut put = |name, value: String| {
        // Words of ours and numbers: a header can always carry them.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put(
        "ratelimit-policy",
        format!("\"{policy}\";q={limit};w={window_s}"),
    );
    put("ratelimit", format!("\"{policy}\";r={left};t={next_s}"));
    // What `/mcp` exposes has them already.
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

/// The Content-Type of every JSON answer.
pub(crate) static JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The header of an MCP session's id.
pub(crate) const MCP_SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const REQUEST_HEADERS: &str = "Authorization, Content-Type, If-Modified-Since, If-None-Match";
static ANY: HeaderValue = HeaderValue::from_static("*");
static EXPOSED: HeaderValue = HeaderValue::from_static("ETag, Last-Modified, Link, Retry-After");
static NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
static NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_client_that_waits_for_retry_after_is_admitted() {
        let retry_after = |next| {
            let mut response = Response::new(Body::default());
            let quota = RateLimitStatus {
                policy: "test",
                per_minute: 1,
                left: 0,
                next,
                is_exceeded: true,
            };
            put_rate(&mut response, &quota);
            response.headers()[header::RETRY_AFTER].clone()
        };
        assert_eq!(retry_after(Duration::from_nanos(1)), "1");
        assert_eq!(retry_after(Duration::from_secs(1)), "1");
        assert_eq!(retry_after(Duration::new(1, 1)), "2");
        assert_eq!(retry_after(Duration::new(59, 999_999_999)), "60");
    }
}
