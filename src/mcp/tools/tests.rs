//! Tests every tool's result against its schema and its limits, and the refusals, which a model must understand.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Members, TOOLS, get_aspect_sentiment, get_technician, search, search_reviews};
use crate::dataset::NAME_BYTES_MAX;
use crate::dataset::names::add_listed;
use crate::dataset::sample;
use crate::mcp::Origin;
use crate::mcp::catalog::Catalog;
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::ResultJson;
use crate::mcp::tests::{
    answer, ask, call, catalog, catalog_of, code, meta, request, server, with,
};
use crate::model::{BusinessTechnician, Rating, Row};
use crate::search::issue::Issues;
use crate::search::query::Parameter;
use crate::search::work::Work;
use crate::snapshot::Snapshot;
use crate::snapshot::tests::settings;

fn listed() -> Vec<Value> {
    match ask("tools/list", json!({}))["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("no list of tools but {other}"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// Arguments for every tool: every known name, pages of several sizes and orders, and some reviews.
fn arguments() -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("get_business", json!({})),
        ("get_rating_summary", json!({})),
        ("list_services_and_technicians", json!({})),
        ("get_faq", json!({})),
        ("get_insights", json!({})),
        ("search_reviews", json!({"query": "the", "limit": 100})),
        ("list_reviews_since", json!({"date": "9999-12-31"})),
    ];
    let mut each = |tool: &'static str, key: &str, values: &[Value]| {
        calls.extend(values.iter().map(|value| (tool, json!({key: value}))));
    };
    let names = answer("list_services_and_technicians", json!({}));
    let names = |list_of: &str, key: &str| -> Vec<Value> {
        let items = list(&names[list_of]).iter();
        items.map(|item| item[key].clone()).collect()
    };
    let people = names("technicians", "name");
    let services = names("services", "id");
    each("search_reviews", "mentions_technician", &people);
    each("get_technician", "name", &people);
    each("search_reviews", "mentions_service", &services);
    each("get_service", "service", &services);
    each("get_aspect_sentiment", "aspect", &names("aspects", "id"));
    let orders = ["newest", "oldest", "highest", "lowest"].map(Value::from);
    each("search_reviews", "sort", &orders);
    let words = ["the zzzz and to of", "zzzz yyyy"].map(Value::from);
    each("search_reviews", "query", &words);
    each("search", "query", &words);
    let sections = crate::mcp::catalog::SECTIONS.map(|section| json!([section, "coverage"]));
    each("get_insights", "sections", &sections);
    let index = &catalog().snapshot.index;
    let rows = (0..catalog().snapshot.len()).step_by(9).map(Row);
    let ids: Vec<Value> = rows.map(|row| index.id(row).into()).collect();
    each("get_review", "id", &ids);
    each("fetch", "id", &ids);
    each("list_reviews_since", "date", &["2020-02-29".into()]);
    calls
}

#[test]
fn every_answer_fits_its_schema_and_its_bound_in_both_copies() {
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    let schemas = |tool: &Value| {
        ["inputSchema", "outputSchema"].map(|key| options.build(&tool[key]).expect("a schema"))
    };
    let tools = listed();
    let tools: HashMap<&str, [Validator; 2]> = tools
        .iter()
        .map(|tool| (text(&tool["name"]), schemas(tool)))
        .collect();
    for (tool, arguments) in arguments() {
        let [input, output] = &tools[tool];
        assert!(input.is_valid(&arguments), "{tool} {arguments}");
        let result = call(tool, arguments.clone());
        assert!(result.get("isError").is_none(), "{tool} {arguments}");
        let copy = &result["content"][0]["text"];
        let content = &result["structuredContent"];
        let copy = text(copy);
        assert!(copy.len() < 50_000, "{tool} {arguments}: {}", copy.len());
        assert_eq!(serde_json::from_str::<Value>(copy).expect("JSON"), *content);
        let problems = output.iter_errors(content).map(|error| error.to_string());
        let problems: Vec<String> = problems.collect();
        assert!(problems.is_empty(), "{tool} {arguments}: {problems:?}");
    }
}

