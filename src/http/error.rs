//! Errors of requests: the status, the stable error code of the body, and a message.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;

use super::host::HostError;
use super::router::TargetError;
use crate::limits::Shortage;
use crate::wire::json::Object;

/// Largest head of a request in bytes, request line and fields together.
pub(crate) const HEAD_BYTES_MAX: u32 = 16 * 1024;

/// Why a request fails; `Display` is the message of the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("{0}")]
    Host(#[from] HostError),
    #[error("the only supported transfer coding is chunked, applied once")]
    TransferEncoding,
    #[error("{0}")]
    Target(#[from] TargetError),
    /// A validation error with its rendered body, which is empty if a page shows the issues.
    #[error("")]
    Issues(Bytes),
    #[error("no resource exists at this path")]
    UnknownPath,
    #[error("no review has this id")]
    UnknownReview,
    /// The bytes are not a valid request. This error and the next three are sent only on HTTP/1.1, by `server`.
    #[error("the bytes are not a valid request")]
    Malformed,
    /// HTTP without TLS on a port with TLS.
    #[error("this port requires TLS: use https://...")]
    Plaintext,
    #[error("the request head was not received in time")]
    HeadTime,
    #[error("the request head is too large: at most {bytes} bytes and 100 header fields are accepted", bytes = HEAD_BYTES_MAX)]
    HeadBytes,
    #[error("this resource supports {0}")]
    Method(&'static str),
    #[error("the request body must arrive within {} s", .0.as_secs_f32())]
    BodyTime(Duration),
    #[error("a precondition of the request is not met")]
    Precondition,
    #[error("the request body must not be longer than {0} bytes")]
    BodyBytes(usize),
    /// The body ended before its declared length, or its framing is invalid.
    #[error("the request body is incomplete")]
    BodyBroken,
    #[error("more than {0} requests per minute from one address")]
    Rate(u32),
    #[error("the request has {count} header fields; at most {count_max} are accepted")]
    Fields { count: usize, count_max: usize },
    /// The handler panicked.
    #[error("the server failed to process this request")]
    Internal,
    #[error("this server is not a proxy")]
    Connect,
    /// This part of the service is not running, or not ready.
    #[error("{0}")]
    Unavailable(&'static str),
    /// A budget of bytes in flight has no room.
    #[error("{0}; try again later")]
    Busy(#[from] Shortage),
}

impl HttpError {
    pub(crate) fn status(&self) -> StatusCode {
        self.status_and_code().0
    }

    /// Returns the status, and the stable error code of the body.
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        use HttpError as E;
        use StatusCode as S;
        match self {
            E::Host(HostError::Foreign) => (S::MISDIRECTED_REQUEST, "misdirected_request"),
            E::Target(TargetError::TooLong { .. }) => (S::URI_TOO_LONG, "uri_too_long"),
            E::Host(_) | E::Target(_) | E::BodyBroken | E::Malformed | E::Plaintext => {
                (S::BAD_REQUEST, "bad_request")
            }
            E::Issues(_) => (S::BAD_REQUEST, "validation_error"),
            E::UnknownPath | E::UnknownReview => (S::NOT_FOUND, "not_found"),
            E::Method(_) => (S::METHOD_NOT_ALLOWED, "method_not_allowed"),
            E::BodyTime(_) | E::HeadTime => (S::REQUEST_TIMEOUT, "request_timeout"),
            E::Precondition => (S::PRECONDITION_FAILED, "precondition_failed"),
            E::BodyBytes(_) => (S::PAYLOAD_TOO_LARGE, "content_too_large"),
            E::Rate(_) => (S::TOO_MANY_REQUESTS, "too_many_requests"),
            E::Fields { .. } | E::HeadBytes => (
                S::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "header_fields_too_large",
            ),
            E::Internal => (S::INTERNAL_SERVER_ERROR, "internal_error"),
            E::TransferEncoding | E::Connect => (S::NOT_IMPLEMENTED, "not_implemented"),
            E::Unavailable(_) | E::Busy(_) => (S::SERVICE_UNAVAILABLE, "unavailable"),
        }
    }

    /// Tells whether the connection has to be closed, because what follows on it may be something else than a request.
    /// Not asked for the errors that `server` sends, as it always closes.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self,
            HttpError::Host(_)
                | HttpError::TransferEncoding
                | HttpError::Target(_)
                | HttpError::BodyTime(_)
                | HttpError::BodyBytes(_)
                | HttpError::BodyBroken
                | HttpError::Fields { .. }
                | HttpError::Internal
                | HttpError::Connect
        )
    }

    /// Returns the heading of the error page; `None` for an error that no person sees in a browser.
    pub(crate) fn page_heading(&self) -> Option<&'static str> {
        let heading = match self {
            HttpError::UnknownPath => "Page not found",
            HttpError::UnknownReview => "Review not found",
            HttpError::Method(_) => "This address is not for browsers",
            HttpError::Target(_) => "This address is not valid",
            _ => return None,
        };
        Some(heading)
    }

    /// Returns the body: `{"error": code, "message": text}`, or the rendered issues.
    pub(crate) fn body(&self) -> Bytes {
        if let HttpError::Issues(body) = self {
            return body.clone();
        }
        // Large enough for most bodies, so that they need no second allocation.
        let mut body = Vec::with_capacity(128);
        let mut object = Object::begin(&mut body);
        object
            .string("error", self.status_and_code().1)
            .string("message", &self.to_string());
        object.end();
        Bytes::from(body)
    }
}
