//! The replies of the administrator's listener: never stored, and for no page of another origin.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::{Refusal, put_unstored};
use crate::http::body::Body;
use crate::http::host::HostError;

/// The media type of the metrics.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// 200 with an OpenMetrics text.
pub(crate) fn metrics(text: Vec<u8>) -> Response<Body> {
    let mut response = unstored(StatusCode::OK, Body::full(Bytes::from(text)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS));
    response
}

/// 200, or 503 where traffic should go elsewhere.
pub(crate) fn state(healthy: bool, body: Bytes) -> Response<Body> {
    let status = match healthy {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    unstored(status, Body::full(body))
}

/// 421, to a request by a name that is not this machine's own.
pub(crate) fn misdirected() -> Response<Body> {
    refused(&Refusal::Host(HostError::Foreign))
}

/// 404.
pub(crate) fn not_found() -> Response<Body> {
    refused(&Refusal::UnknownPath)
}

/// 405.
pub(crate) fn method_not_allowed() -> Response<Body> {
    refused(&Refusal::Method("GET, HEAD"))
}

/// 500, where a handler panicked.
pub(crate) fn internal() -> Response<Body> {
    refused(&Refusal::Internal)
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let mut headers = HeaderMap::new();
    let body = refusal.render(&mut headers);
    let mut response = Response::new(body);
    *response.status_mut() = refusal.status();
    *response.headers_mut() = headers;
    response
}

fn unstored(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    put_unstored(response.headers_mut());
    *response.status_mut() = status;
    response
}
