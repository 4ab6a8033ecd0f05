//! What is sent: every status code and every header of a response is chosen here.

pub(crate) mod admin;
pub(crate) mod http2;
pub(crate) mod hub;
pub(crate) mod mcp;
pub(crate) mod plain;
pub(crate) mod rate;

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::{Body, CollectError};
use super::host::HostError;
use super::ready::Ready;
use super::target::TargetError;
use crate::pages::{self, Policy};
use crate::wire::json::Object;
use crate::wire::negotiate::Coding;

/// An answer before it is written: what an endpoint has decided.
#[derive(Debug)]
pub(crate) enum Reply<'s> {
    /// 200 with validators.
    Serve(Representation<'s>, Body),
    /// 304: the client's copy is still good.
    NotModified(Representation<'s>),
    /// 200, or 503 if `healthy` is false: the state of this process, never stored.
    State {
        /// Whether traffic should come here.
        healthy: bool,
        /// JSON.
        body: Bytes,
    },
    /// 204 with the methods of a route, for an OPTIONS.
    Options {
        /// The Allow header.
        allow: &'static str,
        /// Whether a browser asks before a request from another origin.
        preflight: bool,
    },
    /// A status from 400 up.
    Refuse(Refusal),
}

/// The header fields of a document or of a search's answer.
#[derive(Debug)]
pub(crate) struct Representation<'s> {
    /// Content-Type.
    pub(crate) media_type: &'s HeaderValue,
    /// ETag.
    pub(crate) etag: Cow<'s, HeaderValue>,
    /// Last-Modified, where the date of the dataset tells this content from another.
    pub(crate) last_modified: Option<&'s HeaderValue>,
    /// Content-Encoding, where it is not identity.
    pub(crate) coding: Coding,
    /// Link.
    pub(crate) link: Option<HeaderValue>,
    /// What the document may do in a browser, on pages and their files.
    pub(crate) policy: Option<Policy>,
    /// Whether the address names this version, so that it is never asked for again.
    pub(crate) is_immutable: bool,
    /// What is written already of the replies with this representation.
    pub(crate) ready: Option<&'s Ready>,
}

