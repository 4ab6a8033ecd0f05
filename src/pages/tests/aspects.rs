//! Searches by aspect: the highlighted evidence, and results with and without other filters.

use serde_json::{Value, json};

use super::{ask, dataset_of_texts, pages, sample, text};
use crate::dataset;
use crate::model::insights::{Aspect, Polarity};
use crate::pages::{Pages, mentioned_aspects};

/// Number of reviews that mention an aspect, of only one polarity if it is given.
fn reviews_of(aspect: &Aspect, polarity: Option<Polarity>) -> usize {
    polarity.map_or(aspect.rows.len(), |polarity| {
        aspect.rows_by_polarity[polarity].len()
    })
}

#[test]
fn every_aspect_leads_to_the_words_it_was_counted_from() {
    let pages = sample();
    let aspects = mentioned_aspects(pages.snapshot.insights_value());
    assert!(aspects.len() > 8);
    for aspect in aspects {
        let page = ask(&pages, &format!("aspect={}&limit=100", aspect.id)).expect("a page");
        let id = &aspect.id;
        let count = reviews_of(aspect, None);
        assert_eq!(page.matches("<article").count(), count, "{id}");
        // The sample keeps all of its evidence, so every review has a mark.
        assert!(page.matches("<mark>").count() >= count, "{id}");
    }
}

#[test]
fn pages_are_built_with_the_largest_counts_of_a_document_made_elsewhere() {
    let mut files = dataset::embedded();
    let own = sample();
    let derived = own.snapshot.insights().expect("derived");
    let mut document: Value = serde_json::from_slice(&derived.body).expect("JSON");
    let largest = json!({"quarter": "2026-Q1", "interval": [0, 1], "mention_count": 9_007_199_254_740_991_u64,
        "positive_count": 9_007_199_254_740_991_u64, "neutral_count": 9_007_199_254_740_991_u64,
        "negative_count": 9_007_199_254_740_991_u64});
    for aspect in document["aspects"].as_array_mut().expect("aspects") {
        for (key, value) in largest.as_object().expect("an object") {
            aspect[key] = value.clone();
        }
        aspect["quarterly"] = json!([largest, largest, largest]);
    }
    files.insights = Some(document.to_string().into_bytes());
    let page = text(&pages(files), "/");
    assert!(page.contains("9,007,199,254,740,991"), "{page}");
}

/// Returns how many reviews the page says that this query has found.
fn heading(pages: &Pages, query: &str) -> String {
    let page = ask(pages, query).expect("a page");
    let found = "<p class=\"found\" id=\"found\">";
    let (_, heading) = page.split_once(found).expect("a number");
    heading.split_once('<').expect("its end").0.to_owned()
}

#[test]
fn an_aspect_finds_every_review_with_and_without_a_polarity() {
    let mut files = dataset_of_texts("The fees were fair, but the lawyer was late.", 300);
    files.taxonomy = dataset::embedded().taxonomy;
    let pages = pages(files);
    let mut aspects = mentioned_aspects(pages.snapshot.insights_value()).into_iter();
    let fees = aspects
        .find(|aspect| aspect.id == "fees")
        .expect("mentioned");
    let evidence_count = fees.evidence.iter().flatten().count();
    let all = fees.mention_count;
    assert!(evidence_count >= 200, "{evidence_count} of {all}");
    assert!((evidence_count as u64) < all, "{evidence_count} of {all}");
    assert!(all >= 300, "{evidence_count} of {all}");
    for query in "aspect=fees aspect=fees&rating=5 aspect=fees&query=late".split(' ') {
        assert_eq!(heading(&pages, query), "300 reviews match", "{query}");
    }
    assert_eq!(heading(&pages, "aspect=fees&rating=1"), "No review matches");
    let page = ask(&pages, "aspect=fees").expect("a page");
    assert!(page.contains(&format!(
        "the newest and the clearest are marked, {evidence_count} in total."
    )));
    for tone in Polarity::ALL {
        let query = format!("aspect=fees&polarity={}", tone.word());
        let found = heading(&pages, &query);
        let expected = match reviews_of(fees, Some(tone)) {
            0 => "No review matches".to_owned(),
            count => format!("{count} reviews match"),
        };
        assert_eq!(found, expected);
    }
}
