//! The business and its newest reviews as schema.org JSON-LD: `/reviews.jsonld`, and embedded in the front page.

use serde_json::{Value, json};

use super::home::NEWEST_MAX;
use super::rating::{RatingStats, rounded_ratio};
use super::review::{ReviewView, VerificationLevel, read_newest};
use crate::model::{Business, platform};
use crate::snapshot::Snapshot;
use crate::wire::json::escape_for_script;

/// Longest name of an author in characters: Google's review snippet guidelines require fewer than 100.
const AUTHOR_CHARS_MAX: usize = 99;

/// Renders the document without empty values, escaped so that it can be embedded in HTML. It has the newest reviews
/// that the front page shows, as search engines require that all of them be on the page.
pub(super) fn render(snapshot: &Snapshot, stats: &RatingStats) -> String {
    let business = &snapshot.business;
    let geo = business.geo.as_ref().map(|geo| {
        json!({"@type": "GeoCoordinates", "latitude": geo.latitude, "longitude": geo.longitude})
    });
    let disclaimer = snapshot
        .disclaimer
        .as_ref()
        .map(|text| json!({"@type": "CreativeWork", "name": "Disclaimer", "text": text}));
    let newest = read_newest(snapshot, NEWEST_MAX);
    let reviews = newest.iter().map(|review| review_value(snapshot, review));
    let mut document = json!({
        "@context": "https://schema.org",
        "@type": kind(business),
        "@id": format!("{}/#business", snapshot.base_url),
        "name": business.name,
        "description": business.description,
        "url": business.url,
        "telephone": business.telephone,
        "email": business.email,
        "address": address_value(business),
        "geo": geo,
        "openingHours": business.opening_hours,
        "areaServed": business.service_areas,
        "sameAs": business.same_as,
        "subjectOf": disclaimer,
        "aggregateRating": rating_value(stats),
        "review": reviews.collect::<Vec<_>>(),
    });
    remove_empty(&mut document);
    escape_for_script(&document.to_string())
}

/// Returns the linked data of the page of one review.
pub(super) fn review_page(snapshot: &Snapshot, review: &ReviewView, url: &str) -> Value {
    let business = &snapshot.business;
    let mut document = review_value(snapshot, review);
    document["@context"] = "https://schema.org".into();
    document["mainEntityOfPage"] = url.into();
    document["itemReviewed"] = json!({
        "@type": kind(business),
        "@id": format!("{}/#business", snapshot.base_url),
        "name": business.name,
        "url": business.url,
        "telephone": business.telephone,
        "address": address_value(business),
    });
    if let Some(reply) = &review.owner_reply {
        document["comment"] = json!({
            "@type": "Comment",
            "text": reply.text,
            "datePublished": reply.date,
            "author": {"@type": "Organization", "name": business.name},
        });
    }
    remove_empty(&mut document);
    document
}

fn address_value(business: &Business) -> Value {
    let address = &business.address;
    json!({
        "@type": "PostalAddress",
        "streetAddress": address.street_address,
        "addressLocality": address.locality,
        "addressRegion": address.region,
        "postalCode": address.postal_code,
        "addressCountry": address.country,
    })
}

fn rating_value(stats: &RatingStats) -> Option<Value> {
    let mean = rounded_ratio(stats.sum, stats.count, 100)? as f64 / 100.0;
    // Google rejects a count of zero.
    let mut with_text = Value::Null;
    if stats.with_text > 0 {
        with_text = json!(stats.with_text);
    }
    Some(json!({
        "@type": "AggregateRating",
        "ratingValue": mean,
        "ratingCount": stats.count,
        "reviewCount": with_text,
        "bestRating": 5,
        "worstRating": 1,
    }))
}

fn review_value(snapshot: &Snapshot, review: &ReviewView) -> Value {
    let name: String = review.author.chars().take(AUTHOR_CHARS_MAX).collect();
    let source_url = review.source_url.as_deref().unwrap_or_default();
    let mut publisher = Value::Null;
    let mut url = Value::Null;
    let is_by_account = review.verification_level() == VerificationLevel::Account;
    if is_by_account || is_published_elsewhere(&review.source, source_url, &snapshot.business) {
        publisher = json!({"@type": "Organization", "name": review.publisher()});
        url = json!(source_url);
    }
    json!({
        "@type": "Review",
        "@id": snapshot.review_url(&review.id),
        "datePublished": review.date,
        "author": {"@type": "Person", "name": name},
        "reviewRating": {"@type": "Rating", "ratingValue": review.rating, "bestRating": 5, "worstRating": 1},
        "reviewBody": review.text.text,
        "inLanguage": review.language,
        "publisher": publisher,
        "url": url,
    })
}

/// Removes members without a value, at any depth: null, an empty string, an empty list, and an object with no key but
/// its type.
fn remove_empty(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for member in members.values_mut() {
                remove_empty(member);
            }
            members.retain(|_, member| match member {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(inner) => inner.keys().any(|key| key != "@type"),
                _ => true,
            });
        }
        Value::Array(items) => {
            for item in items {
                remove_empty(item);
            }
        }
        _ => {}
    }
}

/// Returns whether a review was published first by a known platform, or on another host than that of the business.
fn is_published_elsewhere(source: &str, url: &str, business: &Business) -> bool {
    if platform(source).is_some() {
        return true;
    }
    let host = host_of(url);
    host.is_some() && host != host_of(&business.url)
}

/// Returns the host of a URL without `www.`.
fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

/// Returns the business's type if it can be a schema.org name, else `LocalBusiness`.
fn kind(business: &Business) -> &str {
    let mut bytes = business.kind.bytes();
    if business.kind.is_empty() || !bytes.all(|byte| byte.is_ascii_alphanumeric()) {
        return "LocalBusiness";
    }
    &business.kind
}
