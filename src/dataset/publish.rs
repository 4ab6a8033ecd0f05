//! The documents that are published: all reviews as JSON, and the two feeds.
//!
//! Rendering is a pure function of the dataset and the public address, without clock, hash order or locale, so
//! that two replicas with the same files give the same bytes.

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Business, Dataset, Review};
use crate::wire::date::Timestamp;
use crate::wire::json::Object;
use crate::wire::xml::{push_attribute, push_text};

/// Reviews in each feed: the 50 newest.
pub const FEED_REVIEWS_MAX: usize = 50;

/// The rendered documents, and where in the first of them each review lies.
#[derive(Clone, Debug)]
pub struct Published {
    /// The bytes of `/reviews.json`.
    pub reviews_json: Vec<u8>,
    /// Where each review's JSON object begins in `reviews_json`, and one entry past the last object and its
    /// separator: review `i` is `offsets[i]..offsets[i + 1] - 1`.
    pub offsets: Vec<u64>,
    /// The bytes of `/api/feed.json`.
    pub feed_json: Vec<u8>,
    /// The bytes of `/feed.xml`.
    pub feed_xml: Vec<u8>,
}

/// Renders the documents of `dataset` for the public address `base_url` (an origin, without a trailing slash).
#[must_use]
pub fn publish(dataset: &Dataset, base_url: &str) -> Published {
    let (reviews_json, offsets) = reviews_json(dataset);
    Published {
        reviews_json,
        offsets,
        feed_json: json_feed(dataset, base_url),
        feed_xml: atom_feed(dataset, base_url),
    }
}

fn reviews_json(dataset: &Dataset) -> (Vec<u8>, Vec<u64>) {
    let mut out = Vec::with_capacity(estimate(dataset));
    let mut offsets = Vec::with_capacity(dataset.reviews.len() + 1);
    let mut object = Object::begin(&mut out);
    push_json(object.key("business"), &dataset.business);
    render_aggregate(object.key("aggregate_rating"), &dataset.reviews);
    object.opt_string("disclaimer", dataset.disclaimer.as_deref());
    object.string("updated_at", &dataset.updated_at.to_string());
    let out_of_reviews = object.key("reviews");
    out_of_reviews.push(b'[');
    for review in &dataset.reviews {
        offsets.push(out_of_reviews.len() as u64);
        push_json(out_of_reviews, review);
        out_of_reviews.push(b',');
    }
    offsets.push(out_of_reviews.len() as u64);
    if !dataset.reviews.is_empty() {
        // The last separator gives its place to the bracket.
        out_of_reviews.pop();
    }
    out_of_reviews.push(b']');
    object.end();
    out.shrink_to_fit();
    (out, offsets)
}

/// Guesses the size of the document, a little high: keys and short fields take about 350 bytes a review.
fn estimate(dataset: &Dataset) -> usize {
    let replies = dataset
        .reviews
        .iter()
        .flat_map(|review| &review.owner_reply);
    let replies: usize = replies.map(|reply| reply.text.len()).sum();
    let texts = dataset.reviews.iter().map(|review| review.text.len());
    let total = texts.sum::<usize>() + replies;
    total + total / 32 + 440 * dataset.reviews.len() + 16_384
}

/// Appends a part of a dataset as JSON.
pub fn push_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("strings and numbers are JSON");
}

/// Appends the aggregate rating, always computed from the published reviews.
///
/// `rating_value` is the mean with two decimals, halves rounded up, in whole numbers throughout; null where there
/// is no rating.
pub fn render_aggregate(out: &mut Vec<u8>, reviews: &[Review]) {
    let mut distribution = [0u64; 5];
    let mut with_text = 0;
    for review in reviews {
        distribution[usize::from(review.rating.stars() - 1)] += 1;
        with_text += u64::from(!review.text.is_empty());
    }
    let stars = distribution
        .iter()
        .zip(1..)
        .map(|(count, stars)| count * stars);
    let sum = stars.sum();
    let mut object = Object::begin(out);
    push_mean(object.key("rating_value"), sum, reviews.len() as u64);
    object
        .u64("review_count", with_text)
        .u64("rating_count", reviews.len() as u64)
        .u64("best_rating", 5)
        .u64("worst_rating", 1);
    let mut counts = Object::begin(object.key("distribution"));
    for (stars, count) in ["1", "2", "3", "4", "5"].into_iter().zip(distribution) {
        counts.u64(stars, count);
    }
    counts.end();
    object.end();
}

/// Appends `sum / count` with exactly two decimals, halves rounded up, or null where `count` is 0.
pub fn push_mean(out: &mut Vec<u8>, sum: u64, count: u64) {
    let Some(hundredths) = (sum * 200 + count).checked_div(2 * count) else {
        out.extend_from_slice(b"null");
        return;
    };
    out.extend_from_slice(format!("{}.{:02}", hundredths / 100, hundredths % 100).as_bytes());
}

/// The headline of a review in a feed: "4 of 5 stars from Renée".
fn headline(review: &Review) -> String {
    let stars = review.rating.stars();
    format!("{stars} of 5 stars from {}", review.author)
}

