//! `/api/reviews/search`: its parameters on both sides of each bound, its envelope, and what it selects.

use serde_json::{Value, json};

use crate::exchange::service;
use crate::support::Response;

fn search(query: &str) -> Response {
    service().get(&format!("/api/reviews/search?{query}"))
}

/// All published reviews, newest first.
pub(crate) fn all() -> Vec<Value> {
    let document = service().get("/reviews.json").json();
    document["reviews"].as_array().expect("an array").clone()
}

pub(crate) fn text(review: &Value, key: &str) -> String {
    review[key].as_str().expect("a string").to_owned()
}

#[test]
fn without_parameters_the_twenty_newest_come() {
    for query in ["", "&&"] {
        let reply = search(query);
        let (body, all) = (reply.json(), all());
        assert_eq!(reply.status, 200);
        assert_eq!(body["matched"], json!(all.len()));
        assert_eq!(body["returned"], json!(20));
        assert_eq!(body["reviews"].as_array().expect("an array"), &all[..20]);
    }
}

#[test]
fn the_envelope_has_its_keys_in_order() {
    let reply = search("limit=1&utm_source=x&rating=5");
    let text = String::from_utf8(reply.body.clone()).expect("JSON is UTF-8");
    let keys = [
        "{\"matched\":",
        ",\"returned\":1,",
        "\"next_cursor\":\"",
        "\"reviews\":[{",
        "}],\"ignored_parameters\":[\"utm_source\"]}",
    ];
    let places = keys.map(|key| text.find(key).unwrap_or_else(|| panic!("{key} in {text}")));
    assert!(places.is_sorted(), "{text}");
    let length = text.len().to_string();
    assert_eq!(reply.field("content-length"), Some(&*length));
    assert!(search("limit=1").json().get("ignored_parameters").is_none());
}

#[test]
fn each_filter_selects_what_a_look_at_every_review_selects() {
    let contains = |review: &Value, words| text(review, "text").to_lowercase().contains(words);
    let (person, service) = ("Adaeze Okafor", "estate-planning");
    let lists = |review: &Value, key: &str, name: &str| {
        review[key]
            .as_array()
            .is_some_and(|all| all.contains(&json!(name)))
    };
    for (query, keep) in [
        (
            "rating=1",
            &(|review: &Value| review["rating"] == 1) as &dyn Fn(&Value) -> bool,
        ),
        ("min_rating=3.5", &|review| {
            review["rating"].as_u64() >= Some(4)
        }),
        ("since=2024-06-01", &|review| {
            *text(review, "date") >= *"2024-06-01"
        }),
        ("until=2020-12-31", &|review| {
            *text(review, "date") <= *"2020-12-31"
        }),
        ("query=the+will", &|review| contains(review, "the will")),
        ("query=🙏", &|review| contains(review, "🙏")),
        ("rating=2&min_rating=4", &|_| false),
        ("mentions_technician=ADAEZE+okafor", &|review| {
            lists(review, "mentioned_technicians", person)
        }),
        ("mentions_service=Wills+and+ESTATE+planning", &|review| {
            lists(review, "mentioned_services", service)
        }),
        ("has_reply=true", &|review| !review["owner_reply"].is_null()),
        ("rating=&query=&since=", &|_| true),
    ] {
        let kept = all().into_iter().filter(keep);
        let expected: Vec<String> = kept.map(|review| text(&review, "id")).collect();
        let reply = search(&format!("{query}&limit=100")).json();
        let reviews = reply["reviews"].as_array().expect("an array").iter();
        let ids: Vec<String> = reviews.map(|review| text(review, "id")).collect();
        assert_eq!(reply["matched"], json!(expected.len()), "{query}");
        assert_eq!(ids, expected[..expected.len().min(100)], "{query}");
    }
}

