//! The linked data of the front page have what Google's documentation of review snippets asks for.
//!
//! `tests/fixtures/google-structured-data.json` lists the properties of each type, with its source. Google's own test needs
//! its service; what it would say of these rules is checked here.

use std::sync::Arc;

use oracle::service::{sample, snapshot_settings};
use reviewd::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::support::{Server, service};

/// Returns the rules.
fn rules() -> Value {
    let rules = include_str!("../fixtures/google-structured-data.json");
    serde_json::from_str(rules).expect("JSON")
}

/// Returns what is wrong with an object by the rules of a type, `recommended` properties included, and with the objects
/// in it by those of theirs.
fn findings(object: &Value, kind: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The business has a type of its own, such as LegalService.
    if kind != "LocalBusiness" && object["@type"] != kind {
        found.push(format!("{} is no {kind}", object["@type"]));
    }
    let rules = rules();
    for level in ["required", "recommended"] {
        for names in rules["types"][kind][level].as_array().expect("a list") {
            let is_missing = |name: &Value| {
                let value = &object[name.as_str().expect("a name")];
                [Value::Null, json!(""), json!([])].contains(value)
            };
            if names.as_array().expect("names").iter().all(is_missing) {
                found.push(format!("{level}: {kind} has no {names}"));
            }
        }
    }
    let number = |name: &str| object[name].as_f64();
    let is_right = match kind {
        "LocalBusiness" => {
            found.extend(findings(&object["aggregateRating"], "AggregateRating"));
            for review in object["review"].as_array().into_iter().flatten() {
                found.extend(findings(review, "Review"));
            }
            true
        }
        "Review" => {
            found.extend(findings(&object["author"], "Person"));
            found.extend(findings(&object["reviewRating"], "Rating"));
            let day = object["datePublished"].as_str().unwrap_or_default();
            day.split('-').map(str::len).eq([4, 2, 2])
        }
        "Person" => {
            let name = object["name"].as_str().unwrap_or_default();
            Some(name.chars().count() as u64) < rules["author_name_chars_below"].as_u64()
        }
        // The value lies on the scale; counts are at least one.
        _ => {
            number("worstRating") <= number("ratingValue")
                && number("ratingValue") <= number("bestRating")
                && !["ratingCount", "reviewCount"]
                    .map(number)
                    .contains(&Some(0.0))
        }
    };
    if !is_right {
        found.push(format!("wrong: {object}"));
    }
    found
}

/// Returns the linked data in the front page.
fn linked_data(server: &Server) -> Value {
    let page = server.get("/");
    let rest = page
        .text()
        .split("<script type=\"application/ld+json\">")
        .nth(1);
    let data = rest.and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(data.expect("linked data in the page")).expect("JSON")
}

#[test]
fn the_front_page_has_every_property_that_google_requires_and_recommends() {
    assert_eq!(findings(&linked_data(service()), "LocalBusiness"), [""; 0]);
    let rating = json!({"@type": "Rating", "ratingValue": 6, "bestRating": 5, "worstRating": 1});
    assert_eq!(findings(&rating, "Rating").len(), 1, "the check notices it");
}

#[test]
fn long_names_and_reviews_without_words_stay_within_the_rules() {
    let mut dataset = sample();
    for review in &mut dataset.reviews {
        review.author = "é".repeat(100);
        review.text = String::new();
    }
    let server = Server::start();
    server.publish(&Arc::new(Snapshot::build(dataset, &snapshot_settings())));
    let data = linked_data(&server);
    assert_eq!(findings(&data, "LocalBusiness"), [""; 0]);
    assert_eq!(data["review"][0]["author"]["name"], "é".repeat(99));
    assert_eq!(data["aggregateRating"]["reviewCount"], Value::Null);
}
