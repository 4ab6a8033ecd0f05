//! `/mcp`: the Model Context Protocol over HTTP. Methods, origins and refusals are the protocol's own.

use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, AsHeaderName, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Response};

use crate::http::app_state::AppState;
use crate::http::body::{self, Body, CollectError};
use crate::http::reply::{self, Refusal, Reply};
use crate::http::respond::encode;
use crate::mcp::{self, Field, Form, Head};

/// Reads the message of `visitor`, whom [`judge`] has let in, within its bounds and answers.
pub(crate) async fn mcp(
    app: Arc<AppState>,
    parts: Parts,
    visitor: mcp::Visitor,
    body: Incoming,
) -> Response<Body> {
    let Some(server) = &app.mcp else {
        let refusal = Refusal::Unavailable("the MCP server is not running");
        return encode(&app, parts, Reply::Refuse(refusal), true);
    };
    if let Some(reply) = refuse_early(server, &parts) {
        let reply = mcp::Reply { visitor, ..reply };
        let is_unread = !body.is_end_stream() && parts.version < hyper::Version::HTTP_2;
        let mut response = reply::mcp::render(reply, parts.headers);
        if is_unread {
            reply::close(&mut response);
        }
        return response;
    }
    let collected = body::collect(body, app.limits.mcp_body_bytes, app.limits.body_time).await;
    let answer = match &collected {
        Ok(message) => {
            let served = app.served.load();
            server.handle_judged(served.catalog(), &head(&parts), visitor, message)
        }
        Err(error) => mcp::Reply::refuse(match error {
            CollectError::TooLong { .. } => mcp::Refusal::TooLarge,
            CollectError::TooLate { .. } => mcp::Refusal::TooSlow,
            CollectError::Broken => mcp::Refusal::BrokenBody,
        }),
    };
    let mut response = reply::mcp::render(answer, parts.headers);
    if collected.is_err() && parts.version < hyper::Version::HTTP_2 {
        reply::close(&mut response);
    }
    response
}

/// Refuses a request before its body is read: a message in a content coding, and one whose client waits to hear whether to
/// send it (RFC 9110 §10.1.1) and has sent a head that is refused whatever follows.
fn refuse_early(server: &mcp::Server, parts: &Parts) -> Option<mcp::Reply> {
    if parts.method == Method::POST && body::is_encoded(&parts.headers) {
        return Some(mcp::Reply::refuse(mcp::Refusal::Coding));
    }
    let is_waiting = parts.headers.contains_key(header::EXPECT);
    is_waiting.then(|| server.refuse_head(&head(parts)))?
}

/// Tells whether the client is a page that gets to see the answer.
///
/// # Errors
/// The answer to a page that may not ask.
pub(crate) fn judge(app: &AppState, parts: &Parts) -> Result<mcp::Visitor, mcp::Reply> {
    match &app.mcp {
        Some(server) => server.judge(&head(parts)),
        None => Ok(mcp::Visitor::Direct),
    }
}

/// What the protocol looks at of a request's head.
fn head(parts: &Parts) -> Head<'_> {
    let headers = &parts.headers;
    let host = match parts.uri.authority() {
        Some(authority) => Field::One(authority.as_str().as_bytes()),
        None => field(headers, header::HOST),
    };
    let accept = headers.get_all(header::ACCEPT).iter();
    Head {
        method: parts.method.as_str().as_bytes(),
        host,
        origin: field(headers, header::ORIGIN),
        form: Form::of(accept.map(|line| line.as_bytes())),
        content_type: field(headers, header::CONTENT_TYPE),
        protocol_version: field(headers, PROTOCOL_VERSION),
        session: field(headers, reply::mcp::SESSION),
        mcp_method: field(headers, MCP_METHOD),
        mcp_name: field(headers, MCP_NAME),
    }
}

fn field(headers: &HeaderMap, name: impl AsHeaderName) -> Field<'_> {
    Field::of(headers.get_all(name).iter().map(|line| line.as_bytes()))
}

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
