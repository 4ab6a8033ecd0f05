//! The HTML pages and the widget; their header fields are in the golden transcripts.

use serde_json::Value;

use crate::support::{BASE_URL, service};

/// Returns the text of a page, which must exist.
fn page(target: &str) -> String {
    let reply = service().get(target);
    assert_eq!(reply.status, 200, "{target}");
    String::from_utf8(reply.body).expect("UTF-8")
}

#[test]
fn a_search_page_shows_what_the_interface_finds() {
    for query in [
        "query=probate",
        "min_rating=4&since=2024-01-01&limit=50",
        "mentions_service=divorce&limit=100",
        "query=nobody+wrote+this",
    ] {
        let found = service()
            .get(&format!("/api/reviews/search?{query}"))
            .json();
        let text = page(&format!("/?{query}"));
        let shown = text.split("aria-labelledby=\"r-").skip(1);
        let shown: Vec<_> = shown.filter_map(|rest| rest.split('"').next()).collect();
        let reviews = found["reviews"].as_array().expect("an array").iter();
        let expected: Vec<_> = reviews.filter_map(|review| review["id"].as_str()).collect();
        assert_eq!(shown, expected, "{query}");
        let has_next = text.contains("rel=\"next\"");
        assert_eq!(has_next, found["next_cursor"] != Value::Null, "{query}");
    }
}

#[test]
fn assets_are_cached_forever_only_under_their_version() {
    let home = page("/");
    for name in ["/page.css", "/page.js"] {
        let loaded = home.split_once(&format!("\"{name}?v="));
        let (_, rest) = loaded.expect("the page loads it");
        let kept = "public, max-age=31536000, immutable";
        let checked = "public, max-age=60, stale-while-revalidate=600";
        let current = format!("?v={}", &rest[..8]);
        for (query, expected) in [(&*current, kept), ("", checked), ("?v=00000000", checked)] {
            let reply = service().get(&format!("{name}{query}"));
            let control = reply.field("cache-control");
            assert_eq!(control, Some(expected), "{name}{query}");
        }
    }
}

#[test]
fn the_widget_follows_its_query() {
    for (query, count, theme) in [
        ("?limit=2&theme=light", 2, Some("light")),
        ("?theme=red", 5, None),
    ] {
        let text = page(&format!("/widget.html{query}"));
        assert_eq!(text.matches("<time").count(), count, "{query}");
        assert!(text.contains(&format!("href=\"{BASE_URL}/\"")), "{query}");
        let chosen = theme.map_or(String::new(), |theme| format!(" data-theme=\"{theme}\""));
        let html = format!("<html lang=\"en\"{chosen}>");
        assert!(text.contains(&html), "{query}");
        let scheme = format!("content=\"{}\"", theme.unwrap_or("light dark"));
        assert!(text.contains(&scheme), "{query}");
    }
    assert_eq!(service().get("/widget.html?limit=0").status, 400);
}