/// Why a request is not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 400, or 421 for a foreign one. The client's fault, or its proxy's.
    Host(HostError),
    /// 501: a Transfer-Encoding other than one `chunked`.
    TransferEncoding,
    /// 400, or 414 for the length.
    Target(TargetError),
    /// 400 with the ready body of a validation error.
    Issues(Bytes),
    /// 400 with a page that tells the issues.
    Page(Bytes, Policy),
    /// 503 with a page that tells what is not there yet.
    EarlyPage(Bytes, Policy),
    /// 404: no such address.
    UnknownPath,
    /// 404: no review has this id.
    UnknownReview,
    /// 405, with the methods that there are.
    Method(&'static str),
    /// 408: the body did not arrive in time.
    BodyTime(Duration),
    /// 412: If-Match or If-Unmodified-Since does not hold.
    Precondition,
    /// 413: the body is longer than this many bytes.
    BodyBytes(usize),
    /// 400: the body ended before its declared length, or is not well framed.
    BodyBroken,
    /// 429: more requests in a minute than this.
    Rate(u32),
    /// 431: more header fields than this.
    Fields(usize),
    /// 500: the handler panicked. Our fault.
    Internal,
    /// 501: CONNECT, which makes no sense here.
    Connect,
    /// 503: this part of the service is not running.
    Unavailable(&'static str),
}

/// The Content-Type of every JSON answer.
pub(crate) static JSON: HeaderValue = HeaderValue::from_static("application/json");

static ANY: HeaderValue = HeaderValue::from_static("*");
static CLOSE: HeaderValue = HeaderValue::from_static("close");
static EXPOSED: HeaderValue = HeaderValue::from_static("ETag, Last-Modified, Link, Retry-After");
/// The same where a rate is told, too.
static EXPOSED_WITH_RATE: HeaderValue =
    HeaderValue::from_static("ETag, Last-Modified, Link, Retry-After, RateLimit, RateLimit-Policy");
static HTML: HeaderValue = HeaderValue::from_static(pages::HTML);
static IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
static NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
static NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
static NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
static VARY: HeaderValue = HeaderValue::from_static("Accept-Encoding");

/// Writes `reply`, using `headers`, the request's own map, so that its memory serves twice.
pub(crate) fn render(
    reply: Reply<'_>,
    mut headers: HeaderMap,
    cache_control: &HeaderValue,
) -> Response<Body> {
    headers.clear();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
    let (status, body) = match reply {
        Reply::Serve(mut representation, body) => {
            headers.insert(header::CONTENT_TYPE, representation.media_type.clone());
            if let Some(name) = coding_name(representation.coding) {
                headers.insert(header::CONTENT_ENCODING, name.clone());
            }
            if let Some(link) = representation.link.take() {
                headers.insert(header::LINK, link);
            }
            if let Some(policy) = representation.policy {
                put_policy(&mut headers, policy);
            }
            put_validators(&mut headers, representation, cache_control);
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
            (StatusCode::OK, body)
        }
        Reply::NotModified(representation) => {
            put_validators(&mut headers, representation, cache_control);
            (StatusCode::NOT_MODIFIED, Body::empty())
        }
        Reply::State { healthy, body } => {
            put_unstored(&mut headers);
            let status = if healthy {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            (status, Body::full(body))
        }
        Reply::Options { allow, preflight } => {
            put_options(&mut headers, allow, preflight);
            (StatusCode::NO_CONTENT, Body::empty())
        }
        Reply::Refuse(refusal) => (refusal.status(), refusal.render(&mut headers)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Ends the connection after this reply: what follows on it may be a body that nobody will read.
pub(crate) fn close(response: &mut Response<Body>) {
    response
        .headers_mut()
        .insert(header::CONNECTION, CLOSE.clone());
}

/// ETag, Last-Modified, Cache-Control and Vary: what a 304 must repeat (RFC 9110 §15.4.5).
fn put_validators(
    headers: &mut HeaderMap,
    representation: Representation<'_>,
    cache_control: &HeaderValue,
) {
    headers.insert(header::ETAG, representation.etag.into_owned());
    let cache_control = match representation.last_modified {
        _ if representation.is_immutable => &IMMUTABLE,
        Some(_) => cache_control,
        // What has no date is about to be replaced.
        None => &NO_CACHE,
    };
    if let Some(last_modified) = representation.last_modified {
        headers.insert(header::LAST_MODIFIED, last_modified.clone());
    }
    headers.insert(header::CACHE_CONTROL, cache_control.clone());
    headers.insert(header::VARY, VARY.clone());
}

/// What a browser may do with a page, and tell others of it.
fn put_policy(headers: &mut HeaderMap, policy: Policy) {
    if let Some(content_security) = policy.content_security() {
        let value = HeaderValue::from_static(content_security);
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
        // Searches stand in addresses; other sites need not see them.
        let referrer = HeaderValue::from_static("same-origin");
        headers.insert(header::REFERRER_POLICY, referrer);
    }
    if policy.is_shared() {
        let any = HeaderValue::from_static("cross-origin");
        headers.insert(RESOURCE_POLICY, any);
    }
}

/// The fields of an answer in JSON that belongs to one moment or one mistake.
fn put_unstored(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, JSON.clone());
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
}

fn put_options(headers: &mut HeaderMap, allow: &'static str, preflight: bool) {
    let allow = HeaderValue::from_static(allow);
    if preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow.clone());
        let allowed = "Authorization, Content-Type, If-Modified-Since, If-None-Match";
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(allowed),
        );
        // A day, in seconds; browsers shorten it as they like.
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("86400"),
        );
    }
    headers.insert(header::ALLOW, allow);
}

fn coding_name(coding: Coding) -> Option<&'static HeaderValue> {
    static GZIP: HeaderValue = HeaderValue::from_static("gzip");
    static BROTLI: HeaderValue = HeaderValue::from_static("br");
    match coding {
        Coding::Identity => None,
        Coding::Gzip => Some(&GZIP),
        Coding::Brotli => Some(&BROTLI),
    }
}

