//! Reference checks of `insights`: the properties that can be verified from the document and the texts alone.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use serde_json::Value;

use super::lines;
use super::service::sample;
use reviewd::dataset::detect_languages;
use reviewd::insights::document;
use reviewd::model::{Concept, Dataset, Rating, Review, Taxonomy};
use substring_index::fold::fold_into;

/// Checks the document derived from `data`, whose lines are reviews: the first byte is the rating, the rest the text.
///
/// # Panics
/// If a quote is not at its range, a count does not add up, an aspect that a naive search finds is missing, a review is
/// said to mention an aspect that is not quoted from it, or a second run gives other bytes.
pub fn check_insights(data: &[u8]) {
    let mut dataset = TEMPLATE.clone();
    let template = dataset.reviews.remove(0);
    for (row, line) in lines(data).take(64).enumerate() {
        let (first, rest) = line.split_first().unwrap_or((&0, &[]));
        let rating = Rating::new(first % 5 + 1).unwrap_or(Rating::MAX);
        let text = String::from_utf8_lossy(&rest[..rest.len().min(LINE_BYTES_MAX)]);
        dataset.reviews.push(Review {
            id: format!("r{row}"),
            rating,
            text: text.into_owned(),
            language: None,
            translation: None,
            language_source: None,
            location: None,
            date_precision: None,
            rating_original: None,
            added_at: None,
            changed_at: None,
            ..template.clone()
        });
    }
    detect_languages(&mut dataset.reviews, NonZeroUsize::MIN);
    let derive = || document(&dataset, NonZeroUsize::MIN, &|| false).expect("nothing cancels it");
    let bytes = derive().bytes;
    // Hash maps have other random keys in the second run.
    assert!(bytes == derive().bytes, "a second run differs");
    let value: Value = serde_json::from_slice(&bytes).expect("JSON");
    let per_review = value["per_review"].as_object().expect("an object");
    assert_eq!(per_review.len(), dataset.reviews.len());
    let mut mentioning = ASPECTS.map(|_| BTreeSet::new());
    for review in &dataset.reviews {
        let entry = &per_review[&review.id];
        assert!(entry["score"].as_f64().expect("a score").abs() <= 1.0);
        let found = list(&entry["aspects"]);
        let text = folded(&review.text);
        for (aspect, mentioning) in ASPECTS.iter().zip(&mut mentioning) {
            // Stemming may find more aspects, but never fewer than the exact words.
            let is_named = text.split_whitespace().any(|word| word == *aspect);
            let is_found = found.contains(&(*aspect).into());
            assert!(!is_named || is_found, "{text:?}");
            mentioning.extend(is_found.then_some(&*review.id));
        }
    }
    let aspects = list(&value["aspects"]);
    assert!(aspects.iter().map(|aspect| &aspect["id"]).eq(ASPECTS));
    for (aspect, mentioning) in aspects.iter().zip(&mentioning) {
        check_aspect(&dataset, aspect, mentioning);
    }
}

/// Checks one aspect of the document: sums, quotes, and that each of the `mentioning` reviews is quoted.
fn check_aspect(dataset: &Dataset, aspect: &Value, mentioning: &BTreeSet<&str>) {
    let evidence = list(&aspect["evidence"]);
    let mut sum = 0;
    for polarity in ["positive", "neutral", "negative"] {
        let shown = evidence.iter();
        let shown = shown.filter(|piece| piece["polarity"] == polarity).count() as u64;
        let counted = count(&aspect[format!("{polarity}_count")]);
        assert!(shown <= counted, "{shown} of {counted}");
        if evidence.len() < 200 {
            assert_eq!(shown, counted);
        }
        sum += counted;
    }
    assert_eq!(count(&aspect["mention_count"]), sum);
    let id = aspect["id"].as_str().expect("an id");
    let quoted = evidence
        .iter()
        .filter_map(|piece| piece["review_id"].as_str());
    let quoted: BTreeSet<&str> = quoted.collect();
    let is_complete = evidence.len() as u64 == sum;
    assert!(quoted.is_subset(mentioning));
    if is_complete {
        assert_eq!(quoted, *mentioning);
    }
    for piece in evidence {
        let [start, end] = ["start", "end"].map(|name| count(&piece[name]) as usize);
        assert!(start < end);
        let mut reviews = dataset.reviews.iter();
        let review = reviews.find(|review| piece["review_id"] == review.id);
        let text = review.expect("a review of the dataset").text.chars();
        let quote = folded(&text.skip(start).take(end - start).collect::<String>());
        assert!(quote.contains(&id[..2]), "{quote:?}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn folded(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

/// Below the length at which a sentence is cut even inside a word.
const LINE_BYTES_MAX: usize = 300;
/// Aspects with one phrase each, which equals the id.
const ASPECTS: [&str; 2] = ["fee", "court"];

/// The sample's business with one review, from which others are made, and with [`ASPECTS`].
static TEMPLATE: LazyLock<Dataset> = LazyLock::new(|| {
    let mut dataset = sample();
    dataset.reviews.truncate(1);
    // Technicians and services are checked elsewhere, and automata over their names would take most of the time.
    dataset.taxonomy = Taxonomy::default();
    let concept = |id: &str| Concept {
        id: id.to_owned(),
        label: id.to_owned(),
        phrases: vec![id.to_owned()],
        not_phrases: Vec::new(),
    };
    dataset.taxonomy.aspects = ASPECTS.iter().map(|id| concept(id)).collect();
    dataset
});
