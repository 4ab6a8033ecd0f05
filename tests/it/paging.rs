//! From page to page of a search by `Link: …; rel="next"`, in every order.

use std::collections::BTreeSet;
use std::sync::Arc;

use reviewd::http::ServedState;
use reviewd::model::Review;
use serde_json::{Value, json};

use crate::exchange::{Service, sample, service, snapshot_of};
use crate::search::{all, search, text};

/// Follows `Link: …; rel="next"` from the first page to the last.
fn follow(first: &str) -> Vec<Value> {
    let mut target = format!("/api/reviews/search?{first}");
    let mut found = Vec::new();
    for _ in 0..1_000 {
        let reply = service().get(&target);
        assert_eq!(reply.status, 200, "{target}");
        let body = reply.json();
        found.extend(
            body["reviews"]
                .as_array()
                .expect("an array")
                .iter()
                .cloned(),
        );
        let Some(link) = reply.field("link") else {
            assert_eq!(body["next_cursor"], Value::Null);
            assert_eq!(body["matched"], json!(found.len()));
            return found;
        };
        let next = link
            .strip_prefix("<https://reviews.example")
            .expect("links are below the public address");
        let next = next
            .strip_suffix(">; rel=\"next\"")
            .expect("the relation is next");
        let cursor = body["next_cursor"]
            .as_str()
            .expect("a link comes with a cursor");
        assert!(
            next.ends_with(&format!("cursor={cursor}")) && cursor.len() <= 256,
            "{next}"
        );
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
        for limit in [7, 50, 100] {
            assert_eq!(
                &follow(&format!("sort={sort}&limit={limit}")),
                expected,
                "{sort} {limit}"
            );
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
        for review in &reviews {
            assert!(
                text(review, "text").to_lowercase().contains("in the"),
                "{query}"
            );
        }
    }
}

#[test]
fn a_cursor_of_one_order_is_refused_in_another() {
    let cursor = search("sort=oldest&limit=1").json()["next_cursor"]
        .as_str()
        .expect("more follow")
        .to_owned();
    assert_eq!(
        search(&format!("sort=oldest&limit=1&cursor={cursor}")).status,
        200
    );
    let reply = search(&format!("sort=newest&limit=1&cursor={cursor}"));
    reply.assert_error(400, "validation_error");
    assert_eq!(reply.json()["issues"][0]["code"], "invalid_cursor");
}

#[test]
fn a_review_that_arrives_between_two_pages_skips_and_repeats_none() {
    for sort in ["newest", "oldest", "highest", "lowest"] {
        let (service, app) = Service::alone(sample());
        let old: BTreeSet<String> = sample()
            .reviews
            .into_iter()
            .map(|review| review.id)
            .collect();
        let mut grown = sample();
        let (newest, middle) = (grown.reviews[0].clone(), grown.reviews[100].clone());
        for (place, id, like) in [(100, "ZZZ-middle", middle), (0, "ZZZ-newest", newest)] {
            grown.reviews.insert(
                place,
                Review {
                    id: id.to_owned(),
                    ..like
                },
            );
        }
        let mut site = Some(
            ServedState::new(Arc::new(snapshot_of(grown))).expect("the base URL fits a header"),
        );
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