/// What a feed says about itself: the description, and the disclaimer, which is shown wherever reviews are.
fn subtitle(dataset: &Dataset) -> String {
    let description = Some(&dataset.business.description);
    let parts = [description, dataset.disclaimer.as_ref()]
        .into_iter()
        .flatten();
    let parts = parts.map(String::as_str).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// The host of the business's own website, as the tag URIs of entries name it.
fn host(business: &Business) -> String {
    let url = url::Url::parse(&business.url).ok();
    // The decoder accepts only URLs with a host; an empty one would still give a stable id.
    url.and_then(|url| Some(url.host_str()?.to_owned()))
        .unwrap_or_default()
}

/// The stable id of a review in both feeds (RFC 4151), independent of the address under which it is served.
fn entry_id(host: &str, review: &Review) -> String {
    format!("tag:{host},2019:review/{}", review.id)
}

/// Midnight of the day of the review, or of the owner's reply where that came later.
fn updated(review: &Review) -> Timestamp {
    let reply = review.owner_reply.as_ref().map(|reply| reply.date);
    review.date.max(reply.unwrap_or(review.date)).timestamp()
}

/// Renders `/api/feed.json`: JSON Feed 1.1 (<https://www.jsonfeed.org/version/1.1/>) of the newest reviews.
///
/// Optional keys of the format are left out where there is nothing to say, as it asks for. Each item carries the
/// whole review as `_review`, an extension by the format's own rule.
fn json_feed(dataset: &Dataset, base_url: &str) -> Vec<u8> {
    let host = host(&dataset.business);
    let newest = dataset.reviews.iter().take(FEED_REVIEWS_MAX);
    let items: Vec<Value> = newest
        .map(|review| feed_item(review, &host, base_url))
        .collect();
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

fn feed_item(review: &Review, host: &str, base_url: &str) -> Value {
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

/// Renders `/feed.xml`: Atom (RFC 4287) of the newest reviews; every value is escaped, and what XML cannot hold is dropped.
fn atom_feed(dataset: &Dataset, base_url: &str) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n".to_vec();
    let business = &dataset.business;
    let host = host(business);
    let newest = || dataset.reviews.iter().take(FEED_REVIEWS_MAX);
    push_element(&mut out, "id", &format!("tag:{host},2019:reviews"));
    push_element(&mut out, "title", &format!("Reviews of {}", business.name));
    let subtitle = subtitle(dataset);
    if !subtitle.is_empty() {
        push_element(&mut out, "subtitle", &subtitle);
    }
    // The latest of its entries (RFC 4287 §4.2.15), so that a change elsewhere leaves the feed as it is.
    let latest = newest().map(updated).max().unwrap_or(dataset.updated_at);
    push_element(&mut out, "updated", &latest.to_string());
    let own = format!("{base_url}/feed.xml");
    let hub = format!("{base_url}/api/websub/hub");
    let atom = ("type", "application/atom+xml");
    push_empty(&mut out, "link", &[("rel", "self"), atom, ("href", &own)]);
    push_empty(&mut out, "link", &[("rel", "hub"), ("href", &hub)]);
    let html = [
        ("rel", "alternate"),
        ("type", "text/html"),
        ("href", &business.url),
    ];
    push_empty(&mut out, "link", &html);
    newest().for_each(|review| push_entry(&mut out, review, &host, base_url));
    out.extend_from_slice(b"</feed>\n");
    out
}

fn push_entry(out: &mut Vec<u8>, review: &Review, host: &str, base_url: &str) {
    out.extend_from_slice(b"<entry>\n");
    push_element(out, "id", &entry_id(host, review));
    push_element(out, "title", &headline(review));
    push_element(out, "published", &review.date.timestamp().to_string());
    push_element(out, "updated", &updated(review).to_string());
    out.extend_from_slice(b"<author>");
    push_element(out, "name", &review.author);
    out.extend_from_slice(b"</author>\n");
    let url = format!("{base_url}/api/reviews/{}", review.id);
    let json = [
        ("rel", "alternate"),
        ("type", "application/json"),
        ("href", url.as_str()),
    ];
    push_empty(out, "link", &json);
    if let Some(url) = &review.source_url {
        push_empty(out, "link", &[("rel", "via"), ("href", url)]);
    }
    for service in &review.mentioned_services {
        push_empty(out, "category", &[("term", service)]);
    }
    push_element(out, "content", &review.text);
    out.extend_from_slice(b"</entry>\n");
}

/// Appends `<name>text</name>` and a line break; without a type attribute, text is what Atom takes it for.
fn push_element(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(format!("<{name}>").as_bytes());
    push_text(out, text);
    out.extend_from_slice(format!("</{name}>\n").as_bytes());
}

/// Appends `<name attribute="value" …/>` and a line break.
fn push_empty(out: &mut Vec<u8>, name: &str, attributes: &[(&str, &str)]) {
    out.extend_from_slice(format!("<{name}").as_bytes());
    for (attribute, value) in attributes {
        out.extend_from_slice(format!(" {attribute}=\"").as_bytes());
        push_attribute(out, value);
        out.push(b'"');
    }
    out.extend_from_slice(b"/>\n");
}
