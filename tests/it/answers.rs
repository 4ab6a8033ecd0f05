//! Answers of tools: their size on data with the longest names and texts, and what each of them says about a review.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::call;
use crate::support::dataset::DataDir;
use crate::support::{BASE_URL, Server, service};

/// Bytes of each copy of an answer, as docs/agents.md promises.
const ANSWER_BYTES_MAX: usize = 50_000;

/// A spelling of a person, a service and an aspect, as long as data allow.
fn long(word: &str) -> String {
    let text = format!("{word} {}", "n\"".repeat(512));
    text[..1_000].to_owned()
}

/// Changes a file of the sample.
fn change(data: &DataDir, name: &str, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(data.path().join(name)).expect("a file of the sample");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut value);
    data.write(name, &value.to_string());
}

/// The sample with names, lists of names and texts that are as long as data allow.
fn data_with_long_names() -> DataDir {
    let data = DataDir::sample();
    let aliases: Vec<String> = (0..500).map(|at| long(&format!("alias{at}"))).collect();
    change(&data, "taxonomy.json", |taxonomy| {
        taxonomy["technicians"][0] = json!({"name": long("person"), "aliases": aliases});
        taxonomy["services"][0] =
            json!({"id": "divorce", "label": long("service"), "phrases": aliases});
        let phrases = taxonomy["aspects"][0]["phrases"].as_array_mut();
        phrases.expect("phrases").push(json!(long("aspect")));
    });
    change(&data, "reviews.json", |file| {
        let person = json!({"name": long("person"), "title": "Partner"});
        file["business"]["technicians"][0] = person;
        let reviews = file["reviews"].as_array_mut().expect("reviews");
        for review in reviews.iter_mut().take(100) {
            review["author"] = json!(long("author"));
            review["text"] = json!(format!("communication {}", "a b c d ".repeat(300)));
            review["mentioned_technicians"] = json!([long("person")]);
            review["mentioned_services"] = json!(["divorce"]);
        }
        // Fit into the room that the others leave, nearly to the last byte.
        for review in reviews.iter_mut().skip(20).take(60) {
            review["author"] = json!("x");
            review["text"] = json!("communication");
        }
    });
    data
}

/// Returns the result of a tool.
fn answer(server: &Server, tool: &str, arguments: &Value) -> Value {
    let response = server.post_mcp(&[], &call(tool, arguments).to_string());
    let result = response.json()["result"].take();
    assert_eq!(result.get("isError"), None, "{tool} {result}");
    result
}

#[test]
fn answers_keep_their_limit_whatever_names_resolve_to() {
    let data = data_with_long_names();
    let server = Server::start_on(data.path());
    let named = json!({
        "mentions_technician": long("alias7"), "mentions_service": long("alias8"), "aspect": long("aspect"),
        "limit": 100,
    });
    let mut with_matches = named.clone();
    with_matches["words"] = json!("a b c d");
    with_matches["include"] = json!("matches,distribution");
    for (tool, arguments) in [
        ("search_reviews", named),
        ("search_reviews", with_matches),
        (
            "search_reviews",
            json!({"words": "a b c d", "limit": 100, "include": "matches"}),
        ),
        ("get_technician", json!({"name": long("alias7")})),
        ("get_service", json!({"service": long("alias8")})),
        ("get_aspect_sentiment", json!({"aspect": long("aspect")})),
        ("search", json!({"query": "communication"})),
        ("list_services_and_technicians", json!({})),
        ("get_business", json!({})),
    ] {
        let result = answer(&server, tool, &arguments);
        let copies = [
            result["structuredContent"].to_string().len(),
            result["content"][0]["text"].as_str().expect("text").len(),
        ];
        for bytes in copies {
            assert!(bytes <= ANSWER_BYTES_MAX, "{tool}: {bytes} bytes");
        }
    }
}

/// Adds the reviews in `value`, at any depth, to `found`: objects with an author and a text.
fn collect_reviews(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) => {
            if members.contains_key("author") && members.contains_key("text") {
                found.push(value.clone());
            }
            for member in members.values() {
                collect_reviews(member, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_reviews(item, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_review_comes_with_the_address_of_its_page() {
    let first = answer(service(), "search_reviews", &json!({"limit": 1}));
    let id = &first["structuredContent"]["reviews"][0]["id"];
    for (tool, arguments) in [
        ("search_reviews", json!({"rating": 5})),
        ("list_reviews_since", json!({"date": "2020-01-01"})),
        ("get_review", json!({"id": id})),
        ("get_technician", json!({"name": "Adaeze Okafor"})),
        ("get_service", json!({"service": "probate"})),
    ] {
        let result = answer(service(), tool, &arguments);
        let mut reviews = Vec::new();
        collect_reviews(&result["structuredContent"], &mut reviews);
        assert!(!reviews.is_empty(), "{tool}");
        for review in reviews {
            let id = review["id"].as_str().expect("an id");
            let url = format!("{BASE_URL}/reviews/{id}");
            assert_eq!(review["url"], url, "{tool}");
        }
    }
}
