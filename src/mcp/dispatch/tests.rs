//! Resources, prompts and completion: what they hold, and what they refuse.

use serde_json::{Value, json};

use crate::mcp::tests::{catalog, head, meta, post, result};
use crate::mcp::{Field, Head};

fn refusal(method: &str, params: Value) -> (i64, String) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let (status, answer) = post(&head(), body.as_bytes());
    assert_eq!(status, 200);
    let code = answer["error"]["code"].as_i64().unwrap_or(0);
    (
        code,
        answer["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

#[test]
fn resources_hold_the_documents_that_are_served() {
    let read = |uri: &str| {
        let answer = result(catalog(), "resources/read", json!({"uri": uri}));
        let content = &answer["contents"][0];
        assert_eq!(
            (&content["uri"], &content["mimeType"]),
            (&json!(uri), &json!("application/json"))
        );
        content["text"].as_str().expect("a text").to_owned()
    };
    let snapshot = &catalog().snapshot;
    assert_eq!(
        read("reviews://dataset").as_bytes(),
        &snapshot.reviews.body[..]
    );
    assert_eq!(
        read("reviews://insights").as_bytes(),
        &snapshot.insights().expect("derived").body[..]
    );
    assert_eq!(
        read("reviews://feed").as_bytes(),
        &snapshot.feed_json.body[..]
    );
    let dataset: Value = serde_json::from_slice(&snapshot.reviews.body).expect("JSON");
    let business: Value = serde_json::from_str(&read("reviews://business")).expect("JSON");
    assert_eq!(business["business"], dataset["business"]);
    assert_eq!(business["aggregate_rating"], dataset["aggregate_rating"]);
    assert!(business.get("reviews").is_none());
    let first = &dataset["reviews"][0];
    let uri = format!("reviews://review/{}", first["id"].as_str().expect("an id"));
    assert_eq!(
        serde_json::from_str::<Value>(&read(&uri)).expect("JSON"),
        *first
    );
    let uri = format!(
        "reviews://since/{}",
        first["date"].as_str().expect("a date")
    );
    let since: Value = serde_json::from_str(&read(&uri)).expect("JSON");
    assert_eq!(
        (&since["matched"], &since["reviews"][0]),
        (&since["returned"], first)
    );
    assert_eq!(
        read("reviews://since/9999-12-31"),
        r#"{"matched":0,"returned":0,"reviews":[]}"#
    );
    let listed = result(catalog(), "resources/list", json!({}));
    let documents = listed["resources"].as_array().expect("a list").iter();
    for resource in documents.filter(|resource| resource["mimeType"] == "application/json") {
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
        "test://static-text",
        "file:///etc/passwd",
    ] {
        assert_eq!(
            refusal("resources/read", json!({"uri": uri})).0,
            -32_002,
            "{uri}"
        );
        let params = json!({"uri": uri, "_meta": meta()});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params})
            .to_string();
        let head = Head {
            protocol_version: Field::One(b"2026-07-28"),
            mcp_method: Field::One(b"resources/read"),
            mcp_name: Field::One(uri.as_bytes()),
            ..head()
        };
        let (status, answer) = post(&head, body.as_bytes());
        assert_eq!(
            (status, &answer["error"]["code"]),
            (200, &json!(-32_602)),
            "{uri}"
        );
        assert_eq!(answer["error"]["data"]["uri"], uri);
    }
    for params in [json!({}), json!({"uri": 5})] {
        assert_eq!(refusal("resources/read", params).0, -32_602);
    }
}

#[test]
fn prompts_are_written_out_with_their_arguments() {
    let text = |name: &str, arguments: Value| {
        let answer = result(
            catalog(),
            "prompts/get",
            json!({"name": name, "arguments": arguments}),
        );
        answer["messages"][0]["content"]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    assert!(
        text(
            "summarize_reviews",
            json!({"service": "probate", "since": ""})
        )
        .contains("\"probate\"")
    );
    assert!(
        text(
            "compare_services",
            json!({"first": "dui", "second": "probate"})
        )
        .contains("\"dui\" and \"probate\"")
    );
    let id = catalog().snapshot.index.id(crate::model::Row(0)).to_owned();
    let reply = result(
        catalog(),
        "prompts/get",
        json!({"name": "draft_reply", "arguments": {"review_id": id}}),
    );
    let resource = &reply["messages"][1]["content"]["resource"];
    assert_eq!(resource["uri"], format!("reviews://review/{id}"));
    assert!(
        resource["text"]
            .as_str()
            .is_some_and(|text| text.contains(&id))
    );
}

#[test]
fn prompts_say_what_is_wrong_with_their_arguments() {
    for (params, start) in [
        (json!({}), "params.name must be"),
        (json!({"name": "nothing"}), "there is no prompt"),
        (json!({"name": "test_simple_prompt"}), "there is no prompt"),
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
            json!({"name": "summarize_reviews", "arguments": {"since": "x".repeat(1_025)}}),
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
        let (code, message) = refusal("prompts/get", params.clone());
        assert!(
            code == -32_602 && message.starts_with(start),
            "{params}: {message}"
        );
    }
}

#[test]
fn an_argument_of_a_prompt_may_have_1024_bytes() {
    let longest = "x".repeat(1_024);
    let params = json!({"name": "summarize_reviews", "arguments": {"aspect": longest}});
    let answer = result(catalog(), "prompts/get", params).to_string();
    assert!(answer.contains(&longest), "{answer}");
}

#[test]
fn completion_offers_names_that_begin_with_the_value() {
    let complete = |kind: &str, target: &str, name: &str, value: &str| {
        let key = if kind == "ref/prompt" { "name" } else { "uri" };
        let params =
            json!({"ref": {"type": kind, key: target}, "argument": {"name": name, "value": value}});
        let answer = result(catalog(), "completion/complete", params);
        let values = answer["completion"]["values"]
            .as_array()
            .cloned()
            .expect("values");
        assert!(values.len() <= 100);
        assert_eq!(
            answer["completion"]["hasMore"],
            answer["completion"]["total"] != values.len()
        );
        values
    };
    let people = complete("ref/prompt", "summarize_reviews", "technician", "ingr");
    assert_eq!(people, [json!("Ingrid Thornquist")]);
    assert_eq!(
        complete("ref/prompt", "summarize_reviews", "technician", "THORN"),
        people
    );
    assert_eq!(
        complete("ref/prompt", "compare_services", "first", "prob"),
        [json!("probate")]
    );
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
        assert_eq!(refusal("completion/complete", params).0, -32_602);
    }
}
