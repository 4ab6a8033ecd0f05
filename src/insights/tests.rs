use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::dataset::{decode, embedded};
use crate::wire::date::Timestamp;

fn sample() -> Dataset {
    decode(embedded(), Timestamp::from_unix(4_000_000_000))
        .expect("the sample is valid")
        .dataset
}

fn options(threads: usize) -> Options {
    Options {
        threads: NonZeroUsize::new(threads).expect("not zero"),
        mentions_min: MENTIONS_MIN,
    }
}

fn parsed(dataset: &Dataset) -> Value {
    serde_json::from_slice(&document(dataset, &options(1))).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

#[test]
fn every_quote_stands_where_the_evidence_says() {
    let dataset = sample();
    let value = parsed(&dataset);
    let texts: BTreeMap<&str, Vec<char>> = dataset
        .reviews
        .iter()
        .map(|review| (review.id.as_str(), review.text.chars().collect()))
        .collect();
    let mut quotes = 0;
    for (aspect, concept) in list(&value["aspects"])
        .iter()
        .zip(&dataset.taxonomy.aspects)
    {
        assert_eq!(aspect["id"], concept.id);
        let mut places = Vec::new();
        for piece in list(&aspect["evidence"]) {
            let id = piece["review_id"].as_str().expect("an id");
            let (start, end) = (
                count(&piece["start"]) as usize,
                count(&piece["end"]) as usize,
            );
            let quote: String = texts[id][start..end]
                .iter()
                .collect::<String>()
                .to_lowercase()
                .replace('’', "'");
            // A phrase of the aspect, or one of its inflections: the first letters are the same.
            let known = |phrase: &String| {
                let phrase = phrase.to_lowercase();
                let same = phrase
                    .chars()
                    .zip(quote.chars())
                    .take_while(|(one, other)| one == other)
                    .count();
                same >= 2 && quote.chars().count().abs_diff(phrase.chars().count()) <= 3
            };
            assert!(
                concept.phrases.iter().any(known),
                "{}: {quote:?}",
                concept.id
            );
            assert!(
                value["per_review"][id]["aspects"]
                    .as_array()
                    .expect("aspects")
                    .contains(&json!(concept.id))
            );
            places.push((id, start));
            quotes += 1;
        }
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all, "no piece of evidence counts twice");
    }
    assert!(quotes > 100, "{quotes}");
}

#[test]
fn every_count_adds_up() {
    let dataset = sample();
    let value = parsed(&dataset);
    let coverage = &value["coverage"];
    let mut mentions = 0;
    for aspect in list(&value["aspects"]) {
        let [all, positive, neutral, negative] = [
            "mention_count",
            "positive_count",
            "neutral_count",
            "negative_count",
        ]
        .map(|key| count(&aspect[key]));
        assert_eq!(all, positive + neutral + negative);
        mentions += all;
        let evidence = list(&aspect["evidence"]);
        assert_eq!(
            evidence.len() as u64,
            all,
            "the sample is small enough to show all evidence"
        );
        for (word, expected) in [
            ("positive", positive),
            ("neutral", neutral),
            ("negative", negative),
        ] {
            assert_eq!(
                evidence
                    .iter()
                    .filter(|piece| piece["polarity"] == word)
                    .count() as u64,
                expected
            );
        }
        assert_eq!(aspect["score"].is_null(), all < u64::from(MENTIONS_MIN));
        assert_eq!(aspect["interval"].is_null(), aspect["score"].is_null());
        if let Some(share) = aspect["positive_pct"].as_f64() {
            assert!((share - 100.0 * positive as f64 / all as f64).abs() <= 0.05 + 1e-9);
            let bound = |at: usize| aspect["interval"][at].as_f64().expect("a bound") * 100.0;
            assert!(bound(0) <= share && share <= bound(1));
        }
    }
    assert_eq!(count(&coverage["mentions"]), mentions);
    let per_review = value["per_review"].as_object().expect("an object");
    assert_eq!(per_review.len(), dataset.reviews.len());
    let scored = per_review
        .values()
        .filter(|review| !review["score"].is_null())
        .count() as u64;
    assert_eq!(count(&coverage["scored"]), scored);
    assert_eq!(
        count(&coverage["with_text"]),
        scored + count(&coverage["unscored"])
    );
    let with_aspect = per_review
        .values()
        .filter(|review| review["aspects"] != json!([]))
        .count() as u64;
    assert_eq!(count(&coverage["with_aspect"]), with_aspect);
    for (sign, key) in [
        ("positive", "positive_pct"),
        ("neutral", "neutral_pct"),
        ("negative", "negative_pct"),
    ] {
        let of_sign = per_review
            .values()
            .filter(|review| review["sentiment"] == sign)
            .count() as f64;
        let share = value["overall_sentiment"][key].as_f64().expect("a share");
        assert!((share - 100.0 * of_sign / scored as f64).abs() <= 0.05 + 1e-9);
    }
    let months = list(&value["temporal"]["monthly"]);
    let sum = |key: &str| months.iter().map(|month| count(&month[key])).sum::<u64>();
    assert_eq!(sum("review_count"), dataset.reviews.len() as u64);
    assert_eq!(sum("scored_count"), scored);
}

