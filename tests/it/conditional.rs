//! Conditional requests (RFC 9110 §13), as a table, on each kind of address that has validators.

use crate::exchange::service;

/// One of each kind: stored, negotiated, sliced, searched, single.
const ADDRESSES: [&str; 7] = [
    "/reviews.json",
    "/feed.xml",
    "/api/reviews/since/2024-01-01",
    "/api/reviews/search?rating=5&limit=3",
    "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
    "/openapi.json",
    "/widget.html?limit=2",
];

const EARLIER: &str = "Thu, 01 Jan 2015 00:00:00 GMT";
const LATER: &str = "Fri, 31 Dec 2100 23:59:59 GMT";

/// Fields of a request, where `TAG` and `DATE` stand for the address's own validators, and the status expected.
const CASES: &[(&[(&str, &str)], u16)] = &[
    // If-None-Match, §13.1.2.
    (&[("If-None-Match", "TAG")], 304),
    (&[("If-None-Match", "W/TAG")], 304),
    (&[("If-None-Match", "\"other\", TAG")], 304),
    (&[("If-None-Match", "\"other\",TAG,\"more\"")], 304),
    (&[("If-None-Match", ", ,TAG , ")], 304),
    (
        &[("If-None-Match", "\"other\""), ("If-None-Match", "TAG")],
        304,
    ),
    (&[("If-None-Match", "*")], 304),
    (&[("If-None-Match", "\"other\"")], 200),
    (&[("If-None-Match", "\"*\"")], 200),
    (&[("If-None-Match", "other")], 200),
    (&[("If-None-Match", "w/TAG")], 200),
    (&[("If-None-Match", "")], 200),
    // The date is not read beside it, §13.1.3.
    (
        &[("If-None-Match", "\"other\""), ("If-Modified-Since", LATER)],
        200,
    ),
    (
        &[("If-None-Match", "TAG"), ("If-Modified-Since", EARLIER)],
        304,
    ),
    // If-Modified-Since, §13.1.3.
    (&[("If-Modified-Since", "DATE")], 304),
    (&[("If-Modified-Since", LATER)], 304),
    (&[("If-Modified-Since", EARLIER)], 200),
    (&[("If-Modified-Since", "yesterday")], 200),
    (&[("If-Modified-Since", "0")], 200),
    (
        &[("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")],
        200,
    ),
    (&[("If-Modified-Since", "Sun Nov  6 08:49:37 1994")], 200),
    (
        &[("If-Modified-Since", LATER), ("If-Modified-Since", LATER)],
        200,
    ),
    // If-Match, §13.1.1: compared strongly, judged first.
    (&[("If-Match", "TAG")], 200),
    (&[("If-Match", "*")], 200),
    (&[("If-Match", "\"other\", TAG")], 200),
    (&[("If-Match", "\"other\"")], 412),
    (&[("If-Match", "W/TAG")], 412),
    (&[("If-Match", "\"other\""), ("If-None-Match", "TAG")], 412),
    (&[("If-Match", "TAG"), ("If-None-Match", "TAG")], 304),
    // If-Unmodified-Since, §13.1.4.
    (&[("If-Unmodified-Since", "DATE")], 200),
    (&[("If-Unmodified-Since", LATER)], 200),
    (&[("If-Unmodified-Since", EARLIER)], 412),
    (&[("If-Unmodified-Since", "yesterday")], 200),
    (
        &[("If-Match", "TAG"), ("If-Unmodified-Since", EARLIER)],
        200,
    ),
];

#[test]
fn conditions_are_judged_as_rfc_9110_says() {
    for address in ADDRESSES {
        let plain = service().get(address);
        let date = plain.field("last-modified").expect("a date");
        for (fields, status) in CASES {
            let filled: Vec<(&str, String)> = fields
                .iter()
                .map(|(name, value)| {
                    (
                        *name,
                        value.replace("TAG", plain.etag()).replace("DATE", date),
                    )
                })
                .collect();
            let fields: Vec<(&str, &str)> = filled
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            for method in ["GET", "HEAD"] {
                let reply = service().send(method, address, &fields);
                assert_eq!(reply.status, *status, "{method} {address} {fields:?}");
            }
        }
    }
}

#[test]
fn not_modified_repeats_the_validators_and_has_no_body() {
    for address in ADDRESSES {
        let plain = service().get(address);
        let reply = service().send("GET", address, &[("If-None-Match", plain.etag())]);
        assert_eq!(reply.status, 304, "{address}");
        let needed = [
            "etag",
            "last-modified",
            "cache-control",
            "vary",
            "access-control-allow-origin",
        ];
        for name in needed {
            assert_eq!(reply.field(name), plain.field(name), "{address} {name}");
            assert!(reply.field(name).is_some(), "{address} {name}");
        }
        for name in ["content-length", "content-type", "transfer-encoding"] {
            assert!(reply.field(name).is_none(), "{address} {name}");
        }
    }
}

#[test]
fn not_modified_leaves_the_connection_in_step() {
    let mut connection = service().connect();
    for address in ADDRESSES {
        let etag = connection.send("GET", address, &[]).etag().to_owned();
        assert_eq!(
            connection
                .send("GET", address, &[("If-None-Match", &etag)])
                .status,
            304
        );
    }
}

/// No ranges are served (RFC 9110 §14.2: "a server MAY ignore the Range header field"), so these mean nothing.
#[test]
fn a_range_is_answered_with_the_whole_document() {
    for address in ADDRESSES {
        let plain = service().get(address);
        for range in ["bytes=0-9", "bytes=0-0,-1", "bytes=999999999-", "nonsense"] {
            for fields in [
                &[("Range", range)][..],
                &[("Range", range), ("If-Range", plain.etag())],
                &[("Range", range), ("If-Range", "\"other\"")],
            ] {
                let reply = service().send("GET", address, fields);
                assert_eq!(reply.status, 200, "{address} {fields:?}");
                assert_eq!(reply.body, plain.body, "{address} {fields:?}");
                assert_eq!(reply.field("accept-ranges"), None, "{address}");
                assert_eq!(reply.field("content-range"), None, "{address}");
            }
        }
    }
}

#[test]
fn a_failed_precondition_says_so() {
    let reply = service().send("GET", "/reviews.json", &[("If-Match", "\"other\"")]);
    reply.assert_error(412, "precondition_failed");
}

#[test]
fn probes_and_errors_have_no_conditions() {
    for (address, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/nowhere", 404),
        ("/api/reviews/nobody", 404),
    ] {
        for fields in [
            [("If-None-Match", "*")],
            [("If-Match", "\"other\"")],
            [("If-Modified-Since", LATER)],
        ] {
            assert_eq!(
                service().send("GET", address, &fields).status,
                status,
                "{address} {fields:?}"
            );
        }
    }
}

#[test]
fn an_invalid_search_is_refused_whatever_its_conditions() {
    let reply = service().send(
        "GET",
        "/api/reviews/search?rating=9",
        &[("If-None-Match", "*")],
    );
    reply.assert_error(400, "validation_error");
}

#[test]
fn each_query_has_an_entity_tag_of_its_own() {
    let one = service().get("/api/reviews/search?rating=5");
    let other = service().get("/api/reviews/search?rating=4");
    assert_ne!(one.etag(), other.etag());
    assert_eq!(
        one.etag(),
        service().get("/api/reviews/search?rating=5").etag()
    );
    let crossed = service().send(
        "GET",
        "/api/reviews/search?rating=4",
        &[("If-None-Match", one.etag())],
    );
    assert_eq!(crossed.status, 200);
}
