//! `/api/reviews/since/{date}`: which reviews come, and when its entity-tag changes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::{Service, sample, service, snapshot_of};
use reviewd::http::ServedState;
use reviewd::wire::date::Date;

fn all() -> Vec<Value> {
    service().get("/reviews.json").json()["reviews"]
        .as_array()
        .expect("an array")
        .clone()
}

#[test]
fn the_reviews_of_a_day_and_later_come_newest_first() {
    let all = all();
    let newest = all[0]["date"].as_str().expect("a date").to_owned();
    let oldest = all[all.len() - 1]["date"]
        .as_str()
        .expect("a date")
        .to_owned();
    for date in [
        "0001-01-01",
        "2019-02-11",
        &oldest,
        "2022-07-15",
        "2024-02-29",
        &newest,
        "9999-12-31",
    ] {
        let expected: Vec<&Value> = all
            .iter()
            .filter(|review| review["date"].as_str() >= Some(date))
            .collect();
        let reply = service().get(&format!("/api/reviews/since/{date}"));
        assert_eq!(reply.status, 200, "{date}");
        let count = expected.len();
        assert_eq!(
            reply.json(),
            json!({ "matched": count, "returned": count, "reviews": expected }),
            "{date}"
        );
        assert_eq!(
            reply.field("content-length"),
            Some(&*reply.body.len().to_string()),
            "{date}"
        );
    }
}

#[test]
fn the_envelope_has_its_keys_in_order() {
    let reply = service().get("/api/reviews/since/9999-12-31");
    assert_eq!(reply.body, b"{\"matched\":0,\"returned\":0,\"reviews\":[]}");
}

#[test]
fn a_malformed_date_is_400_with_an_issue() {
    for date in [
        "2023-02-29",
        "2023-02-30",
        "2023-13-01",
        "2023-1-01",
        "2023-01-1",
        "20230101",
        "0000-01-01",
        "10000-01-01",
        "yesterday",
        "2024-01-01T00:00:00Z",
        "+024-01-01",
        "2024-01-01%20",
        "2024%2F01%2F01",
        "..",
        "%zz",
        "%00",
        "%ff",
        "2024-01-0%31%00",
        &"9".repeat(1_000),
    ] {
        let reply = service().get(&format!("/api/reviews/since/{date}"));
        reply.assert_error(400, "validation_error");
        let issue = &reply.json()["issues"][0];
        assert_eq!(
            (&issue["path"], &issue["code"]),
            (&json!(["date"]), &json!("invalid_date")),
            "{date}"
        );
        assert!(
            issue["received"]
                .as_str()
                .is_some_and(|received| received.len() <= 64),
            "{date}"
        );
    }
}

#[test]
fn an_escaped_date_is_the_date() {
    let (plain, escaped) = (
        service().get("/api/reviews/since/2024-01-01"),
        service().get("/api/reviews/since/2024%2D01%2d01"),
    );
    assert_eq!((plain.etag(), &plain.body), (escaped.etag(), &escaped.body));
}

#[test]
fn the_entity_tag_changes_only_with_the_reviews_that_come() {
    let (service, app) = Service::alone(sample());
    let tags = |dates: &[&str]| -> Vec<String> {
        let tag = |date: &&str| {
            service
                .get(&format!("/api/reviews/since/{date}"))
                .etag()
                .to_owned()
        };
        dates.iter().map(tag).collect()
    };
    // The second has the same reviews as the first unless something was written on 2024-01-01 itself.
    let dates = ["2019-01-01", "2024-01-01", "2026-01-01"];
    let before = tags(&dates);
    assert_eq!(
        before
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );

    let mut changed = sample();
    let place = changed
        .reviews
        .iter()
        .position(|review| review.date < Date::new(2024, 1, 1).expect("a day"));
    changed.reviews[place.expect("the sample has older reviews")]
        .text
        .push('!');
    app.publish(
        ServedState::new(Arc::new(snapshot_of(changed))).expect("the base URL fits a header"),
    );

    let after = tags(&dates);
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..]);
    let held = service.send(
        "GET",
        "/api/reviews/since/2024-01-01",
        &[("If-None-Match", &before[1])],
    );
    assert_eq!(held.status, 304);
}

#[test]
fn replicas_agree_on_entity_tags() {
    let (other, _) = Service::alone(sample());
    for path in [
        "/reviews.json",
        "/feed.xml",
        "/api/reviews/since/2024-01-01",
        "/api/reviews/search?rating=5",
    ] {
        assert_eq!(service().get(path).etag(), other.get(path).etag(), "{path}");
    }
}

#[test]
fn parameters_are_ignored_and_listed() {
    let bare = service().get("/api/reviews/since/9999-12-31");
    let reply = service().get("/api/reviews/since/9999-12-31?utm=1&limit=5&utm=2&empty=&%zz=1");
    assert_eq!(
        reply.body,
        b"{\"matched\":0,\"returned\":0,\"reviews\":[],\"ignored_parameters\":[\"utm\",\"limit\"]}"
    );
    assert_ne!(reply.etag(), bare.etag(), "another body");
    let again = [("If-None-Match", reply.etag())];
    let target = "/api/reviews/since/9999-12-31?utm=3&limit=6";
    assert_eq!(service().send("GET", target, &again).status, 304);
    let nine: Vec<String> = (0..9).map(|number| format!("p{number}=1")).collect();
    let target = format!("/api/reviews/since/2000-01-01?{}", nine.join("&"));
    let reply = service().get(&target).json();
    assert_eq!(
        reply["ignored_parameters"].as_array().map(Vec::len),
        Some(8)
    );
    assert!(reply["matched"].as_u64() > Some(0));
    for query in ["?", "?&&", "?empty="] {
        let reply = service().get(&format!("/api/reviews/since/9999-12-31{query}"));
        assert_eq!((reply.etag(), &reply.body), (bare.etag(), &bare.body));
    }
}
