//! Content codings, and what follows for entity-tags. `check_accept_encoding` of the oracle holds the rules of q-values.

use std::io::Read;
use std::sync::Arc;

use reviewd::http::ServedState;
use reviewd::snapshot::Snapshot;

use crate::exchange::{Service, sample, service};
use crate::support::Response;

fn accepting(path: &str, accepted: &str) -> Response {
    service().send("GET", path, &[("Accept-Encoding", accepted)])
}

fn decoded(reply: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = &reply.body[..];
    match reply.field("content-encoding") {
        None => return body.to_vec(),
        Some("gzip") => drop(
            flate2::read::GzDecoder::new(body)
                .read_to_end(&mut bytes)
                .expect("gzip"),
        ),
        Some("br") => brotli::BrotliDecompress(&mut &body[..], &mut bytes).expect("brotli"),
        Some(other) => panic!("{other} was never asked for"),
    }
    bytes
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
        }
    }
}

#[test]
fn the_best_liked_coding_is_sent() {
    for (accepted, expected) in [
        ("gzip, deflate, br, zstd", Some("br")),
        ("gzip;q=1.0, br;q=0.5", Some("gzip")),
        ("zstd", None),
        ("*", Some("br")),
        ("gzip;q=0", None),
        ("", None),
        ("*;q=0", None),
    ] {
        let reply = accepting("/reviews.json", accepted);
        let found = (reply.status, reply.field("content-encoding"));
        assert_eq!(found, (200, expected), "{accepted}");
    }
    // What is made for one request is not encoded.
    for path in [
        "/api/reviews/search",
        "/api/reviews/since/2019-01-01",
        "/readyz",
        "/nowhere",
    ] {
        let reply = accepting(path, "gzip, br");
        assert!(reply.field("content-encoding").is_none(), "{path}");
    }
}

#[test]
fn a_copy_is_confirmed_only_in_its_own_coding() {
    let [plain, gzip] = ["identity", "gzip"].map(|coding| accepting("/reviews.json", coding));
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
    }
}

#[test]
fn identity_is_sent_until_the_variants_are_there() {
    let (service, app) = Service::alone(sample());
    let fields = [("Accept-Encoding", "br, gzip")];
    let ready = service.send("GET", "/reviews.json", &fields);
    assert_eq!(ready.field("content-encoding"), Some("br"));

    let settings = oracle::service::snapshot_settings();
    let fresh = Arc::new(Snapshot::build(sample(), &settings));
    app.publish(ServedState::new(fresh.clone()).expect("the base URL fits a header"));
    let early = service.send("GET", "/reviews.json", &fields);
    assert!(early.field("content-encoding").is_none());
    assert_eq!(early.body, decoded(&ready));

    fresh.compress(|| false);
    let late = service.send("GET", "/reviews.json", &fields);
    assert_eq!((late.etag(), &late.body), (ready.etag(), &ready.body));
}
