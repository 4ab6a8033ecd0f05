//! What the administrator's own listener answers: metrics, and how the process is. Never on the public port.

use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, Response, Version};

use super::app::App;
use super::body::Body;
use super::endpoint::state;
use super::reply::{self, Reply};

/// Answers one request; `metrics` is called where they are asked for.
pub fn handle(
    app: &App,
    request: &Request<Incoming>,
    metrics: impl FnOnce() -> Vec<u8>,
) -> Response<Body> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = match request.uri().path() {
        "/metrics" | "/healthz" | "/readyz" if !is_read => reply::admin::method_not_allowed(),
        "/metrics" => reply::admin::metrics(metrics()),
        "/healthz" => state(state::health()),
        "/readyz" => state(state::ready(app, &app.current())),
        _ => reply::admin::not_found(),
    };
    if request.method() == Method::HEAD {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = body.into_head();
    }
    // Nobody reads a body here, so what follows it on the connection cannot be told from it.
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
