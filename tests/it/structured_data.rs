//! The linked data of the front page have what Google's documentation of review snippets asks for.
//!
//! `tests/fixtures/google-structured-data.json` lists the properties of each type, with its source. Google's own test needs
//! its service; what it would say of these rules is checked here.

use serde_json::Value;

use crate::exchange::{Service, sample, service};
use crate::support::Response;

/// What is wrong with a value, `recommended` properties included.
struct Findings {
    rules: Value,
    found: Vec<String>,
}

impl Findings {
    /// Checks a page's linked data.
    fn of(page: &Response) -> Findings {
        let rules = include_str!("../fixtures/google-structured-data.json");
        let mut findings = Findings {
            rules: serde_json::from_str(rules).expect("JSON"),
            found: Vec::new(),
        };
        findings.check(&linked_data(page), "LocalBusiness");
        findings
    }

    /// Checks one object by the rules of a type, and the objects in it by those of theirs.
    fn check(&mut self, object: &Value, kind: &str) {
        for level in ["required", "recommended"] {
            let wanted = self.rules["types"][kind][level].clone();
            for names in wanted.as_array().expect("a list for each type") {
                let names = names.as_array().expect("a list of names");
                let is_there = |name: &Value| has_value(&object[name.as_str().expect("a name")]);
                if !names.iter().any(is_there) {
                    self.found.push(format!("{level}: {kind} has no {names:?}"));
                }
            }
        }
        match kind {
            "LocalBusiness" => {
                self.nested(&object["aggregateRating"], "AggregateRating");
                for review in object["review"].as_array().into_iter().flatten() {
                    self.nested(review, "Review");
                }
            }
            "Review" => {
                self.nested(&object["author"], "Person");
                self.nested(&object["reviewRating"], "Rating");
                let day = object["datePublished"].as_str().unwrap_or_default();
                if !day.split('-').map(str::len).eq([4, 2, 2]) {
                    self.found.push(format!("no day: {day}"));
                }
            }
            "Rating" | "AggregateRating" => self.check_scale(object),
            "Person" => {
                let below = self.rules["author_name_chars_below"].as_u64();
                let name = object["name"].as_str().unwrap_or_default();
                if Some(name.chars().count() as u64) >= below {
                    self.found.push(format!("too long: {name}"));
                }
            }
            _ => {}
        }
    }

    fn nested(&mut self, object: &Value, kind: &str) {
        if object["@type"] != kind {
            self.found.push(format!("{} is no {kind}", object["@type"]));
        }
        self.check(object, kind);
    }

    /// The value lies on the scale; counts are at least one.
    fn check_scale(&mut self, rating: &Value) {
        let number = |name: &str| rating[name].as_f64();
        let on_scale = number("worstRating") <= number("ratingValue")
            && number("ratingValue") <= number("bestRating");
        let counts = ["ratingCount", "reviewCount"].map(number);
        if !on_scale || counts.contains(&Some(0.0)) {
            self.found.push(format!("out of its bounds: {rating}"));
        }
    }
}

/// Returns the linked data in a page.
fn linked_data(page: &Response) -> Value {
    let text = std::str::from_utf8(&page.body).expect("UTF-8");
    let (_, rest) = text
        .split_once("<script type=\"application/ld+json\">")
        .expect("linked data in the page");
    let (data, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("JSON")
}

fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

#[test]
fn the_front_page_has_every_property_that_google_requires_and_recommends() {
    let mut findings = Findings::of(&service().get("/"));
    assert_eq!(findings.found, [""; 0]);
    let rating = serde_json::json!({"@type": "Rating", "ratingValue": 6, "bestRating": 5});
    findings.check(&rating, "Rating");
    assert!(!findings.found.is_empty(), "the check notices nothing");
}

#[test]
fn long_names_and_reviews_without_words_stay_within_the_rules() {
    let mut dataset = sample();
    for review in &mut dataset.reviews {
        review.author = "é".repeat(100);
        review.text = String::new();
    }
    let (service, _app) = Service::alone(dataset);
    let page = service.get("/");
    assert_eq!(Findings::of(&page).found, [""; 0]);
    let data = linked_data(&page);
    assert_eq!(data["review"][0]["author"]["name"], "é".repeat(99));
    assert_eq!(data["aggregateRating"]["reviewCount"], Value::Null);
}
