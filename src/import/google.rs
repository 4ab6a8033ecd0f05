//! The reviews of Google Business Profile, and those of another reviewd: objects with known keys.
//!
//! The API's answer (`accounts.locations.reviews`, version 4) and the files of a Takeout export
//! (`Takeout/Google Business Profile/account-…/location-…/reviews*.json`) hold the same objects; the export leaves
//! `reviewId` out, which is the last part of `name`. `locationReviews` of `batchGetReviews` wraps each once more.

use serde_json::Value;

use super::lines::plain;
use super::record::{Field, Record};

/// How Google calls people who do not show their name.
pub(super) const ANONYMOUS: &str = "A Google user";

/// Makes a record of one of Google's reviews.
///
/// # Errors
/// Where it is none.
pub(super) fn record(value: &Value, line: u64) -> Result<Record, String> {
    let review = match value.get("review") {
        Some(review) if review.is_object() => review,
        _ => value,
    };
    if review.get("starRating").is_none() {
        return Err("is no review of Google: it has no starRating".to_owned());
    }
    let mut record = Record::at(line);
    let name = review["name"].as_str().unwrap_or_default();
    let id = match review["reviewId"].as_str() {
        Some(id) => id,
        // The same review is there under each account that manages the place, so the account is no part of its id.
        None => name.rsplit('/').next().unwrap_or_default(),
    };
    record.set(Field::Id, id);
    let author = review["reviewer"]["displayName"]
        .as_str()
        .unwrap_or_default();
    let is_anonymous = author.trim().is_empty();
    record.set(Field::Author, if is_anonymous { ANONYMOUS } else { author });
    // An export has no pictures, which does not take away those that the API gave.
    if let Some(photo) = review["reviewer"].get("profilePhotoUrl") {
        record.set(Field::Avatar, plain(photo));
    }
    record.set(Field::Rating, plain(&review["starRating"]));
    record.set(Field::Text, plain(&review["comment"]));
    record.set(Field::Date, plain(&review["createTime"]));
    record.set(Field::Updated, plain(&review["updateTime"]));
    record.set(Field::Reply, plain(&review["reviewReply"]["comment"]));
    record.set(
        Field::ReplyDate,
        plain(&review["reviewReply"]["updateTime"]),
    );
    Ok(record)
}

/// Makes a record of a review as reviewd publishes or stores it; its id stays as it is.
///
/// # Errors
/// Where it is none.
pub(super) fn reviewd(value: &Value, line: u64) -> Result<Record, String> {
    if value.get("id").is_none() || value.get("rating").is_none() {
        return Err("is no review of reviewd: it has no id or no rating".to_owned());
    }
    let mut record = Record::at(line);
    record.is_ours = true;
    let fields = [
        ("id", Field::Id),
        ("author", Field::Author),
        ("author_avatar_url", Field::Avatar),
        ("rating", Field::Rating),
        ("date", Field::Date),
        ("text", Field::Text),
        ("source", Field::Source),
        ("source_url", Field::SourceUrl),
        ("verified", Field::Verified),
    ];
    for (key, field) in fields {
        record.set(field, plain(&value[key]));
    }
    record.set(Field::Reply, plain(&value["owner_reply"]["text"]));
    record.set(Field::ReplyDate, plain(&value["owner_reply"]["date"]));
    record.mentions = ["mentioned_technicians", "mentioned_services"].map(|key| {
        let names = value[key].as_array()?;
        Some(names.iter().map(plain).collect())
    });
    Ok(record)
}
