//! What tools refuse, in words that a model can act on.

use serde_json::{Value, json};

use crate::mcp::tests::{call, catalog, head, post};

/// The lines of a refusal.
fn refusal(tool: &str, arguments: Value) -> Vec<String> {
    let answer = call(catalog(), tool, arguments);
    assert_eq!(answer["isError"], true, "{tool}: {answer}");
    assert!(answer.get("structuredContent").is_none());
    let text = answer["content"][0]["text"].as_str().expect("a text block");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn wrong_arguments_are_told_one_line_each() {
    let lines = refusal(
        "search_reviews",
        json!({"rating": 9, "limit": "5", "since": "2023-02-29", "ratings": 5, "sort": "best", "min_rating": true}),
    );
    // Lines follow the order in which the arguments came.
    let expected = [
        "rating: must be an integer from 1 to 5, received \"9\"",
        "limit: must be an integer from 1 to 100, received \"\\\"5\\\"\"",
        "since: must be a day that exists, from 0001-01-01 to 9999-12-31, received \"2023-02-29\"",
        "ratings: is not an argument of this tool, which takes rating, min_rating, max_rating, since, until, \
         query, words, mentions_technician, mentions_service, aspect, polarity, has_reply, language, source, limit, sort, \
         cursor, received \"5\"",
        "sort: must be one of newest, oldest, highest, lowest, received \"best\"",
        "min_rating: must be a number from 1 to 5 with at most six decimal places, received \"true\"",
    ];
    assert_eq!(lines, expected);
    let many: serde_json::Map<String, Value> =
        (0..30).map(|at| (format!("a{at}"), json!(1))).collect();
    let lines = refusal("search_reviews", Value::Object(many));
    assert_eq!((lines.len(), lines[20].as_str()), (21, "and 10 more"));
}

#[test]
fn each_tool_refuses_what_it_cannot_use() {
    for (tool, arguments, start) in [
        (
            "get_business",
            json!({"verbose": true}),
            "verbose: is not an argument of this tool, which takes none",
        ),
        ("get_review", json!({}), "id: must be the id of a review"),
        (
            "get_review",
            json!({"id": "nobody"}),
            "id: no published review has this id",
        ),
        (
            "get_review",
            json!({"id": 5}),
            "id: must be the id of a review",
        ),
        (
            "get_technician",
            json!({"name": ""}),
            "name: must be the name of a person",
        ),
        (
            "get_technician",
            json!({"name": "Nobody"}),
            "name: is unknown; there are ",
        ),
        (
            "get_technician",
            json!({"name": "x".repeat(1_025)}),
            "name: must be the name of a person",
        ),
        (
            "get_service",
            json!({"service": "catering"}),
            "service: is unknown; ",
        ),
        (
            "get_aspect_sentiment",
            json!({"aspect": "catering"}),
            "aspect: is unknown; the nearest names: ",
        ),
        (
            "list_reviews_since",
            json!({}),
            "date: must be a string of the form YYYY-MM-DD",
        ),
        (
            "list_reviews_since",
            json!({"date": 2024}),
            "date: must be a string of the form YYYY-MM-DD",
        ),
        (
            "list_reviews_since",
            json!({"date": "2024-13-01"}),
            "date: must be a day that exists",
        ),
        (
            "list_reviews_since",
            json!({"date": "2024-01-01", "rating": 5}),
            "rating: is not an argument",
        ),
        (
            "list_reviews_since",
            json!({"date": "2024-01-01", "limit": 0}),
            "limit: must be an integer",
        ),
        (
            "search_reviews",
            json!({"cursor": "x"}),
            "cursor: must be the next_cursor",
        ),
    ] {
        let lines = refusal(tool, arguments.clone());
        assert!(
            lines.len() == 1 && lines[0].starts_with(start),
            "{tool} {arguments}: {lines:?}"
        );
    }
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let count = |arguments: Value| {
        call(catalog(), "search_reviews", arguments)["structuredContent"]["matched"].clone()
    };
    let raw = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_reviews","arguments":{"rating":5.0,"limit":1.0e0}}}"#;
    let (status, answer) = post(&head(), raw);
    assert_eq!(status, 200);
    assert_eq!(
        answer["result"]["structuredContent"]["matched"],
        count(json!({"rating": 5}))
    );
    assert_eq!(
        count(json!({"min_rating": 4.5})),
        count(json!({"rating": 5}))
    );
    assert_eq!(
        count(json!({"rating": null, "query": ""})),
        count(json!({}))
    );
}

#[test]
fn protocol_errors_are_for_tools_and_shapes_that_do_not_exist() {
    for (method, params) in [
        ("tools/call", json!({"name": "get_everything"})),
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        (
            "tools/call",
            json!({"name": "get_business", "arguments": []}),
        ),
        ("tools/list", json!({"cursor": "x"})),
        ("resources/list", json!({"cursor": 5})),
        ("resources/templates/list", json!({"cursor": "x"})),
        ("prompts/list", json!({"cursor": "x"})),
    ] {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let (status, answer) = post(&head(), body.as_bytes());
        assert_eq!(
            (status, &answer["error"]["code"]),
            (200, &json!(-32_602)),
            "{params}"
        );
    }
}
