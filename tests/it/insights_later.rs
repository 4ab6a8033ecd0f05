//! A large dataset is served before its insights are derived.

use std::num::NonZeroUsize;
use std::sync::Arc;

use oracle::service::{sample, snapshot_settings};
use reviewd::insights;
use reviewd::model::Dataset;
use reviewd::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Response, Server, service, wait_until};

/// A server on the sample whose insights are not derived yet.
fn early() -> (Server, Snapshot) {
    let server = Server::start();
    let snapshot = without_insights(&sample());
    server.publish(&Arc::new(snapshot.clone()));
    (server, snapshot)
}

fn without_insights(dataset: &Dataset) -> Snapshot {
    Snapshot::build_without_insights(dataset, &snapshot_settings(), &|| false).unwrap()
}

/// Derives the insights of `dataset`, from which `snapshot` was made, and publishes them.
fn derive(server: &Server, snapshot: &Snapshot, dataset: &Dataset) {
    let document = insights::document(dataset, NonZeroUsize::MIN, &|| false);
    let whole = snapshot.with_insights(document.expect("nothing cancels it"));
    server.publish(&Arc::new(whole));
}

#[test]
fn insights_are_503_until_they_are_derived_and_all_else_is_served() {
    let (server, snapshot) = early();
    let of_insights = "/insights.json /?aspect=fees /?polarity=positive /widget.html?aspect=fees \
        /api/reviews/search?aspect=fees";
    for target in of_insights.split(' ') {
        let pending = server.get(target);
        assert_eq!(pending.status, 503, "{target}");
        assert_eq!(pending.field("retry-after"), Some("10"));
        assert_eq!(pending.field("cache-control"), Some("no-store"));
    }
    assert_eq!(server.get("/?aspect=fees&rating=9").status, 400);
    let served = "/ /reviews.json /feed.xml /api/reviews/search?query=probate";
    for target in served.split(' ') {
        assert_eq!(server.get(target).status, 200, "{target}");
    }
    derive(&server, &snapshot, &sample());
    assert_eq!(server.get("/?aspect=fees").status, 200);
    let derived = server.get("/insights.json");
    assert!(derived.body == service().get("/insights.json").body);
}

#[test]
fn a_page_without_insights_has_other_validators_than_the_one_with_them() {
    let (server, snapshot) = early();
    let since = ("If-Modified-Since", "Fri, 31 Dec 9999 23:59:59 GMT");
    let until = ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT");
    let early_tags = ["/", "/?rating=5"].map(|target| {
        let reply = server.get(target);
        let tag = reply.etag().to_owned();
        let again = server.get_with(target, &[("If-None-Match", &tag)]);
        assert_eq!(again.status, 304, "{target}");
        for reply in [reply, again] {
            assert_eq!(reply.field("last-modified"), None, "{target}");
            assert_eq!(reply.field("cache-control"), Some("no-cache"), "{target}");
        }
        for date in [since, until] {
            assert_eq!(server.get_with(target, &[date]).status, 200, "{target}");
        }
        (target, tag)
    });
    let assert_dated = |target| {
        let reply = server.get_with(target, &[since]);
        assert_eq!(reply.status, 304, "{target}");
        assert!(reply.field("last-modified").is_some(), "{target}");
    };
    // The widget shows no insights.
    for target in ["/widget.html", "/widget.html?rating=5", "/reviews.json"] {
        assert_dated(target);
    }
    derive(&server, &snapshot, &sample());
    for (target, tag) in early_tags {
        let reply = server.get_with(target, &[("If-None-Match", &tag)]);
        assert_eq!(reply.status, 200, "{target}");
        let shows_aspects = reply.text().contains("What people write about");
        assert!(shows_aspects || target != "/");
        assert_dated(target);
    }
}

