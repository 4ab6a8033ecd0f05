//! Content codings: Accept-Encoding with q-values, and what follows for entity-tags.

use std::io::Read;
use std::sync::Arc;

use crate::exchange::{Service, index_options, sample, service, settings, snapshot_of};
use crate::support::Response;
use reviewd::http::{AppState, ServedState, Settings};
use reviewd::snapshot::{self, Snapshot};

const DOCUMENTS: [&str; 4] = [
    "/reviews.json",
    "/insights.json",
    "/api/feed.json",
    "/feed.xml",
];

fn accepting(path: &str, accepted: &str) -> Response {
    service().send("GET", path, &[("Accept-Encoding", accepted)])
}

fn decoded(reply: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = &reply.body[..];
    match reply.field("content-encoding") {
        None => body.to_vec(),
        Some("gzip") => flate2::read::GzDecoder::new(body)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
            .expect("gzip"),
        Some("br") => brotli::BrotliDecompress(&mut &body[..], &mut bytes)
            .map(|()| bytes)
            .expect("brotli"),
        Some(other) => panic!("{other} was never asked for"),
    }
}

#[test]
fn every_coding_decodes_to_the_same_document() {
    for path in ["/reviews.json", "/api/feed.json", "/feed.xml"] {
        let plain = service().get(path);
        for coding in ["gzip", "br"] {
            let reply = accepting(path, coding);
            assert_eq!(reply.field("content-encoding"), Some(coding), "{path}");
            assert_eq!(decoded(&reply), plain.body, "{path} {coding}");
            assert!(reply.body.len() < plain.body.len(), "{path} {coding}");
            assert_eq!(
                reply.field("vary"),
                Some("Accept-Encoding"),
                "{path} {coding}"
            );
        }
    }
}

#[test]
fn the_best_liked_coding_is_sent() {
    for (accepted, expected) in [
        ("gzip, deflate, br, zstd", Some("br")),
        ("gzip, deflate", Some("gzip")),
        ("gzip;q=1.0, br;q=0.5", Some("gzip")),
        ("gzip;q=0.2, br;q=0.1", Some("gzip")),
        ("zstd", None),
        ("x-gzip", Some("gzip")),
        ("GZIP", Some("gzip")),
        ("*", Some("br")),
        ("br;q=0, *", Some("gzip")),
        ("gzip;q=0", None),
        ("identity", None),
        ("identity, gzip;q=0.5", None),
        ("deflate, compress", None),
        ("", None),
        ("gzip;q=2", None),
        ("gzip;q=0.0001", None),
        ("identity;q=0", None),
        ("*;q=0", None),
    ] {
        let reply = accepting("/reviews.json", accepted);
        assert_eq!(
            (reply.status, reply.field("content-encoding")),
            (200, expected),
            "{accepted}"
        );
    }
}

#[test]
fn each_coding_has_its_own_entity_tag() {
    for path in DOCUMENTS {
        let plain = service().get(path);
        let bare = plain.etag().trim_end_matches('"').to_owned();
        for (coding, suffix) in [("gzip", "-gz"), ("br", "-br")] {
            let reply = accepting(path, coding);
            if reply.field("content-encoding").is_some() {
                assert_eq!(reply.etag(), format!("{bare}{suffix}\""), "{path}");
            } else {
                assert_eq!(reply.etag(), plain.etag(), "{path}");
            }
        }
    }
}

#[test]
fn a_copy_is_confirmed_only_in_its_own_coding() {
    let (plain, gzip) = (
        service().get("/reviews.json"),
        accepting("/reviews.json", "gzip"),
    );
    for (accepted, etag, status) in [
        ("gzip", gzip.etag(), 304),
        ("identity", plain.etag(), 304),
        ("gzip", plain.etag(), 200),
        ("identity", gzip.etag(), 200),
        ("br", gzip.etag(), 200),
    ] {
        let fields = [("Accept-Encoding", accepted), ("If-None-Match", etag)];
        let reply = service().send("GET", "/reviews.json", &fields);
        assert_eq!(reply.status, status, "{accepted} {etag}");
        if status == 304 {
            assert_eq!(reply.etag(), etag);
        }
    }
}

#[test]
fn several_fields_are_one_list() {
    let fields = [("Accept-Encoding", "gzip;q=0.5"), ("Accept-Encoding", "br")];
    let reply = service().send("GET", "/reviews.json", &fields);
    assert_eq!(reply.field("content-encoding"), Some("br"));
}

#[test]
fn answers_made_per_request_are_not_encoded() {
    for path in [
        "/api/reviews/search",
        "/api/reviews/since/2019-01-01",
        "/healthz",
        "/readyz",
        "/nowhere",
    ] {
        let reply = accepting(path, "gzip, br, zstd");
        assert!(reply.field("content-encoding").is_none(), "{path}");
    }
}

#[test]
fn identity_is_sent_until_the_variants_are_there() {
    let (service, app) = Service::alone(sample());
    let fields = [("Accept-Encoding", "br, gzip, zstd")];
    let ready = service.send("GET", "/reviews.json", &fields);
    assert_eq!(ready.field("content-encoding"), Some("br"));

    let settings = snapshot::Settings {
        base_url: "https://reviews.example".to_owned(),
        index: index_options(),
        mentions_min: reviewd::insights::MENTIONS_MIN,
    };
    let fresh = Arc::new(Snapshot::build(sample(), &settings));
    app.publish(ServedState::new(fresh.clone()).expect("the base URL fits a header"));
    let early = service.send("GET", "/reviews.json", &fields);
    assert!(early.field("content-encoding").is_none());
    assert_eq!(early.body, decoded(&ready));

    fresh.compress(|| false);
    let late = service.send("GET", "/reviews.json", &fields);
    assert_eq!((late.etag(), &late.body), (ready.etag(), &ready.body));
}

#[test]
fn what_does_not_fit_a_header_is_refused_at_the_start() {
    let settings = Settings {
        cache_control: "public\r\nX-Evil: 1".to_owned(),
        ..settings()
    };
    let site =
        ServedState::new(Arc::new(snapshot_of(sample()))).expect("the base URL fits a header");
    let error = AppState::new(settings, site)
        .err()
        .expect("a line break cannot be sent");
    assert_eq!(
        error.to_string(),
        "cache-control: only visible ASCII and spaces can be sent in a header"
    );
}
