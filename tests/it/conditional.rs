//! Conditional requests (RFC 9110 §13) on each kind of resource with validators. The rules themselves are tested by
//! `check_conditional` of the oracle.

use std::sync::Arc;

use reviewd::snapshot::Snapshot;
use reviewd::wire::date::{Timestamp, parse_http_date};

use crate::support::{Fields, Server, service};

/// One of each kind: stored, negotiated, sliced, search, single review, rendered.
const ADDRESSES: [&str; 6] = [
    "/reviews.json",
    "/feed.xml",
    "/api/reviews/since/2024-01-01",
    "/api/reviews/search?rating=5&limit=3",
    "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
    "/widget.html?limit=2",
];

const EARLIER: &str = "Thu, 01 Jan 2015 00:00:00 GMT";

/// Request fields, in which `TAG` and `DATE` are replaced by the resource's validators, and the expected status.
const CASES: &[(Fields<'_>, u16)] = &[
    (&[("If-None-Match", "TAG")], 304),
    (&[("If-None-Match", "W/TAG")], 304),
    (&[("If-None-Match", "\"x\"")], 200),
    (&[("If-Modified-Since", "DATE")], 304),
    (&[("If-Modified-Since", EARLIER)], 200),
    // If-Match uses strong comparison (§13.1.1).
    (&[("If-Match", "TAG")], 200),
    (&[("If-Match", "W/TAG")], 412),
    (&[("If-Unmodified-Since", "DATE")], 200),
    (&[("If-Unmodified-Since", EARLIER)], 412),
    // No ranges are served (§14.2: "a server MAY ignore the Range header field"), so these are ignored.
    (&[("Range", "bytes=0-9")], 200),
    (&[("Range", "bytes=0-0,-1"), ("If-Range", "TAG")], 200),
    (&[("Authorization", "Bearer nonsense")], 200),
];

#[test]
fn conditions_follow_rfc_9110() {
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
                .map(|(name, value)| (*name, &**value))
                .collect();
            let head = connection.send("HEAD", address, &fields);
            let reply = connection.send("GET", address, &fields);
            let statuses = [head.status, reply.status];
            assert_eq!(statuses, [*status; 2], "{address} {fields:?}");
            let absent: &[&str] = match status {
                200 => {
                    assert!(reply.body == plain.body, "{address} {fields:?}");
                    &["accept-ranges", "content-range"]
                }
                304 => &["content-length", "content-type", "transfer-encoding"],
                _ => continue,
            };
            // Fields that a 304 has to repeat (§15.4.5), then fields that must be absent.
            for name in ["etag", "last-modified", "cache-control", "vary"] {
                assert_eq!(reply.field(name), plain.field(name), "{address} {name}");
            }
            for name in absent {
                assert!(reply.field(name).is_none(), "{address} {name}");
            }
        }
    }
}

#[test]
fn probes_and_errors_ignore_conditions() {
    for (address, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/nowhere", 404),
        ("/api/reviews/search?rating=9", 400),
    ] {
        for fields in [[("If-None-Match", "*")], [("If-Match", "\"other\"")]] {
            let reply = service().get_with(address, &fields);
            assert_eq!(reply.status, status, "{address} {fields:?}");
        }
    }
}

/// The data were written by a clock that was ahead (RFC 9110 §8.8.2.1).
#[test]
fn last_modified_is_never_later_than_date() {
    let server = Server::start();
    let mut dataset = oracle::service::sample();
    dataset.updated_at = Timestamp::from_unix(reviewd::clock::unix_s() + 3_600);
    let settings = oracle::service::snapshot_settings();
    server.publish(&Arc::new(Snapshot::build(dataset, &settings)));
    for target in ["/reviews.json", "/", "/api/reviews/search?query=will"] {
        let reply = server.get(target);
        let [date, last_modified] = ["date", "last-modified"].map(|name| {
            let text = reply.field(name).expect(name);
            parse_http_date(text.as_bytes()).expect(name)
        });
        assert!(last_modified <= date, "{target}: {reply:?}");
        let etag = [("If-None-Match", reply.etag())];
        let again = server.get_with(target, &etag);
        assert_eq!(again.status, 304, "{target}");
        assert!(again.field("last-modified").is_some());
    }
}
