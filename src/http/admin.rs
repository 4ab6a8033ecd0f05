//! What the administrator's listener answers: metrics, and how the process is. Never on the public port.

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

/// Answers one request of `peer`; `metrics` is called where they are asked for.
///
/// From this machine it has to ask by an address or as `localhost`: what runs here may be a browser, and a page whose
/// name has been led to us (DNS rebinding) would read what we answer. From elsewhere any name will do, as scrapers
/// know us by names of their own, and the operator decides which machines can connect.
pub(crate) fn handle(
    app: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Response<Body> {
    let is_led = peer.to_canonical().is_loopback()
        && !host::is_without_name(request.uri(), request.headers());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    let reply = match path {
        _ if is_led => Reply::Refuse(HttpError::Host(HostError::Foreign)),
        "/metrics" | "/healthz" | "/readyz" if !is_read => {
            Reply::Refuse(HttpError::Method("GET, HEAD"))
        }
        "/metrics" => Reply::State {
            healthy: true,
            body: metrics().into(),
        },
        "/healthz" => state::health(),
        "/readyz" => state::ready(app, &app.current(), true),
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
    // A body is not read here, so what follows it on the connection cannot be told from it.
    if !request.body().is_end_stream() && request.version() < Version::HTTP_2 {
        reply::close(&mut response);
    }
    response
}

/// Returns the response to a request whose handler panicked.
pub(crate) fn internal_error() -> Response<Body> {
    reply::render_private(Reply::Refuse(HttpError::Internal))
}
