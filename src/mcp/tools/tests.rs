//! Every tool's answer against its own schema and its bounds.

mod refusals;
mod rest;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Answer, TOOLS};
use crate::mcp::Catalog;
use crate::mcp::tests::{call, catalog, result};
use crate::model::Row;

fn listed(catalog: &Catalog) -> Vec<Value> {
    let mut list = result(catalog, "tools/list", json!({}));
    match list["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("no list of tools but {other}"),
    }
}

fn schema(catalog: &Catalog, tool: &str, key: &str) -> Validator {
    let tools = listed(catalog);
    let tool = tools
        .iter()
        .find(|other| other["name"] == tool)
        .expect("a tool");
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&tool[key])
        .expect("a schema")
}

/// Calls a tool and returns its structured content, after checking it against schema, bound and the text copy.
fn checked(catalog: &Catalog, validator: &Validator, tool: &str, arguments: &Value) -> Value {
    let mut answer = call(catalog, tool, arguments.clone());
    assert!(
        answer.get("isError").is_none(),
        "{tool} {arguments}: {answer}"
    );
    let text = answer["content"][0]["text"]
        .as_str()
        .expect("a text block")
        .to_owned();
    let content = answer["structuredContent"].take();
    assert!(
        text.len() < 50_000,
        "{tool} {arguments}: {} bytes",
        text.len()
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("the text is JSON"),
        content
    );
    let problems: Vec<String> = validator
        .iter_errors(&content)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{tool} {arguments}: {problems:?}");
    content
}

fn names(catalog: &Catalog, list: &str, key: &str) -> Vec<String> {
    let names = call(catalog, "list_services_and_technicians", json!({}));
    let items = names["structuredContent"][list]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let name = |item: &Value| item[key].as_str().map(str::to_owned);
    items.iter().filter_map(name).collect()
}

/// Arguments for every tool: each name there is, pages of every size, and some reviews.
fn arguments(catalog: &Catalog) -> Vec<(&'static str, Value)> {
    let ready = TOOLS
        .iter()
        .filter(|(.., answer)| matches!(answer, Answer::Ready(_)));
    let mut calls: Vec<(&'static str, Value)> =
        ready.map(|(tool, ..)| (*tool, json!({}))).collect();
    for name in names(catalog, "technicians", "name") {
        calls.push(("get_technician", json!({"name": name})));
        calls.push((
            "search_reviews",
            json!({"mentions_technician": name.to_uppercase()}),
        ));
    }
    for id in names(catalog, "services", "id") {
        calls.push(("get_service", json!({"service": id})));
        calls.push((
            "search_reviews",
            json!({"mentions_service": id, "sort": "lowest"}),
        ));
    }
    for aspect in names(catalog, "aspects", "id") {
        calls.push(("get_aspect_sentiment", json!({"aspect": aspect})));
        calls.push((
            "get_aspect_sentiment",
            json!({"aspect": aspect, "polarity": "negative"}),
        ));
    }
    for limit in [1, 20, 50, 51, 100] {
        for sort in ["newest", "oldest", "highest", "lowest"] {
            calls.push(("search_reviews", json!({"limit": limit, "sort": sort})));
        }
        calls.push((
            "list_reviews_since",
            json!({"date": "2020-02-29", "limit": limit}),
        ));
    }
    for words in ["the", "the zzzz and to of", "zzzz yyyy"] {
        calls.push(("search_reviews", json!({"query": words, "limit": 100})));
        calls.push(("search", json!({"query": words})));
    }
    calls.push(("get_insights", json!({})));
    for section in [
        "aspects", "entities", "topics", "temporal", "faq", "method", "coverage", "limits",
    ] {
        calls.push(("get_insights", json!({"sections": [section, "coverage"]})));
    }
    calls.push(("list_reviews_since", json!({"date": "9999-12-31"})));
    for row in 0..catalog.snapshot.len() {
        for tool in ["get_review", "fetch"] {
            calls.push((tool, json!({"id": catalog.snapshot.index.id(Row(row))})));
        }
    }
    calls
}

#[test]
fn every_answer_fits_its_schema_and_its_bound() {
    let validators = TOOLS.each_ref().map(|(tool, ..)| {
        let schema = |key| schema(catalog(), tool, key);
        (*tool, schema("outputSchema"), schema("inputSchema"))
    });
    for (tool, arguments) in arguments(catalog()) {
        let found = validators.iter().find(|(name, ..)| *name == tool);
        let (_, output, input) = found.expect("a tool of ours");
        assert!(input.is_valid(&arguments), "{tool} {arguments}");
        checked(catalog(), output, tool, &arguments);
    }
}

#[test]
fn the_lists_are_what_they_were() {
    let text = |method: &str| {
        let mut list = result(catalog(), method, json!({}));
        for item in list["resources"].as_array_mut().into_iter().flatten() {
            // Both change with every word of the sample.
            item["size"] = json!("[size]");
            item["annotations"]["lastModified"] = json!("[time]");
        }
        serde_json::to_string_pretty(&list).expect("JSON")
    };
    insta::assert_snapshot!("tools_list", text("tools/list"));
    insta::assert_snapshot!("resources_list", text("resources/list"));
    insta::assert_snapshot!("templates_list", text("resources/templates/list"));
    insta::assert_snapshot!("prompts_list", text("prompts/list"));
}

#[test]
fn tools_say_what_clients_need_of_them() {
    assert!(catalog().tools_list.len() <= 15_000);
    let tools = listed(catalog());
    let order: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(order, TOOLS.each_ref().map(|(tool, ..)| *tool));
    for tool in &tools {
        let name = &tool["name"];
        let description = tool["description"].as_str().unwrap_or_default();
        assert!((100..2_048).contains(&description.len()), "{name}");
        assert_eq!(tool["title"], tool["annotations"]["title"], "{name}");
        let hints = [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ];
        let hints = hints.map(|hint| tool["annotations"][hint].as_bool());
        assert_eq!(
            hints,
            [Some(true), Some(false), Some(true), Some(false)],
            "{name}"
        );
        for key in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[key]["type"], "object", "{name}");
            assert!(jsonschema::meta::is_valid(&tool[key]), "{name}");
            check_portable(&tool[key]);
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
    }
}

