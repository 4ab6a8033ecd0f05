//! Answers of tools: their size on data with the longest names and texts, and what each of them says about a review.

use std::fs;
use std::path::Path;

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

/// Counts the reviews that mention a person, and returns the figures that the file says.
#[test]
fn a_person_and_a_service_have_the_figures_of_their_reviews() {
    let data = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json"));
    let data: Value = serde_json::from_str(&data.expect("the sample")).expect("JSON");
    let listed = answer(service(), "list_services_and_technicians", &json!({}));
    let mut with_low_unanswered = 0;
    for entry in listed["structuredContent"]["technicians"]
        .as_array()
        .expect("people")
    {
        let name = &entry["name"];
        let filter = json!({"mentions_technician": name, "limit": 100});
        let found = answer(service(), "search_reviews", &filter);
        let found = found["structuredContent"]["reviews"]
            .as_array()
            .expect("reviews")
            .clone();
        let expected = expected_figures(&found, &data);
        let person = answer(service(), "get_technician", &json!({"name": name}));
        let person = &person["structuredContent"];
        assert_eq!(person["mention_count"], found.len(), "{name}");
        assert_eq!(
            person["high_rating_pct"], expected["high_rating_pct"],
            "{name}"
        );
        for key in [
            "reply_count",
            "reply_pct",
            "median_days",
            "low_unanswered_count",
        ] {
            assert_eq!(person["replies"][key], expected[key], "{name} {key}");
        }
        for key in [
            "high_rating_pct",
            "reply_pct",
            "median_days",
            "low_unanswered_count",
        ] {
            assert_eq!(entry[key], expected[key], "{name} {key} in the list");
        }
        assert_eq!(entry["rating_value"], person["rating_value"], "{name}");
        let unanswered = person["replies"]["low_unanswered"]
            .as_array()
            .expect("a list");
        with_low_unanswered += unanswered.len();
    }
    assert!(with_low_unanswered > 0, "no low rating is listed");
    let service_figures = answer(service(), "get_service", &json!({"service": "probate"}));
    let replies = &service_figures["structuredContent"]["replies"];
    assert!(replies["reply_pct"].is_f64(), "{replies}");
}

/// Computes the figures of the reviews with these ids from the file.
fn expected_figures(reviews: &[Value], file: &Value) -> Value {
    let mut high = 0;
    let mut days: Vec<i64> = Vec::new();
    let mut low_unanswered = 0;
    for review in reviews {
        let all = file["reviews"].as_array().expect("reviews");
        let whole = all.iter().find(|whole| whole["id"] == review["id"]);
        let whole = whole.expect("a review of the file");
        let stars = whole["rating"].as_u64().expect("stars");
        high += u64::from(stars >= 4);
        match whole["owner_reply"]["date"].as_str() {
            Some(date) => days.push(day(date) - day(whole["date"].as_str().expect("a date"))),
            None => low_unanswered += u64::from(stars <= 2),
        }
    }
    days.sort_unstable();
    let percent = |part: usize| (part as f64 * 1_000.0 / reviews.len() as f64).round() / 10.0;
    json!({
        "high_rating_pct": percent(high as usize),
        "reply_count": days.len(),
        "reply_pct": percent(days.len()),
        "median_days": days.get(days.len().saturating_sub(1) / 2),
        "low_unanswered_count": low_unanswered,
    })
}

/// Returns the number of a day.
fn day(date: &str) -> i64 {
    let date = reviewd::wire::date::parse_date(date.as_bytes()).expect("a date");
    i64::from(date.days())
}

/// Returns a server on the questions of a trade.
fn server_of(trade: &str) -> Server {
    let questions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/questions");
    Server::start_on(&Path::new(questions).join(trade))
}

/// Tells whether one of `reviews` has `part` in its text.
fn has_text(reviews: &Value, part: &str) -> bool {
    let reviews = reviews.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut texts = reviews.iter().filter_map(|review| review["text"].as_str());
    texts.any(|text| text.contains(part))
}

