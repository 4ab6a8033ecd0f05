//! Resources, prompts and completion: their contents and refusals.

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
    let json = |uri: &str| serde_json::from_str::<Value>(&read(uri)).expect("JSON");
    let dataset: Value = serde_json::from_slice(&snapshot.reviews.body).expect("JSON");
    let business = json("reviews://business");
    assert_eq!(business["business"], dataset["business"]);
    assert_eq!(business["aggregate_rating"], dataset["aggregate_rating"]);
    let first = &dataset["reviews"][0];
    let [id, date] = ["id", "date"].map(|key| first[key].as_str().expect("a string"));
    assert_eq!(json(&format!("reviews://review/{id}")), *first);
    let since = json(&format!("reviews://since/{date}"));
    assert_eq!(since["matched"], since["returned"]);
    assert_eq!(since["reviews"][0], *first);
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
    let unknown = "reviews://nothing|reviews://review/nobody|reviews://review/|reviews://since/2023-02-29||\
        file:///etc/passwd";
    for uri in unknown.split('|') {
        let answer = ask("resources/read", json!({"uri": uri}));
        assert_eq!(code(&answer), -32_002, "{uri}");
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

/// Parameters of `prompts/get`, and the beginning of the refusal.
const REFUSED: &str = r#"
{} => params.name must be
{"name": "nothing"} => unknown prompt
{"name": "compare_services"} => first: must be the name of a service
{"name": "compare_services", "arguments": {"first": "wills", "second": ""}} => second: must be the name
{"name": "compare_services", "arguments": {"first": "wills", "second": "zzz"}} => second: is unknown
{"name": "summarize_reviews", "arguments": {"since": "yesterday"}} => since: must be
{"name": "summarize_reviews", "arguments": {"technician": "zzz"}} => technician: is unknown
{"name": "summarize_reviews", "arguments": []} => params.arguments must be an object
{"name": "summarize_reviews", "arguments": {"since": 5}} => since: must be a string
{"name": "summarize_reviews", "arguments": {"since": "LONGESTx"}} => since: must be at most 1024 bytes
{"name": "summarize_reviews", "arguments": {"year": "2024"}} => year: is not a known argument; the arguments are since, service, technician, aspect
{"name": "draft_reply", "arguments": {"review_id": "nobody"}} => review_id: no published review
"#;

#[test]
fn prompts_are_written_out_with_their_arguments() {
    let id = catalog().snapshot.index.id(Row(0)).to_owned();
    let longest = "x".repeat(1_024);
    let get = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        ask("prompts/get", params)["result"]["messages"].to_string()
    };
    let of_probate = get(
        "summarize_reviews",
        json!({"service": "probate", "since": ""}),
    );
    assert!(of_probate.contains("\\\"probate\\\""), "{of_probate}");
    let tone = json!({"review_id": id, "tone": longest});
    assert!(get("draft_reply", tone).contains(&longest));
    let both = get(
        "compare_services",
        json!({"first": "dui", "second": "wills"}),
    );
    assert!(both.contains("\\\"dui\\\" and \\\"wills\\\""), "{both}");
    let reply = get("draft_reply", json!({"review_id": id}));
    // The review is a text, as some clients cannot read an embedded resource.
    assert!(reply.contains(&id), "{reply}");
    assert!(!reply.contains("\"type\":\"resource\""), "{reply}");
    for line in REFUSED.trim().lines() {
        let (params, start) = line.split_once(" => ").expect("a refusal");
        let params = params.replace("LONGEST", &longest);
        let params = serde_json::from_str(&params).expect("JSON");
        let answer = ask("prompts/get", params);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(code(&answer), -32_602, "{answer}");
        assert!(message.starts_with(start), "{answer}");
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
    let of_prompt = |target, name, value| complete("ref/prompt", target, name, value);
    let ingrid = [json!("Ingrid Thornquist")];
    for value in ["ingr", "THORN"] {
        assert_eq!(of_prompt("summarize_reviews", "technician", value), ingrid);
    }
    let probate = [json!("probate")];
    assert_eq!(of_prompt("compare_services", "first", "prob"), probate);
    assert!(of_prompt("summarize_reviews", "aspect", "").len() > 10);
    let ids = complete("ref/resource", "reviews://review/{id}", "id", "");
    assert_eq!(ids.len(), 100);
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
