//! The requests of the administrator's listener: health, readiness, and metrics, which the public port never serves.

use std::net::IpAddr;

use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, Response, Version};

use super::app_state::AppState;
use super::body::Body;
use super::endpoint::state;
use super::error::HttpError;
use super::host::{self, HostError};
use super::reply::{self, Reply};

/// Answers one request of `peer`; `metrics` renders the metrics, and is called only if the request is for them.
///
/// A request from this machine must name the server by an address or as `localhost`: it may come from a browser, in
/// which a page could read the response by DNS rebinding. A request from another machine may use any host name: scrapers
/// use names of their own, and the operator decides which machines can connect.
pub(crate) fn handle(
    app: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Response<Body> {
    let reply = match check_and_answer(app, request, peer, metrics) {
        Ok(reply) => reply,
        Err(error) => Reply::Refuse(error),
    };
    let mut response = reply::render_private(reply);
    if request.method() == Method::HEAD {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    // The body is not read, so the bytes that follow on the connection are not a request.
    if !request.body().is_end_stream() && request.version() < Version::HTTP_2 {
        reply::close(&mut response);
    }
    response
}

/// Checks the host, the path and the method of a request, in this order, and answers it.
fn check_and_answer(
    app: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Result<Reply<'static>, HttpError> {
    let is_safe = host::is_safe_from_rebinding(request.uri(), request.headers());
    if peer.to_canonical().is_loopback() && !is_safe {
        return Err(HttpError::Host(HostError::Foreign));
    }
    let path = request.uri().path();
    if !matches!(path, "/metrics" | "/healthz" | "/readyz") {
        return Err(HttpError::UnknownPath);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(HttpError::Method("GET, HEAD"));
    }
    let reply = match path {
        "/metrics" => Reply::Metrics(metrics().into()),
        "/healthz" => state::health(app),
        _ => {
            let query = request.uri().query().unwrap_or_default();
            state::ready(app, &app.current(), query, true)
        }
    };
    Ok(reply)
}

/// Returns the response to a request whose handler panicked.
pub(crate) fn internal_error() -> Response<Body> {
    reply::render_private(Reply::Refuse(HttpError::Internal))
}
