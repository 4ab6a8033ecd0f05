//! The stored documents, single reviews, and what every read has in common.

use serde_json::Value;

use crate::exchange::{sample, service};

const DOCUMENTS: [(&str, &str); 4] = [
    ("/reviews.json", "application/json"),
    ("/insights.json", "application/json"),
    ("/api/feed.json", "application/json"),
    ("/feed.xml", "application/atom+xml"),
];

/// Addresses of every kind of read, documents or not.
pub(crate) const READS: [&str; 17] = [
    "/reviews.json",
    "/insights.json",
    "/api/feed.json",
    "/feed.xml",
    "/api/reviews/search?rating=5",
    "/api/reviews/since/2024-01-01",
    "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS",
    "/healthz",
    "/readyz",
    "/",
    "/developers",
    "/developers.js",
    "/openapi.json",
    "/llms.txt",
    "/robots.txt",
    "/sitemap.xml",
    "/.well-known/api-catalog",
];

#[test]
fn documents_carry_type_length_validators_and_caching() {
    let updated_at = sample().updated_at;
    for (path, media_type) in DOCUMENTS {
        let reply = service().get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.field("content-type"), Some(media_type), "{path}");
        assert_eq!(
            reply.field("content-length"),
            Some(&*reply.body.len().to_string()),
            "{path}"
        );
        let date = updated_at.render_http();
        assert_eq!(
            reply.field("last-modified").map(str::as_bytes),
            Some(&date[..]),
            "{path}"
        );
        let caching = Some("public, max-age=60, stale-while-revalidate=600");
        assert_eq!(reply.field("cache-control"), caching, "{path}");
        assert_eq!(reply.field("vary"), Some("Accept-Encoding"), "{path}");
        assert_eq!(
            reply.field("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert!(
            reply.field("content-encoding").is_none() && reply.field("server").is_none(),
            "{path}"
        );
        assert!(reply.field("date").is_some(), "{path}");
    }
}

#[test]
fn entity_tags_are_strong_and_made_of_the_content() {
    use sha2::{Digest, Sha256};
    for (path, _) in DOCUMENTS {
        let reply = service().get(path);
        let digest = Sha256::digest(&reply.body);
        let hex: String = digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(reply.etag(), format!("\"{hex}\""), "{path}");
    }
}

#[test]
fn topics_link_to_themselves_and_to_the_hub() {
    for (path, _) in DOCUMENTS {
        for method in ["GET", "HEAD"] {
            let reply = service().send(method, path, &[]);
            let link = format!(
                "<https://reviews.example{path}>; rel=\"self\", \
                 <https://reviews.example/api/websub/hub>; rel=\"hub\""
            );
            let expected = if path == "/insights.json" {
                None
            } else {
                Some(link.as_str())
            };
            assert_eq!(reply.field("link"), expected, "{method} {path}");
        }
    }
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    for path in READS {
        let (get, head) = (service().get(path), service().send("HEAD", path, &[]));
        let without_date = |fields: &[(String, String)]| -> Vec<(String, String)> {
            fields
                .iter()
                .filter(|(name, _)| name != "date")
                .cloned()
                .collect()
        };
        assert_eq!(
            (get.status, without_date(&get.fields)),
            (head.status, without_date(&head.fields)),
            "{path}"
        );
        assert_ne!(get.field("content-length"), Some("0"), "{path}");
    }
}

#[test]
fn head_leaves_the_connection_in_step() {
    let mut connection = service().connect();
    for path in READS {
        assert_eq!(connection.send("HEAD", path, &[]).status, 200, "{path}");
        assert_eq!(connection.send("GET", path, &[]).status, 200, "{path}");
    }
}

#[test]
fn a_query_on_a_document_changes_nothing() {
    let (plain, queried) = (
        service().get("/reviews.json"),
        service().get("/reviews.json?utm_source=x&%zz"),
    );
    assert_eq!((plain.etag(), &plain.body), (queried.etag(), &queried.body));
}

#[test]
fn a_single_review_is_the_one_of_the_document() {
    let document = service().get("/reviews.json").json();
    let reviews = document["reviews"].as_array().expect("an array");
    for review in [&reviews[0], &reviews[reviews.len() - 1]] {
        let id = review["id"].as_str().expect("ids are strings");
        let reply = service().get(&format!("/api/reviews/{id}"));
        assert_eq!((reply.status, &reply.json()), (200, review));
        let again = service().send(
            "GET",
            &format!("/api/reviews/{id}"),
            &[("If-None-Match", reply.etag())],
        );
        assert_eq!(again.status, 304);
    }
}

#[test]
fn an_unknown_review_is_404() {
    for id in ["nobody", "..", "a%2Fb", "%C3%A9", "since"] {
        service()
            .get(&format!("/api/reviews/{id}"))
            .assert_error(404, "not_found");
    }
}

#[test]
fn health_is_one_word() {
    let reply = service().get("/healthz");
    assert_eq!(
        (reply.status, &*reply.body),
        (200, &b"{\"status\":\"ok\"}"[..])
    );
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    assert!(reply.field("etag").is_none() && reply.field("last-modified").is_none());
}

#[test]
fn readiness_names_what_is_served() {
    let reply = service().get("/readyz");
    let (state, document) = (reply.json(), service().get("/reviews.json").json());
    assert_eq!((reply.status, &state["ready"]), (200, &Value::Bool(true)));
    assert_eq!(state["updated_at"], document["updated_at"]);
    assert_eq!(
        state["review_count"],
        document["aggregate_rating"]["rating_count"]
    );
    assert_eq!(state["reasons"], Value::Array(Vec::new()));
    assert_eq!(state["version"].as_str().map(str::len), Some(8));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
}
