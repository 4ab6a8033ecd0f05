//! Reference implementation of `dataset::decode` and `publish`: the file as a plain JSON value, filtered and sorted.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use serde_json::{Map, Value, json};

use reviewd::dataset::publish::publish;
use reviewd::dataset::{Files, decode};
use reviewd::insights::document;
use reviewd::model::Dataset;
use reviewd::wire::date::Timestamp;

#[cfg(test)]
mod tests;

/// The time at which files are decoded: in the future, so that any `updated_at` of today passes.
pub(super) const NOW: i64 = 4_000_000_000;

/// A file with one review, beside which the other files are checked; small, so that fuzzing is fast.
const REVIEWS: &str = r#"{"business":{"name":"A","type":"LegalService","description":"","url":"https://a.example/","telephone":"","email":"",
"address":{"street_address":"","locality":"","region":"","postal_code":"","country":""},"geo":null,"opening_hours":[],"service_areas":[],
"services":[],"technicians":[],"same_as":[]},"disclaimer":null,"updated_at":"2026-11-18T00:00:00Z","reviews":[{"id":"r1","author":"Bo",
"author_avatar_url":null,"rating":4,"date":"2026-01-02","text":"Ann Lee wrote my last will in two days, but never called back.",
"source":"google","source_url":null,"owner_reply":null,"verified":true}]}"#;

/// Checks the decoder and the documents on `data`, whose first byte selects a file.
///
/// `t`, `e`, `i` and `c` select the taxonomy, the editorial, the insights and `check.json`, beside one review; with any
/// other first byte, all of `data` is the file of reviews, without other files.
///
/// # Panics
/// If the decoder panics or accepts invalid JSON, if a problem has no file or no message, if a document is not JSON, or
/// if the published reviews differ from those of the file.
pub fn check_dataset(data: &[u8]) {
    let (kind, mut content) = data.split_first().unwrap_or((&0, &[]));
    let mut files = Files {
        reviews: REVIEWS.into(),
        ..Files::default()
    };
    let file = match kind {
        b't' => &mut files.taxonomy,
        b'e' => &mut files.editorial,
        b'i' => &mut files.insights,
        b'c' => &mut files.check,
        _ => {
            content = data;
            files.reviews = data.to_vec();
            &mut None
        }
    };
    *file = Some(content.to_vec());
    let reviews = files.reviews.clone();
    let insights = files.insights.clone();
    let is_json = serde_json::from_slice::<Value>(content).is_ok();
    match decode(files, Timestamp::from_unix(NOW)) {
        Ok(decoded) => {
            assert!(is_json, "what is no JSON was accepted");
            check_documents(&decoded.dataset, &parse(&reviews));
            let derived = document(&decoded.dataset, NonZeroUsize::MIN, &|| false);
            let bytes = derived.expect("nothing cancels it").bytes;
            parse(&bytes);
            let is_kept = insights.is_none_or(|given| given == bytes);
            assert!(is_kept, "a given document was changed");
        }
        Err(problems) => {
            assert!(problems.total >= problems.listed.len() as u64);
            assert!((1..=100).contains(&problems.listed.len()));
            for problem in &problems.listed {
                let line = problem.to_string();
                let is_whole = line.starts_with(problem.file) && !problem.message.is_empty();
                assert!(is_whole, "{line:?}");
                assert!(!line.contains(char::is_control), "{line:?}");
                // simd-json, which parses the files, and serde_json refuse the same inputs.
                assert!(!problem.path.starts_with("line ") || !is_json, "{line}");
            }
        }
    }
}

/// Checks the reviews published of `dataset` against the file that it was decoded from.
fn check_documents(dataset: &Dataset, file: &Value) {
    let published = publish(dataset, "https://reviews.example");
    let document = parse(&published.reviews_json);
    let expected = reference_reviews(file);
    let reviews = list(&document["reviews"]);
    let count = expected.len();
    assert_eq!((reviews.len(), published.offsets.len()), (count, count + 1));
    for (row, (review, expected)) in reviews.iter().zip(&expected).enumerate() {
        assert_eq!(review.as_object().map(Map::len), Some(22));
        let is_detected = review["language_source"] == "detected";
        for (key, value) in expected.as_object().into_iter().flatten() {
            if key == "language" && is_detected {
                assert_eq!(
                    value,
                    &Value::Null,
                    "a stated language is published as stated"
                );
                assert!(review[key].is_string(), "{review}");
                continue;
            }
            assert_eq!(&review[key], value, "{key}");
        }
        let [start, end] = [0, 1].map(|next| published.offsets[row + next] as usize);
        assert_eq!(parse(&published.reviews_json[start..end - 1]), *review);
    }
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("what is published is JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// The published reviews of the file, newest first: those that are verified, and those that a platform published with
/// an account.
fn reference_reviews(file: &Value) -> Vec<Value> {
    let mut verified = list(&file["reviews"]).to_vec();
    verified.retain(|review| {
        review["verified"] == true || review["verification"]["method"] == "account"
    });
    // Dates with four-digit years and quoted ids have the same order as JSON text and as values.
    verified.sort_by_key(|review| Reverse([&review["date"], &review["id"]].map(Value::to_string)));
    for review in &mut verified {
        let review = review.as_object_mut().expect("an object");
        let absent = [
            ("verification", Value::Null),
            ("language", Value::Null),
            ("media", json!([])),
            ("translation", Value::Null),
            ("location", Value::Null),
            ("date_precision", Value::Null),
            ("rating_original", Value::Null),
        ];
        for (key, value) in absent {
            review.entry(key).or_insert(value);
        }
        for medium in review["media"].as_array_mut().into_iter().flatten() {
            for key in ["thumbnail_url", "source_url"] {
                let medium = medium.as_object_mut().expect("an object");
                medium.entry(key).or_insert(Value::Null);
            }
        }
        if review.get("text").is_none_or(Value::is_null) {
            review.insert("text".to_owned(), "".into());
        }
        let stars = review["rating"].as_f64().unwrap_or_default();
        review.insert("rating".to_owned(), (stars as u64).into());
    }
    verified
}
