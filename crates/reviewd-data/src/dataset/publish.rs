//! Renders the published documents: all reviews as JSON, and the two feeds.
//!
//! Rendering is a pure function of the dataset and the public address, independent of clock, hash order and locale, so
//! two replicas with the same files render the same bytes.

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Business, Dataset, Review, VerificationState};
use reviewd_wire::date::Timestamp;
use reviewd_wire::json::Object;
use reviewd_wire::xml::{escape_attribute, escape_text};

/// Reviews in each feed: the 50 newest.
pub const FEED_REVIEWS_MAX: usize = 50;

/// The rendered documents, and the position of each review in `reviews_json`.
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

/// What a feed says besides its reviews.
#[derive(Clone, Copy, Debug)]
pub struct FeedHead<'d> {
    /// The business that the reviews are about.
    pub business: &'d Business,
    /// Displayed wherever reviews are.
    pub disclaimer: Option<&'d str>,
    /// When the content last changed.
    pub updated_at: Timestamp,
    /// The public address, an origin without a trailing slash.
    pub base_url: &'d str,
    /// The query that has selected the reviews, in the characters of a URI. `None` for the feed of all, which is a topic
    /// of the hub.
    pub query: Option<&'d str>,
}

impl FeedHead<'_> {
    /// Returns `?` and the query; empty without one.
    fn suffix(&self) -> String {
        self.query
            .map_or_else(String::new, |query| format!("?{query}"))
    }
}

/// Renders the documents of `dataset` for the public address `base_url` (an origin, without a trailing slash).
#[must_use]
pub fn publish(dataset: &Dataset, base_url: &str) -> Published {
    let (reviews_json, offsets) = reviews_json(dataset, base_url);
    let head = FeedHead {
        business: &dataset.business,
        disclaimer: dataset.disclaimer.as_deref(),
        updated_at: dataset.updated_at,
        base_url,
        query: None,
    };
    let newest = dataset.reviews.iter().take(FEED_REVIEWS_MAX);
    Published {
        reviews_json,
        offsets,
        feed_json: json_feed(&head, newest.clone()),
        feed_xml: atom_feed(&head, newest),
    }
}

fn reviews_json(dataset: &Dataset, base_url: &str) -> (Vec<u8>, Vec<u64>) {
    // Slightly more than needed: keys, short fields and replies take about 590 bytes per review.
    let texts: usize = dataset.reviews.iter().map(|one| one.text.len()).sum();
    let mut out = Vec::with_capacity(texts + texts / 8 + 672 * dataset.reviews.len() + 16_384);
    let mut offsets = Vec::with_capacity(dataset.reviews.len() + 1);
    let mut object = Object::begin(&mut out);
    push_json(object.key("business"), &dataset.business);
    let rating = aggregate_rating(&dataset.reviews);
    object.raw("aggregate_rating", rating.as_bytes());
    object.opt_string("disclaimer", dataset.disclaimer.as_deref());
    object.string("updated_at", &dataset.updated_at.to_string());
    let reviews_out = object.key("reviews");
    reviews_out.push(b'[');
    for review in &dataset.reviews {
        offsets.push(reviews_out.len() as u64);
        push_json(reviews_out, &*review.with_absolute_media(base_url));
        reviews_out.push(b',');
    }
    offsets.push(reviews_out.len() as u64);
    if !dataset.reviews.is_empty() {
        // The closing bracket replaces the last separator.
        reviews_out.pop();
    }
    reviews_out.push(b']');
    object.end();
    out.shrink_to_fit();
    (out, offsets)
}

/// Appends a part of a dataset as JSON.
pub fn push_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("strings and numbers are JSON");
}

