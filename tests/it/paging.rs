//! From page to page of a search by `Link: …; rel="next"`, in every order.

use std::collections::BTreeSet;
use std::sync::Arc;

use reviewd::http::ServedState;
use serde_json::{Value, json};

use crate::exchange::{Service, sample, service, snapshot_of};
use crate::search::{all, text};

/// Follows `Link: …; rel="next"` from the first page to the last.
fn follow(first: &str) -> Vec<Value> {
    let mut target = format!("/api/reviews/search?{first}");
    let mut found = Vec::new();
    for _ in 0..1_000 {
        let reply = service().get(&target);
        assert_eq!(reply.status, 200, "{target}");
        let body = reply.json();
        let reviews = body["reviews"].as_array().expect("an array");
        found.extend(reviews.iter().cloned());
        let Some(link) = reply.field("link") else {
            assert_eq!(body["next_cursor"], Value::Null);
            assert_eq!(body["matched"], json!(found.len()));
            return found;
        };
        let next = link.strip_prefix("<https://reviews.example");
        let next = next.and_then(|next| next.strip_suffix(">; rel=\"next\""));
        let next = next.expect("it leads to the next page below the public address");
        let cursor = text(&body, "next_cursor");
        let is_last = next.ends_with(&format!("cursor={cursor}"));
        assert!(is_last && cursor.len() <= 256, "{next}");
        target = next.to_owned();
    }
    panic!("a page too many");
}

#[test]
fn following_the_links_visits_every_review_once_in_each_order() {
    let all = all();
    let rating = |review: &Value| review["rating"].as_u64();
    let mut oldest = all.clone();
    oldest.reverse();
    let (mut highest, mut lowest) = (all.clone(), all.clone());
    highest.sort_by_key(|review| std::cmp::Reverse(rating(review)));
    lowest.sort_by_key(rating);
    for (sort, expected) in [
        ("newest", &all),
        ("oldest", &oldest),
        ("highest", &highest),
        ("lowest", &lowest),
    ] {
        for limit in [7, 100] {
            let found = follow(&format!("sort={sort}&limit={limit}"));
            assert_eq!(&found, expected, "{sort} {limit}");
        }
    }
}

#[test]
fn the_next_page_keeps_the_filters_however_they_were_written() {
    for query in [
        "min_rating=4&limit=3&query=in+the",
        "limit=3&query=in%20the&min_rating=4",
        "min_rating=4&limit=3&%71uery=in%20the&utm=%22%3E'x'{y|z}",
        "min_rating=4&limit=3&query=in+the&cursor=",
    ] {
        let reviews = follow(query);
        assert!(reviews.len() > 3, "{query}");
        let holds = |review: &Value| text(review, "text").to_lowercase().contains("in the");
        assert!(reviews.iter().all(holds), "{query}");
    }
}

#[test]
fn a_review_that_arrives_between_two_pages_skips_and_repeats_none() {
    for sort in ["newest", "oldest", "highest", "lowest"] {
        let (service, app) = Service::alone(sample());
        let reviews = sample().reviews.into_iter();
        let old: BTreeSet<String> = reviews.map(|review| review.id).collect();
        let mut grown = sample();
        for (place, id) in [(100, "ZZZ-middle"), (0, "ZZZ-newest")] {
            let mut review = grown.reviews[place].clone();
            review.id = id.to_owned();
            grown.reviews.insert(place, review);
        }
        let site = ServedState::new(Arc::new(snapshot_of(grown)));
        let mut site = Some(site.expect("the base URL fits a header"));
        let mut target = format!("/api/reviews/search?sort={sort}&limit=60");
        let mut found: Vec<String> = Vec::new();
        loop {
            let body = service.get(&target).json();
            let reviews = body["reviews"].as_array().expect("an array");
            found.extend(reviews.iter().map(|review| text(review, "id")));
            if let Some(site) = site.take() {
                app.publish(site);
            }
            let Some(cursor) = body["next_cursor"].as_str() else {
                break;
            };
            target = format!("/api/reviews/search?sort={sort}&limit=60&cursor={cursor}");
        }
        let seen: BTreeSet<String> = found.iter().cloned().collect();
        assert_eq!(seen.len(), found.len(), "{sort}: none twice");
        assert!(seen.is_superset(&old), "{sort}: none left out");
    }
}
