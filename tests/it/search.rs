//! `/api/reviews/search`: its parameters on both sides of each bound, its envelope, and what it selects.

use serde_json::{Value, json};

use crate::exchange::service;
use crate::support::Response;

pub(crate) fn search(query: &str) -> Response {
    service().get(&format!("/api/reviews/search?{query}"))
}

fn ids(reply: &Value) -> Vec<String> {
    let reviews = reply["reviews"].as_array().expect("an array");
    reviews
        .iter()
        .map(|review| review["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// All published reviews, newest first.
pub(crate) fn all() -> Vec<Value> {
    let document = service().get("/reviews.json").json();
    document["reviews"].as_array().expect("an array").clone()
}

/// The ids of the published reviews that `keep` selects, newest first.
fn naive(keep: impl Fn(&Value) -> bool) -> Vec<String> {
    let kept = all().into_iter().filter(keep);
    kept.map(|review| review["id"].as_str().expect("an id").to_owned())
        .collect()
}

pub(crate) fn text(review: &Value, key: &str) -> String {
    review[key].as_str().expect("a string").to_owned()
}

#[test]
fn without_parameters_the_twenty_newest_come() {
    for target in [
        "/api/reviews/search",
        "/api/reviews/search?",
        "/api/reviews/search?&&",
    ] {
        let reply = service().get(target);
        let body = reply.json();
        assert_eq!(reply.status, 200);
        assert_eq!(body["matched"], json!(all().len()));
        assert_eq!(body["returned"], json!(20));
        assert_eq!(ids(&body), naive(|_| true)[..20]);
        assert_eq!(body["reviews"][0], all()[0]);
    }
}

#[test]
fn the_envelope_has_its_keys_in_order() {
    let reply = search("limit=1&utm_source=x&rating=5");
    let text = String::from_utf8(reply.body.clone()).expect("JSON is UTF-8");
    let places: Vec<usize> = [
        "{\"matched\":",
        ",\"returned\":1,",
        "\"next_cursor\":\"",
        "\"reviews\":[{",
    ]
    .iter()
    .map(|key| text.find(key).unwrap_or_else(|| panic!("{key} in {text}")))
    .collect();
    assert!(places.is_sorted(), "{text}");
    assert!(
        text.ends_with("}],\"ignored_parameters\":[\"utm_source\"]}"),
        "{text}"
    );
    assert_eq!(
        reply.field("content-length"),
        Some(&*text.len().to_string())
    );
    assert!(search("limit=1").json().get("ignored_parameters").is_none());
}

#[test]
fn each_filter_selects_what_a_look_at_every_review_selects() {
    let contains =
        |review: &Value, words: &str| text(review, "text").to_lowercase().contains(words);
    for (query, expected) in [
        ("rating=1", naive(|review| review["rating"] == 1)),
        ("rating=5", naive(|review| review["rating"] == 5)),
        (
            "min_rating=4",
            naive(|review| review["rating"].as_u64() >= Some(4)),
        ),
        (
            "min_rating=3.5",
            naive(|review| review["rating"].as_u64() >= Some(4)),
        ),
        ("min_rating=1.0", naive(|_| true)),
        (
            "since=2024-06-01",
            naive(|review| text(review, "date").as_str() >= "2024-06-01"),
        ),
        (
            "until=2020-12-31",
            naive(|review| text(review, "date").as_str() <= "2020-12-31"),
        ),
        ("query=probate", naive(|review| contains(review, "probate"))),
        ("query=PROBATE", naive(|review| contains(review, "probate"))),
        (
            "query=the+will",
            naive(|review| contains(review, "the will")),
        ),
        (
            "query=the%20will",
            naive(|review| contains(review, "the will")),
        ),
        ("query=%F0%9F%99%8F", naive(|review| contains(review, "🙏"))),
        ("query=no+such+words+anywhere", Vec::new()),
        ("rating=2&min_rating=4", Vec::new()),
        ("since=2025-01-01&until=2024-01-01", Vec::new()),
        ("mentions_technician=nobody", Vec::new()),
        ("mentions_service=nothing", Vec::new()),
        ("rating=&query=&since=", naive(|_| true)),
    ] {
        let reply = search(&format!("{query}&limit=100"));
        assert_eq!(reply.json()["matched"], json!(expected.len()), "{query}");
        assert_eq!(
            ids(&reply.json()),
            expected[..expected.len().min(100)],
            "{query}"
        );
    }
}

#[test]
fn people_and_services_are_found_by_every_name() {
    let review = all()
        .into_iter()
        .find(|review| review["mentioned_technicians"] != json!([]));
    let review = review.expect("the sample mentions people");
    let name = review["mentioned_technicians"][0]
        .as_str()
        .expect("a name")
        .to_owned();
    let mentions = |review: &Value| {
        review["mentioned_technicians"]
            .as_array()
            .is_some_and(|names| names.contains(&json!(name)))
    };
    let expected = naive(mentions);
    for spelling in [name.clone(), name.to_uppercase(), name.to_lowercase()] {
        let reply = search(&format!(
            "mentions_technician={}&limit=100",
            spelling.replace(' ', "+")
        ));
        assert_eq!(reply.json()["matched"], json!(expected.len()), "{spelling}");
    }
    let business = service().get("/reviews.json").json()["business"].clone();
    let known = &business["services"][0];
    for word in [&known["id"], &known["label"]] {
        let word = word.as_str().expect("a string");
        let reply = search(&format!(
            "mentions_service={}&limit=100",
            word.replace(' ', "+").replace('&', "%26")
        ));
        let expected = naive(|review| {
            review["mentioned_services"]
                .as_array()
                .is_some_and(|ids| ids.contains(&known["id"]))
        });
        assert_eq!(reply.json()["matched"], json!(expected.len()), "{word}");
    }
}

#[test]
fn each_bound_holds_on_both_sides() {
    let (at, over) = ("a".repeat(1_024), "a".repeat(1_025));
    let accepted = [
        "rating=1",
        "rating=5",
        "min_rating=1",
        "min_rating=5",
        "min_rating=5.000000",
        "limit=1",
        "limit=100",
        "since=0001-01-01",
        "until=9999-12-31",
        "since=2024-02-29",
        "sort=newest",
        "sort=oldest",
        "sort=highest",
        "sort=lowest",
        &format!("query={at}"),
        &format!("mentions_service={at}"),
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
        ("rating=five", "rating", "invalid_type"),
        ("min_rating=0.999999", "min_rating", "out_of_range"),
        ("min_rating=5.000001", "min_rating", "out_of_range"),
        ("min_rating=1e0", "min_rating", "invalid_type"),
        ("min_rating=4.", "min_rating", "invalid_type"),
        ("min_rating=4.0000000", "min_rating", "invalid_type"),
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=-1", "limit", "invalid_type"),
        ("since=2023-02-29", "since", "invalid_date"),
        ("since=2023-2-1", "since", "invalid_date"),
        ("until=0000-01-01", "until", "invalid_date"),
        ("until=10000-01-01", "until", "invalid_date"),
        ("sort=best", "sort", "unknown_value"),
        ("cursor=AAAA", "cursor", "invalid_cursor"),
        ("query=%zz", "query", "invalid_encoding"),
        ("query=%ff", "query", "invalid_encoding"),
        ("rating=4&rating=4", "rating", "duplicate"),
        (&format!("query={over}"), "query", "too_long"),
        (
            &format!("mentions_technician={over}"),
            "mentions_technician",
            "too_long",
        ),
    ] {
        let reply = search(query);
        reply.assert_error(400, "validation_error");
        let issues = reply.json()["issues"].clone();
        assert_eq!(
            issues.as_array().map(Vec::len),
            Some(1),
            "{query:.40} {issues}"
        );
        assert_eq!(
            (&issues[0]["path"], &issues[0]["code"]),
            (&json!([path]), &json!(code)),
            "{query:.40}"
        );
        assert!(
            issues[0]["received"]
                .as_str()
                .is_some_and(|received| received.len() <= 64),
            "{query:.40}"
        );
    }
}

#[test]
fn every_issue_is_reported_at_once() {
    let reply = search("rating=9&limit=0&since=never&sort=best&query=%zz");
    reply.assert_error(400, "validation_error");
    let issues = reply.json()["issues"].clone();
    let paths: Vec<&Value> = issues
        .as_array()
        .expect("an array")
        .iter()
        .map(|issue| &issue["path"][0])
        .collect();
    assert_eq!(paths, ["rating", "limit", "since", "sort", "query"]);
}

#[test]
fn more_than_64_parameters_are_refused_and_unknown_ones_listed() {
    search(&"a=1&".repeat(65)).assert_error(400, "validation_error");
    assert_eq!(
        search(&"a=1&".repeat(65)).json()["issues"][0]["code"],
        "too_many"
    );
    let many: String = (0..20).map(|number| format!("p{number}=1&")).collect();
    assert_eq!(
        search(&many).json()["ignored_parameters"]
            .as_array()
            .map(Vec::len),
        Some(8)
    );
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

#[test]
fn words_beyond_ascii_are_found_escaped_or_not() {
    let review = all()
        .into_iter()
        .find(|review| text(review, "text").contains('é'))
        .expect("the sample has accents");
    let (escaped, plain) = (
        search("query=%C3%A9&limit=100"),
        search("query=é&limit=100"),
    );
    assert!(ids(&escaped.json()).contains(&text(&review, "id")));
    assert_eq!(ids(&escaped.json()), ids(&plain.json()));
    assert_eq!(
        search("query=%C3%89&limit=100").json()["matched"],
        escaped.json()["matched"]
    );
}