#[test]
fn each_bound_holds_on_both_sides() {
    let (at, over) = ("a".repeat(1_024), "a".repeat(1_025));
    let accepted = [
        "rating=1",
        "rating=5",
        "min_rating=1",
        "min_rating=5.000000",
        "max_rating=1",
        "limit=1",
        "limit=100",
        "since=0001-01-01",
        "until=9999-12-31",
        "since=2024-02-29",
        "until=2024%2d02%2D29",
        "sort=newest",
        "sort=oldest",
        "sort=highest",
        "sort=lowest",
        "polarity=negative",
        "has_reply=false",
        &format!("query={at}"),
        &format!("mentions_service={at}"),
        &format!("words={}", "a+".repeat(16)),
        &"a=1&".repeat(64),
    ];
    for query in accepted {
        assert_eq!(search(query).status, 200, "{query:.40}");
    }
    for (query, path, code) in [
        ("rating=0", "rating", "out_of_range"),
        ("rating=6", "rating", "out_of_range"),
        ("rating=99999999999999999999", "rating", "out_of_range"),
        ("rating=4.0", "rating", "invalid_type"),
        ("rating=%2B4", "rating", "invalid_type"),
        ("rating=+4", "rating", "invalid_type"),
        ("rating=٣", "rating", "invalid_type"),
        ("rating=five", "rating", "invalid_type"),
        ("min_rating=0.999999", "min_rating", "out_of_range"),
        ("min_rating=5.000001", "min_rating", "out_of_range"),
        ("max_rating=0", "max_rating", "out_of_range"),
        ("min_rating=1e0", "min_rating", "invalid_type"),
        ("min_rating=4.", "min_rating", "invalid_type"),
        ("min_rating=.5", "min_rating", "invalid_type"),
        ("min_rating=4.5.0", "min_rating", "invalid_type"),
        ("min_rating=4.0000000", "min_rating", "invalid_type"),
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=4294967297", "limit", "out_of_range"),
        ("limit=-1", "limit", "invalid_type"),
        ("since=2023-02-29", "since", "invalid_date"),
        ("since=2023-2-1", "since", "invalid_date"),
        ("until=0000-01-01", "until", "invalid_date"),
        ("until=10000-01-01", "until", "invalid_date"),
        ("sort=best", "sort", "unknown_value"),
        ("sort=Newest", "sort", "unknown_value"),
        ("polarity=bad", "polarity", "unknown_value"),
        ("has_reply=1", "has_reply", "unknown_value"),
        ("cursor=AAAA", "cursor", "invalid_cursor"),
        ("query=%zz", "query", "invalid_encoding"),
        ("query=%ff", "query", "invalid_encoding"),
        ("a%=1", "a%", "invalid_encoding"),
        ("rating=4&r%61ting=5&rating=6", "rating", "duplicate"),
        (&format!("query={over}"), "query", "too_long"),
        (
            &format!("mentions_technician={over}"),
            "mentions_technician",
            "too_long",
        ),
        (&format!("words={}", "a+".repeat(17)), "words", "too_many"),
        (&"a=1&".repeat(65), "", "too_many"),
    ] {
        let reply = search(query);
        reply.assert_error(400, "validation_error");
        let issues = reply.json()["issues"].clone();
        let issues = issues.as_array().expect("an array");
        assert_eq!(issues.len(), 1, "{query:.40} {issues:?}");
        let paths: Vec<&str> = (!path.is_empty()).then_some(path).into_iter().collect();
        assert_eq!(issues[0]["path"], json!(paths), "{query:.40}");
        assert_eq!(issues[0]["code"], code, "{query:.40}");
        assert!(text(&issues[0], "received").len() <= 64, "{query:.40}");
    }
}

#[test]
fn every_issue_is_reported_at_once_and_in_order() {
    let reply = search("rating=9&limit=0&since=never&sort=best&query=%zz&rating=1");
    reply.assert_error(400, "validation_error");
    let issues = reply.json()["issues"].clone();
    let issues = issues.as_array().expect("an array");
    let paths: Vec<&Value> = issues.iter().map(|issue| &issue["path"][0]).collect();
    let expected = ["rating", "limit", "since", "sort", "query", "rating"];
    assert_eq!(paths, expected);
}

#[test]
fn a_hundred_thousand_parameters_are_refused_for_their_length() {
    for (count, statuses) in [(2_500, &["414"][..]), (100_000, &["414", "431"])] {
        let target = format!("/api/reviews/search?{}", "a=1&".repeat(count));
        let mut connection = service().connect();
        // The service may close before it has read everything, and need not.
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let _sent = connection.try_write(request.as_bytes());
        let answer = String::from_utf8_lossy(&connection.rest()).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or("none");
        assert!(statuses.contains(&status), "{count} {answer:.60}");
    }
}
