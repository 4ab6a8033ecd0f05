//! The HTML pages and the widget; their header fields are in the golden transcripts.

use serde_json::{Value, json};

use crate::support::dataset::DataDir;
use crate::support::{BASE_URL, Server, service};

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
    for name in ["/site.css", "/site.js"] {
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
        let html = format!("<html class=\"reviewd-frame\" lang=\"en\" dir=\"ltr\"{chosen}>");
        assert!(text.contains(&html), "{query}");
        let scheme = format!("content=\"{}\"", theme.unwrap_or("light dark"));
        assert!(text.contains(&scheme), "{query}");
    }
    assert_eq!(service().get("/widget.html?limit=0").status, 400);
}

#[test]
fn a_widget_says_that_reviews_are_left_out() {
    for (query, expected) in [
        (
            "?min_rating=4",
            "Shown here: 4 stars and more. The page has all.",
        ),
        (
            "?max_rating=3",
            "Not all reviews are shown here. The page has all.",
        ),
    ] {
        let frame = page(&format!("/widget.html{query}"));
        let note = format!("<p class=\"note\">{expected}</p>");
        assert!(frame.contains(&note), "{query}");
        let data = service().get(&format!("/widget.json{query}")).json();
        assert_eq!(data["note"], expected, "{query}");
    }
    assert!(!page("/widget.html").contains("Shown here"));
}

