//! What the administrator's own listener answers: metrics, and how the process is. Never on the public port.

use std::net::IpAddr;

use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, Response, Version};

use super::app_state::AppState;
use super::body::Body;
use super::endpoint::state::{self, Asker};
use super::host;
use super::reply::{self, Reply};

/// Answers one request of `peer`; `metrics` is called where they are asked for.
///
/// From this machine it has to ask by an address or as `localhost`: what runs here may be a browser, and a page whose
/// name has been led to us (DNS rebinding) would read what we answer. From elsewhere any name will do, as scrapers
/// know us by names of their own, and who can connect is the operator's to decide.
pub fn handle(
    app: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Response<Body> {
    let is_led = peer.to_canonical().is_loopback()
        && !host::is_without_name(request.uri(), request.headers());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = match request.uri().path() {
        _ if is_led => reply::admin::misdirected(),
        "/metrics" | "/healthz" | "/readyz" if !is_read => reply::admin::method_not_allowed(),
        "/metrics" => reply::admin::metrics(metrics()),
        "/healthz" => state(state::health()),
        "/readyz" => state(state::ready(app, &app.current(), Asker::Administrator)),
        _ => reply::admin::not_found(),
    };
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

/// Writes what the process says of itself.
fn state(reply: Reply<'_>) -> Response<Body> {
    match reply {
        Reply::State { healthy, body } => reply::admin::state(healthy, body),
        // `state` has no other replies.
        _ => reply::admin::not_found(),
    }
}

/// Returns the answer to a request whose handler panicked.
#[must_use]
pub fn broken() -> Response<Body> {
    reply::admin::internal()
}
