//! The Atom feed as its readers see it.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

use crate::exchange::service;

fn newest() -> Vec<Value> {
    let document = service().get("/reviews.json").json();
    document["reviews"].as_array().expect("an array")[..50].to_vec()
}

/// Returns the text of each element with its path, and relation and address of each link of the feed itself.
fn read_atom(document: &str) -> [Vec<(String, String)>; 2] {
    let mut reader = Reader::from_str(document);
    let (mut path, mut texts, mut links) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let event = reader.read_event().expect("the feed is well formed");
        match &event {
            Event::Eof => return [texts, links],
            Event::Start(element) | Event::Empty(element) => {
                let name = element.name().as_ref().to_owned();
                if name == "link" && path.len() == 1 {
                    let attribute = |name: &str| {
                        let found = element.try_get_attribute(name).expect("well formed");
                        found.expect("it is there").value.into_owned()
                    };
                    links.push((attribute("rel"), attribute("href")));
                }
                if matches!(event, Event::Start(_)) {
                    path.push(name);
                    texts.push((path.join("/"), String::new()));
                }
            }
            Event::End(_) => drop(path.pop().expect("every end has a start")),
            // White space between elements belongs to none of those that are collected.
            Event::Text(text) => {
                let here = path.join("/");
                if let Some((_, last)) = texts.last_mut().filter(|(path, _)| *path == here) {
                    last.push_str(text.as_ref());
                }
            }
            _ => {}
        }
    }
}

#[test]
fn atom_feed_has_the_fifty_newest_and_links_to_the_hub() {
    let document = String::from_utf8(service().get("/feed.xml").body).expect("the feed is UTF-8");
    assert!(document.starts_with("<?xml"), "{document:.60}");
    let [texts, links] = read_atom(&document);
    let all = |path: &str| -> Vec<&str> {
        let found = texts.iter().filter(|(found, _)| found == path);
        found.map(|(_, text)| text.as_str()).collect()
    };
    for (rel, href) in [
        ("self", "https://reviews.example/feed.xml"),
        ("hub", "https://reviews.example/api/websub/hub"),
    ] {
        assert!(
            links.contains(&(rel.to_owned(), href.to_owned())),
            "{links:?}"
        );
    }
    let counts = ["feed/id", "feed/title", "feed/updated"].map(|path| all(path).len());
    assert_eq!(counts, [1; 3]);
    // RFC 4287 §4.2.15: what changes outside the entries is no change of the feed.
    let latest = all("feed/entry/updated").into_iter().max();
    assert_eq!(all("feed/updated"), [latest.expect("entries")]);
    let ids = all("feed/entry/id");
    assert_eq!((ids.len(), all("feed/entry/title").len()), (50, 50));
    for (id, review) in ids.iter().zip(newest()) {
        let review = review["id"].as_str().expect("an id").to_owned();
        assert!(id.ends_with(&format!(",2019:review/{review}")), "{id}");
    }
}