#[test]
fn readiness_names_pending_insights_and_waits_for_them_on_request() {
    let (server, snapshot) = early();
    let pending = server.get("/readyz");
    assert_eq!(pending.status, 200);
    let reason = &pending.json()["reasons"][0];
    assert_eq!(reason["code"], "insights_pending");
    assert_eq!(reason["blocking"], false);
    for (target, status) in [
        ("/readyz?insights", 503),
        ("/readyz?a=b&insights=1", 503),
        ("/readyz?insight", 200),
    ] {
        assert_eq!(server.get(target).status, status, "{target}");
    }
    derive(&server, &snapshot, &sample());
    let ready = server.get("/readyz?insights");
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["reasons"], json!([]));
}

#[test]
fn changed_reviews_do_not_wait_for_the_insights_of_the_reviews_before() {
    let data = DataDir::empty();
    // Deriving the insights of these texts takes much longer than all else.
    let long = "The staff were kind and the fees were fair, but the wait was long. ".repeat(40);
    let write = |count: usize, date: &str| {
        let text = reviews_json(count, date);
        let large = text.replace(" of this practice.", &format!(". {long}"));
        data.write("reviews.json", &large);
    };
    write(600, "2026-01-01T00:00:00Z");
    let server = Server::start_on(data.path());
    for count in [601, 602] {
        assert_eq!(server.get("/insights.json").status, 503, "{count}");
        write(count, &format!("2026-01-02T00:00:{}Z", count - 590));
        wait_until("the changed reviews are served", || {
            server.get("/readyz").json()["review_count"] == count
        });
    }
    assert_eq!(server.get("/insights.json").status, 503);
    assert_eq!(server.get("/readyz?insights").status, 503);
}

#[test]
fn insights_are_derived_after_a_change_that_is_refused() {
    let data = DataDir::empty();
    let long = format!("Kind. {}", "* ".repeat(30_000));
    let text = reviews_json(20, "2026-01-01T00:00:00Z");
    data.write(
        "reviews.json",
        &text.replace(" of this practice.", &format!(". {long}")),
    );
    let server = Server::start_on(data.path());
    data.write("reviews.json", "{");
    wait_until("the change is refused", || {
        server.get("/readyz").text().contains("reload_failed")
    });
    wait_until("the insights are derived", || {
        server.get("/insights.json").status == 200
    });
}

#[test]
fn a_large_dataset_gets_its_insights_after_the_start() {
    let data = DataDir::empty();
    // 20 texts of 60 KB exceed the limit of insights derived at startup; texts without words are analyzed fast.
    let long = format!("Kind. {}", "* ".repeat(30_000));
    let text = reviews_json(20, "2026-01-01T00:00:00Z");
    let large = text.replace(" of this practice.", &format!(". {long}"));
    data.write("reviews.json", &large);
    let server = Server::start_on(data.path());
    let found = server.get("/api/reviews/search?query=kind").json();
    assert_eq!(found["matched"], 20);
    let call = || call_tool(&server, json!({"name": "get_insights", "arguments": {}}));
    let first = call();
    if first["isError"] == true {
        let text = first["content"][0]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains("still being derived")));
    }
    wait_until("the insights are derived", || {
        server.get("/insights.json").status == 200
    });
    assert_eq!(server.get("/insights.json").json()["review_count"], 20);
    assert!(call()["structuredContent"].is_object());

    // A changed review is served at once; insights are served without a gap while the new ones are derived.
    data.write("reviews.json", &large.replace("number 7.", "number seven."));
    wait_until("the changed review is served", || {
        assert_eq!(server.get("/insights.json").status, 200);
        server.get("/api/reviews/search?query=seven").json()["matched"] == 1
    });
    wait_until("the insights are those of the changed reviews", || {
        let reply = server.get("/insights.json");
        assert_eq!(reply.status, 200);
        reply.field("last-modified").is_some()
    });
}

