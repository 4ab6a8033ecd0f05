//! From page to page of a search by `Link: …; rel="next"`; that pages neither skip nor repeat a review, also where the data
//! change between two, is compared with a reference in `tests/oracle`.

use serde_json::Value;

use crate::exchange::service;
use crate::search::text;

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
            assert_eq!(body["matched"], found.len());
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
fn the_next_page_keeps_order_and_filters_however_they_were_written() {
    for query in [
        "min_rating=4&limit=3&query=in+the",
        "limit=3&query=in%20the&min_rating=4&sort=oldest",
        "min_rating=4&limit=3&%71uery=in%20the&sort=highest&utm=%22%3E'x'{y|z}",
        "min_rating=4&limit=3&query=in+the&sort=lowest&cursor=",
    ] {
        let reviews = follow(query);
        assert!(reviews.len() > 3, "{query}");
        let holds = |review: &Value| text(review, "text").to_lowercase().contains("in the");
        assert!(reviews.iter().all(holds), "{query}");
        let ids: std::collections::BTreeSet<String> =
            reviews.iter().map(|review| text(review, "id")).collect();
        assert_eq!(ids.len(), reviews.len(), "{query}");
    }
}