/// One type for each property, nothing by reference: what the strictest clients read.
fn check_portable(schema: &Value) {
    match schema {
        Value::Object(members) => {
            assert!(!members.contains_key("$ref"), "{schema}");
            assert!(
                !members.get("type").is_some_and(Value::is_array),
                "{schema}"
            );
            members.values().for_each(check_portable);
        }
        Value::Array(items) => items.iter().for_each(check_portable),
        _ => {}
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition() {
    let output = schema(catalog(), "search_reviews", "outputSchema");
    for (limit, sort) in [(7, "newest"), (100, "highest")] {
        let mut seen = Vec::new();
        let mut arguments = json!({"limit": limit, "sort": sort});
        loop {
            let page = checked(catalog(), &output, "search_reviews", &arguments);
            let reviews = page["reviews"].as_array().expect("reviews");
            assert_eq!(page["matched"], catalog().snapshot.len());
            assert_eq!(page["returned"], reviews.len());
            seen.extend(
                reviews
                    .iter()
                    .map(|review| review["id"].as_str().map(str::to_owned)),
            );
            match page["next_cursor"].as_str() {
                Some(cursor) => arguments["cursor"] = json!(cursor),
                None => break,
            }
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(
            (seen.len(), count as u32),
            (count, catalog().snapshot.len()),
            "{sort}"
        );
    }
}

#[test]
fn fifty_reviews_take_at_most_two_thirds_of_their_stored_bytes() {
    let page = call(catalog(), "search_reviews", json!({"limit": 50}))["structuredContent"].take();
    let snapshot = &catalog().snapshot;
    let stored: usize = (0..50).map(|row| snapshot.review(Row(row)).len()).sum();
    let short = page["reviews"].to_string().len();
    assert!(3 * short <= 2 * stored, "{short} of {stored} bytes");
    for (row, review) in (0..50).zip(page["reviews"].as_array().expect("reviews")) {
        let whole: Value = serde_json::from_slice(snapshot.review(Row(row))).expect("JSON");
        for (key, value) in review.as_object().expect("an object") {
            assert_eq!(*value, whole[key], "{row}.{key}");
        }
    }
}

#[test]
fn an_aspect_is_quoted_by_polarity_and_found_by_label_id_and_phrase() {
    let ask = |arguments: Value| {
        call(catalog(), "get_aspect_sentiment", arguments)["structuredContent"].take()
    };
    let fees = ask(json!({"aspect": "fees"}));
    assert_eq!(ask(json!({"aspect": "FEES and billing"})), fees);
    assert_eq!(ask(json!({"aspect": "invoice"})), fees);
    for polarity in ["negative", "neutral", "positive"] {
        let quotes = fees["quotes"][polarity].as_array().expect("quotes");
        assert!((1..=5).contains(&quotes.len()), "{polarity}");
        for quote in quotes {
            let id = quote["review_id"].as_str().expect("an id");
            let review = &call(catalog(), "get_review", json!({"id": id}))["structuredContent"];
            let (text, said) = (
                review["text"].as_str(),
                quote["quote"].as_str().expect("a quote"),
            );
            assert!(text.is_some_and(|text| text.contains(said)), "{quote}");
            assert_eq!(
                (&quote["rating"], &quote["date"]),
                (&review["rating"], &review["date"])
            );
            assert_eq!(
                quote["url"],
                format!("https://reviews.example/api/reviews/{id}")
            );
        }
    }
    let complaints = ask(json!({"aspect": "fees", "polarity": "negative"}));
    assert_eq!(
        complaints["quotes"].as_object().map(|quotes| quotes.len()),
        Some(1)
    );
    let count = complaints["quotes"]["negative"].as_array().map(Vec::len);
    assert!(count.is_some_and(|count| count > 5
        && count as u64 <= fees["sentiment"]["negative_count"].as_u64().unwrap_or(0)));
}

#[test]
fn insights_are_a_summary_and_sections_by_name() {
    let ask =
        |arguments: Value| call(catalog(), "get_insights", arguments)["structuredContent"].take();
    let summary = ask(json!({}));
    assert!(
        summary.to_string().len() < 6_000,
        "{}",
        summary.to_string().len()
    );
    assert!(
        summary["aspects"]
            .as_array()
            .is_some_and(|aspects| aspects.len() > 10)
    );
    for section in summary["sections"].as_array().expect("sections") {
        let section = section.as_str().expect("a name");
        let answer = ask(json!({"sections": section}));
        assert!(answer[section] != Value::Null, "{section}");
    }
    let two = ask(json!({"sections": ["entities", "temporal"]}));
    assert!(two["entities"]["technicians"].is_array() && two["temporal"]["monthly"].is_array());
}

#[test]
fn search_and_fetch_have_the_form_that_connectors_ask_for() {
    let found = call(catalog(), "search", json!({"query": "adoption"}));
    let results = found["structuredContent"]["results"]
        .as_array()
        .expect("results");
    assert!(!results.is_empty() && results.len() <= 10);
    for result in results {
        let document =
            call(catalog(), "fetch", json!({"id": result["id"]}))["structuredContent"].take();
        assert_eq!(
            (&document["id"], &document["url"]),
            (&result["id"], &result["url"])
        );
        assert!(
            document["text"]
                .as_str()
                .is_some_and(|text| text.to_lowercase().contains("adoption"))
        );
        assert!(document["title"].is_string() && document["metadata"]["author"].is_string());
    }
}

#[test]
fn the_registry_file_says_what_the_card_says() {
    let file: Value =
        serde_json::from_str(include_str!("../../../deploy/registry/server.json")).expect("JSON");
    let card: Value = serde_json::from_slice(&catalog().server_card.body).expect("JSON");
    for key in ["name", "description", "version"] {
        assert_eq!(file[key], card[key], "{key}");
    }
    assert_eq!(file["remotes"][0]["url"], card["remotes"][0]["url"]);
    assert!(
        card["description"]
            .as_str()
            .is_some_and(|text| text.len() <= 100)
    );
}

#[test]
fn the_review_card_is_a_page_that_loads_nothing_from_elsewhere() {
    let tools = listed(catalog());
    let search = tools
        .iter()
        .find(|tool| tool["name"] == "search_reviews")
        .expect("a tool");
    let uri = &search["_meta"]["ui"]["resourceUri"];
    let answer = result(catalog(), "resources/read", json!({"uri": uri}));
    let content = &answer["contents"][0];
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app");
    let page = content["text"].as_str().expect("a page");
    assert!(page.starts_with("<!doctype html>") && !page.contains("http"));
    assert!(!page.contains("innerHTML") && page.contains("ui/notifications/tool-result"));
}