/// Renders the aggregate rating, always computed from the published reviews. If some were published with an account only,
/// it has the counts of each state of verification.
fn aggregate_rating(reviews: &[Review]) -> String {
    let mut distribution = [0u64; 5];
    let mut with_text = 0;
    let mut by_business = 0u64;
    let mut by_platform = 0u64;
    let mut by_account = 0u64;
    for review in reviews {
        distribution[usize::from(review.rating.stars() - 1)] += 1;
        with_text += u64::from(!review.text.is_empty());
        match review.state() {
            Some(VerificationState::Business) => by_business += 1,
            Some(VerificationState::Platform) => by_platform += 1,
            Some(VerificationState::Account) => by_account += 1,
            None => {}
        }
    }
    let [one, two, three, four, five] = distribution;
    let sum = one + 2 * two + 3 * three + 4 * four + 5 * five;
    let count = reviews.len();
    // As in schema.org: a review has a text, a rating need not have one.
    let counts = format!(
        r#""review_count":{with_text},"rating_count":{count},"best_rating":5,"worst_rating":1"#
    );
    let by_stars = format!(r#"{{"1":{one},"2":{two},"3":{three},"4":{four},"5":{five}}}"#);
    let mut by_verification = String::new();
    if by_account > 0 {
        by_verification = format!(
            r#","by_verification":{{"business":{by_business},"platform":{by_platform},"account":{by_account}}}"#
        );
    }
    let mean = mean(sum, count as u64);
    format!(r#"{{"rating_value":{mean},{counts},"distribution":{by_stars}{by_verification}}}"#)
}

/// Returns `sum / count` with exactly two decimals, halves rounded up, in integer arithmetic; null if `count` is 0.
fn mean(sum: u64, count: u64) -> String {
    match (sum * 200 + count).checked_div(2 * count) {
        Some(hundredths) => format!("{}.{:02}", hundredths / 100, hundredths % 100),
        None => "null".to_owned(),
    }
}

/// The headline of a review in a feed: "4 of 5 stars from Renée".
fn headline(review: &Review) -> String {
    let stars = review.rating.stars();
    format!("{stars} of 5 stars from {}", review.author)
}

/// The feed's subtitle: the description, and the disclaimer, which is shown wherever reviews are.
fn subtitle(head: &FeedHead<'_>) -> String {
    let description = head.business.description.as_str();
    let disclaimer = head.disclaimer.unwrap_or_default();
    let mut parts = vec![description, disclaimer];
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// The host of the business's own website. Tag URIs (RFC 4151) of it are the ids of feeds and entries, independent of the
/// address under which they are served.
fn host(business: &Business) -> String {
    // The decoder accepts only URLs with a host; an empty one would still give a stable id.
    match url::Url::parse(&business.url) {
        Ok(url) => url.host_str().unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}

/// The recorded time of the last change, or midnight of the day of the review or its reply if that is later.
fn updated(review: &Review) -> Timestamp {
    let by_dates = review.modified().timestamp();
    match review.changed_at {
        Some(changed_at) => changed_at.max(by_dates),
        None => by_dates,
    }
}

/// Renders `/api/feed.json`: JSON Feed 1.1 (<https://www.jsonfeed.org/version/1.1/>) of the newest reviews.
///
/// Optional keys without a value are left out, as the format requires. Each item contains the whole review as
/// `_review`, an extension as the format allows.
#[must_use]
pub fn json_feed<'r>(head: &FeedHead<'_>, reviews: impl Iterator<Item = &'r Review>) -> Vec<u8> {
    let base_url = head.base_url;
    let host = host(head.business);
    let items: Vec<Value> = reviews
        .map(|review| feed_item(review, &host, base_url))
        .collect();
    let hubs = match head.query {
        None => json!([{"type": "WebSub", "url": format!("{base_url}/api/websub/hub")}]),
        Some(_) => Value::Null,
    };
    let feed = without_nulls(json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": format!("Reviews of {}", head.business.name),
        "home_page_url": head.business.url,
        "feed_url": format!("{base_url}/api/feed.json{}", head.suffix()),
        "description": subtitle(head),
        "hubs": hubs,
        "items": items,
    }));
    feed.to_string().into_bytes()
}

fn feed_item(review: &Review, host: &str, base_url: &str) -> Value {
    let review = &*review.with_absolute_media(base_url);
    let tags = match &review.mentioned_services[..] {
        [] => Value::Null,
        services => json!(services),
    };
    without_nulls(json!({
        "id": format!("tag:{host},2019:review/{}", review.id),
        "url": format!("{base_url}/reviews/{}", review.id),
        "external_url": review.source_url,
        "title": headline(review),
        "content_text": review.text,
        "date_published": review.date.timestamp().to_string(),
        "date_modified": updated(review).to_string(),
        "authors": [without_nulls(json!({
            "name": review.author,
            "avatar": review.author_avatar_url,
        }))],
        "tags": tags,
        "_review": review,
    }))
}

/// Removes the keys of an object whose value is null.
fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(keys) = &mut object {
        keys.retain(|_, value| !value.is_null());
    }
    object
}

/// Renders `/feed.xml`: Atom (RFC 4287) of the newest reviews; values are escaped, and forbidden characters dropped.
#[must_use]
pub fn atom_feed<'r>(
    head: &FeedHead<'_>,
    reviews: impl Iterator<Item = &'r Review> + Clone,
) -> Vec<u8> {
    let business = head.business;
    let host = escape_text(&host(business));
    // The latest date of the entries (RFC 4287 §4.2.15), so that other changes leave the feed unchanged.
    let latest = reviews
        .clone()
        .map(updated)
        .max()
        .unwrap_or(head.updated_at);
    let name = escape_text(&business.name);
    let subtitle = match &*subtitle(head) {
        "" => String::new(),
        subtitle => format!("<subtitle>{}</subtitle>\n", escape_text(subtitle)),
    };
    let url = escape_attribute(&business.url);
    let base = escape_attribute(head.base_url);
    let suffix = escape_attribute(&head.suffix());
    let hub = match head.query {
        None => format!("<link rel=\"hub\" href=\"{base}/api/websub/hub\"/>\n"),
        Some(_) => String::new(),
    };
    let entries: String = reviews.map(|review| entry(review, &host, &base)).collect();
    let feed = format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>tag:{host},2019:reviews{suffix}</id>
<title>Reviews of {name}</title>
{subtitle}<updated>{latest}</updated>
<link rel="self" type="application/atom+xml" href="{base}/feed.xml{suffix}"/>
{hub}<link rel="alternate" type="text/html" href="{url}"/>
{entries}</feed>
"#
    );
    feed.into_bytes()
}

/// An entry of the feed; without a type attribute, its content is plain text.
fn entry(review: &Review, host: &str, base: &str) -> String {
    let id = &review.id;
    let title = escape_text(&headline(review));
    let published = review.date.timestamp();
    let updated = updated(review);
    let author = escape_text(&review.author);
    let text = escape_text(&review.text);
    let via = review.source_url.iter().map(|url| {
        let url = escape_attribute(url);
        format!("<link rel=\"via\" href=\"{url}\"/>\n")
    });
    let categories = review.mentioned_services.iter().map(|service| {
        let term = escape_attribute(service);
        format!("<category term=\"{term}\"/>\n")
    });
    let links: String = via.chain(categories).collect();
    format!(
        r#"<entry>
<id>tag:{host},2019:review/{id}</id>
<title>{title}</title>
<published>{published}</published>
<updated>{updated}</updated>
<author><name>{author}</name>
</author>
<link rel="alternate" type="text/html" href="{base}/reviews/{id}"/>
<link rel="alternate" type="application/json" href="{base}/api/reviews/{id}"/>
{links}<content>{text}</content>
</entry>
"#
    )
}
