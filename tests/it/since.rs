//! `/api/reviews/since/{date}`: which reviews come, and when its entity-tag changes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::{Service, sample, service, snapshot_of};
use crate::search::{all, text};
use reviewd::http::ServedState;
use reviewd::wire::date::Date;

#[test]
fn the_reviews_of_a_day_and_later_come_newest_first() {
    let all = all();
    let ends = [&all[0], &all[all.len() - 1]].map(|review| text(review, "date"));
    for date in ["0001-01-01", "2022-07-15", "2024-02-29", "9999-12-31"]
        .into_iter()
        .chain(ends.iter().map(String::as_str))
    {
        let is_later = |review: &&Value| review["date"].as_str() >= Some(date);
        let expected: Vec<&Value> = all.iter().filter(is_later).collect();
        let reply = service().get(&format!("/api/reviews/since/{date}"));
        assert_eq!(reply.status, 200, "{date}");
        let count = expected.len();
        let envelope = json!({ "matched": count, "returned": count, "reviews": expected });
        assert_eq!(reply.json(), envelope, "{date}");
        let length = reply.body.len().to_string();
        assert_eq!(reply.field("content-length"), Some(&*length), "{date}");
    }
}

#[test]
fn a_malformed_date_is_400_with_an_issue() {
    for date in [
        "2023-02-29",
        "2023-1-01",
        "20230101",
        "0000-01-01",
        "10000-01-01",
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
        assert_eq!(issue["path"], json!(["date"]), "{date}");
        assert_eq!(issue["code"], "invalid_date", "{date}");
        assert!(text(issue, "received").len() <= 64, "{date}");
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
    let of = |date: &str| format!("/api/reviews/since/{date}");
    let tag = |date: &str| service.get(&of(date)).etag().to_owned();
    let tags = || ["2019-01-01", "2024-01-01", "2026-01-01"].map(tag);
    let before = tags();
    assert!(before[0] != before[1] && before[1] != before[2]);
    let mut changed = sample();
    let day = Date::new(2024, 1, 1).expect("a day");
    let older = changed.reviews.iter_mut().find(|review| review.date < day);
    older.expect("the sample has older reviews").text.push('!');
    let changed = ServedState::new(Arc::new(snapshot_of(changed)));
    app.publish(changed.expect("the base URL fits a header"));
    let after = tags();
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..]);
    let held = [("If-None-Match", &*before[1])];
    assert_eq!(service.send("GET", &of("2024-01-01"), &held).status, 304);
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
