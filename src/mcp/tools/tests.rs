//! Every tool's answer against its own schema, its bounds, and the answers of REST.

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mcp::Catalog;
use crate::mcp::tests::{call, catalog, catalog_of, corpus, result};
use crate::model::Row;
use crate::search::query::{Buffers, parse_query};
use crate::search::run::{Scratch, run};

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
    // The macro sorts the arguments by name; lines follow the order in which they came.
    let expected = [
        "limit: must be an integer from 1 to 100, received \"\\\"5\\\"\"",
        "min_rating: must be a number from 1 to 5 with at most six decimal places, received \"true\"",
        "rating: must be an integer from 1 to 5, received \"9\"",
        "ratings: is not an argument of this tool, which takes rating, min_rating, since, until, query, \
         mentions_technician, mentions_service, limit, sort, cursor, received \"5\"",
        "since: must be a day that exists, from 0001-01-01 to 9999-12-31, received \"2023-02-29\"",
        "sort: must be one of newest, oldest, highest, lowest, received \"best\"",
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
            "name: must be one of ",
        ),
        (
            "get_technician",
            json!({"name": "x".repeat(1_025)}),
            "name: must be the name of a person",
        ),
        (
            "get_service",
            json!({"service": "catering"}),
            "service: must be one of ",
        ),
        (
            "get_aspect_sentiment",
            json!({"aspect": "catering"}),
            "aspect: must be one of ",
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
    let (status, answer) = crate::mcp::tests::post(&crate::mcp::tests::head(), raw);
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
    for params in [
        json!({"name": "get_everything"}),
        json!({"name": "test_simple_text"}),
        json!({}),
        json!({"name": 5}),
        json!({"name": "get_business", "arguments": []}),
        json!({"name": "get_business", "arguments": "x"}),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            .to_string();
        let (status, answer) = crate::mcp::tests::post(&crate::mcp::tests::head(), body.as_bytes());
        assert_eq!(
            (status, &answer["error"]["code"]),
            (200, &json!(-32_602)),
            "{params}"
        );
    }
    for method in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        for cursor in [json!("x"), json!(""), json!(5)] {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"cursor": cursor}})
                    .to_string();
            let (_, answer) = crate::mcp::tests::post(&crate::mcp::tests::head(), body.as_bytes());
            assert_eq!(answer["error"]["code"], -32_602, "{method} {cursor}");
        }
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

/// A search as REST answers it: matched, ids in order, the cursor.
fn rest(catalog: &Catalog, query: &str) -> Option<(u32, Vec<String>, Option<String>)> {
    let mut buffers = Buffers::default();
    let query = parse_query(query.as_bytes(), &mut buffers).ok()?;
    let index = &catalog.snapshot.index;
    let page = run(index, &query, &mut Scratch::default());
    let ids = page
        .rows
        .iter()
        .map(|row| index.id(*row).to_owned())
        .collect();
    Some((page.matched, ids, page.next.map(|cursor| cursor.render())))
}

fn same(catalog: &Catalog, arguments: &Value) {
    let pairs = arguments
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
            format!("{name}={encoded}")
        });
    let expected = rest(catalog, &pairs.collect::<Vec<_>>().join("&"));
    let answer = call(catalog, "search_reviews", arguments.clone());
    let page = &answer["structuredContent"];
    let Some((matched, ids, next)) = expected else {
        assert_eq!(answer["isError"], true, "{arguments}");
        return;
    };
    let reviews = page["reviews"].as_array().expect("reviews");
    let found: Vec<&str> = reviews
        .iter()
        .filter_map(|review| review["id"].as_str())
        .collect();
    assert_eq!(page["matched"], matched, "{arguments}");
    // A page that grows too large ends early, and its cursor goes on from there.
    assert_eq!(found, ids[..found.len()], "{arguments}");
    if found.len() == ids.len() {
        assert_eq!(page["next_cursor"].as_str(), next.as_deref(), "{arguments}");
    } else {
        assert!(
            page["next_cursor"].is_string() && !found.is_empty(),
            "{arguments}"
        );
    }
}

fn filters() -> impl Strategy<Value = Value> {
    let optional =
        |strategy: BoxedStrategy<Value>| prop_oneof![3 => Just(None), 1 => strategy.prop_map(Some)];
    let date = || {
        "20(19|2[0-6])-(0[1-9]|1[0-3])-([0-2][0-9]|3[01])"
            .prop_map(Value::from)
            .boxed()
    };
    let words = [
        "the",
        "called",
        "EXPENSIVE",
        "é",
        "a",
        "divorce",
        "!",
        "no such words",
        "",
    ];
    let people = ["Ingrid", "adaeze okafor", "Nobody", "Ms. Thornquist"];
    let services = ["divorce", "Probate", "estate-planning", "catering"];
    (
        optional((0..7u8).prop_map(Value::from).boxed()),
        optional(prop::sample::select(vec![json!(1), json!(3), json!(4.5), json!(5.5)]).boxed()),
        optional(date()),
        optional(date()),
        optional(
            prop::sample::select(words.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional(
            prop::sample::select(people.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional(
            prop::sample::select(services.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional((0..103u8).prop_map(Value::from).boxed()),
        optional(
            prop::sample::select(vec!["newest", "oldest", "highest", "lowest", "best"])
                .prop_map(Value::from)
                .boxed(),
        ),
    )
        .prop_map(|parts| {
            let named = [
                ("rating", parts.0),
                ("min_rating", parts.1),
                ("since", parts.2),
                ("until", parts.3),
                ("query", parts.4),
                ("mentions_technician", parts.5),
                ("mentions_service", parts.6),
                ("limit", parts.7),
                ("sort", parts.8),
            ];
            let members = named
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Value::Object(members.collect())
        })
}

proptest! {
    #[test]
    fn search_answers_as_rest_does(arguments in filters()) {
        same(catalog(), &arguments);
        if let Some(corpus) = corpus() {
            same(corpus, &arguments);
        }
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
