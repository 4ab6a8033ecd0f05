//! The linked data of the front page follow Google's documentation of review snippets.
//!
//! `tests/fixtures/google-structured-data.json` contains its rules as a JSON schema, because Google's own test is
//! available only as an online service.

use oracle::service::{sample, snapshot};
use serde_json::Value;

use crate::support::{Server, service};

/// Asserts that the linked data follow the rules.
fn assert_valid(data: &Value) {
    let rules = include_str!("../fixtures/google-structured-data.json");
    let rules = serde_json::from_str(rules).expect("JSON");
    let rules = jsonschema::draft202012::options()
        .build(&rules)
        .expect("a schema");
    let faults = rules
        .iter_errors(data)
        .map(|fault| format!("{}: {fault}", fault.instance_path()));
    assert_eq!(faults.collect::<Vec<_>>(), [""; 0], "{data}");
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
    assert_valid(&linked_data(service()));
}

#[test]
fn long_names_and_reviews_without_words_stay_within_the_rules() {
    let mut dataset = sample();
    for review in &mut dataset.reviews {
        review.author = "é".repeat(100);
        review.text = String::new();
    }
    let server = Server::start();
    server.publish(&snapshot(dataset));
    let data = linked_data(&server);
    assert_valid(&data);
    assert_eq!(data["review"][0]["author"]["name"], "é".repeat(99));
    assert_eq!(data["aggregateRating"]["reviewCount"], Value::Null);
}