/// The restaurant lists "Weekend brunch" and "Marco Bellini"; the reviews say "brunch" and "Marco".
#[test]
fn a_listed_name_that_no_review_is_counted_for_is_found_by_its_words() {
    let server = server_of("restaurant");
    for (tool, arguments, word) in [
        ("get_service", json!({"service": "brunch"}), "brunch"),
        ("get_technician", json!({"name": "Marco Bellini"}), "Marco"),
    ] {
        let result = answer(&server, tool, &arguments);
        let result = &result["structuredContent"];
        assert_eq!(result["mention_count"], 0, "{tool}");
        assert!(has_text(&result["beyond"], word), "{tool} {result}");
    }
    for (arguments, word) in [
        (json!({"mentions_service": "brunch"}), "brunch"),
        (json!({"mentions_technician": "Marco Bellini"}), "Marco"),
    ] {
        let result = answer(&server, "search_reviews", &arguments);
        let result = &result["structuredContent"];
        assert!(has_text(&result["reviews"], word), "{arguments} {result}");
        let hint = result["hint"].as_str().expect("a hint");
        assert!(hint.contains("no review is counted"), "{hint}");
    }
}

#[test]
fn an_unknown_name_is_told_with_the_words_that_find_its_reviews() {
    let server = server_of("plumber");
    for (tool, arguments, part) in [
        (
            "get_technician",
            json!({"name": "Dave"}),
            "reviews, which search_reviews finds with words=dave",
        ),
        (
            "get_service",
            json!({"service": "drain cleaning"}),
            "the business lists no services; search_reviews finds reviews about it with words=drain cleaning",
        ),
    ] {
        let message = call(tool, &arguments).to_string();
        let response = server.post_mcp(&[], &message).json();
        let problem = response["result"]["content"][0]["text"].as_str();
        let problem = problem.expect("a text");
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn a_superlative_finds_the_reviews_with_its_positive() {
    let found = answer(
        service(),
        "search_reviews",
        &json!({"words": "rudest lawyer"}),
    );
    let reviews = &found["structuredContent"]["reviews"];
    let best = reviews[0]["text"].as_str().expect("a text");
    assert!(best.to_lowercase().contains("rude"), "{best}");
}

#[test]
fn a_hint_says_nothing_of_function_words() {
    let arguments = json!({"words": "is it good for a swimming lesson"});
    let found = answer(service(), "search_reviews", &arguments);
    let hint = found["structuredContent"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("\"swimming\" alone"), "{hint}");
    for word in ["is", "it", "for", "a"] {
        assert!(!hint.contains(&format!("{word:?} alone")), "{hint}");
    }
}

#[test]
fn a_title_names_the_words_found_without_function_words() {
    let query = json!({"query": "best lawyer for a divorce"});
    let found = answer(service(), "search", &query);
    let results = found["structuredContent"]["results"].as_array();
    let mut with_words = 0;
    for result in results.expect("results") {
        let title = result["title"].as_str().expect("a title");
        let Some((_, words)) = title.split_once(" stars: ") else {
            continue;
        };
        with_words += 1;
        for word in words.replace(" (not all words)", "").split(", ") {
            assert!(word.len() > 3, "{title}");
        }
    }
    assert!(with_words > 0, "no title has words");
}

#[test]
fn a_topic_of_the_operator_without_a_label_is_named_by_its_phrase() {
    let data = DataDir::sample();
    let mut insights = service().get("/insights.json").json();
    let topic = json!({
        "phrase": "parking", "polarity": "negative", "five_star_count": 1, "low_star_count": 5, "weight": 3.0,
    });
    let mut labelled = topic.clone();
    labelled["label"] = json!("parking: full");
    insights["topics"] = json!([topic, labelled]);
    data.write("insights.json", &insights.to_string());
    let server = Server::start_on(data.path());
    let summary = answer(&server, "get_insights", &json!({}));
    let topics = &summary["structuredContent"]["topics"];
    assert_eq!(topics[0]["label"], "parking");
    assert_eq!(topics[1]["label"], "parking: full");
}
