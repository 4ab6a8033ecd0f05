//! `/api/feed.json`: JSON Feed 1.1 (<https://www.jsonfeed.org/version/1.1/>).

use super::{
    FEED_REVIEWS_MAX, Published, entry_id, headline, host, push_joined, subtitle, updated,
};
use crate::model::{Dataset, Review};
use crate::wire::json::{Array, Object};

/// Renders the feed of the newest reviews.
///
/// Optional keys of the format are left out where there is nothing to say, as it asks for. Each item carries the
/// whole review as `_review`, an extension by the format's own rule, made of the bytes already rendered.
pub(super) fn render(dataset: &Dataset, published: &Published, base_url: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut feed = Object::begin(&mut out);
    feed.string("version", "https://jsonfeed.org/version/1.1")
        .string("title", &format!("Reviews of {}", dataset.business.name))
        .string("home_page_url", &dataset.business.url);
    push_joined(feed.key("feed_url"), base_url, "/api/feed.json");
    feed.string("description", &subtitle(dataset));
    let mut hubs = Array::begin(feed.key("hubs"));
    let mut hub = Object::begin(hubs.item());
    hub.string("type", "WebSub");
    push_joined(hub.key("url"), base_url, "/api/websub/hub");
    hub.end();
    hubs.end();
    let host = host(&dataset.business);
    let mut items = Array::begin(feed.key("items"));
    for (row, review) in dataset.reviews.iter().take(FEED_REVIEWS_MAX).enumerate() {
        let whole = published.review(row).unwrap_or(b"null");
        render_item(items.item(), review, whole, &host, base_url);
    }
    items.end();
    feed.end();
    out
}

fn render_item(out: &mut Vec<u8>, review: &Review, whole: &[u8], host: &str, base_url: &str) {
    let mut item = Object::begin(out);
    item.string("id", &entry_id(host, review));
    push_joined(
        item.key("url"),
        base_url,
        &format!("/api/reviews/{}", review.id),
    );
    if let Some(url) = &review.source_url {
        item.string("external_url", url);
    }
    item.string("title", &headline(review))
        .string("content_text", &review.text)
        .string("date_published", &review.date.timestamp().to_string())
        .string("date_modified", &updated(review).to_string());
    let mut authors = Array::begin(item.key("authors"));
    let mut author = Object::begin(authors.item());
    author.string("name", &review.author);
    if let Some(avatar) = &review.author_avatar_url {
        author.string("avatar", avatar);
    }
    author.end();
    authors.end();
    if !review.mentioned_services.is_empty() {
        item.strings("tags", review.mentioned_services.iter().map(String::as_str));
    }
    item.raw("_review", whole);
    item.end();
}
