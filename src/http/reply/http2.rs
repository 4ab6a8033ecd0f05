//! Replies over HTTP/2: the same as elsewhere, those of documents from a map that is ready.
//!
//! In HTTP/1.1 the map of a reply serves the next request of its connection again, so filling it costs no allocation. A
//! stream of HTTP/2 has a map of its own that grows field by field; a copy of one that is ready costs a quarter of that.

use std::cell::RefCell;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::Reply;
use crate::clock;
use crate::http::body::Body;
use crate::wire::date::Timestamp;

/// Writes `reply` like [`render`](super::render); of a document its length and the date, too, which hyper adds to others.
pub(crate) fn render(
    reply: Reply<'_>,
    headers: HeaderMap,
    cache_control: &HeaderValue,
) -> Response<Body> {
    let (status, representation) = match &reply {
        Reply::Serve(representation, _) => (StatusCode::OK, representation),
        Reply::NotModified(representation) => (StatusCode::NOT_MODIFIED, representation),
        _ => return super::render(reply, headers, cache_control),
    };
    let Some(ready) = representation.ready else {
        return super::render(reply, headers, cache_control);
    };
    let place = match status {
        StatusCode::OK => ready.served_map(representation.coding),
        _ => ready.not_modified_map(representation.coding),
    };
    if let Some(fields) = place.get() {
        let mut fields = fields.clone();
        fields.insert(header::DATE, date());
        let mut response = Response::new(match reply {
            Reply::Serve(_, body) => body,
            _ => Body::empty(),
        });
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        return response;
    }
    // A map of its own: the request's may have grown as large as a client likes, and a copy is as large.
    let headers = HeaderMap::with_capacity(16);
    let mut response = super::render(reply, headers, cache_control);
    let length = response.body().length();
    let fields = response.headers_mut();
    // A 304 has no length of its own (RFC 9110 §8.6).
    if status == StatusCode::OK {
        fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    fields.insert(header::DATE, date());
    // Another thread has written the same.
    let _ = place.set(fields.clone());
    response
}

/// The value of Date, written once a second by each thread.
fn date() -> HeaderValue {
    thread_local! {
        static DATE: RefCell<(i64, HeaderValue)> =
            const { RefCell::new((i64::MIN, HeaderValue::from_static(""))) };
    }
    let second = clock::unix_s();
    DATE.with_borrow_mut(|(of, value)| {
        if *of != second {
            let text = Timestamp::from_unix(second).render_http();
            // A date is of ASCII.
            *value = HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static(""));
            *of = second;
        }
        value.clone()
    })
}
