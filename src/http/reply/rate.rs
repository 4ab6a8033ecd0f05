//! What a client is told of its rate: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), and
//! Retry-After where it has asked too often.

use hyper::Response;
use hyper::header::{ACCESS_CONTROL_EXPOSE_HEADERS, HeaderName, HeaderValue, RETRY_AFTER};

use super::{EXPOSED, EXPOSED_WITH_RATE};
use crate::http::body::Body;
use crate::http::rate_limit::{RateLimitStatus, WINDOW};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Writes the fields of `quota`, and lets pages read them where they may read others.
pub(crate) fn put(response: &mut Response<Body>, quota: &RateLimitStatus) {
    let RateLimitStatus {
        policy,
        per_minute,
        left,
        ..
    } = quota;
    // Whole seconds, rounded up: a client that waits so long is admitted.
    let next_s = quota.next.as_nanos().div_ceil(1_000_000_000).max(1);
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
    // What `/mcp` exposes has them already.
    if let Some(exposed) = headers.get_mut(ACCESS_CONTROL_EXPOSE_HEADERS)
        && *exposed == EXPOSED
    {
        exposed.clone_from(&EXPOSED_WITH_RATE);
    }
    if quota.is_exceeded {
        let wait_s = u64::try_from(next_s).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, HeaderValue::from(wait_s));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn retry_after(next: Duration) -> u64 {
        let mut response = Response::new(Body::default());
        let quota = RateLimitStatus {
            policy: "test",
            per_minute: 1,
            left: 0,
            next,
            is_exceeded: true,
        };
        put(&mut response, &quota);
        let value = response.headers()[RETRY_AFTER].to_str().unwrap();
        value.parse().unwrap()
    }

    #[test]
    fn whoever_waits_as_told_is_let_in() {
        assert_eq!(retry_after(Duration::from_nanos(1)), 1);
        assert_eq!(retry_after(Duration::from_secs(1)), 1);
        assert_eq!(retry_after(Duration::new(1, 1)), 2);
        assert_eq!(retry_after(Duration::new(59, 999_999_999)), 60);
    }
}