#[test]
fn praise_and_complaint_both_come_with_examples() {
    let value = parsed(&sample());
    let fees = list(&value["aspects"])
        .iter()
        .find(|aspect| aspect["id"] == "fees")
        .expect("fees");
    assert!(count(&fees["positive_count"]) > 1 && count(&fees["negative_count"]) > 1);
    let examples = list(&fees["example_review_ids"]);
    assert!((4..=6).contains(&examples.len()), "{examples:?}");
    assert!(
        list(&value["topics"])
            .iter()
            .any(|topic| topic["phrase"] == "nobody" && topic["polarity"] == "negative")
    );
    for topic in list(&value["topics"]) {
        let better = topic["polarity"] == "positive";
        assert!(topic["weight"].as_f64().expect("a weight") >= 1.64);
        assert!(count(&topic["five_star_count"]) + count(&topic["low_star_count"]) >= 3);
        assert!(!better || count(&topic["five_star_count"]) > 0);
    }
}

#[test]
fn texts_in_other_languages_are_unscored() {
    let dataset = sample();
    let value = parsed(&dataset);
    let spanish = dataset
        .reviews
        .iter()
        .filter(|review| review.text.contains(" muy ") || review.text.contains(" los "));
    let mut seen = 0;
    for review in spanish {
        assert!(
            value["per_review"][&review.id]["score"].is_null(),
            "{}",
            review.text
        );
        seen += 1;
    }
    assert!(seen >= 2 && count(&value["coverage"]["unscored"]) >= seen);
}

#[test]
fn the_document_does_not_depend_on_threads() {
    let mut dataset = sample();
    let copies = 2 * parallel::CHUNK_ROWS / dataset.reviews.len() + 1;
    dataset.reviews = std::iter::repeat_n(dataset.reviews, copies)
        .flatten()
        .collect();
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        review.id = format!("r{row}");
        // Enough words to tell threads apart, and few enough for a build without optimization.
        if row % 8 != 0 {
            review.text.clear();
        }
    }
    assert!(document(&dataset, &options(1)) == document(&dataset, &options(3)));
    let value = parsed(&dataset);
    for aspect in list(&value["aspects"]) {
        let most = aspects::EVIDENCE_MAX + 2 * aspects::EXAMPLES_MAX;
        assert!(list(&aspect["evidence"]).len() <= most);
    }
}

#[test]
fn a_summary_is_made_of_numbers_where_nobody_wrote_one() {
    let mut dataset = sample();
    assert_eq!(parsed(&dataset)["method"]["summary"], "editorial");
    dataset.editorial.summary = None;
    let value = parsed(&dataset);
    assert_eq!(value["method"]["summary"], "derived");
    let summary = value["summary"].as_str().expect("a summary");
    assert!(
        summary.starts_with(&format!(
            "{} reviews from 2019-02-11 to ",
            dataset.reviews.len()
        )),
        "{summary}"
    );
    assert!(summary.contains("Criticized most often: "), "{summary}");
}

#[test]
fn an_aspect_with_too_few_mentions_has_counts_and_no_score() {
    let dataset = sample();
    let few = Options {
        mentions_min: 1_000,
        ..options(1)
    };
    let value: Value = serde_json::from_slice(&document(&dataset, &few)).expect("JSON");
    assert!(
        list(&value["aspects"])
            .iter()
            .all(|aspect| aspect["score"].is_null())
    );
    assert!(
        list(&value["aspects"])
            .iter()
            .any(|aspect| count(&aspect["mention_count"]) > 5)
    );
}

#[test]
fn generated_at_is_updated_at() {
    let dataset = sample();
    assert_eq!(
        parsed(&dataset)["generated_at"],
        dataset.updated_at.to_string()
    );
}

#[test]
fn a_given_document_is_published_as_it_stands() {
    let mut dataset = sample();
    dataset.insights = Some(b"{ \"version\": 1 }\n".to_vec());
    assert_eq!(document(&dataset, &options(1)), b"{ \"version\": 1 }\n");
}

#[test]
fn an_empty_dataset_has_no_dates_no_means_and_no_scores() {
    let mut dataset = sample();
    dataset.reviews.clear();
    dataset.editorial.summary = None;
    let value = parsed(&dataset);
    assert_eq!(
        value["date_range"],
        json!({"earliest": null, "latest": null})
    );
    assert!(value["entities"]["technicians"][0]["mean_rating"].is_null());
    assert_eq!(value["temporal"], json!({"monthly": [], "trend": null}));
    assert!(value["overall_sentiment"].is_null() && value["summary"].is_null());
    assert_eq!(value["method"]["summary"], "none");
}
