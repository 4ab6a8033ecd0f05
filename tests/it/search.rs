//! `/api/reviews/search`: refused parameter values, links between pages, and hints. Other tests: `tests/oracle`
//! compares filters and the completeness of pages with a reference implementation; `pages::tests::interface` tests both
//! sides of the documented limits; the golden transcripts show envelopes, one search by each parameter, and several
//! issues at once.

use serde_json::{Value, json};

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Response, Server, service, wait_until};

fn search(query: &str) -> Response {
    service().get(&format!("/api/reviews/search?{query}"))
}

/// All published reviews, newest first.
pub(crate) fn all() -> Vec<Value> {
    let document = service().get("/reviews.json").json();
    document["reviews"].as_array().expect("an array").clone()
}

pub(crate) fn text(review: &Value, key: &str) -> String {
    review[key].as_str().expect("a string").to_owned()
}

#[test]
fn each_refused_value_is_an_issue_with_its_code() {
    let over = "a".repeat(1_025);
    for query in [
        "min_rating=5.000000",
        "since=0001-01-01",
        "until=9999-12-31",
        "until=2024%2d02%2D29",
        &format!("words={}", "a+".repeat(16)),
        &"a=1&".repeat(64),
    ] {
        assert_eq!(search(query).status, 200, "{query:.40}");
    }
    for (query, path, code) in [
        ("rating=0", "rating", "out_of_range"),
        ("rating=99999999999999999999", "rating", "out_of_range"),
        ("rating=4.0", "rating", "invalid_type"),
        ("rating=%2B4", "rating", "invalid_type"),
        ("rating=٣", "rating", "invalid_type"),
        ("min_rating=0.999999", "min_rating", "out_of_range"),
        ("min_rating=5.000001", "min_rating", "out_of_range"),
        ("min_rating=1e0", "min_rating", "invalid_type"),
        ("min_rating=4.0000000", "min_rating", "invalid_type"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=4294967297", "limit", "out_of_range"),
        ("limit=-1", "limit", "invalid_type"),
        ("since=2023-02-29", "since", "invalid_date"),
        ("until=0000-01-01", "until", "invalid_date"),
        ("until=10000-01-01", "until", "invalid_date"),
        ("sort=best", "sort", "unknown_value"),
        ("polarity=bad", "polarity", "unknown_value"),
        ("has_reply=1", "has_reply", "unknown_value"),
        ("has_photos=1", "has_photos", "unknown_value"),
        ("verified_by=google", "verified_by", "unknown_value"),
        ("verified_by=business,", "verified_by", "unknown_value"),
        ("include=stars", "include", "unknown_value"),
        ("cursor=AAAA", "cursor", "invalid_cursor"),
        ("query=%zz", "query", "invalid_encoding"),
        ("a%=1", "a%", "invalid_encoding"),
        ("rating=4&r%61ting=5&rating=6", "rating", "duplicate"),
        (&format!("query={over}"), "query", "too_long"),
        (&format!("words={}", "a+".repeat(17)), "words", "too_many"),
        (&"a=1&".repeat(65), "", "too_many"),
    ] {
        let reply = search(query);
        reply.assert_error(400, "validation_error");
        let body = reply.json();
        let issues = body["issues"].as_array().expect("an array");
        assert_eq!(issues.len(), 1, "{query:.40} {issues:?}");
        let expected = if path.is_empty() {
            json!([])
        } else {
            json!([path])
        };
        assert_eq!(issues[0]["path"], expected, "{query:.40}");
        assert_eq!(issues[0]["code"], code, "{query:.40}");
        assert!(text(&issues[0], "received").len() <= 64, "{query:.40}");
    }
}

#[test]
fn links_keep_order_and_filters_from_page_to_page_in_any_spelling() {
    for query in [
        "min_rating=4&limit=3&query=in+the",
        "limit=3&query=in%20the&min_rating=4&sort=oldest",
        "min_rating=4&limit=3&%71uery=in%20the&sort=highest&utm=%22%3E'x'{y|z}",
        "min_rating=4&limit=3&query=in+the&sort=lowest&cursor=",
    ] {
        let expected = search(&query.replace("limit=3", "limit=100")).json();
        let mut target = format!("/api/reviews/search?{query}");
        let mut found = Vec::new();
        loop {
            let reply = service().get(&target);
            let mut body = reply.json();
            found.append(body["reviews"].as_array_mut().expect("an array"));
            let Some(link) = reply.field("link") else {
                assert_eq!(body["next_cursor"], Value::Null);
                break;
            };
            target = link
                .strip_prefix("<https://reviews.example")
                .and_then(|rest| rest.strip_suffix(">; rel=\"next\""))
                .expect("a page below the public address")
                .to_owned();
            let cursor = text(&body, "next_cursor");
            assert!(target.ends_with(&format!("cursor={cursor}")));
            assert!(cursor.len() <= 256);
        }
        assert!(found.len() > 3, "{query}");
        assert_eq!(json!(found), expected["reviews"], "{query}");
    }
}

#[test]
fn pages_go_on_where_they_ended_when_reviews_are_added() {
    let data = DataDir::with_reviews(60, "2026-03-01T10:00:00Z");
    let server = Server::start_on(data.path());
    let get = |query: &str| server.get(&format!("/api/reviews/search?{query}")).json();
    let orders = ["newest", "oldest", "highest", "lowest"];
    let before = orders.map(|order| {
        let expected = ids(&get(&format!("limit=100&sort={order}")));
        let first = get(&format!("limit=20&sort={order}"));
        (order, expected, ids(&first), text(&first, "next_cursor"))
    });
    // Newer reviews with each number of stars, so there are some before and after the end of the first pages.
    data.write("reviews.json", &reviews_json(70, "2026-03-02T10:00:00Z"));
    wait_until("the added reviews are served", || {
        get("limit=1")["matched"] == 70
    });
    for (order, expected, mut found, cursor) in before {
        let next = get(&format!("limit=100&sort={order}&cursor={cursor}"));
        found.extend(ids(&next));
        found.retain(|id| id.as_str() < "r00060");
        assert_eq!(found, expected, "{order}");
    }
}

/// The ids of the reviews of a response, in their order.
fn ids(response: &Value) -> Vec<String> {
    let reviews = response["reviews"].as_array().expect("reviews");
    reviews.iter().map(|review| text(review, "id")).collect()
}

#[test]
fn a_service_is_found_by_a_phrase_as_by_its_id() {
    let by_id = search("mentions_service=estate-planning").json();
    let by_phrase = search("mentions_service=Living+Trust").json();
    assert!(by_id["matched"].as_u64() > Some(0), "{by_id}");
    assert_eq!(by_phrase["reviews"], by_id["reviews"]);
}

#[test]
fn a_response_says_what_a_name_was_taken_for() {
    for (query, name, by, spelling) in [
        ("aspect=Rude", "empathy", "phrase", "rude"),
        ("mentions_service=executor", "probate", "phrase", "executor"),
        (
            "mentions_service=DUI+and+traffic",
            "dui",
            "alias",
            "DUI and traffic",
        ),
        ("mentions_technician=Shay", "Seamus O'Dowd", "alias", "Shay"),
        (
            "mentions_technician=Frau+Dr.+Thornquist",
            "Ingrid Thornquist",
            "part",
            "Ingrid Thornquist",
        ),
    ] {
        let answer = search(query).json();
        let parameter = query.split('=').next().expect("a parameter");
        let told = json!([{"parameter": parameter, "name": name, "by": by, "spelling": spelling}]);
        assert_eq!(answer["resolved_names"], told, "{query}");
        assert!(answer["matched"].as_u64() > Some(0), "{query}");
    }
}

#[test]
fn a_name_or_id_itself_needs_no_word_about_it() {
    let answer = search("mentions_technician=adaeze+okafor&mentions_service=probate").json();
    assert_eq!(answer.get("resolved_names"), None);
}

#[test]
fn the_detected_language_of_a_review_is_published_and_a_filter() {
    let answer = search("language=es").json();
    assert!(answer["matched"].as_u64() > Some(10), "{answer}");
    for review in answer["reviews"].as_array().unwrap() {
        assert_eq!(review["language"], "es");
        assert_eq!(review["language_source"], "detected");
    }
}

/// Each request finds nothing; its hints contain the message, and for unknown names similar or known ones.
#[test]
fn a_search_that_finds_nothing_says_what_to_try() {
    for (query, message) in [
        ("rating=2&min_rating=4", "without a rating filter, "),
        (
            "rating=2&min_rating=4",
            "rating, min_rating and max_rating together allow no rating",
        ),
        ("min_rating=4&max_rating=2", "without a rating filter, "),
        ("query=missd", "\"missd\" alone matches 0 reviews"),
        (
            "words=missed+deadlines",
            "\"deadline\" alone matches 2 reviews",
        ),
        ("words=missed+-missed", "without -missed, "),
        ("mentions_service=zzz", "is unknown; known services: "),
        ("mentions_technician=zzz", "is unknown; known people: "),
        ("aspect=zzz", "is unknown; known aspects: "),
        ("language=zz", "is unknown; known languages: "),
        (
            "mentions_technician=Okafar",
            "is unknown; similar names: Adaeze Okafor",
        ),
        (
            "mentions_technician=Reyes",
            "may mean Daniel Reyes or Marisol Reyes",
        ),
    ] {
        let answer = search(query).json();
        assert_eq!(answer["matched"], 0, "{query}");
        let hints = answer["hints"].to_string();
        let message = message.replace('"', "\\\"");
        assert!(hints.contains(&message), "{query}: {hints}");
    }
}

#[test]
fn reviews_are_found_by_location_and_verification() {
    let temp = tempfile::tempdir().unwrap();
    let sample = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data"));
    let text = std::fs::read_to_string(sample.join("reviews.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["business"]["locations"] = json!([
        {"id": "north", "label": "North Street", "address": null},
        {"id": "south", "label": "South Street", "address": null},
    ]);
    let mut published = Vec::new();
    for review in file["reviews"].as_array_mut().unwrap() {
        if review["verified"] == true && published.len() < 4 {
            published.push(review["id"].clone());
            review["location"] = json!("north");
            let is_verified = published.len() < 3;
            let method = if is_verified { "purchase" } else { "account" };
            review["verification"] = json!({"by": "Google", "method": method});
            review["verified"] = json!(is_verified);
        }
    }
    std::fs::write(temp.path().join("reviews.json"), file.to_string()).unwrap();
    let server = crate::support::Server::start_on(temp.path());
    let all = server.get("/api/reviews/search?limit=1").json()["matched"].clone();
    let all = all.as_u64().unwrap();
    for (query, expected) in [
        ("location=north", 4),
        ("location=NORTH+street", 4),
        ("location=south", 0),
        ("location=north&verified_by=account", 2),
        ("verified_by=account", 2),
        ("verified_by=platform", 2),
        ("verified_by=platform,+account", 4),
        ("verified_by=business", all - 4),
        ("verified_by=business,platform,account", all),
    ] {
        let reply = server.get(&format!("/api/reviews/search?{query}&limit=1"));
        assert_eq!(reply.json()["matched"], expected, "{query}");
    }
    let hints = server.get("/api/reviews/search?location=sooth").json();
    let message = hints["hints"][0]["message"].as_str().unwrap();
    assert!(message.contains("south"), "{message}");
    let page = server.get("/?location=north");
    assert!(page.text().contains("North Street"));
}

#[test]
fn matches_and_counts_by_star_come_on_request() {
    let plain = search("words=fees+rude&sort=relevance");
    assert!(plain.json().get("matches").is_none());
    let found = search("words=%C3%A9spanol&include=matches,distribution&limit=3").json();
    let counts = found["distribution"].as_object().unwrap();
    let sum: u64 = counts.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(found["matched"], sum);
    for review in found["reviews"].as_array().unwrap() {
        let ranges = found["matches"][review["id"].as_str().unwrap()].as_array();
        for range in ranges.unwrap() {
            let start = range[0].as_u64().unwrap() as usize;
            let end = range[1].as_u64().unwrap() as usize;
            let text = review["text"].as_str().unwrap().chars();
            let marked: String = text.skip(start).take(end - start).collect();
            assert_eq!(marked.to_lowercase(), "español");
        }
    }
    assert_eq!(found["matches"].as_object().unwrap().len(), 3);
}
