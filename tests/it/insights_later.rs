//! A large dataset is served before its insights are derived.

use std::sync::Arc;

use reviewd::http::{AppState, ServedState};
use reviewd::insights;
use reviewd::snapshot::{self, Snapshot};
use serde_json::json;

use crate::exchange::{BASE_URL, Service, index_options, sample};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Server, send, wait_until};

/// A service of the sample whose insights are not derived yet.
fn early() -> (Service, Arc<AppState>, Arc<Snapshot>) {
    let (service, app) = Service::alone(sample());
    let settings = snapshot::Settings {
        base_url: BASE_URL.to_owned(),
        index: index_options(),
        mentions_min: insights::MENTIONS_MIN,
    };
    let snapshot = Snapshot::build_without_insights(&sample(), &settings);
    let snapshot = Arc::new(snapshot);
    app.publish(ServedState::new(Arc::clone(&snapshot)).unwrap());
    (service, app, snapshot)
}

#[test]
fn insights_are_503_until_they_are_derived_and_all_else_is_served() {
    let (service, app, snapshot) = early();
    for target in ["/insights.json", "/?aspect=fees", "/?polarity=positive"] {
        let pending = service.get(target);
        assert_eq!(pending.status, 503, "{target}");
        assert_eq!(pending.field("retry-after"), Some("10"));
        assert_eq!(pending.field("cache-control"), Some("no-store"));
    }
    assert_eq!(service.get("/?aspect=fees&rating=9").status, 400);
    for target in [
        "/",
        "/reviews.json",
        "/feed.xml",
        "/api/reviews/search?query=probate",
    ] {
        assert_eq!(service.get(target).status, 200, "{target}");
    }
    let options = insights::Options {
        threads: index_options().threads,
        mentions_min: insights::MENTIONS_MIN,
    };
    snapshot.set_insights(insights::document(&sample(), &options));
    app.publish(ServedState::new(Arc::clone(&snapshot)).unwrap());
    assert_eq!(service.get("/?aspect=fees").status, 200);
    let (whole, _app) = Service::alone(sample());
    let derived = service.get("/insights.json");
    assert_eq!(derived.body, whole.get("/insights.json").body);
}

#[test]
fn a_page_without_insights_is_never_taken_for_the_one_with_them() {
    let (service, app, _) = early();
    let since = ("If-Modified-Since", "Fri, 31 Dec 9999 23:59:59 GMT");
    let until = ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT");
    let mut early = Vec::new();
    for target in ["/", "/?rating=5"] {
        let reply = service.get(target);
        let tag = reply.etag().to_owned();
        let again = service.send("GET", target, &[("If-None-Match", &tag)]);
        assert_eq!(again.status, 304, "{target}");
        for reply in [reply, again] {
            assert_eq!(reply.field("last-modified"), None, "{target}");
            assert_eq!(reply.field("cache-control"), Some("no-cache"), "{target}");
        }
        for date in [since, until] {
            assert_eq!(service.send("GET", target, &[date]).status, 200, "{target}");
        }
        early.push((target, tag));
    }
    // The frame shows nothing of the insights.
    for target in ["/widget.html", "/widget.html?rating=5", "/reviews.json"] {
        let reply = service.send("GET", target, &[since]);
        assert_eq!(reply.status, 304, "{target}");
        assert!(reply.field("last-modified").is_some(), "{target}");
    }
    let (_, whole) = Service::alone(sample());
    let whole = Arc::clone(whole.current().snapshot());
    app.publish(ServedState::new(whole).unwrap());
    for (target, tag) in early {
        let reply = service.send("GET", target, &[("If-None-Match", &tag)]);
        assert_eq!(reply.status, 200, "{target}");
        assert!(
            String::from_utf8_lossy(&reply.body).contains("What clients talk about")
                || target != "/"
        );
        assert!(reply.field("last-modified").is_some(), "{target}");
        assert_eq!(
            service.send("GET", target, &[since]).status,
            304,
            "{target}"
        );
    }
}

#[test]
fn a_large_dataset_gets_its_insights_after_the_start() {
    let data = DataDir::empty();
    let one = reviews_json(20, "2026-01-01T00:00:00Z");
    assert!(one.contains("Review number 7 of this practice."));
    // 20 texts of 60 KB are more than a start derives at once.
    let long = "The lawyer was kind and explained every step. ".repeat(1_300);
    data.write(
        "reviews.json",
        &one.replace(" of this practice.", &format!(". {long}")),
    );
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

#[test]
fn fewer_mentions_than_asked_for_are_not_scored() {
    let scored = |mentions_min| {
        let server = Server::start_with(|config| config.mentions_min = mentions_min);
        let value = server.get("/insights.json").json();
        assert_eq!(value["method"]["mentions_min"], mentions_min);
        let aspects = value["aspects"].as_array().unwrap().iter();
        aspects.filter(|aspect| !aspect["score"].is_null()).count()
    };
    let (few, many) = (scored(1), scored(30));
    assert!(many > 0 && many < few, "{many} of {few}");
}
