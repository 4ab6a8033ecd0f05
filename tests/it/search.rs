//! `/api/reviews/search`: its parameters on both sides of each bound, its envelope, and what it selects.

use serde_json::{Value, json};

use crate::exchange::service;
use crate::support::Response;

pub(crate) fn search(query: &str) -> Response {
    service().get(&format!("/api/reviews/search?{query}"))
}

fn ids(reply: &Value) -> Vec<String> {
    let reviews = reply["reviews"].as_array().expect("an array");
    reviews.iter().map(|review| text(review, "id")).collect()
}

/// All published reviews, newest first.
pub(crate) fn all() -> Vec<Value> {
    let document = service().get("/reviews.json").json();
    document["reviews"].as_array().expect("an array").clone()
}

/// The ids of the published reviews that `keep` selects, newest first.
fn naive(keep: impl Fn(&Value) -> bool) -> Vec<String> {
    let kept = all().into_iter().filter(keep);
    kept.map(|review| text(&review, "id")).collect()
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
    let contains =
        |words: &str| naive(|review| text(review, "text").to_lowercase().contains(words));
    let lists = |key: &str, name: &Value| {
        naive(|review| review[key].as_array().is_some_and(|all| all.contains(name)))
    };
    let in_form = |text: &Value| {
        let text = text.as_str().expect("a string").to_uppercase();
        text.replace('&', "%26").replace(' ', "+")
    };
    let mentions = |review: &Value| review["mentioned_technicians"].get(0).cloned();
    let person = all().iter().find_map(mentions).expect("someone is named");
    let service = &service().get("/reviews.json").json()["business"]["services"][0];
    let rated_4 = naive(|review| review["rating"].as_u64() >= Some(4));
    let of_service = lists("mentioned_services", &service["id"]);
    for (query, expected) in [
        ("rating=1", naive(|review| review["rating"] == 1)),
        ("min_rating=3.5", rated_4),
        (
            "since=2024-06-01",
            naive(|review| text(review, "date").as_str() >= "2024-06-01"),
        ),
        (
            "until=2020-12-31",
            naive(|review| text(review, "date").as_str() <= "2020-12-31"),
        ),
        ("query=PROBATE", contains("probate")),
        ("query=the+will", contains("the will")),
        ("query=%F0%9F%99%8F", contains("🙏")),
        ("query=🙏", contains("🙏")),
        ("query=no+such+words+anywhere", Vec::new()),
        ("rating=2&min_rating=4", Vec::new()),
        ("since=2025-01-01&until=2024-01-01", Vec::new()),
        ("mentions_technician=nobody", Vec::new()),
        (
            &format!("mentions_technician={}", in_form(&person)),
            lists("mentioned_technicians", &person),
        ),
        (
            &format!("mentions_service={}", in_form(&service["id"])),
            of_service.clone(),
        ),
        (
            &format!("mentions_service={}", in_form(&service["label"])),
            of_service,
        ),
        ("rating=&query=&since=", naive(|_| true)),
    ] {
        let reply = search(&format!("{query}&limit=100")).json();
        assert_eq!(reply["matched"], json!(expected.len()), "{query}");
        assert_eq!(ids(&reply), expected[..expected.len().min(100)], "{query}");
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
