//! Why a request is not answered as asked: its status, the stable word of its body, and a line for people.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};

use super::{put_page, put_unstored};
use crate::http::body::{Body, CollectError};
use crate::http::host::HostError;
use crate::http::target::TargetError;
use crate::pages::Policy;
use crate::wire::json::Object;

/// Why a request is not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 400, or 421 for a foreign one. The client's fault, or its proxy's.
    Host(HostError),
    /// 501: a Transfer-Encoding other than one `chunked`.
    TransferEncoding,
    /// 400, or 414 for the length.
    Target(TargetError),
    /// 400 with the ready body of a validation error.
    Issues(Bytes),
    /// 400 with a page that tells the issues.
    Page(Bytes, Policy),
    /// 503 with a page that tells what is not there yet.
    EarlyPage(Bytes, Policy),
    /// 404: no such address.
    UnknownPath,
    /// 404: no review has this id.
    UnknownReview,
    /// 400: the bytes are no request. Only HTTP/1.1 comes here, as with the next three.
    Malformed,
    /// 400: HTTP without TLS where TLS is spoken.
    Plaintext,
    /// 408: the head did not arrive in time.
    HeadTime,
    /// 431: the head is too long.
    HeadBytes,
    /// 405, with the methods that there are.
    Method(&'static str),
    /// 408: the body did not arrive in time.
    BodyTime(Duration),
    /// 412: If-Match or If-Unmodified-Since does not hold.
    Precondition,
    /// 413: the body is longer than this many bytes.
    BodyBytes(usize),
    /// 400: the body ended before its declared length, or is not well framed.
    BodyBroken,
    /// 429: more requests in a minute than this.
    Rate(u32),
    /// 431: more header fields than this.
    Fields(usize),
    /// 500: the handler panicked. Our fault.
    Internal,
    /// 501: CONNECT, which makes no sense here.
    Connect,
    /// 503: this part of the service is not running.
    Unavailable(&'static str),
}

impl From<CollectError> for Refusal {
    fn from(error: CollectError) -> Refusal {
        match error {
            CollectError::TooLong { limit } => Refusal::BodyBytes(limit),
            CollectError::TooLate { limit } => Refusal::BodyTime(limit),
            CollectError::Broken => Refusal::BodyBroken,
        }
    }
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Refusal::Host(HostError::Foreign) => StatusCode::MISDIRECTED_REQUEST,
            Refusal::Host(_)
            | Refusal::Issues(_)
            | Refusal::Page(..)
            | Refusal::BodyBroken
            | Refusal::Malformed
            | Refusal::Plaintext => StatusCode::BAD_REQUEST,
            Refusal::Target(TargetError::TooLong { .. }) => StatusCode::URI_TOO_LONG,
            Refusal::Target(_) => StatusCode::BAD_REQUEST,
            Refusal::UnknownPath | Refusal::UnknownReview => StatusCode::NOT_FOUND,
            Refusal::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::BodyTime(_) | Refusal::HeadTime => StatusCode::REQUEST_TIMEOUT,
            Refusal::Precondition => StatusCode::PRECONDITION_FAILED,
            Refusal::BodyBytes(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Rate(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Fields(_) | Refusal::HeadBytes => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Refusal::TransferEncoding | Refusal::Connect => StatusCode::NOT_IMPLEMENTED,
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Tells whether the bytes that follow on the connection can no longer be trusted to be a request.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self,
            Refusal::Host(_)
                | Refusal::TransferEncoding
                | Refusal::Target(_)
                | Refusal::BodyTime(_)
                | Refusal::BodyBytes(_)
                | Refusal::BodyBroken
                | Refusal::Fields(_)
                | Refusal::Internal
                | Refusal::Connect
        )
    }

    /// Returns what the page about it says, above and below, if a person may meet it in a browser.
    pub(crate) fn page(&self) -> Option<(&'static str, String)> {
        let heading = match self {
            Refusal::UnknownPath => "Page not found",
            Refusal::UnknownReview => "Review not found",
            Refusal::Method(_) => "This address is not for browsers",
            Refusal::Target(_) => "This address cannot be read",
            _ => return None,
        };
        Some((heading, self.message()))
    }

    /// The stable word of the error body.
    fn code(&self) -> &'static str {
        match self {
            Refusal::Host(HostError::Foreign) => "misdirected_request",
            Refusal::Host(_) | Refusal::BodyBroken | Refusal::Malformed | Refusal::Plaintext => {
                "bad_request"
            }
            Refusal::Target(TargetError::TooLong { .. }) => "uri_too_long",
            Refusal::Target(_) => "bad_request",
            Refusal::Issues(_) | Refusal::Page(..) => "validation_error",
            Refusal::UnknownPath | Refusal::UnknownReview => "not_found",
            Refusal::Method(_) => "method_not_allowed",
            Refusal::BodyTime(_) | Refusal::HeadTime => "request_timeout",
            Refusal::Precondition => "precondition_failed",
            Refusal::BodyBytes(_) => "content_too_large",
            Refusal::Rate(_) => "too_many_requests",
            Refusal::Fields(_) | Refusal::HeadBytes => "header_fields_too_large",
            Refusal::Internal => "internal_error",
            Refusal::TransferEncoding | Refusal::Connect => "not_implemented",
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => "unavailable",
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Refusal::Host(HostError::Missing) => "the Host header is missing".to_owned(),
            Refusal::Host(HostError::Repeated) => "the Host header must be given once".to_owned(),
            Refusal::Host(HostError::Malformed) => {
                "the Host header must be a host with an optional port".to_owned()
            }
            Refusal::Host(HostError::Foreign) => "the request is for another server".to_owned(),
            Refusal::TransferEncoding => {
                "the only transfer coding taken is chunked, once".to_owned()
            }
            Refusal::Target(error) => error.to_string(),
            Refusal::Issues(_) | Refusal::Page(..) | Refusal::EarlyPage(..) => String::new(),
            Refusal::UnknownPath => "there is nothing at this address".to_owned(),
            Refusal::UnknownReview => "no review has this id".to_owned(),
            Refusal::Method(allow) => format!("this address takes {allow}"),
            Refusal::BodyTime(limit) => format!(
                "the request body must arrive within {} s",
                limit.as_secs_f32()
            ),
            Refusal::Precondition => "the condition of the request does not hold".to_owned(),
            Refusal::BodyBytes(limit) => {
                format!("the request body must not be longer than {limit} bytes")
            }
            Refusal::BodyBroken => "the request body is not complete".to_owned(),
            Refusal::Rate(limit) => {
                format!("more than {limit} requests a minute from one address")
            }
            Refusal::Fields(limit) => format!("a request may have at most {limit} header fields"),
            Refusal::Malformed => "the bytes are no request of HTTP/1.1".to_owned(),
            Refusal::Plaintext => "this port speaks TLS: ask for https://...".to_owned(),
            Refusal::HeadTime => "the head of the request did not arrive in time".to_owned(),
            Refusal::HeadBytes => "the head of the request is too long".to_owned(),
            Refusal::Internal => "the server failed to answer this request".to_owned(),
            Refusal::Connect => "this server is no proxy".to_owned(),
            Refusal::Unavailable(message) => (*message).to_owned(),
        }
    }

    /// Writes the headers and returns the body: `{"error": code, "message": words}`, or the issues as they are.
    pub(super) fn render(&self, headers: &mut HeaderMap) -> Body {
        put_unstored(headers);
        match self {
            Refusal::Method(allow) => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allow));
            }
            Refusal::Unavailable(_) | Refusal::EarlyPage(..) => {
                // Long enough not to be asked in a loop, short enough for a restart.
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            _ => {}
        }
        match self {
            Refusal::Issues(body) => return Body::full(body.clone()),
            Refusal::Page(body, policy) | Refusal::EarlyPage(body, policy) => {
                return put_page(headers, body.clone(), *policy);
            }
            _ => {}
        }
        let mut body = Vec::new();
        let mut object = Object::begin(&mut body);
        object
            .string("error", self.code())
            .string("message", &self.message());
        object.end();
        Body::full(Bytes::from(body))
    }
}
