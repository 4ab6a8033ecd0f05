//! The endpoints that read a body: `POST /api/websub/hub`, and `/mcp`, whose methods, origins and errors are defined by
//! its protocol. Each returns its response, and whether it has read the complete body.

use hyper::body::Incoming;
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Response};

use crate::http::app_state::AppState;
use crate::http::body::{self, Body};
use crate::http::error::HttpError;
use crate::http::reply::{self, Reply};
use crate::hub::{Refusal, request};
use crate::mcp::{self, Field, Form, Head};

/// Reads the form and submits it to the hub: 202 once the request is on disk.
pub(crate) async fn hub(
    app: &AppState,
    parts: Parts,
    body: &mut Incoming,
) -> (Response<Body>, bool) {
    let is_waiting = parts.headers.contains_key(header::EXPECT);
    if let Err(refusal) = check_hub_head(&parts, is_waiting) {
        return (reply::render_hub(Err(refusal), parts.headers), false);
    }
    let unavailable = |headers| {
        let error = HttpError::Unavailable("the hub is not running");
        reply::render(Reply::Refuse(error), headers, &app.cache_control)
    };
    if is_waiting && app.hub().is_none() {
        return (unavailable(parts.headers), false);
    }
    let form = match body::collect(body, app.limits.hub_body_bytes, app.limits.body_time).await {
        Ok(form) => form,
        Err(error) => return (reply::render_error_line(&error, parts.headers), false),
    };
    let Some(hub) = app.hub() else {
        return (unavailable(parts.headers), true);
    };
    let result = match request::parse(content_type(&parts), &form) {
        Ok(request) => hub.submit(request).await,
        Err(refusal) => Err(refusal),
    };
    (reply::render_hub(result, parts.headers), true)
}

/// Refuses a request before its body is read: a form with a content coding, and one of another media type whose client
/// waits for 100 (Continue) (RFC 9110 §10.1.1).
fn check_hub_head(parts: &Parts, is_waiting: bool) -> Result<(), Refusal> {
    if body::is_encoded(&parts.headers) {
        let what = "must be absent or identity";
        return Err(Refusal::media_type("content-encoding", what));
    }
    match is_waiting {
        true => request::check_media_type(content_type(parts)),
        false => Ok(()),
    }
}

/// Returns the media type of the form, unless it is missing or given more than once.
fn content_type(parts: &Parts) -> Option<&[u8]> {
    let mut types = parts.headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        (Some(only), None) => Some(only.as_bytes()),
        _ => None,
    }
}

/// Reads the message of a request with the `origin` that [`check_mcp_origin`] returned, and answers it.
pub(crate) async fn mcp(
    app: &AppState,
    parts: Parts,
    origin: mcp::Origin,
    body: &mut Incoming,
) -> (Response<Body>, bool) {
    if let Some(reply) = refuse_early(&app.mcp, &parts) {
        let reply = mcp::Reply { origin, ..reply };
        return (reply::render_mcp(reply, parts.headers), false);
    }
    let collected = body::collect(body, app.limits.mcp_body_bytes, app.limits.body_time).await;
    let reply = match &collected {
        Ok(message) => {
            let served = app.served.load();
            app.mcp
                .handle(&served.catalog, &mcp_head(&parts), origin, message)
        }
        Err(error) => mcp::Reply::refuse(match error {
            HttpError::BodyBytes(bytes_max) => mcp::Refusal::TooLarge(*bytes_max),
            HttpError::BodyTime(_) => mcp::Refusal::TooSlow,
            _ => mcp::Refusal::BrokenBody,
        }),
    };
    (reply::render_mcp(reply, parts.headers), collected.is_ok())
}

/// Refuses a request before its body is read: a message with a content coding, and one whose client waits for 100
/// (Continue) although its head is invalid.
fn refuse_early(server: &mcp::Server, parts: &Parts) -> Option<mcp::Reply> {
    if parts.method == Method::POST && body::is_encoded(&parts.headers) {
        return Some(mcp::Reply::refuse(mcp::Refusal::Coding));
    }
    let is_waiting = parts.headers.contains_key(header::EXPECT);
    is_waiting.then(|| server.refuse_head(&mcp_head(parts)))?
}

/// Checks whether the page that sent a request to `/mcp`, if any, may read the response.
pub(crate) fn check_mcp_origin(app: &AppState, parts: &Parts) -> Result<mcp::Origin, mcp::Reply> {
    app.mcp.check_origin(&mcp_head(parts))
}

/// Returns the parts of a request's head that the protocol uses.
fn mcp_head(parts: &Parts) -> Head<'_> {
    let values = |name: HeaderName| {
        let values = parts.headers.get_all(name).iter();
        values.map(|value| value.as_bytes())
    };
    let field = |name| Field::of(values(name));
    let own = HeaderName::from_static;
    Head {
        method: parts.method.as_str().as_bytes(),
        host: match parts.uri.authority() {
            Some(authority) => Field::One(authority.as_str().as_bytes()),
            None => field(header::HOST),
        },
        origin: field(header::ORIGIN),
        form: Form::of(values(header::ACCEPT)),
        content_type: field(header::CONTENT_TYPE),
        protocol_version: field(own("mcp-protocol-version")),
        session: field(reply::MCP_SESSION),
        mcp_method: field(own("mcp-method")),
        mcp_name: field(own("mcp-name")),
    }
}
