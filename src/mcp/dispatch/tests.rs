//! Resources, prompts and completion: what they hold, and what they refuse.

use serde_json::{Value, json};

use crate::mcp::tests::{ask, catalog, code, meta, post, request, with};
use crate::model::Row;

#[test]
fn resources_hold_the_documents_that_are_served() {
    let read = |uri: &str| {
        let answer = ask("resources/read", json!({"uri": uri}));
        let content = &answer["result"]["contents"][0];
        assert_eq!(content["uri"], uri);
        content["text"].as_str().expect("a text").to_owned()
    };
    let snapshot = &catalog().snapshot;
    let insights = &snapshot.insights().expect("derived").body;
    for (uri, document) in [
        ("reviews://dataset", &snapshot.reviews.body),
        ("reviews://insights", insights),
        ("reviews://feed", &snapshot.feed_json.body),
    ] {
        assert_eq!(read(uri).as_bytes(), document, "{uri}");
    }
    let dataset: Value = serde_json::from_slice(&snapshot.reviews.body).expect("JSON");
    let business: Value = serde_json::from_str(&read("reviews://business")).expect("JSON");
    assert_eq!(business["business"], dataset["business"]);
    assert_eq!(business["aggregate_rating"], dataset["aggregate_rating"]);
    let first = &dataset["reviews"][0];
    let [id, date] = ["id", "date"].map(|key| first[key].as_str().expect("a string"));
    let review = read(&format!("reviews://review/{id}"));
    assert_eq!(
        serde_json::from_str::<Value>(&review).expect("JSON"),
        *first
    );
    let since = read(&format!("reviews://since/{date}"));
    let since: Value = serde_json::from_str(&since).expect("JSON");
    assert_eq!(
        (&since["matched"], &since["reviews"][0]),
        (&since["returned"], first)
    );
    let none = r#"{"matched":0,"returned":0,"reviews":[]}"#;
    assert_eq!(read("reviews://since/9999-12-31"), none);
    let listed = ask("resources/list", json!({}))["result"]["resources"].take();
    let listed = listed.as_array().expect("a list");
    assert_eq!(listed.len(), 5);
    for resource in listed {
        let text = read(resource["uri"].as_str().expect("a URI"));
        assert_eq!(resource["size"], text.len());
    }
}

#[test]
fn unknown_resources_have_the_code_of_their_era() {
    for uri in [
        "reviews://nothing",
        "reviews://review/nobody",
        "reviews://review/",
        "reviews://since/2023-02-29",
        "",
        "file:///etc/passwd",
    ] {
        assert_eq!(
            code(&ask("resources/read", json!({"uri": uri}))),
            -32_002,
            "{uri}"
        );
        let version = ("protocol_version", "2026-07-28");
        let head = with(&[version, ("mcp_method", "resources/read"), ("mcp_name", uri)]);
        let body = request("resources/read", json!({"uri": uri, "_meta": meta()}));
        let (status, answer) = post(&head, body);
        assert_eq!((status, code(&answer)), (200, -32_602), "{uri}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
    }
    for params in [json!({}), json!({"uri": 5})] {
        assert_eq!(code(&ask("resources/read", params)), -32_602);
    }
}

#[test]
fn prompts_are_written_out_with_their_arguments() {
    let id = catalog().snapshot.index.id(Row(0)).to_owned();
    let longest = "x".repeat(1_024);
    for (name, arguments, part) in [
        (
            "summarize_reviews",
            json!({"service": "probate", "since": ""}),
            "\\\"probate\\\"",
        ),
        ("summarize_reviews", json!({"aspect": longest}), &*longest),
        (
            "compare_services",
            json!({"first": "dui", "second": "wills"}),
            "\\\"dui\\\" and \\\"wills\\\"",
        ),
        (
            "draft_reply",
            json!({"review_id": id}),
            &format!("reviews://review/{id}"),
        ),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        let messages = ask("prompts/get", params)["result"]["messages"].to_string();
        assert!(messages.contains(part), "{messages}");
    }
    for (params, start) in [
        (json!({}), "params.name must be"),
        (json!({"name": "nothing"}), "there is no prompt"),
        (
            json!({"name": "compare_services"}),
            "the argument first must be given",
        ),
        (
            json!({"name": "compare_services", "arguments": {"first": "a", "second": ""}}),
            "the argument second",
        ),
        (
            json!({"name": "summarize_reviews", "arguments": []}),
            "params.arguments must be an object",
        ),
        (
            json!({"name": "summarize_reviews", "arguments": {"since": 5}}),
            "since must be a string",
        ),
        (
            json!({"name": "summarize_reviews", "arguments": {"since": longest.clone() + "x"}}),
            "since must be a string",
        ),
        (
            json!({"name": "summarize_reviews", "arguments": {"year": "2024"}}),
            "\"year\" is not an argument",
        ),
        (
            json!({"name": "draft_reply", "arguments": {"review_id": "nobody"}}),
            "no published review",
        ),
    ] {
        let answer = ask("prompts/get", params);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            code(&answer) == -32_602 && message.starts_with(start),
            "{answer}"
        );
    }
}

#[test]
fn completion_offers_names_that_begin_with_the_value() {
    let complete = |kind: &str, target: &str, name: &str, value: &str| {
        let key = if kind == "ref/prompt" { "name" } else { "uri" };
        let argument = json!({"name": name, "value": value});
        let params = json!({"ref": {"type": kind, key: target}, "argument": argument});
        let found = ask("completion/complete", params)["result"]["completion"].take();
        let values = found["values"].as_array().cloned().expect("values");
        assert_eq!(found["hasMore"], found["total"] != values.len());
        values
    };
    for (target, name, value, expected) in [
        (
            "summarize_reviews",
            "technician",
            "ingr",
            "Ingrid Thornquist",
        ),
        (
            "summarize_reviews",
            "technician",
            "THORN",
            "Ingrid Thornquist",
        ),
        ("compare_services", "first", "prob", "probate"),
    ] {
        assert_eq!(
            complete("ref/prompt", target, name, value),
            [json!(expected)]
        );
    }
    assert!(complete("ref/prompt", "summarize_reviews", "aspect", "").len() > 10);
    assert_eq!(
        complete("ref/resource", "reviews://review/{id}", "id", "").len(),
        100
    );
    for (kind, target, name) in [
        ("ref/prompt", "nothing", "service"),
        ("ref/prompt", "summarize_reviews", "nothing"),
        ("ref/resource", "reviews://since/{date}", "date"),
    ] {
        assert!(complete(kind, target, name, "").is_empty());
    }
    for params in [
        json!({}),
        json!({"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a"}}),
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": 5}}),
    ] {
        assert_eq!(code(&ask("completion/complete", params)), -32_602);
    }
}
