//! The answers of `/mcp` as responses.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::{NO_STORE, NOSNIFF};
use crate::http::body::Body;
use crate::mcp;

/// The header of a session's id.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Writes `reply`; `headers` are the request's own, whose Origin is echoed to a page that is welcome.
pub(crate) fn render(reply: mcp::Reply, mut headers: HeaderMap) -> Response<Body> {
    let origin = headers.remove(header::ORIGIN);
    headers.clear();
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    headers.insert(header::VARY, VARY.clone());
    if let (mcp::Visitor::Page, Some(origin)) = (reply.visitor, origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
        if reply.is_preflight {
            let fixed = HeaderValue::from_static;
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, fixed(mcp::METHODS));
            headers.insert(
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                fixed(mcp::REQUEST_HEADERS),
            );
            // A day, in seconds; browsers shorten it as they like.
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, fixed("86400"));
        }
    }
    if let Some(media_type) = reply.content_type {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
    }
    if let Some(allow) = reply.allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    if let Some(token) = reply.session
        && let Ok(value) = HeaderValue::from_str(token.as_str())
    {
        // A token is base64, which a header can always carry.
        headers.insert(SESSION, value);
    }
    let mut response = Response::new(Body::full(Bytes::from(reply.body)));
    // The protocol knows no status that is not a number from 100 to 999.
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    *response.headers_mut() = headers;
    response
}

static EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, RateLimit, RateLimit-Policy, Retry-After");
/// A copy for one origin is of no use to another.
static VARY: HeaderValue = HeaderValue::from_static("Origin");
