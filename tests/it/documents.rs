//! Single reviews, readiness, and what every read has in common; the fields of each document are in the golden transcripts.

use serde_json::Value;

use crate::exchange::service;

/// Addresses of every kind of read, documents or not.
pub(crate) const READS: [&str; 13] = [
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
    "/widget.html?limit=2",
    "/openapi.json",
    "/.well-known/api-catalog",
];

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    // On one connection: an answer with a body would be taken for the next.
    let mut connection = service().connect();
    for path in READS {
        let [get, head] = ["GET", "HEAD"].map(|method| {
            let mut reply = connection.send(method, path, &[]);
            reply.fields.retain(|(name, _)| name != "date");
            (reply.status, reply.fields)
        });
        assert_eq!(get, head, "{path}");
    }
}

#[test]
fn a_query_on_a_document_changes_nothing() {
    let [plain, queried] =
        ["/reviews.json", "/reviews.json?utm_source=x&%zz"].map(|target| service().get(target));
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
    }
}

#[test]
fn readiness_names_what_is_served() {
    let reply = service().get("/readyz");
    let (state, document) = (reply.json(), service().get("/reviews.json").json());
    assert_eq!((reply.status, &state["ready"]), (200, &Value::Bool(true)));
    assert_eq!(state["updated_at"], document["updated_at"]);
    let count = &document["aggregate_rating"]["rating_count"];
    assert_eq!(&state["review_count"], count);
    assert_eq!(state["reasons"], Value::Array(Vec::new()));
    assert_eq!(state["version"].as_str().map(str::len), Some(8));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
}
