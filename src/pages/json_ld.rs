//! The business and its newest reviews as schema.org JSON-LD: `/reviews.jsonld`, and embedded in the front page.

use super::rating::RatingStats;
use super::review::{ReviewView, read_newest};
use crate::model::{Business, platform};
use crate::snapshot::Snapshot;
use crate::wire::json::{Array, Object};

/// Reviews in the document: the same ones that the page shows, as search engines require.
const REVIEWS_MAX: u32 = 10;

/// Characters of an author's name: Google asks for fewer than 100 (its review snippet guidelines).
const AUTHOR_CHARS_MAX: usize = 99;

/// Renders the document. `<`, `>` and `&` are written as escapes, so that it can stand in HTML as it is.
pub(super) fn render(snapshot: &Snapshot, stats: &RatingStats) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object
        .string("@context", "https://schema.org")
        .string("@type", kind(&snapshot.business))
        .string("@id", &format!("{}/#business", snapshot.base_url));
    put_business(&mut object, &snapshot.business);
    if let Some(disclaimer) = &snapshot.disclaimer {
        let mut work = Object::begin(object.key("subjectOf"));
        work.string("@type", "CreativeWork")
            .string("name", "Disclaimer")
            .string("text", disclaimer);
        work.end();
    }
    if let Some(mean) = stats.mean() {
        put_rating(&mut object, stats, &mean);
        let mut reviews = Array::begin(object.key("review"));
        for review in read_newest(snapshot, REVIEWS_MAX) {
            put_review(reviews.item(), snapshot, &review);
        }
        reviews.end();
    }
    object.end();
    escaped(&out)
}

fn put_business(object: &mut Object<'_>, business: &Business) {
    let given = [
        ("name", &business.name),
        ("description", &business.description),
        ("url", &business.url),
        ("telephone", &business.telephone),
        ("email", &business.email),
    ];
    for (key, value) in given.into_iter().filter(|(_, value)| !value.is_empty()) {
        object.string(key, value);
    }
    let address = &business.address;
    let parts = [
        ("streetAddress", &address.street_address),
        ("addressLocality", &address.locality),
        ("addressRegion", &address.region),
        ("postalCode", &address.postal_code),
        ("addressCountry", &address.country),
    ];
    let mut postal = Object::begin(object.key("address"));
    postal.string("@type", "PostalAddress");
    for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        postal.string(key, value);
    }
    postal.end();
    if let Some(geo) = &business.geo {
        let mut position = Object::begin(object.key("geo"));
        position
            .string("@type", "GeoCoordinates")
            .raw("latitude", geo.latitude.to_string().as_bytes())
            .raw("longitude", geo.longitude.to_string().as_bytes());
        position.end();
    }
    for (key, values) in [
        ("openingHours", &business.opening_hours),
        ("areaServed", &business.service_areas),
        ("sameAs", &business.same_as),
    ] {
        if !values.is_empty() {
            object.strings(key, values.iter().map(String::as_str));
        }
    }
}

fn put_rating(object: &mut Object<'_>, stats: &RatingStats, mean: &str) {
    let mut rating = Object::begin(object.key("aggregateRating"));
    rating
        .string("@type", "AggregateRating")
        .raw("ratingValue", mean.as_bytes())
        .u64("ratingCount", stats.count);
    // Google refuses a count of zero.
    if stats.with_text > 0 {
        rating.u64("reviewCount", stats.with_text);
    }
    rating.u64("bestRating", 5).u64("worstRating", 1);
    rating.end();
}

fn put_review(out: &mut Vec<u8>, snapshot: &Snapshot, review: &ReviewView) {
    let id = format!("{}/api/reviews/{}", snapshot.base_url, review.id);
    let mut object = Object::begin(out);
    object
        .string("@type", "Review")
        .string("@id", &id)
        .string("datePublished", &review.date);
    let name: String = review.author.chars().take(AUTHOR_CHARS_MAX).collect();
    let mut author = Object::begin(object.key("author"));
    author.string("@type", "Person").string("name", &name);
    author.end();
    let mut rating = Object::begin(object.key("reviewRating"));
    rating
        .string("@type", "Rating")
        .u64("ratingValue", review.rating)
        .u64("bestRating", 5)
        .u64("worstRating", 1);
    rating.end();
    if !review.text.is_empty() {
        object.string("reviewBody", review.plain_text());
    }
    if let Some(language) = &review.language {
        object.string("inLanguage", language);
    }
    let url = review.source_url.as_deref().unwrap_or_default();
    if is_of_another(&review.source, url, &snapshot.business) {
        let mut organization = Object::begin(object.key("publisher"));
        organization
            .string("@type", "Organization")
            .string("name", &review.publisher());
        organization.end();
        if !url.is_empty() {
            object.string("url", url);
        }
    }
    object.end();
}

/// Returns whether a review was published elsewhere than by the business: by a platform, or on another host.
fn is_of_another(source: &str, url: &str, business: &Business) -> bool {
    let host = |url: &str| {
        let url = url::Url::parse(url).ok()?;
        let host = url.host_str()?;
        Some(host.trim_start_matches("www.").to_owned())
    };
    platform(source).is_some() || (host(url).is_some() && host(url) != host(&business.url))
}

/// Returns the business's type if it can be a schema.org name, else `LocalBusiness`.
fn kind(business: &Business) -> &str {
    let mut letters = business.kind.bytes();
    match !business.kind.is_empty() && letters.all(|byte| byte.is_ascii_alphanumeric()) {
        true => &business.kind,
        false => "LocalBusiness",
    }
}

/// Escapes `<`, `>` and `&`, which could end a `script` element or open a comment. In JSON they occur in strings only.
fn escaped(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + 64);
    for byte in json {
        match byte {
            b'<' => out.extend_from_slice(b"\\u003c"),
            b'>' => out.extend_from_slice(b"\\u003e"),
            b'&' => out.extend_from_slice(b"\\u0026"),
            other => out.push(*other),
        }
    }
    out
}
