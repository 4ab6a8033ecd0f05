//! The requests of the administrator's listener: health, readiness, and metrics, which the public port never serves.

use std::net::IpAddr;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, Version};

use super::app_state::AppState;
use super::body::Body;
use super::endpoint::state;
use super::error::HttpError;
use super::host::{self, HostError};
use super::reply::{self, Reply};

/// The media type of the metrics.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers one request of `peer`; `metrics` is called only if the request is for them.
///
/// A request from this machine must name the server by an address or as `localhost`: it may come from a browser, in
/// which a page could read the response by DNS rebinding. A request from another machine may use any host name, as
/// scrapers use names of their own, and the operator decides which machines can connect.
pub(crate) fn handle(
    app: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Response<Body> {
    let is_rebound = peer.to_canonical().is_loopback()
        && !host::is_without_name(request.uri(), request.headers());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    let reply = match path {
        _ if is_rebound => Reply::Refuse(HttpError::Host(HostError::Foreign)),
        "/metrics" | "/healthz" | "/readyz" if !is_read => {
            Reply::Refuse(HttpError::Method("GET, HEAD"))
        }
        "/metrics" => Reply::State {
            healthy: true,
            body: metrics().into(),
        },
        "/healthz" => state::health(app),
        "/readyz" => {
            let query = request.uri().query().unwrap_or_default();
            state::ready(app, &app.current(), query, true)
        }
        _ => Reply::Refuse(HttpError::UnknownPath),
    };
    let is_metrics = path == "/metrics" && matches!(reply, Reply::State { .. });
    let mut response = reply::render_private(reply);
    if is_metrics {
        let media_type = HeaderValue::from_static(OPENMETRICS);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, media_type);
    }
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

/// Returns the response to a request whose handler panicked.
pub(crate) fn internal_error() -> Response<Body> {
    reply::render_private(Reply::Refuse(HttpError::Internal))
}