impl From<CollectError> for Refusal {
    fn from(error: CollectError) -> Refusal {
        match error {
            CollectError::TooLong { limit } => Refusal::BodyBytes(limit),
            CollectError::TooLate { limit } => Refusal::BodyTime(limit),
            CollectError::Broken => Refusal::BodyBroken,
        }
    }
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::Host(HostError::Foreign) => StatusCode::MISDIRECTED_REQUEST,
            Refusal::Host(_) | Refusal::Issues(_) | Refusal::Page(..) | Refusal::BodyBroken => {
                StatusCode::BAD_REQUEST
            }
            Refusal::Target(TargetError::TooLong { .. }) => StatusCode::URI_TOO_LONG,
            Refusal::Target(_) => StatusCode::BAD_REQUEST,
            Refusal::UnknownPath | Refusal::UnknownReview => StatusCode::NOT_FOUND,
            Refusal::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::BodyTime(_) => StatusCode::REQUEST_TIMEOUT,
            Refusal::Precondition => StatusCode::PRECONDITION_FAILED,
            Refusal::BodyBytes(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Rate(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Fields(_) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Refusal::TransferEncoding | Refusal::Connect => StatusCode::NOT_IMPLEMENTED,
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Tells whether the bytes that follow on the connection can no longer be trusted to be a request.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self,
            Refusal::Host(_)
                | Refusal::TransferEncoding
                | Refusal::Target(_)
                | Refusal::BodyTime(_)
                | Refusal::BodyBytes(_)
                | Refusal::BodyBroken
                | Refusal::Fields(_)
                | Refusal::Internal
                | Refusal::Connect
        )
    }

    /// The stable word of the error body.
    fn code(&self) -> &'static str {
        match self {
            Refusal::Host(HostError::Foreign) => "misdirected_request",
            Refusal::Host(_) | Refusal::BodyBroken => "bad_request",
            Refusal::Target(TargetError::TooLong { .. }) => "uri_too_long",
            Refusal::Target(_) => "bad_request",
            Refusal::Issues(_) | Refusal::Page(..) => "validation_error",
            Refusal::UnknownPath | Refusal::UnknownReview => "not_found",
            Refusal::Method(_) => "method_not_allowed",
            Refusal::BodyTime(_) => "request_timeout",
            Refusal::Precondition => "precondition_failed",
            Refusal::BodyBytes(_) => "content_too_large",
            Refusal::Rate(_) => "too_many_requests",
            Refusal::Fields(_) => "header_fields_too_large",
            Refusal::Internal => "internal_error",
            Refusal::TransferEncoding | Refusal::Connect => "not_implemented",
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => "unavailable",
        }
    }

    fn message(&self) -> String {
        match self {
            Refusal::Host(HostError::Missing) => "the Host header is missing".to_owned(),
            Refusal::Host(HostError::Repeated) => "the Host header must be given once".to_owned(),
            Refusal::Host(HostError::Malformed) => {
                "the Host header must be a host with an optional port".to_owned()
            }
            Refusal::Host(HostError::Foreign) => "the request is for another server".to_owned(),
            Refusal::TransferEncoding => {
                "the only transfer coding taken is chunked, once".to_owned()
            }
            Refusal::Target(error) => error.to_string(),
            Refusal::Issues(_) | Refusal::Page(..) | Refusal::EarlyPage(..) => String::new(),
            Refusal::UnknownPath => "there is nothing at this address".to_owned(),
            Refusal::UnknownReview => "no review has this id".to_owned(),
            Refusal::Method(allow) => format!("this address takes {allow}"),
            Refusal::BodyTime(limit) => format!(
                "the request body must arrive within {} s",
                limit.as_secs_f32()
            ),
            Refusal::Precondition => "the condition of the request does not hold".to_owned(),
            Refusal::BodyBytes(limit) => {
                format!("the request body must not be longer than {limit} bytes")
            }
            Refusal::BodyBroken => "the request body is not complete".to_owned(),
            Refusal::Rate(limit) => {
                format!("more than {limit} requests a minute from one address")
            }
            Refusal::Fields(limit) => format!("a request may have at most {limit} header fields"),
            Refusal::Internal => "the server failed to answer this request".to_owned(),
            Refusal::Connect => "this server is no proxy".to_owned(),
            Refusal::Unavailable(message) => (*message).to_owned(),
        }
    }

    /// Writes the headers and returns the body: `{"error": code, "message": words}`, or the issues as they are.
    fn render(&self, headers: &mut HeaderMap) -> Body {
        put_unstored(headers);
        match self {
            Refusal::Method(allow) => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allow));
            }
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => {
                // Long enough not to be asked in a loop, short enough for a restart.
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            _ => {}
        }
        match self {
            Refusal::Issues(body) => return Body::full(body.clone()),
            Refusal::Page(body, policy) | Refusal::EarlyPage(body, policy) => {
                headers.insert(header::CONTENT_TYPE, HTML.clone());
                put_policy(headers, *policy);
                return Body::full(body.clone());
            }
            _ => {}
        }
        let mut body = Vec::new();
        let mut object = Object::begin(&mut body);
        object
            .string("error", self.code())
            .string("message", &self.message());
        object.end();
        Body::full(Bytes::from(body))
    }
}
