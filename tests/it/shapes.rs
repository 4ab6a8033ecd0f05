//! The shape of every JSON answer, held against golden files: keys in their order and the kinds of their values.
//!
//! A key may be added, never taken away, so a change of these files is a change of the interface: it belongs in the
//! change log. `UPDATE_GOLDEN=1 cargo test shapes` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::exchange::service;

/// One line for each path that occurs: `reviews[].rating  number`.
///
/// Keys of `per_review` are ids, and become `{id}`.
fn shape(value: &Value) -> String {
    let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    walk(value, String::new(), &mut kinds);
    let mut text = String::new();
    for (path, kinds) in kinds {
        let path = if path.is_empty() { "." } else { &path };
        writeln!(text, "{path} {}", kinds.join(" or ")).expect("a string");
    }
    text
}

fn walk<'v>(value: &'v Value, path: String, kinds: &mut BTreeMap<String, Vec<&'v str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let known = kinds.entry(path.clone()).or_default();
    if !known.contains(&kind) {
        known.push(kind);
        known.sort_unstable();
    }
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| walk(item, format!("{path}[]"), kinds)),
        Value::Object(members) => {
            for (key, member) in members {
                let key = if path == "per_review" { "{id}" } else { key };
                let dot = if path.is_empty() { "" } else { "." };
                walk(member, format!("{path}{dot}{key}"), kinds);
            }
        }
        _ => {}
    }
}

fn assert_golden(name: &str, shape: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, shape).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        shape, golden,
        "{name}: run with UPDATE_GOLDEN=1 if the interface has grown"
    );
}

#[test]
fn every_json_answer_has_its_golden_shape() {
    for (name, target, status) in [
        ("reviews.txt", "/reviews.json", 200),
        ("insights.txt", "/insights.json", 200),
        ("feed.txt", "/api/feed.json", 200),
        ("search.txt", "/api/reviews/search?limit=100&utm=1", 200),
        (
            "search-last.txt",
            "/api/reviews/search?query=no+such+words+anywhere",
            200,
        ),
        ("since.txt", "/api/reviews/since/2019-01-01", 200),
        ("review.txt", "/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS", 200),
        ("ready.txt", "/readyz", 200),
        ("health.txt", "/healthz", 200),
        ("issues.txt", "/api/reviews/search?rating=9", 400),
        ("issues-date.txt", "/api/reviews/since/never", 400),
        ("not-found.txt", "/nowhere", 404),
    ] {
        let reply = service().get(target);
        assert_eq!(reply.status, status, "{target}");
        assert_golden(name, &shape(&reply.json()));
    }
}

#[test]
fn keys_come_in_the_order_of_the_documentation() {
    let text = |target: &str| String::from_utf8(service().get(target).body).expect("JSON is UTF-8");
    let reviews = text("/reviews.json");
    assert!(
        reviews.starts_with("{\"business\":{\"name\":"),
        "{reviews:.80}"
    );
    let review = text("/api/reviews/01D3F6JAK8HVWPAWADGBKTMVZS");
    for (text, keys) in [
        (
            reviews,
            "business aggregate_rating disclaimer updated_at reviews",
        ),
        (
            review,
            "id author author_avatar_url rating date text source source_url owner_reply verified mentioned_technicians \
             mentioned_services verification language media",
        ),
    ] {
        let keys = keys.split(' ').map(|key| text.find(&format!("\"{key}\":")));
        let places: Vec<usize> = keys.map(|place| place.expect("each key")).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}
