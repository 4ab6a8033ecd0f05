//! The pages for people, and what other sites show: over a socket, with every header that a browser obeys.

use serde_json::Value;

use crate::exchange::{BASE_URL, service};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Server, wait_until};

const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[test]
fn the_front_page_is_a_document_like_the_others() {
    let reply = service().get("/");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.field("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(reply.field("content-security-policy"), Some(PAGE_POLICY));
    assert_eq!(reply.field("referrer-policy"), Some("same-origin"));
    assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.field("vary"), Some("Accept-Encoding"));
    assert_eq!(reply.field("set-cookie"), None);
    let again = service().send("GET", "/", &[("If-None-Match", reply.etag())]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    wait_until("the page has its variants", || {
        let reply = service().send("GET", "/", &[("Accept-Encoding", "br")]);
        reply.field("content-encoding") == Some("br")
    });
}

#[test]
fn parameters_that_ask_for_nothing_show_the_front_page() {
    let plain = service().get("/");
    for query in ["/?", "/?utm_source=x", "/?query=&rating=&sort="] {
        let reply = service().get(query);
        assert_eq!(
            (reply.etag(), &reply.body),
            (plain.etag(), &plain.body),
            "{query}"
        );
    }
}

#[test]
fn a_search_page_shows_what_the_interface_finds() {
    for query in [
        "query=probate",
        "rating=1&sort=oldest",
        "min_rating=4&since=2024-01-01&limit=50",
        "mentions_service=divorce&limit=100",
        "query=nobody+wrote+this",
    ] {
        let found = service()
            .get(&format!("/api/reviews/search?{query}"))
            .json();
        let page = service().get(&format!("/?{query}"));
        assert_eq!(page.status, 200, "{query}");
        let text = String::from_utf8(page.body.to_vec()).expect("UTF-8");
        let shown: Vec<&str> = text
            .split("aria-labelledby=\"r-")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let reviews = found["reviews"].as_array().expect("an array");
        let expected: Vec<&str> = reviews
            .iter()
            .filter_map(|review| review["id"].as_str())
            .collect();
        assert_eq!(shown, expected, "{query}");
        let has_next = text.contains("rel=\"next\"");
        assert_eq!(has_next, found["next_cursor"] != Value::Null, "{query}");
        let again = service().send(
            "GET",
            &format!("/?{query}"),
            &[("If-None-Match", page.etag())],
        );
        assert_eq!(again.status, 304, "{query}");
    }
}

#[test]
fn a_refused_search_is_a_page_with_every_issue_and_status_400() {
    let reply = service().get("/?rating=9&since=2023-02-30");
    assert_eq!(reply.status, 400);
    assert_eq!(
        reply.field("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(reply.field("content-security-policy"), Some(PAGE_POLICY));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    let text = String::from_utf8(reply.body.to_vec()).expect("UTF-8");
    assert!(
        text.contains("must be an integer from 1 to 5")
            && text.contains("must be a day that exists")
    );
}

#[test]
fn files_of_the_page_are_kept_for_good_under_their_version_alone() {
    let page = String::from_utf8(service().get("/").body.to_vec()).expect("UTF-8");
    for name in ["/page.css", "/page.js"] {
        let (_, rest) = page
            .split_once(&format!("\"{name}?v="))
            .expect("the page loads it");
        let version = &rest[..8];
        let caching = |target: &str| {
            service()
                .get(target)
                .field("cache-control")
                .map(str::to_owned)
        };
        let for_good = Some("public, max-age=31536000, immutable".to_owned());
        assert_eq!(caching(&format!("{name}?v={version}")), for_good, "{name}");
        let for_a_minute = Some("public, max-age=60, stale-while-revalidate=600".to_owned());
        assert_eq!(caching(name), for_a_minute, "{name}");
        assert_eq!(
            caching(&format!("{name}?v=00000000")),
            for_a_minute,
            "{name}"
        );
    }
}

#[test]
fn other_sites_may_frame_the_widget_and_nothing_else() {
    let policy = |target: &str| {
        let reply = service().get(target);
        assert_eq!(reply.status, 200, "{target}");
        reply
            .field("content-security-policy")
            .unwrap_or("")
            .to_owned()
    };
    for target in [
        "/widget.html",
        "/widget.html?limit=2&min_rating=4&mentions_service=probate",
    ] {
        let policy = policy(target);
        assert!(
            policy.contains("frame-ancestors *") && !policy.contains("script-src"),
            "{target}"
        );
        let reply = service().get(target);
        assert_eq!(
            reply.field("cross-origin-resource-policy"),
            Some("cross-origin"),
            "{target}"
        );
    }
    assert!(policy("/?rating=5").contains("frame-ancestors 'none'"));
    assert_eq!(
        service().get("/").field("cross-origin-resource-policy"),
        None
    );
    assert_eq!(service().get("/widget.html?limit=0").status, 400);
}

#[test]
fn the_widget_shows_as_many_reviews_as_it_is_asked_for() {
    for (target, count) in [
        ("/widget.html", 5),
        ("/widget.html?limit=2", 2),
        ("/widget.html?rating=5", 5),
    ] {
        let text = String::from_utf8(service().get(target).body.to_vec()).expect("UTF-8");
        assert_eq!(text.matches("<time").count(), count, "{target}");
        assert!(text.contains(&format!("href=\"{BASE_URL}/\"")), "{target}");
    }
}

#[test]
fn a_badge_comes_in_the_colours_asked_for() {
    let badge =
        |target: &str| String::from_utf8(service().get(target).body.to_vec()).expect("UTF-8");
    assert!(badge("/badge.svg").contains("prefers-color-scheme"));
    let (light, dark) = (
        badge("/badge.svg?theme=light"),
        badge("/badge.svg?theme=dark"),
    );
    assert!(light != dark && !light.contains("prefers") && !dark.contains("prefers"));
    assert_eq!(badge("/badge.svg?theme=pink"), badge("/badge.svg"));
    assert!(light.contains("4.1 of 5 stars, 207 reviews"));
    assert_eq!(
        service().get("/badge.svg").field("content-type"),
        Some("image/svg+xml")
    );
}

#[test]
fn a_page_takes_reads_alone() {
    for target in ["/", "/?rating=5", "/page.css", "/widget.html"] {
        let head = service().send("HEAD", target, &[]);
        assert_eq!(
            head.field("content-length"),
            service().get(target).field("content-length"),
            "{target}"
        );
        service()
            .send("POST", target, &[])
            .assert_error(405, "method_not_allowed");
    }
}

#[test]
fn a_reload_replaces_the_page() {
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let server = Server::start_on(data.path());
    let before = server.get("/");
    assert!(String::from_utf8_lossy(&before.body).contains("3 reviews"));
    data.write("reviews.json", &reviews_json(4, "2026-01-02T00:00:00Z"));
    wait_until("the new page is served", || {
        let reply = server.get("/");
        reply.etag() != before.etag() && String::from_utf8_lossy(&reply.body).contains("4 reviews")
    });
}

#[test]
fn the_frame_keeps_the_colors_that_its_address_asks_for() {
    let page = |target: &str| {
        let reply = service().get(target);
        assert_eq!(reply.status, 200, "{target}");
        String::from_utf8(reply.body.to_vec()).expect("UTF-8")
    };
    for theme in ["light", "dark"] {
        let text = page(&format!("/widget.html?theme={theme}&limit=2"));
        assert!(text.contains(&format!("<html lang=\"en\" data-theme=\"{theme}\">")));
        assert!(text.contains(&format!("name=\"color-scheme\" content=\"{theme}\"")));
        assert_eq!(text.matches("<li>").count(), 2);
        let text = page(&format!("/widget.html?theme={theme}"));
        assert_eq!(text.matches("<li>").count(), 5);
    }
    for target in [
        "/widget.html",
        "/widget.html?theme=red",
        "/widget.html?theme=",
    ] {
        let text = page(target);
        assert!(text.contains("<html lang=\"en\">"), "{target}");
        assert!(text.contains("content=\"light dark\""), "{target}");
    }
}

#[test]
fn searches_lead_to_their_results() {
    for target in ["/", "/?rating=5&limit=3"] {
        let reply = service().get(target);
        let text = String::from_utf8(reply.body.to_vec()).expect("UTF-8");
        assert!(text.contains("<main id=\"content\""));
        assert!(text.contains("action=\"/#content\""), "{target}");
        for link in text.split("href=\"/?").skip(1) {
            let href = link.split('"').next().unwrap_or_default();
            assert!(href.ends_with("#content"), "{target}: {href}");
        }
    }
}
