//! The documents that are published: all reviews as JSON, and the two feeds.
//!
//! Rendering is a pure function of the dataset and the public address, without clock, hash order or locale, so
//! that two replicas with the same files give the same bytes.

mod atom;
mod feed;

#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;

use crate::model::{Business, Dataset, Review};
use crate::wire::date::Timestamp;
use crate::wire::json::Object;

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
        feed_json: feed::render(dataset, base_url),
        feed_xml: atom::render(dataset, base_url),
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