/// Except for the fields of a whole review and the parts of the insights, which their documents describe.
#[test]
fn every_key_of_an_answer_is_in_its_schema() {
    let mut calls = arguments();
    let both = json!({"sections": ["faq"], "since": "2020-01-01"});
    calls.push(("get_insights", both));
    let tools = listed();
    for (tool, arguments) in calls {
        let listed = tools.iter().find(|listed| listed["name"] == tool);
        let schema = &listed.expect("a tool")["outputSchema"]["properties"];
        let result = call(tool, arguments.clone());
        let content = result["structuredContent"].as_object().expect("an object");
        for key in content.keys() {
            let is_described = match tool {
                "get_review" => true,
                "get_insights" => key != "hint" && key != "period",
                _ => false,
            };
            assert!(
                is_described || schema.get(key).is_some(),
                "{tool} {arguments}: {key}"
            );
        }
    }
}

#[test]
fn tools_say_what_clients_need_of_them() {
    let tools = listed();
    let order = tools.iter().map(|tool| text(&tool["name"]));
    assert!(order.eq(TOOLS.each_ref().map(|(tool, _)| *tool)));
    for tool in &tools {
        let name = &tool["name"];
        let length = text(&tool["description"]).len();
        assert!((100..2_048).contains(&length), "{name}");
        let expected = json!({
            "title": tool["title"], "readOnlyHint": true, "destructiveHint": false, "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], expected, "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object", "{name}");
            assert!(jsonschema::meta::is_valid(schema), "{name}");
            // One type for each property and no references, because the strictest clients support nothing else.
            let schema = schema.to_string();
            for foreign in ["\"$ref\"", "\"type\":["] {
                assert!(!schema.contains(foreign), "{name}");
            }
        }
    }
}

/// Names do not change the size, except that of the business and the public address in `_meta`: the rest is left to grow.
#[test]
fn the_list_of_tools_keeps_its_bound_in_every_revision_whatever_the_names() {
    let catalog = catalog_of(|review| review.mentioned_technicians = vec!["Ä".repeat(500)]);
    let head = with(&[
        ("protocol_version", "2026-07-28"),
        ("mcp_method", "tools/list"),
    ]);
    for (head, params) in [(head, json!({"_meta": meta()})), (with(&[]), json!({}))] {
        let body = request("tools/list", params);
        let reply = server().handle(&catalog, &head, Origin::Absent, body.as_bytes());
        let bytes = reply.body.len();
        assert!((17_500..=20_000).contains(&bytes), "{bytes} bytes");
    }
}

#[test]
fn the_schemas_list_exactly_the_arguments_that_are_accepted() {
    let search = listed().remove(1);
    let properties = search["inputSchema"]["properties"]
        .as_object()
        .expect("an object");
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let mut accepted = Parameter::all().map(Parameter::name);
    names.sort_unstable();
    accepted.sort_unstable();
    assert_eq!(names, accepted);
    // The refusal of an unknown argument lists those that the tool accepts.
    for tool in listed() {
        let lines = refusal(text(&tool["name"]), json!({"zzz": 1}));
        let names = tool["inputSchema"]["properties"]
            .as_object()
            .expect("an object")
            .keys();
        let line = lines
            .iter()
            .find(|line| line.starts_with("zzz: "))
            .expect("a line");
        for name in names {
            assert!(line.contains(&**name), "{line}");
        }
    }
}

#[test]
fn a_page_that_would_be_too_long_ends_early_and_goes_on_without_gap_or_repetition() {
    let catalog = catalog_of(|review| review.text = "x".repeat(5_000));
    let mut arguments = serde_json::Map::new();
    arguments.insert("limit".to_owned(), json!(100));
    let mut seen = Vec::new();
    loop {
        let page =
            search_reviews(&catalog, &arguments, &mut RequestWork::new()).expect("it is right");
        assert!(page.len() < 50_000);
        let page: Value = serde_json::from_slice(page.json()).expect("JSON");
        let reviews = list(&page["reviews"]);
        assert_eq!(page["returned"], reviews.len());
        seen.extend(reviews.iter().map(|review| text(&review["id"]).to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        assert!((18..25).contains(&reviews.len()));
        arguments.insert("cursor".to_owned(), json!(cursor));
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!([seen.len(), count], [catalog.snapshot.len() as usize; 2]);
}

#[test]
fn fifty_reviews_take_at_most_two_thirds_of_their_stored_bytes() {
    let page = answer("search_reviews", json!({"limit": 50}));
    let snapshot = &catalog().snapshot;
    let stored: usize = (0..50)
        .map(|row| snapshot.review_json(Row(row)).len())
        .sum();
    let short = page["reviews"].to_string().len();
    assert!(3 * short <= 2 * stored, "{short} of {stored} bytes");
    for (row, review) in (0..50).zip(list(&page["reviews"])) {
        let whole: Value = serde_json::from_slice(snapshot.review_json(Row(row))).expect("JSON");
        let url = format!("https://reviews.example/reviews/{}", text(&review["id"]));
        let url = json!(url);
        for (key, value) in review.as_object().expect("an object") {
            let expected = if key == "url" { &url } else { &whole[key] };
            assert_eq!(value, expected, "{row}.{key}");
        }
    }
}

#[test]
fn an_aspect_is_quoted_by_polarity_and_found_by_label_id_and_phrase() {
    let ask = |arguments: Value| answer("get_aspect_sentiment", arguments);
    let fees = ask(json!({"aspect": "fees"}));
    for (name, by) in [("FEES and billing", "alias"), ("invoice", "phrase")] {
        let mut found = ask(json!({"aspect": name}));
        assert_eq!(found["resolved_names"][0]["by"], by, "{name}");
        found
            .as_object_mut()
            .expect("an object")
            .remove("resolved_names");
        assert_eq!(found, fees, "{name}");
    }
    for polarity in ["negative", "neutral", "positive"] {
        let quotes = list(&fees["quotes"][polarity]);
        assert!((1..=5).contains(&quotes.len()), "{polarity}");
        for quote in quotes {
            let id = text(&quote["review_id"]);
            let review = answer("get_review", json!({"id": id}));
            let is_quoted = text(&review["text"]).contains(text(&quote["quote"]));
            assert!(is_quoted, "{quote}");
            for key in ["author", "rating", "date"] {
                assert_eq!(quote[key], review[key], "{quote}");
            }
            let url = format!("https://reviews.example/reviews/{id}");
            assert_eq!(quote["url"], url);
        }
    }
    assert_eq!(ask(json!({"aspect": "fees", "polarity": ""})), fees);
    let complaints = ask(json!({"aspect": "fees", "polarity": "negative"}));
    let quotes = complaints["quotes"].as_object().expect("quotes");
    assert_eq!(quotes.len(), 1);
    let count = list(&quotes["negative"]).len() as u64;
    let all = fees["sentiment"]["negative_count"].as_u64();
    assert!(count > 5);
    assert!(Some(count) <= all);
}

#[test]
fn an_aspect_with_few_mentions_comes_with_its_phrases_and_reviews_that_are_not_counted() {
    let aspects = answer("get_insights", json!({}))["aspects"].clone();
    for aspect in list(&aspects) {
        let found = answer("get_aspect_sentiment", json!({"aspect": aspect["id"]}));
        assert!(found["coverage"].is_object(), "{aspect}");
        let mentions = aspect["mention_count"].as_u64().expect("a number");
        let is_one_sided = aspect["positive_count"] == 0 || aspect["negative_count"] == 0;
        let is_scarce = mentions < 5 || is_one_sided;
        assert_eq!(
            found.get("counted_phrases").is_some(),
            is_scarce,
            "{aspect}"
        );
        let beyond = found["beyond"].as_array().map(Vec::as_slice);
        let beyond = beyond.unwrap_or_default();
        assert!(beyond.len() <= 5, "{aspect}");
        let quotes = found["quotes"].as_object().expect("quotes");
        let mut quotes = quotes.values().flat_map(list);
        let is_counted = |quote: &Value| {
            beyond
                .iter()
                .any(|review| review["id"] == quote["review_id"])
        };
        assert!(!quotes.any(is_counted), "{aspect}");
    }
    let common = answer("get_aspect_sentiment", json!({"aspect": "fees"}));
    assert!(common.get("beyond").is_none());
}

#[test]
fn a_time_is_compared_with_the_one_before() {
    let year = answer(
        "get_insights",
        json!({"since": "2024-01-01", "until": "2024-12-31"}),
    );
    let period = &year["period"];
    assert_eq!(period["days"], 366);
    assert_eq!(period["before"]["since"], "2022-12-31");
    assert_eq!(period["before"]["until"], "2023-12-31");
    for part in ["now", "before"] {
        let days = &period[part];
        let time = json!({"since": days["since"], "until": days["until"]});
        assert_eq!(days["rating_count"], matched(&time), "{part}");
        for aspect in list(&days["aspects"]) {
            for (count, polarity) in [
                ("review_count", Value::Null),
                ("positive_count", json!("positive")),
                ("negative_count", json!("negative")),
            ] {
                let filters = json!({
                    "since": days["since"], "until": days["until"],
                    "aspect": aspect["id"], "polarity": polarity,
                });
                assert_eq!(aspect[count], matched(&filters), "{part} {aspect} {count}");
            }
        }
    }
    assert!(list(&period["now"]["aspects"]).len() > 3);
    let last = answer("get_insights", json!({"until": "2024-12-31"}));
    assert_eq!(last["period"]["days"], 90);
    assert_eq!(last["period"]["now"]["since"], "2024-10-03");
    let day = answer(
        "get_insights",
        json!({"since": "2024-12-31", "until": "2024-12-31"}),
    );
    assert_eq!(day["period"]["days"], 1);
}

/// Counts the reviews that `filters` match.
fn matched(filters: &Value) -> Value {
    let mut query = filters.clone();
    query["limit"] = json!(1);
    answer("search_reviews", query)["matched"].clone()
}

/// Compares counts by stars with a search for each number of stars.
fn assert_distribution(distribution: &Value, filters: &Value) {
    for stars in 1..=5 {
        let mut query = filters.clone();
        query["rating"] = json!(stars);
        let count = &distribution[stars.to_string()];
        assert_eq!(*count, matched(&query), "{query}");
    }
}

#[test]
fn figures_are_what_a_search_counts() {
    let summary = answer("get_rating_summary", json!({}));
    for year in list(&summary["by_year"]) {
        let number = &year["year"];
        let filters =
            json!({"since": format!("{number}-01-01"), "until": format!("{number}-12-31")});
        assert_eq!(year["rating_count"], matched(&filters), "{number}");
        assert_distribution(&year["distribution"], &filters);
    }
    let names = answer("list_services_and_technicians", json!({}));
    for (list_name, name_key, tool, argument, filter) in [
        (
            "services",
            "id",
            "get_service",
            "service",
            "mentions_service",
        ),
        (
            "technicians",
            "name",
            "get_technician",
            "name",
            "mentions_technician",
        ),
    ] {
        for entry in list(&names[list_name]) {
            let name = &entry[name_key];
            let filters = json!({filter: name});
            assert_eq!(entry["mention_count"], matched(&filters), "{name}");
            let figures = answer(tool, json!({argument: name}));
            assert_eq!(figures["mention_count"], entry["mention_count"], "{name}");
            assert_distribution(&figures["distribution"], &filters);
        }
    }
}

#[test]
fn figures_of_all_time_are_not_taken_for_those_of_a_time() {
    let only = answer("get_insights", json!({"since": "2026-05-01"}));
    let keys: Vec<&String> = only.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["period"]);
    let both = answer(
        "get_insights",
        json!({"since": "2026-05-01", "sections": ["entities"]}),
    );
    assert!(text(&both["hint"]).contains("of all time"), "{both}");
    assert_eq!(both["period"], only["period"]);
    let all = answer("get_insights", json!({"sections": ["entities"]}));
    assert_eq!(both["entities"], all["entities"]);
    assert_eq!(all["hint"], Value::Null);
}

#[test]
fn a_time_that_ends_before_it_begins_has_no_reviews() {
    for time in [
        json!({"since": "2025-01-01", "until": "2024-12-31"}),
        json!({"since": "9999-12-31"}),
        json!({"since": "9999-12-31", "until": "0001-01-01"}),
    ] {
        let period = answer("get_insights", time)["period"].clone();
        assert_eq!(period["days"], 0, "{period}");
        for part in ["now", "before"] {
            assert_eq!(period[part]["rating_count"], 0, "{period}");
            assert_eq!(period[part]["aspects"], json!([]), "{period}");
        }
    }
}

#[test]
fn insights_have_at_most_16000_bytes() {
    let sections = crate::mcp::catalog::SECTIONS;
    for section in sections {
        let one = answer("get_insights", json!({"sections": [section]}));
        assert!(one.to_string().len() <= 16_000, "{section}");
    }
    let all = answer("get_insights", json!({"sections": sections}));
    assert!(all.to_string().len() <= 16_000);
    let aspects = answer("get_insights", json!({"sections": ["aspects"]}));
    assert!(aspects.get("shortened").is_none());
}

#[test]
fn the_rating_summary_says_how_the_owner_answers() {
    let replies = answer("get_rating_summary", json!({}))["replies"].clone();
    let found = answer("search_reviews", json!({"has_reply": true, "limit": 1}));
    assert_eq!(replies["reply_count"], found["matched"]);
    let low = json!({"has_reply": false, "max_rating": 2, "limit": 10});
    let low = answer("search_reviews", low);
    assert_eq!(replies["low_unanswered_count"], low["matched"]);
    let ids = |reviews: &Value| -> Vec<String> {
        let reviews = list(reviews).iter();
        reviews
            .map(|review| text(&review["id"]).to_owned())
            .collect()
    };
    assert_eq!(ids(&replies["low_unanswered"]), ids(&low["reviews"]));
    assert!(replies["median_days"].is_u64());
}

#[test]
fn a_search_includes_counts_and_matches_on_request() {
    let found = answer(
        "search_reviews",
        json!({"words": "deadline", "include": "matches,distribution"}),
    );
    let counts = found["distribution"].as_object().expect("counts");
    let sum: u64 = counts.values().filter_map(Value::as_u64).sum();
    assert_eq!(Some(sum), found["matched"].as_u64());
    let first = &found["reviews"][0];
    let range = &found["matches"][text(&first["id"])][0];
    let start = range[0].as_u64().expect("a start") as usize;
    let end = range[1].as_u64().expect("an end") as usize;
    let characters = text(&first["text"]).chars();
    let marked: String = characters.skip(start).take(end - start).collect();
    assert_eq!(marked.to_lowercase(), "deadline");
}

#[test]
fn counts_by_stars_are_part_of_the_work_of_a_batch() {
    let spent = |include: &str| {
        let arguments = json!({"words": "fees", "sort": "newest", "include": include});
        let mut work = RequestWork::new();
        let members = arguments.as_object().expect("an object");
        search_reviews(catalog(), members, &mut work).expect("it is right");
        work.total.spent()
    };
    let plain = spent("");
    let with_counts = spent("distribution");
    assert!(with_counts >= 3 * plain, "{plain}, {with_counts}");
}

#[test]
fn an_unknown_name_is_counted_as_a_word_only_while_work_is_left_for_hints() {
    let problem = |mut work: RequestWork| {
        let members = Members::from_iter([("name".to_owned(), json!("deadline"))]);
        let refused = get_technician(catalog(), &members, &mut work);
        refused.expect_err("it is no name").to_string()
    };
    let told = problem(RequestWork::new());
    assert!(told.contains("it is a word of"), "{told}");
    let mut spent = RequestWork::new();
    spent.hints = Work::new(0);
    let left_out = problem(spent);
    assert!(left_out.contains("is unknown"), "{left_out}");
    assert!(!left_out.contains("it is a word of"), "{left_out}");
}

#[test]
fn a_person_whom_only_reviews_name_is_found_by_the_search_that_the_refusal_names() {
    let mut dataset = sample();
    dataset.reviews[0].mentioned_technicians = vec!["Zelda Quill".to_owned()];
    let catalog = Catalog::new(Arc::new(Snapshot::build(dataset, &settings())));
    let person = Members::from_iter([("name".to_owned(), json!("Zelda Quill"))]);
    let refused = get_technician(&catalog, &person, &mut RequestWork::new());
    let problem = refused.expect_err("the business does not list it");
    let problem = problem.to_string();
    assert!(
        problem.contains("search_reviews finds them with mentions_technician=Zelda Quill"),
        "{problem}"
    );
    let name = "mentions_technician".to_owned();
    let filter = Members::from_iter([(name, json!("Zelda Quill"))]);
    let found = search_reviews(&catalog, &filter, &mut RequestWork::new()).expect("it is right");
    let found: Value = serde_json::from_slice(found.json()).expect("JSON");
    assert_eq!(found["matched"], 1);
}

#[test]
fn a_counted_review_that_is_not_quoted_is_not_beyond_the_counts() {
    let mut dataset = sample();
    let like = dataset.reviews[0].clone();
    dataset.reviews.clear();
    for number in (0..250).rev() {
        // Quotes are of the newest 200 mentions. The older ones fit the word better, as they repeat it.
        let text = if number < 50 {
            "Excellent communication, prompt communication, clear communication and friendly communication"
        } else {
            "They called back the same day"
        };
        let mut review = like.clone();
        review.id = format!("r{number:03}");
        review.rating = Rating::new(5).expect("five stars");
        review.text = text.to_owned();
        dataset.reviews.push(review);
    }
    let catalog = Catalog::new(Arc::new(Snapshot::build(dataset, &settings())));
    let arguments = json!({"aspect": "communication", "polarity": "negative"});
    let members = arguments.as_object().expect("an object");
    let found = get_aspect_sentiment(&catalog, members, &mut RequestWork::new());
    let found = found.expect("it is right");
    let found: Value = serde_json::from_slice(found.json()).expect("JSON");
    let mentions = found["sentiment"]["mention_count"].as_u64();
    assert!(
        mentions.is_some_and(|mentions| mentions >= 250),
        "{mentions:?}"
    );
    assert_eq!(found["sentiment"]["negative_count"], 0);
    assert_eq!(found["beyond"], json!([]));
}

#[test]
fn insights_are_a_summary_and_sections_by_name() {
    let summary = answer("get_insights", json!({}));
    assert!(summary.to_string().len() < 6_000);
    assert!(list(&summary["aspects"]).len() > 10);
    for section in list(&summary["sections"]) {
        let one = answer("get_insights", json!({"sections": section}));
        assert!(!one[text(section)].is_null(), "{section}");
    }
    let sections = json!({"sections": ["entities", "temporal"]});
    let two = answer("get_insights", sections);
    assert!(two["entities"]["technicians"].is_array());
    assert!(two["temporal"]["monthly"].is_array());
}

#[test]
fn search_and_fetch_have_the_form_that_connectors_ask_for() {
    let found = answer("search", json!({"query": "adoption"}));
    assert!((1..=10).contains(&list(&found["results"]).len()));
    let best = answer("fetch", json!({"id": found["results"][0]["id"]}));
    let best = text(&best["text"]).to_lowercase();
    assert!(best.contains("adopt"), "{best}");
    for result in list(&found["results"]) {
        let document = answer("fetch", json!({"id": result["id"]}));
        for key in ["id", "url"] {
            assert_eq!(document[key], result[key]);
        }
        assert!(document["title"].is_string());
        assert!(document["metadata"]["author"].is_string());
        let title = text(&result["title"]);
        assert!(title.starts_with(text(&document["title"])), "{title}");
        let snippet = text(&result["text"]);
        assert!(snippet.len() <= 300, "{snippet}");
        assert!(text(&document["text"]).contains(snippet), "{snippet}");
    }
    let found = answer("search", json!({"query": "missed deadline"}));
    let title = text(&found["results"][0]["title"]);
    assert!(title.ends_with(": missed, deadline"), "{title}");
}

#[test]
fn ten_results_fit_with_the_longest_authors() {
    let catalog = catalog_of(|review| {
        review.author = "\"".repeat(NAME_BYTES_MAX);
        review.text = format!("word {}", "\"".repeat(5_000));
    });
    let arguments = json!({"query": "word"});
    let members = arguments.as_object().expect("an object");
    let found = search(&catalog, members, &mut RequestWork::new()).expect("it is right");
    assert!(found.len() < 50_000, "{}", found.len());
    let found: Value = serde_json::from_slice(found.json()).expect("JSON");
    assert_eq!(list(&found["results"]).len(), 10);
}

#[test]
fn the_registry_file_says_what_the_card_says() {
    let file = include_str!("../../../deploy/registry/server.json");
    let file: Value = serde_json::from_str(file).expect("JSON");
    let card: Value =
        serde_json::from_str(&crate::mcp::server_card(&catalog().snapshot)).expect("JSON");
    for key in ["name", "description", "version"] {
        assert_eq!(file[key], card[key], "{key}");
    }
    assert_eq!(file["remotes"][0]["url"], card["remotes"][0]["url"]);
    assert!(text(&card["description"]).len() <= 100);
}

#[test]
fn the_review_card_is_a_page_that_loads_nothing_from_elsewhere() {
    let search = listed().remove(1);
    let uri = &search["_meta"]["ui"]["resourceUri"];
    let read = ask("resources/read", json!({"uri": uri}));
    let content = &read["result"]["contents"][0];
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app");
    let page = text(&content["text"]);
    assert!(page.starts_with("<!doctype html>"));
    assert!(!page.contains("http"));
    assert!(!page.contains("innerHTML"));
    assert!(page.contains("ui/notifications/tool-result"));
}

/// Returns the lines of a refusal.
fn refusal(tool: &str, arguments: Value) -> Vec<String> {
    let answer = call(tool, arguments);
    assert_eq!(answer["isError"], true, "{tool}: {answer}");
    assert!(answer.get("structuredContent").is_none());
    text(&answer["content"][0]["text"])
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn wrong_arguments_are_told_one_line_each_in_the_order_of_the_arguments() {
    let lines = refusal(
        "search_reviews",
        json!({"rating": 9, "limit": "five", "since": "2023-02-29", "ratings": 5, "sort": "best", "min_rating": true}),
    );
    let expected = [
        "rating: must be an integer from 1 to 5, received \"9\"",
        "limit: must be an integer from 1 to 100, received \"five\"",
        "since: must be a day that exists, from 0001-01-01 to 9999-12-31, received \"2023-02-29\"",
        "ratings: is not a known argument; the nearest is rating; the arguments are rating, min_rating, max_rating, since, until, \
         query, words, mentions_technician, mentions_service, aspect, polarity, has_reply, has_photos, language, source, location, \
         verified_by, limit, sort, cursor, include, received \"5\"",
        "sort: must be one of newest, oldest, highest, lowest, relevance, received \"best\"",
        "min_rating: must be a number from 1 to 5 with at most six decimal places, received \"true\"",
    ];
    assert_eq!(lines, expected);
    let many = (0..30).map(|at| (format!("a{at}"), json!(1)));
    let lines = refusal("search_reviews", Value::Object(many.collect()));
    assert_eq!((lines.len(), lines[20].as_str()), (21, "and 10 more"));
}

#[test]
fn too_many_entries_are_told_with_the_bound() {
    let sections = vec!["coverage"; 17];
    let lines = refusal("get_insights", json!({"sections": sections}));
    assert_eq!(
        lines,
        ["sections: must have at most 16 entries, received \"17\""]
    );
}

#[test]
fn names_that_only_the_business_lists_are_known_and_are_not_parts_of_others() {
    let mut dataset = sample();
    let listed = |name: &str| BusinessTechnician {
        name: name.to_owned(),
        title: "Clerk".to_owned(),
    };
    dataset.business.technicians.push(listed("Brandvold"));
    // Another spelling of a name in the taxonomy is the same person.
    dataset
        .business
        .technicians
        .push(listed("WALTER  Brandvöld"));
    add_listed(&mut dataset.taxonomy, &dataset.business);
    let snapshot = Snapshot::build(dataset.clone(), &settings());
    let catalog = Catalog::new(Arc::new(snapshot));
    let call = |catalog: &Catalog, tool: Tool, name: &str, value: &str| {
        let members = Members::from_iter([(name.to_owned(), json!(value))]);
        let answer = tool(catalog, &members, &mut RequestWork::new())
            .map_err(|issues| issues.to_string())?;
        Ok::<Value, String>(serde_json::from_slice(answer.json()).expect("JSON"))
    };
    let whole =
        call(&catalog, get_technician, "name", "brandvold").expect("the business lists this name");
    assert_eq!(whole["technician"]["title"], "Clerk");
    assert_eq!(whole["mention_count"], 0);
    let found = call(&catalog, search_reviews, "mentions_technician", "brandvold");
    assert_eq!(found.expect("the business lists this name")["matched"], 0);
    for (tool, name) in [
        (get_technician as Tool, "name"),
        (search_reviews, "mentions_technician"),
    ] {
        let problem = call(&catalog, tool, name, "brandvolt").expect_err("a typo");
        assert!(problem.contains("Walter Brandvold, Brandvold"), "{problem}");
    }
    dataset.taxonomy.technicians.clear();
    dataset.business.technicians.clear();
    for review in &mut dataset.reviews {
        review.mentioned_technicians.clear();
    }
    let catalog = Catalog::new(Arc::new(Snapshot::build(dataset, &settings())));
    let problem = call(&catalog, get_technician, "name", "zzz").expect_err("there is none");
    assert!(
        problem.contains("is unknown: no review has a value"),
        "{problem}"
    );
}

type Tool = fn(&Catalog, &Members, &mut RequestWork) -> Result<ResultJson, Issues>;

/// A tool, its arguments, and the beginning of the refusal.
const REFUSED: &str = r#"
get_business {"verbose": true} => verbose: is not a known argument; the arguments are none
get_review {} => id: must be the id of a review
get_review {"id": "nobody"} => id: no published review has this id
get_review {"id": 5} => id: must be the id of a review
get_technician {"name": ""} => name: must be the name of a person
get_technician {"name": "Okafar"} => name: is unknown; similar names: Adaeze Okafor
get_technician {"name": "Zzz"} => name: is unknown; known people: 
get_technician {"name": "LONG"} => name: must be at most 1024 bytes
get_service {"service": "zzz"} => service: is unknown; known services: 
get_aspect_sentiment {"aspect": "zzz"} => aspect: is unknown; known aspects: 
list_reviews_since {} => date: must be a string of the form YYYY-MM-DD
list_reviews_since {"date": 2024} => date: must be a string of the form YYYY-MM-DD
list_reviews_since {"date": "2024-13-01"} => date: must be a day that exists
list_reviews_since {"date": "2024-01-01", "rating": 5} => rating: is not a known argument
list_reviews_since {"date": "2024-01-01", "limit": 0} => limit: must be an integer
search_reviews {"cursor": "x"} => cursor: must be the next_cursor
search_reviews {"has_reply": "yes"} => has_reply: must be a boolean, true or false, received "yes"
search {"query": "a b c d e f g h i j k l m n o p q"} => query: must have at most 16 words and phrases
"#;

#[test]
fn each_tool_refuses_what_it_cannot_use() {
    for line in REFUSED.trim().lines() {
        let (called, start) = line.split_once(" => ").expect("a refusal");
        let (tool, arguments) = called.split_once(' ').expect("arguments");
        let arguments = arguments.replace("LONG", &"x".repeat(1_025));
        let lines = refusal(tool, serde_json::from_str(&arguments).expect("JSON"));
        assert!(lines.len() == 1, "{lines:?}");
        assert!(lines[0].starts_with(start), "{lines:?}");
    }
}

#[test]
fn a_search_by_aspect_or_polarity_is_refused_until_the_insights_are_ready() {
    let snapshot = Snapshot::build_without_insights(&sample(), &settings(), &|| false);
    let catalog = Catalog::new(Arc::new(snapshot.expect("nothing cancels it")));
    let search = |name: &str, value: &str| {
        let members = Members::from_iter([(name.to_owned(), json!(value))]);
        search_reviews(&catalog, &members, &mut RequestWork::new())
            .map_err(|issues| issues.to_string())
    };
    for (name, value) in [("aspect", "fees"), ("polarity", "negative")] {
        let refused = search(name, value).expect_err("there are no insights");
        assert!(refused.contains("still being derived"), "{refused}");
    }
    assert!(search("words", "fees").is_ok());
}

#[test]
fn whole_numbers_may_be_written_with_a_point_and_null_is_not_given() {
    let count = |arguments: &str| {
        let arguments = serde_json::from_str(arguments).expect("JSON");
        answer("search_reviews", arguments)["matched"].clone()
    };
    let fives = count(r#"{"rating":5}"#);
    assert_eq!(count(r#"{"rating":5.0,"limit":1.0e0}"#), fives);
    assert_eq!(count(r#"{"min_rating":4.5}"#), fives);
    assert_eq!(count(r#"{"rating":null,"query":""}"#), count("{}"));
}

#[test]
fn protocol_errors_are_for_tools_and_shapes_that_do_not_exist() {
    for (method, params) in [
        ("tools/call", json!({"name": "get_everything"})),
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({"name": "get_faq", "arguments": []})),
        ("tools/list", json!({"cursor": "x"})),
        ("resources/list", json!({"cursor": 5})),
    ] {
        assert_eq!(code(&ask(method, params.clone())), -32_602, "{params}");
    }
    let [first, all] = [json!({"cursor": ""}), json!({})].map(|params| ask("tools/list", params));
    assert_eq!(first, all);
}

#[test]
fn strings_and_the_arguments_of_automation_tools_are_accepted() {
    let plain = answer(
        "search_reviews",
        json!({"rating": 5, "limit": 3, "has_reply": true}),
    );
    let added = json!({
        "toolCallId": "call_1", "sessionId": 7, "action": "sendMessage", "chatInput": {"text": "hello"},
        "rating": "5", "limit": "3", "has_reply": "True",
    });
    assert_eq!(answer("search_reviews", added), plain);
    let added = json!({"sessionId": "s", "action": "x", "chatInput": "y", "toolCallId": null});
    for tool in ["get_business", "get_insights", "get_faq"] {
        assert_eq!(
            answer(tool, added.clone()),
            answer(tool, json!({})),
            "{tool}"
        );
    }
}
