//! `/api/feed.json`: JSON Feed 1.1 (<https://www.jsonfeed.org/version/1.1/>).

use serde_json::{Value, json};

use super::{FEED_REVIEWS_MAX, entry_id, headline, host, subtitle, updated};
use crate::model::{Dataset, Review};

/// Renders the feed of the newest reviews.
///
/// Optional keys of the format are left out where there is nothing to say, as it asks for. Each item carries the
/// whole review as `_review`, an extension by the format's own rule.
pub(super) fn render(dataset: &Dataset, base_url: &str) -> Vec<u8> {
    let host = host(&dataset.business);
    let newest = dataset.reviews.iter().take(FEED_REVIEWS_MAX);
    let items: Vec<Value> = newest.map(|review| item(review, &host, base_url)).collect();
    let feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": format!("Reviews of {}", dataset.business.name),
        "home_page_url": dataset.business.url,
        "feed_url": format!("{base_url}/api/feed.json"),
        "description": subtitle(dataset),
        "hubs": [{"type": "WebSub", "url": format!("{base_url}/api/websub/hub")}],
        "items": items,
    });
    feed.to_string().into_bytes()
}

fn item(review: &Review, host: &str, base_url: &str) -> Value {
    let mut item = json!({
        "id": entry_id(host, review),
        "url": format!("{base_url}/api/reviews/{}", review.id),
    });
    if let Some(url) = &review.source_url {
        item["external_url"] = json!(url);
    }
    item["title"] = json!(headline(review));
    item["content_text"] = json!(review.text);
    item["date_published"] = json!(review.date.timestamp().to_string());
    item["date_modified"] = json!(updated(review).to_string());
    let mut author = json!({"name": review.author});
    if let Some(avatar) = &review.author_avatar_url {
        author["avatar"] = json!(avatar);
    }
    item["authors"] = json!([author]);
    if !review.mentioned_services.is_empty() {
        item["tags"] = json!(review.mentioned_services);
    }
    item["_review"] = json!(review);
    item
}
