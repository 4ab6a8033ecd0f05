//! A large dataset is served before its insights are derived.

use std::sync::Arc;

use reviewd::http::Site;
use reviewd::snapshot::{self, Snapshot};
use serde_json::json;

use crate::exchange::{BASE_URL, Service, index_options, sample};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Server, send, wait_until};

/// A text of 60 KB; 20 of them are more than a start waits for.
fn long_text() -> String {
    "The lawyer was kind and explained every step. ".repeat(1_300)
}

#[test]
fn insights_are_503_until_they_are_derived_and_all_else_is_served() {
    let (service, app) = Service::alone(sample());
    let settings = snapshot::Settings {
        base_url: BASE_URL.to_owned(),
        index: index_options(),
    };
    let snapshot = Arc::new(Snapshot::build_without_insights(&sample(), &settings));
    app.publish(Site::new(Arc::clone(&snapshot)).unwrap());
    let pending = service.get("/insights.json");
    pending.assert_error(503, "unavailable");
    assert_eq!(pending.field("retry-after"), Some("10"));
    assert_eq!(pending.field("cache-control"), Some("no-store"));
    for target in [
        "/reviews.json",
        "/feed.xml",
        "/api/reviews/search?query=probate",
    ] {
        assert_eq!(service.get(target).status, 200, "{target}");
    }

    let without = app.current();
    snapshot.derive_insights(&sample(), index_options().threads);
    let complete = Site::new(Arc::clone(&snapshot)).unwrap();
    assert!(app.replace(&without, complete));
    let derived = service.get("/insights.json");
    assert_eq!(derived.status, 200);
    let (whole, _app) = Service::alone(sample());
    assert_eq!(derived.body, whole.get("/insights.json").body);
    let late = Site::new(snapshot).unwrap();
    assert!(
        !app.replace(&without, late),
        "what is served now is not what the caller expects"
    );
}

#[test]
fn a_large_dataset_gets_its_insights_after_the_start() {
    let data = DataDir::empty();
    let short = "Review number 7 of this practice.";
    let one = reviews_json(20, "2026-01-01T00:00:00Z");
    assert!(one.contains(short));
    let large: Vec<String> = one
        .split(" of this practice.")
        .map(ToOwned::to_owned)
        .collect();
    data.write("reviews.json", &large.join(&format!(". {}", long_text())));
    let server = Server::start_on(data.path());
    assert_eq!(server.get("/api/reviews/search?query=kind").status, 200);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "get_insights", "arguments": {}}})
    .to_string();
    let call = || {
        let fields = [("Content-Type", "application/json")];
        send(server.address(), "POST", "/mcp", &fields, body.as_bytes()).json()
    };
    let first = call();
    if first["result"]["isError"] == json!(true) {
        let text = first["result"]["content"][0]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains("still being derived")));
    }
    wait_until("the insights are derived", || {
        server.get("/insights.json").status == 200
    });
    assert_eq!(server.get("/insights.json").json()["review_count"], 20);
    assert!(call()["result"]["structuredContent"].is_object());
}
