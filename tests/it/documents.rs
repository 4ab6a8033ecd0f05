//! Properties that all reads share, feeds, and readiness; the fields of each document are in the golden transcripts.

use reviewd::http::Reason;
use serde_json::{Value, json};

use crate::interface::targets;
use crate::support::{Server, service};

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    // On one connection: the body of a HEAD response would be read as the next response.
    let mut connection = service().connect();
    for path in &targets() {
        let [get, head] = ["GET", "HEAD"].map(|method| {
            let mut reply = connection.send(method, path, &[]);
            reply.fields.retain(|(name, _)| name != "date");
            (reply.status, reply.fields)
        });
        assert_eq!(get, head, "{path}");
    }
}

#[test]
fn no_answer_sets_a_cookie() {
    let mut targets = targets();
    targets.extend(
        [
            "/?lang=de",
            "/?rating=9",
            "/api/reviews/nothing",
            "/nothing",
        ]
        .map(str::to_owned),
    );
    for target in targets {
        let reply = service().get_with(&target, &[("Cookie", "id=1"), ("Accept", "text/html")]);
        assert_eq!(reply.field("set-cookie"), None, "{target}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(service().post_mcp(&[], ping).field("set-cookie"), None);
}

#[test]
fn every_read_is_allowed_to_pages_of_any_origin() {
    for target in targets() {
        let reply = service().get_with(&target, &[("Origin", "https://shop.example")]);
        let allowed = reply.field("access-control-allow-origin");
        assert_eq!(allowed, Some("*"), "{target}");
    }
}

#[test]
fn escapes_and_unknown_parameters_change_nothing() {
    let since = "/api/reviews/since/2024%2D01%2d01";
    let search = "/%61pi/reviews/%73earch?rating=5";
    for (plain, other) in [
        ("/reviews.json", "/reviews.json?utm_source=x&%zz"),
        ("/reviews.json", "/%72eviews%2ejson"),
        ("/api/reviews/since/2024-01-01", since),
        ("/api/reviews/search?rating=5", search),
        ("/", "/?utm_source=x"),
        ("/", "/?query=&rating=&sort="),
        ("/badge.svg", "/badge.svg?theme=pink"),
        ("/badge.svg?theme=dark", "/badge.svg?v=2&theme=dark"),
    ] {
        let [plain, other] = [plain, other].map(|target| service().get(target));
        assert_eq!((plain.etag(), plain.status), (other.etag(), other.status));
        assert!(plain.body == other.body, "{}", other.text());
    }
}

#[test]
fn feeds_have_the_fifty_newest_reviews() {
    let newest = service().get("/api/reviews/search?limit=50").json();
    let newest: Vec<&str> = newest["reviews"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|review| review["id"].as_str())
        .collect();
    for (path, before) in [
        ("/feed.xml", "<id>tag:"),
        ("/api/feed.json", "\"id\":\"tag:"),
    ] {
        let feed = String::from_utf8(service().get(path).body).expect("UTF-8");
        let mut ids = Vec::new();
        for tag in feed.split(before) {
            if let Some((_, id)) = tag.split_once(":review/") {
                let end = id.find(['<', '"']).expect("an end");
                ids.push(&id[..end]);
            }
        }
        assert_eq!(ids, newest, "{path}");
    }
}

/// A reason with this code, and details of which some are internal.
fn reason(code: &'static str, blocking: bool) -> Reason {
    Reason {
        code,
        message: format!("{code} happened"),
        details: vec![DETAIL.to_owned()],
        internal: Some("postgres.example: no route".to_owned()),
        blocking,
    }
}

const DETAIL: &str = "reviews[3].rating: 7 is not from 1 to 5";

/// The same reason as any client may read it: without its internal details.
fn told(code: &str, blocking: bool) -> Value {
    let message = format!("{code} happened");
    json!({"code": code, "message": message, "blocking": blocking, "details": [DETAIL]})
}

/// Asserts the status and the reasons of the readiness, and that it describes the data that are served.
#[track_caller]
fn assert_readiness(server: &Server, status: u16, reasons: &Value) {
    let reply = server.get("/readyz");
    let state = reply.json();
    assert_eq!(reply.status, status);
    assert_eq!(&state["reasons"], reasons);
    assert_eq!(state["ready"], status == 200);
    let document = server.get("/reviews.json").json();
    assert_eq!(state["updated_at"], document["updated_at"]);
    let count = &document["aggregate_rating"]["rating_count"];
    assert_eq!(&state["review_count"], count);
    assert_eq!(state["version"].as_str().map(str::len), Some(8));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn readiness_describes_the_served_data_and_lists_reasons_until_withdrawn() {
    let server = Server::start();
    let readiness = &server.running().app().readiness;
    assert_readiness(&server, 200, &json!([]));
    // A reason replaces an earlier one with the same code.
    for _ in 0..2 {
        readiness.report(&reason("reload_failed", false));
    }
    let failed = told("reload_failed", false);
    assert_readiness(&server, 200, &json!([failed]));
    readiness.report(&reason("draining", true));
    let draining = told("draining", true);
    assert_readiness(&server, 503, &json!([failed, draining]));
    readiness.withdraw("draining");
    readiness.withdraw("reload_failed");
    assert_readiness(&server, 200, &json!([]));
}
