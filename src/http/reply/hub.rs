//! The answers of the hub as responses: a status and one line of plain text.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::{ANY, EXPOSED, NO_STORE, NOSNIFF};
use crate::http::body::Body;
use crate::hub::{Refusal, RefusalKind};

/// Writes what came of a request, using `headers`, the request's own map.
pub(crate) fn render(outcome: Result<(), Refusal>, headers: HeaderMap) -> Response<Body> {
    let Err(refusal) = outcome else {
        return write(
            StatusCode::ACCEPTED,
            "accepted, the callback will be asked",
            headers,
        );
    };
    let status = match refusal.kind {
        RefusalKind::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        RefusalKind::Field => StatusCode::BAD_REQUEST,
        RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = write(status, &refusal.reason, headers);
    let fields = response.headers_mut();
    if let Some(wait_s) = refusal.retry_after_s {
        fields.insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
    }
    if refusal.kind == RefusalKind::MediaType {
        fields.insert("accept-post", FORM.clone());
    }
    response
}

/// Writes the refusal of a request whose form was not read to its end.
pub(crate) fn render_unread(refusal: &super::Refusal, headers: HeaderMap) -> Response<Body> {
    write(refusal.status(), &refusal.message(), headers)
}

fn write(status: StatusCode, line: &str, mut headers: HeaderMap) -> Response<Body> {
    headers.clear();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
    headers.insert(header::CACHE_CONTROL, NO_STORE.clone());
    headers.insert(header::CONTENT_TYPE, PLAIN.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF.clone());
    let mut response = Response::new(Body::full(Bytes::from(format!("{line}\n"))));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

static PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
static FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