/// The id of the newest review.
fn newest_id() -> String {
    let found = service().get("/api/reviews/search?limit=1").json();
    found["reviews"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[test]
fn a_review_has_a_page_with_its_own_address() {
    let id = newest_id();
    let review = service().get(&format!("/api/reviews/{id}")).json();
    let text = page(&format!("/reviews/{id}"));
    let address = format!("{BASE_URL}/reviews/{id}");
    let author = review["author"].as_str().expect("a name");
    assert!(text.contains(&format!("<link rel=\"canonical\" href=\"{address}\">")));
    assert!(text.contains(&format!("<meta property=\"og:url\" content=\"{address}\">")));
    assert!(text.contains(&format!("<title>{author} on ")));
    let (_, data) = text.split_once("ld+json\">{").expect("linked data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(&format!("{{{data}")).expect("JSON");
    assert_eq!(data["@id"], address);
    assert_eq!(data["reviewBody"], review["text"]);
    assert_eq!(data["itemReviewed"]["@id"], format!("{BASE_URL}/#business"));
}

#[test]
fn a_browser_is_sent_from_the_data_of_a_review_to_its_page() {
    let id = newest_id();
    let path = format!("/api/reviews/{id}");
    let browser = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let reply = service().connect().send("GET", &path, &browser);
    assert_eq!(reply.status, 303);
    let address = format!("{BASE_URL}/reviews/{id}");
    assert_eq!(reply.field("location"), Some(&*address));
    assert_eq!(reply.field("vary"), Some("Accept, Accept-Encoding"));
    let reply = service().get(&path);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.field("vary"), Some("Accept, Accept-Encoding"));
}

#[test]
fn feeds_linked_data_and_sitemap_lead_to_the_page_of_a_review() {
    let address = format!("{BASE_URL}/reviews/{}", newest_id());
    for (path, link) in [
        ("/api/feed.json", format!("\"url\":\"{address}\"")),
        (
            "/feed.xml",
            format!("type=\"text/html\" href=\"{address}\""),
        ),
        ("/reviews.jsonld", format!("\"@id\":\"{address}\"")),
        ("/sitemaps/1", format!("<loc>{address}</loc><lastmod>20")),
    ] {
        assert!(page(path).contains(&link), "{path}");
    }
    let index = page("/sitemap.xml");
    assert!(index.contains(&format!("<loc>{BASE_URL}/sitemaps/1</loc>")));
    for path in [
        "/sitemaps/0",
        "/sitemaps/2",
        "/sitemaps/01",
        "/sitemaps/x",
        "/reviews/nobody",
    ] {
        assert_eq!(service().get(path).status, 404, "{path}");
    }
}

#[test]
fn the_page_of_a_review_is_confirmed_by_its_entity_tag() {
    let path = format!("/reviews/{}", newest_id());
    let first = service().get(&path);
    let tag = first.field("etag").expect("a tag");
    let again = service()
        .connect()
        .send("GET", &path, &[("If-None-Match", tag)]);
    assert_eq!(again.status, 304);
    assert_eq!(
        again.field("vary"),
        Some("Accept-Encoding, Accept-Language")
    );
}

#[test]
fn a_page_speaks_the_visitors_language() {
    for (target, accepted, language) in [
        ("/", "de-AT, en;q=0.5", "de"),
        ("/", "tlh", "en"),
        ("/?rating=5", "fr", "fr"),
        ("/?lang=ar", "fr", "ar"),
        ("/?lang=tlh", "es", "es"),
    ] {
        let reply = service()
            .connect()
            .send("GET", target, &[("Accept-Language", accepted)]);
        assert_eq!(reply.status, 200, "{target}");
        let is_negotiated = !target.contains("lang=ar");
        let vary = if is_negotiated {
            "Accept-Encoding, Accept-Language"
        } else {
            "Accept-Encoding"
        };
        assert_eq!(reply.field("vary"), Some(vary), "{target}");
        let text = reply.text();
        let html = format!("<html lang=\"{language}\"");
        assert!(text.contains(&html), "{target} {accepted}");
    }
}

#[test]
fn languages_have_entity_tags_of_their_own() {
    let tag = |accepted: &str| {
        let fields = [("Accept-Language", accepted)];
        let reply = service().connect().send("GET", "/?rating=5", &fields);
        reply.etag().to_owned()
    };
    assert_ne!(tag("de"), tag("fr"));
    assert_eq!(tag("de"), tag("de-CH"));
    let fields = [("Accept-Language", "fr"), ("If-None-Match", &*tag("de"))];
    let reply = service().connect().send("GET", "/?rating=5", &fields);
    assert_eq!(reply.status, 200);
}

#[test]
fn the_data_of_the_element_are_in_the_language_that_it_asks_for() {
    let data = service()
        .get("/widget.json?lang=de&limit=2&min_rating=4")
        .json();
    assert_eq!(data["words"]["language"], "de");
    assert_eq!(data["mean"]["number"], "4,1");
    assert_eq!(data["note"], "Hier ab 4 Sternen. Die Seite zeigt alle.");
    assert_eq!(data["reviews"].as_array().map(Vec::len), Some(2));
    let id = data["reviews"][0]["id"].as_str().expect("an id");
    assert_eq!(
        data["reviews"][0]["url"],
        format!("{BASE_URL}/reviews/{id}")
    );
    let all = service().get("/widget.json?lang=de").json();
    assert_eq!(all["note"], Value::Null);
    assert_eq!(service().get("/widget.json?limit=0").status, 400);
}

#[test]
fn the_script_of_the_element_is_small() {
    let script = service().get("/widget.js");
    service().wait_for_variants("/widget.js");
    let fields = [("Accept-Encoding", "gzip")];
    let packed = service().connect().send("GET", "/widget.js", &fields);
    assert!(packed.body.len() <= 8 * 1024, "{} bytes", packed.body.len());
    assert!(!script.text().contains("STYLESHEET"));
}

/// A server of the sample whose owner has chosen a look.
fn serve_with(site: &str) -> (DataDir, Server) {
    let data = DataDir::sample();
    data.write("site.json", site);
    let server = Server::start_on(data.path());
    (data, server)
}

#[test]
fn the_documentation_has_the_owners_look() {
    let page = page("/developers");
    assert!(page.contains("href=\"/site.css?v="), "{page:.2000}");
    assert!(!page.contains("lang=de"), "it exists in English only");
}

#[test]
fn the_frame_has_the_owners_look() {
    let site = r##"{"accent": "#7a1f3d", "scheme": "dark", "radius": 3, "font": "serif"}"##;
    let (_data, server) = serve_with(site);
    let styles = server.get("/widget.css");
    let styles = styles.text();
    for rule in [
        ":root { --accent: #7a1f3d; }",
        ":root { --radius: 3px; }",
        ":root { --font: \"Iowan",
    ] {
        assert!(styles.contains(rule), "{rule}: {styles}");
    }
    for (target, theme) in [
        ("/widget.html", "dark"),
        ("/widget.html?limit=2", "dark"),
        ("/widget.html?theme=light", "light"),
    ] {
        let frame = server.get(target);
        let frame = frame.text();
        let scheme = format!("<meta name=\"color-scheme\" content=\"{theme}\">");
        assert!(frame.contains(&scheme), "{target}: {frame:.600}");
        assert!(
            frame.contains(&format!("data-theme=\"{theme}\"")),
            "{target}"
        );
    }
}

#[test]
fn the_front_page_says_where_the_business_is_and_when_it_is_open() {
    let page = service().get("/?lang=de");
    let page = page.text();
    for said in [
        "<dt class=\"unseen\">Adresse</dt><dd><bdi>14 Granary Street, Second Floor, Quillhaven, CO 80699</bdi></dd>",
        "<dt class=\"unseen\">Öffnungszeiten</dt><dd><bdi>Mo–Do 08:30–17:30 · Fr 08:30–16:00</bdi></dd>",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn the_meta_description_of_a_business_without_one_does_not_end_with_a_blank() {
    let data = DataDir::with_reviews(2, "2026-11-20T09:00:00Z");
    let text = std::fs::read_to_string(data.path().join("reviews.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["business"]["description"] = json!("");
    data.write("reviews.json", &file.to_string());
    let server = Server::start_on(data.path());
    let page = server.get("/");
    let page = page.text();
    let (_, after) = page
        .split_once("name=\"description\" content=\"")
        .expect("a description");
    let (description, _) = after.split_once('"').expect("its end");
    assert!(description.ends_with("2 reviews."), "{description:?}");
}

#[test]
fn the_badge_is_in_the_language_of_the_site_or_of_the_query() {
    let data = DataDir::sample();
    data.write("site.json", r#"{"language": "de"}"#);
    let server = Server::start_on(data.path());
    let german = server.get("/badge.svg");
    let label = "4,1 von 5 Sternen, 207 Bewertungen";
    assert!(german.text().contains(label), "{}", german.text());
    assert_eq!(server.get("/badge.svg?lang=de").text(), german.text());
    let french = server.get("/badge.svg?lang=fr&theme=dark");
    assert!(french.text().contains("207 avis"), "{}", french.text());
    assert!(!french.text().contains("prefers-color-scheme"));
    assert_ne!(french.etag(), server.get("/badge.svg?lang=fr").etag());
}

#[test]
fn the_badge_has_the_owners_look() {
    let (_data, server) = serve_with(r#"{"scheme": "dark", "radius": 24, "font": "rounded"}"#);
    let badge = server.get("/badge.svg");
    let badge = badge.text();
    assert!(badge.contains("rx=\"15\""), "half of its height: {badge}");
    assert!(badge.contains("text{font-family:ui-rounded"), "{badge}");
    assert!(!badge.contains("prefers-color-scheme"), "{badge}");
    assert_eq!(badge, server.get("/badge.svg?theme=dark").text());
    assert_ne!(badge, server.get("/badge.svg?theme=light").text());
}

#[test]
fn the_element_is_told_the_owners_look() {
    let (_data, server) = serve_with(r##"{"accent": "#7a1f3d", "radius": 0}"##);
    let look = &server.get("/widget.json").json()["look"];
    assert_eq!(look["accent"]["light"], "#7a1f3d");
    assert_ne!(
        look["accent"]["dark"], "#7a1f3d",
        "it would not be readable"
    );
    assert_eq!(look["radius"], 0);
    let plain = &service().get("/widget.json").json()["look"];
    assert_eq!(*plain, json!({"accent": null, "radius": null}));
}

#[test]
fn another_look_has_other_entity_tags() {
    let (_red_data, red) = serve_with(r##"{"accent": "#7a1f3d", "language": "en", "radius": 4}"##);
    let (_blue_data, blue) =
        serve_with(r##"{"accent": "#1f3d7a", "language": "en", "radius": 8}"##);
    let review = format!("/reviews/{}", newest_id());
    for target in [
        "/",
        "/?rating=5",
        &review,
        "/developers",
        "/site.css",
        "/widget.css",
        "/widget.html?limit=2",
        "/widget.json",
        "/badge.svg",
    ] {
        let old = red.get(target);
        let fields = [("If-None-Match", old.etag())];
        let reply = blue.connect().send("GET", target, &fields);
        assert_eq!(reply.status, 200, "{target}");
        let same = red.connect().send("GET", target, &fields);
        assert_eq!(same.status, 304, "{target}");
    }
}

#[test]
fn pages_in_the_owners_language_do_not_vary_by_that_of_the_visitor() {
    let (_data, server) = serve_with(r#"{"language": "de"}"#);
    let review = format!("/reviews/{}", newest_id());
    for target in [
        "/",
        "/?rating=5",
        &review,
        "/widget.html",
        "/widget.html?limit=2",
        "/widget.json",
    ] {
        let fields = [("Accept-Language", "fr")];
        let reply = server.connect().send("GET", target, &fields);
        assert_eq!(reply.field("vary"), Some("Accept-Encoding"), "{target}");
        let other = server.connect().send("GET", target, &[]);
        assert_eq!(other.etag(), reply.etag(), "{target}");
    }
}

#[test]
fn a_confirmed_copy_is_varied_like_the_page() {
    for target in ["/", "/?rating=5", "/widget.html", "/widget.json"] {
        let page = service()
            .connect()
            .send("GET", target, &[("Accept-Language", "fr")]);
        let fields = [("Accept-Language", "fr"), ("If-None-Match", page.etag())];
        let reply = service().connect().send("GET", target, &fields);
        assert_eq!(reply.status, 304, "{target}");
        assert_eq!(reply.field("vary"), page.field("vary"), "{target}");
        let other = [("Accept-Language", "es"), ("If-None-Match", page.etag())];
        let reply = service().connect().send("GET", target, &other);
        assert_eq!(reply.status, 200, "{target}");
    }
}

#[test]
fn a_logo_is_on_the_page_and_its_version_is_kept_for_good() {
    let drawing = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
    // The head of a PNG file of 200 x 100 points.
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\xc8\0\0\0\x64";
    for (name, bytes, media_type, size) in [
        ("logo.svg", &drawing[..], "image/svg+xml", "height=\"48\">"),
        (
            "logo.png",
            picture,
            "image/png",
            "height=\"48\" width=\"96\">",
        ),
    ] {
        let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
        std::fs::write(data.path().join(name), bytes).expect("written");
        let server = Server::start_on(data.path());
        let home = server.get("/").text().to_owned();
        let (_, rest) = home
            .split_once("<img class=\"logo\" src=\"")
            .expect("a logo");
        let (address, rest) = rest.split_once('"').expect("its end");
        assert!(rest.starts_with(&format!(" alt=\"\" {size}")), "{rest:.60}");
        let logo = server.get(address);
        assert_eq!(logo.body, bytes);
        assert_eq!(logo.field("content-type"), Some(media_type));
        let forever = Some("public, max-age=31536000, immutable");
        assert_eq!(logo.field("cache-control"), forever);
        let other = server.get("/logo?v=0");
        assert_eq!(other.body, bytes);
        assert_ne!(other.field("cache-control"), forever);
    }
    // The sample has none.
    service().get("/logo").assert_error(404, "not_found");
}
