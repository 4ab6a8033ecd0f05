//! `/api/reviews/since/{date}`: which reviews it returns, and when its entity-tag changes.

use oracle::service::{sample, snapshot};
use reviewd::wire::date::Date;
use serde_json::json;

use crate::search::{all, text};
use crate::support::{Server, service};

#[test]
fn the_reviews_of_a_day_and_later_come_newest_first() {
    let all = all();
    let ends = [&all[0], &all[all.len() - 1]].map(|review| text(review, "date"));
    for date in ["0001-01-01", "2022-07-15", "9999-12-31", &ends[0], &ends[1]] {
        let mut expected = all.clone();
        expected.retain(|review| text(review, "date").as_str() >= date);
        let reply = service().get(&format!("/api/reviews/since/{date}"));
        let count = expected.len();
        let envelope = json!({ "matched": count, "returned": count, "reviews": expected });
        assert_eq!((reply.status, reply.json()), (200, envelope), "{date}");
    }
}

#[test]
fn a_malformed_date_is_400_with_an_issue() {
    for date in [
        "2023-02-29",
        "2024-01-01%20",
        "2024%2F01%2F01",
        "..",
        "%zz",
        "%ff",
        &"9".repeat(1_000),
    ] {
        let reply = service().get(&format!("/api/reviews/since/{date}"));
        reply.assert_error(400, "validation_error");
        let issue = &reply.json()["issues"][0];
        let found = [&issue["path"], &issue["code"]];
        assert_eq!(found, [&json!(["date"]), &json!("invalid_date")], "{date}");
        assert!(text(issue, "received").len() <= 64, "{date}");
    }
}

/// The entity-tags of the reviews since three dates.
fn tags(server: &Server) -> [String; 3] {
    ["2019-01-01", "2024-01-01", "2026-01-01"].map(|date| {
        let reply = server.get(&format!("/api/reviews/since/{date}"));
        reply.etag().to_owned()
    })
}

#[test]
fn the_entity_tag_changes_only_with_the_returned_reviews() {
    let server = Server::start();
    server.publish(&snapshot(sample()));
    let before = tags(&server);
    assert!(before[0] != before[1]);
    assert!(before[1] != before[2]);
    let mut changed = sample();
    let day = Date::new(2024, 1, 1).expect("a day");
    let older = changed.reviews.iter_mut().find(|review| review.date < day);
    older.expect("the sample has older reviews").text.push('!');
    server.publish(&snapshot(changed));
    let after = tags(&server);
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..]);
}

#[test]
fn parameters_are_ignored_and_listed() {
    let get = |query: &str| service().get(&format!("/api/reviews/since/9999-12-31{query}"));
    let bare = get("");
    let reply = get("?utm=1&limit=5&utm=2&empty=&%zz=1");
    assert_eq!(
        reply.text(),
        r#"{"matched":0,"returned":0,"reviews":[],"ignored_parameters":["utm","limit"]}"#
    );
    assert_ne!(reply.etag(), bare.etag(), "another body");
    assert_eq!(get("?utm=3&limit=6").etag(), reply.etag());
    let nine: Vec<String> = (0..9).map(|number| format!("p{number}=1")).collect();
    let ignored = get(&format!("?{}", nine.join("&"))).json()["ignored_parameters"].take();
    assert_eq!(ignored.as_array().map(Vec::len), Some(8));
    for query in ["?", "?&&", "?empty="] {
        let reply = get(query);
        assert_eq!((reply.etag(), &reply.body), (bare.etag(), &bare.body));
    }
}
