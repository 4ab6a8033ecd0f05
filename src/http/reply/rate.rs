//! What a client is told of its rate: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), and
//! Retry-After where it has asked too often.

use hyper::Response;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};

use crate::http::body::Body;
use crate::http::rate::{Standing, WINDOW};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Writes the fields of `standing`.
pub(crate) fn put(response: &mut Response<Body>, standing: &Standing) {
    let Standing {
        policy,
        per_minute,
        left,
        ..
    } = standing;
    let next_s = standing.next.as_millis().div_ceil(1_000);
    let headers = response.headers_mut();
    for (name, value) in [
        (
            POLICY,
            format!("\"{policy}\";q={per_minute};w={}", WINDOW.as_secs()),
        ),
        (LIMIT, format!("\"{policy}\";r={left};t={next_s}")),
    ] {
        // Words of ours and numbers: a header can always carry them.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    if standing.is_exceeded {
        // Whole seconds, rounded up: whoever comes then is let in.
        let wait_s = u64::try_from(next_s).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, HeaderValue::from(wait_s));
    }
}
