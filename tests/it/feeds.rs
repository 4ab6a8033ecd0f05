//! The feeds of reviews that the filters of a search select.

use serde_json::Value;

use crate::support::service;

/// The ids of the items of a JSON Feed.
fn ids(feed: &Value) -> Vec<&str> {
    let items = feed["items"].as_array().expect("items").iter();
    let ids = items.map(|item| item["_review"]["id"].as_str().expect("an id"));
    ids.collect()
}

#[test]
fn a_filter_selects_the_newest_reviews_that_a_search_finds() {
    for filter in [
        "max_rating=3",
        "query=will&min_rating=4",
        "has_reply=true",
        "until=2020-01-01",
    ] {
        let feed = service().get(&format!("/api/feed.json?{filter}")).json();
        let found = service()
            .get(&format!("/api/reviews/search?{filter}&limit=50"))
            .json();
        let reviews = found["reviews"].as_array().expect("reviews").iter();
        let expected: Vec<&str> = reviews
            .map(|one| one["id"].as_str().expect("an id"))
            .collect();
        assert_eq!(ids(&feed), expected, "{filter}");
        assert_ne!(expected, [""; 0], "{filter}");
        let feed_url = format!("https://reviews.example/api/feed.json?{filter}");
        assert_eq!(feed["feed_url"], feed_url.as_str());
    }
}

#[test]
fn an_item_of_a_filtered_feed_is_that_of_the_whole_feed() {
    let whole = service().get("/api/feed.json").json();
    let some = service().get("/api/feed.json?until=9999-12-31").json();
    assert_eq!(some["items"], whole["items"]);
}

#[test]
fn a_filtered_feed_is_no_topic() {
    for (path, media_type) in [
        ("/feed.xml", "application/atom+xml"),
        ("/api/feed.json", "application/json"),
    ] {
        let whole = service().get(path);
        assert!(
            whole
                .field("link")
                .is_some_and(|link| link.contains("rel=\"hub\"")),
            "{path}"
        );
        let some = service().get(&format!("{path}?max_rating=3"));
        assert_eq!(some.status, 200);
        assert_eq!(some.field("content-type"), Some(media_type));
        assert_eq!(some.field("link"), None, "{path}");
        let body = String::from_utf8(some.body).expect("text");
        assert!(!body.contains("/api/websub/hub"), "{path}");
    }
}

#[test]
fn the_atom_feed_names_itself_with_its_query() {
    let body = service()
        .get("/feed.xml?max_rating=3&words=%22very+slow%22")
        .body;
    let feed = String::from_utf8(body).expect("text");
    let address =
        "href=\"https://reviews.example/feed.xml?max_rating=3&amp;words=%22very+slow%22\"";
    assert!(feed.contains(address), "{feed}");
    assert!(feed.contains(",2019:reviews?max_rating=3&amp;"), "{feed}");
}

#[test]
fn a_percent_sign_without_digits_is_escaped_in_the_address_of_a_feed() {
    let target = "/api/feed.json?max_rating=3&utm_source=%zz";
    let feed = service().get(target).json();
    let escaped = "https://reviews.example/api/feed.json?max_rating=3&utm_source=%25zz";
    assert_eq!(feed["feed_url"], escaped);
}

#[test]
fn a_filtered_feed_has_an_entity_tag_of_its_query() {
    let first = service().get("/feed.xml?max_rating=3");
    let tag = first.field("etag").expect("a tag").to_owned();
    let again = service().get_with("/feed.xml?max_rating=3", &[("If-None-Match", &tag)]);
    assert_eq!(again.status, 304);
    let other = service().get_with("/feed.xml?max_rating=2", &[("If-None-Match", &tag)]);
    assert_eq!(other.status, 200);
}

#[test]
fn without_a_filter_the_stored_feed_is_sent() {
    for path in ["/feed.xml", "/api/feed.json"] {
        let stored = service().get(path);
        for query in ["", "utm_source=x", "max_rating=", "limit=1", "sort=lowest"] {
            let sent = service().get(&format!("{path}?{query}"));
            assert_eq!(sent.body, stored.body, "{path}?{query}");
            assert_eq!(sent.field("etag"), stored.field("etag"), "{path}?{query}");
        }
    }
}

#[test]
fn bad_input_is_answered_as_by_the_search() {
    for query in [
        "rating=9",
        "since=never",
        "max_rating=3&max_rating=4",
        "words=%zz",
    ] {
        let expected = service().get(&format!("/api/reviews/search?{query}"));
        assert_eq!(expected.status, 400, "{query}");
        for path in ["/feed.xml", "/api/feed.json"] {
            let refused = service().get(&format!("{path}?{query}"));
            assert_eq!(refused.status, 400, "{path}?{query}");
            assert_eq!(refused.body, expected.body, "{path}?{query}");
        }
    }
}
