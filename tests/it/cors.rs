//! Reads from pages of any origin.

use crate::documents::READS;
use crate::exchange::service;

#[test]
fn every_read_answers_any_origin_and_exposes_its_fields() {
    for path in READS {
        for fields in [&[][..], &[("Origin", "https://elsewhere.example")]] {
            let reply = service().send("GET", path, fields);
            assert_eq!(
                reply.field("access-control-allow-origin"),
                Some("*"),
                "{path}"
            );
            let exposed = Some("ETag, Last-Modified, Link, Retry-After");
            assert_eq!(
                reply.field("access-control-expose-headers"),
                exposed,
                "{path}"
            );
            assert!(
                reply.field("access-control-allow-credentials").is_none(),
                "{path}"
            );
            assert!(
                reply.field("access-control-allow-methods").is_none(),
                "{path}"
            );
        }
    }
}

#[test]
fn a_preflight_is_204_and_allows_what_reads_need() {
    for path in READS {
        let fields = [
            ("Origin", "https://elsewhere.example"),
            ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "if-none-match"),
        ];
        let reply = service().send("OPTIONS", path, &fields);
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(
            reply.field("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
        assert_eq!(
            reply.field("access-control-allow-methods"),
            Some("GET, HEAD, OPTIONS"),
            "{path}"
        );
        let allowed = reply
            .field("access-control-allow-headers")
            .expect("a preflight names fields");
        for name in [
            "If-None-Match",
            "If-Modified-Since",
            "Content-Type",
            "Authorization",
        ] {
            assert!(allowed.contains(name), "{path} {allowed}");
        }
        assert_eq!(
            reply.field("access-control-max-age"),
            Some("86400"),
            "{path}"
        );
        assert!(
            reply.field("content-length").is_none() && reply.field("content-type").is_none(),
            "{path}"
        );
    }
}

#[test]
fn a_plain_options_tells_the_methods_alone() {
    for (path, allow) in [
        ("/reviews.json", "GET, HEAD, OPTIONS"),
        ("/api/websub/hub", "POST, OPTIONS"),
    ] {
        let reply = service().send("OPTIONS", path, &[]);
        assert_eq!(
            (reply.status, reply.field("allow")),
            (204, Some(allow)),
            "{path}"
        );
        assert!(
            reply.field("access-control-allow-methods").is_none(),
            "{path}"
        );
    }
    let reply = service().send("OPTIONS", "*", &[]);
    assert_eq!(
        (reply.status, reply.field("allow")),
        (204, Some("GET, HEAD, POST, DELETE, OPTIONS"))
    );
}

#[test]
fn refusals_can_be_read_by_pages_too() {
    for path in [
        "/nowhere",
        "/api/reviews/search?rating=9",
        "/api/reviews/since/never",
    ] {
        let reply = service().send("GET", path, &[("Origin", "https://elsewhere.example")]);
        assert_eq!(
            reply.field("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
    }
}
