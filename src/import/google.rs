//! The reviews of Google Business Profile, and those of another reviewd: objects with known keys.
//!
//! The API's answer (`accounts.locations.reviews`, version 4) and the files of a Takeout export
//! (`Takeout/Google Business Profile/account-…/location-…/reviews*.json`) hold the same objects; the export leaves
//! `reviewId` out, which is the last part of `name`. `locationReviews` of `batchGetReviews` wraps each once more.

use serde_json::Value;

use super::lines::{plain, put};
use super::record::{Extra, Field, Record};
use super::stored::{media, verification};

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
        put(&mut record, Field::Avatar, photo);
    }
    for (key, field) in [
        ("starRating", Field::Rating),
        ("comment", Field::Text),
        ("createTime", Field::Date),
        ("updateTime", Field::Updated),
    ] {
        put(&mut record, field, &review[key]);
    }
    reply(
        &mut record,
        &review["reviewReply"],
        ["comment", "updateTime"],
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
        put(&mut record, field, &value[key]);
    }
    reply(&mut record, &value["owner_reply"], ["text", "date"]);
    record.mentions = ["mentioned_technicians", "mentioned_services"].map(|key| {
        let names = value[key].as_array()?;
        // A name that is none is refused as an empty one is.
        let name = |name| plain(name).unwrap_or_default();
        Some(names.iter().map(name).collect())
    });
    // A review without these keys, of an older reviewd, takes nothing away from what is there.
    let given = |key: &str| value.get(key);
    record.extra = Extra {
        verification: given("verification").map(verification),
        language: given("language").map(|tag| tag.as_str().map(str::to_owned)),
        media: given("media").map(media),
    };
    Ok(record)
}

/// Notes a reply and its day, which stand in an object under these keys.
fn reply(record: &mut Record, reply: &Value, [text, date]: [&str; 2]) {
    if reply.is_object() {
        put(record, Field::ReplyDate, &reply[date]);
    }
    let text = reply.get(text).unwrap_or(reply);
    put(record, Field::Reply, text);
}