#[test]
fn insights_after_a_reload_are_those_of_a_fresh_start() {
    // More reviews than are read again as a whole.
    let before = reviews_json(2_500, "2026-01-01T00:00:00Z");
    let after = reviews_json(2_500, "2026-01-02T00:00:00Z").replace(
        "Review number 7 of this practice.",
        "The staff were rude, and nobody called back.",
    );
    let data = DataDir::empty();
    data.write("reviews.json", &before);
    let server = Server::start_on(data.path());
    let derived = || {
        let reply = server.get("/insights.json");
        reply.status == 200 && reply.field("last-modified").is_some()
    };
    wait_until("the insights are derived", derived);
    let first = server.get("/insights.json");
    data.write("reviews.json", &after);
    wait_until("the insights of the changed review are derived", || {
        derived() && server.get("/insights.json").etag() != first.etag()
    });

    let fresh = Server::start_on(data.path());
    wait_until("the insights are derived after a fresh start", || {
        fresh.get("/insights.json").status == 200
    });
    let [reloaded, fresh] = [&server, &fresh].map(|server| server.get("/insights.json").body);
    assert!(reloaded == fresh);
}

#[test]
fn insights_of_the_previous_dataset_are_served_until_the_new_ones_are_derived() {
    let server = Server::start();
    let target = "/api/reviews/search?aspect=communication";
    let matched = |reply: &Response| reply.json()["matched"].as_u64().expect("a number");
    let before = server.get(target);
    let document = server.get("/insights.json");
    let snapshot = Arc::clone(server.running().app().current().snapshot());

    // The newest quoted review is removed, and the text of the next one changes.
    let aspects = &snapshot.insights_value().expect("derived").aspects;
    let aspect = aspects.iter().find(|aspect| aspect.id == "communication");
    let rows = &aspect.expect("an aspect").rows;
    let [gone, changed] = [rows[0], rows[1]].map(|row| snapshot.index.id(row));
    let mut dataset = sample();
    dataset.reviews.retain(|review| review.id != gone);
    let mut reviews = dataset.reviews.iter_mut();
    let review = reviews.find(|review| review.id == changed);
    review.expect("a review").text = "Nothing to say.".into();
    dataset.editorial.summary = Some("As it is now.".to_owned());
    dataset.digest = [1; 32];
    let early = without_insights(&dataset);
    server.publish(&Arc::new(early.with_insights_of(&snapshot)));
    let carried = server.get(target);
    assert_eq!(matched(&carried), matched(&before) - 2);
    let mut expected = ids_of(&before);
    expected.retain(|id| id != gone && id != changed);
    assert_eq!(ids_of(&carried)[..10], expected[..10]);
    let kept = server.get("/insights.json");
    assert_eq!((&kept.body, kept.etag()), (&document.body, document.etag()));
    let widget = "/widget.html?aspect=communication";
    for target in [target, widget, "/insights.json", "/"] {
        assert_eq!(server.get(target).field("last-modified"), None, "{target}");
    }
    let quotes = json!({"name": "get_aspect_sentiment", "arguments": {"aspect": "communication"}});
    let told = call_tool(&server, quotes).to_string();
    assert!(told.contains("review_id"));
    assert!(!told.contains(gone));
    assert!(!told.contains(changed));
    assert!(!server.get("/").text().contains(gone));
    assert!(server.get("/").text().contains("As it is now."));
    let other = "/api/reviews/search?query=probate";
    let tag_of_other = server.get(other).etag().to_owned();

    derive(&server, &early, &dataset);
    let own = server.get("/insights.json");
    assert_eq!(own.json()["review_count"], dataset.reviews.len());
    assert!(own.field("last-modified").is_some());
    let again = server.get_with(target, &[("If-None-Match", carried.etag())]);
    assert_eq!(again.status, 200);
    // Responses that do not depend on the insights are unchanged.
    assert_eq!(server.get(other).etag(), tag_of_other);
}

/// Returns the ids of the reviews of a search, in their order.
fn ids_of(reply: &Response) -> Vec<String> {
    let mut ids = Vec::new();
    for review in reply.json()["reviews"].as_array().expect("a list") {
        ids.push(review["id"].as_str().expect("an id").to_owned());
    }
    ids
}

/// Calls a tool, and returns its result.
fn call_tool(server: &Server, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    server.post_mcp(&[], &body.to_string()).json()["result"].take()
}
