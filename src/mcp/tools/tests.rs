//! Every tool's answer against its own schema and its bounds.

mod refusals;
mod rest;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::mcp::Catalog;
use crate::mcp::tests::{call, catalog, catalog_of, corpus, result};
use crate::model::Row;

const TOOLS: [&str; 11] = [
    "get_business",
    "search_reviews",
    "get_review",
    "list_reviews_since",
    "get_rating_summary",
    "get_insights",
    "get_aspect_sentiment",
    "get_technician",
    "get_service",
    "list_services_and_technicians",
    "get_faq",
];

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
    let name = |item: &Value| item[key].as_str().or(item.as_str()).map(str::to_owned);
    items.iter().filter_map(name).collect()
}

/// Arguments for every tool: each name there is, pages of every size, and some reviews.
fn arguments(catalog: &Catalog) -> Vec<(&'static str, Value)> {
    let mut calls: Vec<(&'static str, Value)> = TOOLS
        .into_iter()
        .filter(|tool| catalog.fixed_result(tool).is_some())
        .map(|tool| (tool, json!({})))
        .collect();
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
    calls.push((
        "search_reviews",
        json!({"query": "no review holds these words"}),
    ));
    calls.push(("list_reviews_since", json!({"date": "9999-12-31"})));
    let rows = catalog.snapshot.len();
    for row in (0..rows).step_by((rows as usize / 200).max(1)) {
        calls.push((
            "get_review",
            json!({"id": catalog.snapshot.index.id(Row(row))}),
        ));
    }
    calls
}

fn check_all(catalog: &Catalog) {
    let validators = TOOLS.map(|tool| {
        (
            tool,
            schema(catalog, tool, "outputSchema"),
            schema(catalog, tool, "inputSchema"),
        )
    });
    for (tool, arguments) in arguments(catalog) {
        let found = validators.iter().find(|(name, ..)| *name == tool);
        let (_, output, input) = found.expect("a tool of ours");
        assert!(input.is_valid(&arguments), "{tool} {arguments}");
        checked(catalog, output, tool, &arguments);
    }
}

#[test]
fn every_answer_fits_its_schema_and_its_bound() {
    check_all(catalog());
}

#[test]
fn every_answer_over_the_corpus_fits_its_schema_and_its_bound() {
    if let Some(catalog) = corpus() {
        check_all(catalog);
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
    let tools = listed(catalog());
    let order: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(order, TOOLS);
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
    for (limit, sort) in [
        (7, "newest"),
        (50, "lowest"),
        (100, "oldest"),
        (100, "highest"),
    ] {
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
fn reviews_come_whole_up_to_50_and_short_above() {
    let reviews = |limit: u8| {
        call(catalog(), "search_reviews", json!({"limit": limit}))["structuredContent"]["reviews"]
            .clone()
    };
    let whole =
        |review: &Value| review.get("source").is_some() && review.get("text_truncated").is_none();
    assert!(reviews(50).as_array().expect("reviews").iter().all(whole));
    let short = reviews(51);
    let short = short.as_array().expect("reviews");
    assert_eq!(short.len(), 51);
    for review in short {
        let id = review["id"].as_str().expect("an id");
        let full = &call(catalog(), "get_review", json!({"id": id}))["structuredContent"];
        let text = full["text"].as_str().expect("a text");
        let cut: String = text.chars().take(160).collect();
        assert_eq!(review["text"], cut);
        assert_eq!(review["text_truncated"], text.chars().count() > 160);
        assert!(review.get("source").is_none());
    }
}

#[test]
fn an_answer_is_the_same_from_prepared_reviews() {
    let catalog = catalog_of(crate::dataset::embedded());
    let all: Vec<(&str, Value)> = [1, 2, 20, 50, 51]
        .into_iter()
        .map(|limit| ("search_reviews", json!({"limit": limit, "min_rating": 4})))
        .chain([
            (
                "search_reviews",
                json!({"query": "a", "limit": 7, "sort": "lowest"}),
            ),
            ("search_reviews", json!({"query": "no such words"})),
            ("list_reviews_since", json!({"date": "2020-01-01"})),
        ])
        .collect();
    let answers = || -> Vec<Value> {
        let answer = |(tool, arguments): &(&str, Value)| call(&catalog, tool, arguments.clone());
        all.iter().map(answer).collect()
    };
    let before = answers();
    catalog.snapshot.compress(|| false);
    assert_eq!(before, answers());
}
