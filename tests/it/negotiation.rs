//! Content codings, and their effect on entity-tags. `check_accept_encoding` of the oracle tests the rules of q-values.

use std::io::Read;

use oracle::service::{sample, snapshot};

use crate::support::{Response, Server, service};

fn accepting(path: &str, accepted: &str) -> Response {
    service().get_with(path, &[("Accept-Encoding", accepted)])
}

#[test]
fn the_preferred_coding_is_sent() {
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
    // Responses that are created per request are not encoded.
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
fn a_304_is_sent_only_for_the_tag_of_the_selected_coding() {
    let [plain, gzip] = ["identity", "gzip"].map(|coding| accepting("/reviews.json", coding));
    for (accepted, etag, status) in [
        ("gzip", gzip.etag(), 304),
        ("identity", plain.etag(), 304),
        ("gzip", plain.etag(), 200),
        ("identity", gzip.etag(), 200),
        ("br", gzip.etag(), 200),
    ] {
        let fields = [("Accept-Encoding", accepted), ("If-None-Match", etag)];
        let reply = service().get_with("/reviews.json", &fields);
        assert_eq!(reply.status, status, "{accepted} {etag}");
    }
}

#[test]
fn identity_is_sent_until_the_variants_are_compressed() {
    let server = Server::start();
    let fresh = snapshot(sample());
    server.publish(&fresh);
    let fields = [("Accept-Encoding", "br, gzip")];
    let early = server.get_with("/reviews.json", &fields);
    assert!(early.field("content-encoding").is_none());
    server.current().compress(|| true);
    let cancelled = server.get_with("/reviews.json", &fields);
    assert!(cancelled.field("content-encoding").is_none());
    server.current().compress(|| false);
    let late = server.get_with("/reviews.json", &fields);
    assert_eq!(late.field("content-encoding"), Some("br"));
    assert_ne!(late.etag(), early.etag());
    let mut decoded = Vec::new();
    brotli::BrotliDecompress(&mut &late.body[..], &mut decoded).expect("brotli");
    assert!(decoded == early.body);
    let gzip = server.get_with("/reviews.json", &[("Accept-Encoding", "gzip")]);
    let mut decoded = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&gzip.body[..]);
    decoder.read_to_end(&mut decoded).expect("gzip");
    assert!(decoded == early.body);
}
