//! `/feed.xml`: Atom (RFC 4287).

use super::{FEED_REVIEWS_MAX, entry_id, headline, host, subtitle, updated};
use crate::model::{Dataset, Review};
use crate::wire::xml::{push_attribute, push_text};

/// Renders the feed of the newest reviews; every value is escaped, and what XML cannot hold is dropped.
pub(super) fn render(dataset: &Dataset, base_url: &str) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n".to_vec();
    let business = &dataset.business;
    let host = host(business);
    let newest = || dataset.reviews.iter().take(FEED_REVIEWS_MAX);
    element(&mut out, "id", &format!("tag:{host},2019:reviews"));
    element(&mut out, "title", &format!("Reviews of {}", business.name));
    let subtitle = subtitle(dataset);
    if !subtitle.is_empty() {
        element(&mut out, "subtitle", &subtitle);
    }
    // The latest of its entries (RFC 4287 §4.2.15), so that a change elsewhere leaves the feed as it is.
    let latest = newest().map(updated).max().unwrap_or(dataset.updated_at);
    element(&mut out, "updated", &latest.to_string());
    let own = format!("{base_url}/feed.xml");
    let hub = format!("{base_url}/api/websub/hub");
    let atom = ("type", "application/atom+xml");
    empty(&mut out, "link", &[("rel", "self"), atom, ("href", &own)]);
    empty(&mut out, "link", &[("rel", "hub"), ("href", &hub)]);
    let html = [
        ("rel", "alternate"),
        ("type", "text/html"),
        ("href", &business.url),
    ];
    empty(&mut out, "link", &html);
    newest().for_each(|review| render_entry(&mut out, review, &host, base_url));
    out.extend_from_slice(b"</feed>\n");
    out
}

fn render_entry(out: &mut Vec<u8>, review: &Review, host: &str, base_url: &str) {
    out.extend_from_slice(b"<entry>\n");
    element(out, "id", &entry_id(host, review));
    element(out, "title", &headline(review));
    element(out, "published", &review.date.timestamp().to_string());
    element(out, "updated", &updated(review).to_string());
    out.extend_from_slice(b"<author>");
    element(out, "name", &review.author);
    out.extend_from_slice(b"</author>\n");
    let url = format!("{base_url}/api/reviews/{}", review.id);
    let json = [
        ("rel", "alternate"),
        ("type", "application/json"),
        ("href", url.as_str()),
    ];
    empty(out, "link", &json);
    if let Some(url) = &review.source_url {
        empty(out, "link", &[("rel", "via"), ("href", url)]);
    }
    for service in &review.mentioned_services {
        empty(out, "category", &[("term", service)]);
    }
    element(out, "content", &review.text);
    out.extend_from_slice(b"</entry>\n");
}

/// Appends `<name>text</name>` and a line break; without a type attribute, text is what Atom takes it for.
fn element(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(format!("<{name}>").as_bytes());
    push_text(out, text);
    out.extend_from_slice(format!("</{name}>\n").as_bytes());
}

/// Appends `<name attribute="value" …/>` and a line break.
fn empty(out: &mut Vec<u8>, name: &str, attributes: &[(&str, &str)]) {
    out.extend_from_slice(format!("<{name}").as_bytes());
    for (attribute, value) in attributes {
        out.extend_from_slice(format!(" {attribute}=\"").as_bytes());
        push_attribute(out, value);
        out.push(b'"');
    }
    out.extend_from_slice(b"/>\n");
}
