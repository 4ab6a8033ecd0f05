//! What is sent: every status code and every header of a response is chosen here.

pub(crate) mod admin;
pub(crate) mod http2;
pub(crate) mod hub;
pub(crate) mod mcp;
pub(crate) mod rate;
mod refusal;

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::Body;
use super::prerendered::PrerenderedHeads;
use crate::pages::{self, Policy};
use crate::wire::negotiate::Coding;

pub(crate) use refusal::Refusal;

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
    /// The same, told by a page.
    RefuseByPage(Refusal, Bytes),
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
    pub(crate) ready: Option<&'s PrerenderedHeads>,
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
        Reply::RefuseByPage(refusal, page) => {
            // Allow, for one.
            refusal.render(&mut headers);
            (refusal.status(), put_page(&mut headers, page, Policy::Page))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Ends the connection after this reply: what follows on it may be a body that is not read.
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

/// The fields of a page in place of such an answer.
fn put_page(headers: &mut HeaderMap, page: Bytes, policy: Policy) -> Body {
    headers.insert(header::CONTENT_TYPE, HTML.clone());
    put_policy(headers, policy);
    Body::full(page)
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
