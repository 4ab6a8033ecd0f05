//! The endpoints that read a body: `POST /api/websub/hub`, and `/mcp`, whose methods, origins and errors are the
//! protocol's own. Each returns its response, and whether it has read the body to its end.

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

/// Reads the form and hands it to the hub: 202 once the request is on disk.
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

/// Refuses a request before its body is read: a form in a content coding, and one of another media type whose client waits
/// to hear whether to send it (RFC 9110 §10.1.1).
fn check_hub_head(parts: &Parts, is_waiting: bool) -> Result<(), Refusal> {
    if body::is_encoded(&parts.headers) {
        let what = "the form must be sent without one";
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

/// Refuses a request before its body is read: a message in a content coding, and one whose client waits to hear whether to
/// send it and whose head is refused whatever follows.
fn refuse_early(server: &mcp::Server, parts: &Parts) -> Option<mcp::Reply> {
    if parts.method == Method::POST && body::is_encoded(&parts.headers) {
        return Some(mcp::Reply::refuse(mcp::Refusal::Coding));
    }
    let is_waiting = parts.headers.contains_key(header::EXPECT);
    is_waiting.then(|| server.refuse_head(&mcp_head(parts)))?
}

/// Tells whether a request to `/mcp` is of a page that gets to see the answer.
pub(crate) fn check_mcp_origin(app: &AppState, parts: &Parts) -> Result<mcp::Origin, mcp::Reply> {
    app.mcp.check_origin(&mcp_head(parts))
}

/// What the protocol looks at of a request's head.
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
