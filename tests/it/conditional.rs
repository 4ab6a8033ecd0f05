//! Conditional requests (RFC 9110 §13) on each kind of address that has validators. `check_conditional` of the oracle holds
//! the rules themselves.

use crate::exchange::service;

/// One of each kind: stored, negotiated, sliced, searched, single, rendered.
const ADDRESSES: [&str; 6] = [
    "/reviews.json",
    "/feed.xml",
    "/api/reviews/since/2024-01-01",
    "/api/reviews/search?rating=5&limit=3",
    "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
    "/widget.html?limit=2",
];

const EARLIER: &str = "Thu, 01 Jan 2015 00:00:00 GMT";
const LATER: &str = "Fri, 31 Dec 2100 23:59:59 GMT";

/// Fields of a request, where `TAG` and `DATE` stand for the address's own validators, and the status expected.
const CASES: &[(&[(&str, &str)], u16)] = &[
    (&[("If-None-Match", "TAG")], 304),
    (&[("If-None-Match", "W/TAG")], 304),
    (
        &[("If-None-Match", "\"other\""), ("If-None-Match", "TAG")],
        304,
    ),
    (&[("If-None-Match", "\"other\"")], 200),
    // The date is not read beside it, §13.1.3.
    (
        &[("If-None-Match", "\"other\""), ("If-Modified-Since", LATER)],
        200,
    ),
    (&[("If-Modified-Since", "DATE")], 304),
    (&[("If-Modified-Since", EARLIER)], 200),
    (&[("If-Modified-Since", "yesterday")], 200),
    // Compared strongly, and before the others, §13.1.1.
    (&[("If-Match", "TAG")], 200),
    (&[("If-Match", "W/TAG")], 412),
    (&[("If-Match", "\"other\""), ("If-None-Match", "TAG")], 412),
    (&[("If-Unmodified-Since", "DATE")], 200),
    (&[("If-Unmodified-Since", EARLIER)], 412),
    (
        &[("If-Match", "TAG"), ("If-Unmodified-Since", EARLIER)],
        200,
    ),
];

#[test]
fn conditions_are_judged_as_rfc_9110_says() {
    for address in ADDRESSES {
        let mut connection = service().connect();
        let plain = connection.get(address);
        let date = plain.field("last-modified").expect("a date");
        for (fields, status) in CASES {
            let fill = |value: &str| value.replace("TAG", plain.etag()).replace("DATE", date);
            let filled: Vec<_> = fields
                .iter()
                .map(|(name, value)| (*name, fill(value)))
                .collect();
            let fields: Vec<_> = filled
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            for method in ["GET", "HEAD"] {
                let reply = connection.send(method, address, &fields);
                assert_eq!(reply.status, *status, "{method} {address} {fields:?}");
                if *status == 304 {
                    // What a 304 has to repeat (§15.4.5), and what it has not.
                    for name in ["etag", "last-modified", "cache-control", "vary"] {
                        assert_eq!(reply.field(name), plain.field(name), "{address} {name}");
                    }
                    for name in ["content-length", "content-type", "transfer-encoding"] {
                        assert!(reply.field(name).is_none(), "{address} {name}");
                    }
                }
            }
        }
    }
}

/// No ranges are served (RFC 9110 §14.2: "a server MAY ignore the Range header field"), so these mean nothing.
#[test]
fn a_range_and_an_authorization_change_nothing() {
    for address in ADDRESSES {
        let plain = service().get(address);
        for fields in [
            &[("Range", "bytes=0-9")][..],
            &[("Range", "bytes=0-0,-1"), ("If-Range", plain.etag())],
            &[("Authorization", "Bearer nonsense")],
        ] {
            let reply = service().send("GET", address, fields);
            assert_eq!((reply.status, &reply.body), (200, &plain.body), "{address}");
            assert_eq!(reply.field("accept-ranges"), None, "{address}");
            assert_eq!(reply.field("content-range"), None, "{address}");
        }
    }
}

#[test]
fn probes_and_errors_have_no_conditions() {
    for (address, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/nowhere", 404),
        ("/api/reviews/search?rating=9", 400),
    ] {
        for fields in [[("If-None-Match", "*")], [("If-Match", "\"other\"")]] {
            let reply = service().send("GET", address, &fields);
            assert_eq!(reply.status, status, "{address} {fields:?}");
        }
    }
}
