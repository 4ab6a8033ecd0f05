//! The data types of the service: the business, its reviews, and the taxonomy of what reviews mention.

#![allow(
    missing_docs,
    reason = "docs/data-format.md and docs/api.md describe the keys"
)]

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Number;

use reviewd_wire::date::{Date, Timestamp};

pub mod changes;
pub mod insights;
pub mod notices;
mod platforms;
pub mod site;
pub mod sync;

pub use platforms::{is_business, platform, typed_platform};

/// The method of a review that its platform published with an account, not matched with a customer.
pub const METHOD_ACCOUNT: &str = "account";

/// The directory of our own pictures within the data directory.
pub const MEDIA_DIRECTORY: &str = "media";

/// The beginning of the path of our own pictures; the SHA-256 of the file follows, in hexadecimal digits.
pub const MEDIA_PATH: &str = "/media/";

/// The end of the names of the files of our own pictures, which are JPEG images, in the directory `media`.
pub const PHOTO_EXTENSION: &str = ".jpg";

/// A star rating, a whole number from 1 to 5; the decoder refuses every other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct Rating(u8);

impl Rating {
    pub const MIN: Rating = Rating(1);
    pub const MAX: Rating = Rating(5);

    /// Returns the rating for `stars`, or `None` outside 1 to 5.
    #[must_use]
    pub fn new(stars: u8) -> Option<Rating> {
        match stars {
            1..=5 => Some(Rating(stars)),
            _ => None,
        }
    }

    /// Returns the number of stars, 1 to 5.
    #[must_use]
    pub const fn stars(self) -> u8 {
        self.0
    }
}

/// The index of a review in the newest-first array of published reviews (date descending, then id descending).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u32);

/// A validated review of the operator's file; it is published with these fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Unique and stable, 1 to 64 characters of `[A-Za-z0-9_-]`, never `search`, `since` or `changes`.
    pub id: String,
    /// The name of the author, 1 to 1,024 bytes in one line.
    pub author: String,
    /// An absolute URL of a picture, or the path of one of our own ([`photo_digest`]).
    pub author_avatar_url: Option<String>,
    /// 1 to 5 stars.
    pub rating: Rating,
    /// The day on which it was written, or the first day of a longer period; see `date_precision`.
    pub date: Date,
    /// The text, `""` for a rating without a text.
    pub text: String,
    /// The platform on which the review was written, such as "google".
    pub source: String,
    /// An absolute URL of the review at its source.
    pub source_url: Option<String>,
    /// The reply of the business, if there is one.
    pub owner_reply: Option<OwnerReply>,
    /// Whether its author is known to be a customer; see [`Review::state`].
    pub verified: bool,
    /// Names of people in the taxonomy, given by the file or derived from the text.
    pub mentioned_technicians: Vec<String>,
    /// Ids of services in the taxonomy, given by the file or derived from the text.
    pub mentioned_services: Vec<String>,
    /// How it was verified; `None` means by the business itself.
    pub verification: Option<Verification>,
    /// The language of the text, a BCP 47 tag such as "en" or "pt-BR".
    pub language: Option<String>,
    /// Pictures and videos, at most 32.
    pub media: Vec<Media>,
    /// An English translation from the source, which the insights read if the text is not English.
    pub translation: Option<String>,
    /// Where `language` is from; `None` without a language.
    pub language_source: Option<LanguageSource>,
    /// The id of the business's location that it is about.
    pub location: Option<String>,
    /// How exact `date` is; `None` for a day.
    pub date_precision: Option<DatePrecision>,
    /// The rating at its source, if that scale is not one of five whole stars.
    pub rating_original: Option<OriginalRating>,
    /// When it was added here.
    pub added_at: Option<Timestamp>,
    /// When it was last changed here.
    pub changed_at: Option<Timestamp>,
}

impl TryFrom<u8> for Rating {
    type Error = &'static str;

    fn try_from(stars: u8) -> Result<Rating, &'static str> {
        Rating::new(stars).ok_or("a rating is from 1 to 5")
    }
}

impl Review {
    /// Returns the URLs and paths of its pictures: the author's, then those of the media.
    pub fn picture_urls(&self) -> impl Iterator<Item = &str> {
        let of_media = self
            .media
            .iter()
            .flat_map(|media| [Some(&media.url), media.thumbnail_url.as_ref()]);
        let author = std::iter::once(self.author_avatar_url.as_ref());
        author.chain(of_media).flatten().map(String::as_str)
    }

    /// Tells whether it has photos: our own, or linked ones.
    pub fn has_photos(&self) -> bool {
        let mut media = self.media.iter();
        media.any(|one| one.media_type.starts_with("image/"))
    }

    /// Returns the review with the paths of its own pictures as URLs below `base_url`.
    #[must_use]
    pub fn with_absolute_media(&self, base_url: &str) -> Cow<'_, Review> {
        if !self.picture_urls().any(|url| photo_digest(url).is_some()) {
            return Cow::Borrowed(self);
        }
        let mut review = self.clone();
        let media = review
            .media
            .iter_mut()
            .flat_map(|one| [Some(&mut one.url), one.thumbnail_url.as_mut()]);
        let all = [review.author_avatar_url.as_mut()].into_iter().chain(media);
        for url in all.flatten() {
            if photo_digest(url).is_some() {
                url.insert_str(0, base_url);
            }
        }
        Cow::Owned(review)
    }

    /// Returns how the review was verified; `None` for a review that is not published.
    #[must_use]
    pub fn state(&self) -> Option<VerificationState> {
        match &self.verification {
            None if self.verified => Some(VerificationState::Business),
            Some(_) if self.verified => Some(VerificationState::Platform),
            Some(verification) if verification.is_by_account() => Some(VerificationState::Account),
            _ => None,
        }
    }

    /// Tells whether the review is published: it is verified, or its platform published it with an account and the
    /// operator has chosen to publish such reviews.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.state().is_some()
    }
}

/// How a published review was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerificationState {
    /// The business has matched its author with a customer.
    Business,
    /// A platform has checked a purchase or an invitation.
    Platform,
    /// A platform has published it with an account; its author was matched with no customer.
    Account,
}

/// How the language of a text is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LanguageSource {
    /// The file states it.
    Stated,
    /// It was detected in the text.
    Detected,
}

/// How exact a date is that is not exact to the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePrecision {
    /// Only month and year are meant, as in "9 months ago".
    Month,
    /// Only the year is meant, as in "2 years ago".
    Year,
    /// The date is that of the file, because its source has none.
    Unknown,
}

/// A rating on the scale of its source, such as 8.3 of 10.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginalRating {
    pub value: Number,
    pub best: Number,
}

impl Review {
    /// Returns the latest of the days of the review, of the owner's reply, and of its last change here.
    #[must_use]
    pub fn modified(&self) -> Date {
        let reply = self.owner_reply.as_ref().map(|reply| reply.date);
        let changed = self.changed_at.map(Timestamp::date);
        let later = [reply, changed].into_iter().flatten();
        later.fold(self.date, Date::max)
    }
}

/// The verifier of a review, who confirmed that its author was a customer, and the method.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Verification {
    /// The verifier, such as "trustpilot".
    pub by: String,
    /// A few words such as "purchase" or "invitation"; `None` if the method is not known.
    pub method: Option<String>,
}

impl Verification {
    /// Tells whether the platform only publishes with an account, and has checked no purchase.
    #[must_use]
    pub fn is_by_account(&self) -> bool {
        self.method.as_deref() == Some(METHOD_ACCOUNT)
    }
}

/// A review that the operator has removed permanently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedReview {
    /// The id that the review had.
    pub id: String,
    /// The day of the removal.
    pub date: Date,
    /// The reason, not published; ids and days are published, so that mirrors can remove their copies.
    pub reason: String,
}

/// A picture, a film or a recording that belongs to a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// An absolute URL, or the path of one of our own pictures ([`photo_digest`]), which is published as a URL.
    pub url: String,
    /// A description for users who cannot see or hear it; may be empty.
    pub alt: String,
    /// A media type such as "image/jpeg".
    #[serde(rename = "type")]
    pub media_type: String,
    /// A URL or path, as above, of a small version.
    pub thumbnail_url: Option<String>,
    /// An absolute URL of where it was published first.
    pub source_url: Option<String>,
}

/// Returns the digest in the path of one of our own pictures, 64 hexadecimal digits in lower case; `None` for any other
/// text.
#[must_use]
pub fn photo_digest(path: &str) -> Option<&str> {
    let digest = path.strip_prefix(MEDIA_PATH)?;
    let mut bytes = digest.bytes();
    if digest.len() != 64 || !bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    Some(digest)
}

/// Returns the first 16 bytes of `id` as a number, padded with zeros: different numbers have the order of their ids.
///
/// Sorting by the number reads an id only if another has the same number; the ids of a million reviews are scattered
/// over memory.
#[must_use]
pub fn id_order(id: &str) -> u128 {
    let mut first = [0; 16];
    for (slot, byte) in first.iter_mut().zip(id.bytes()) {
        *slot = byte;
    }
    u128::from_be_bytes(first)
}

/// Sorts `reviews` newest first: by date descending, then by id descending.
pub fn sort_newest_first(reviews: &mut [Review]) {
    // Most files are sorted already, and keys of a million reviews take memory.
    if reviews.is_sorted_by(|left, right| (left.date, &left.id) >= (right.date, &right.id)) {
        return;
    }
    // By keys, because moving a million reviews is slower than comparing them.
    reviews.sort_by_cached_key(|review| Reverse((review.date, review.id.clone())));
}

/// The owner's public reply to a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerReply {
    /// The text, 1 to 65,536 bytes.
    pub text: String,
    /// The day of the reply.
    pub date: Date,
}

/// The business that the reviews are about; JSON keys are the field names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Business {
    /// The name, 1 to 1,024 bytes in one line.
    pub name: String,
    /// A schema.org type such as "LegalService".
    #[serde(rename = "type")]
    pub kind: String,
    /// What the business does, at most 65,536 bytes; "" without a description.
    pub description: String,
    /// The business's own website, an absolute URL with a host.
    pub url: String,
    /// A telephone number as it is displayed, at most 1,024 bytes; "" without one.
    pub telephone: String,
    /// An email address, at most 1,024 bytes; "" without one.
    pub email: String,
    /// The postal address of its only or main place.
    pub address: Address,
    /// The position of that place, if it is known.
    pub geo: Option<Geo>,
    /// schema.org strings such as "Mo-Fr 09:00-17:30".
    pub opening_hours: Vec<String>,
    /// Names of places that it serves, at most 10,000.
    pub service_areas: Vec<String>,
    /// What it offers, at most 10,000 services.
    pub services: Vec<BusinessService>,
    /// Who works there, at most 10,000 people.
    pub technicians: Vec<BusinessTechnician>,
    /// Absolute URLs of its pages on other sites, at most 10,000.
    pub same_as: Vec<String>,
    /// The places of the business, if it has several.
    pub locations: Vec<BusinessLocation>,
}

/// A place of the business, which reviews name by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BusinessLocation {
    /// 1 to 1,024 bytes in one line, unique among the locations.
    pub id: String,
    /// The name that pages display, 1 to 1,024 bytes in one line.
    pub label: String,
    /// The postal address, if it has one of its own.
    pub address: Option<Address>,
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Address {
    /// Street and number.
    pub street_address: String,
    /// City or town.
    pub locality: String,
    /// State or province.
    pub region: String,
    /// The postal code, as text.
    pub postal_code: String,
    /// A country, usually by its two letters (ISO 3166-1).
    pub country: String,
}

/// A position in degrees, -90 to 90 and -180 to 180.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Geo {
    /// Degrees north of the equator.
    pub latitude: Number,
    /// Degrees east of Greenwich.
    pub longitude: Number,
}

/// A service as the business lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BusinessService {
    /// 1 to 1,024 bytes in one line, unique among the services.
    pub id: String,
    /// The name that pages display, 1 to 1,024 bytes in one line.
    pub label: String,
}

/// A person as the business lists them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BusinessTechnician {
    /// The name, 1 to 1,024 bytes in one line, unique among the people.
    pub name: String,
    /// A title such as "Partner", at most 1,024 bytes; "" without one.
    pub title: String,
}

/// The names and phrases that `taxonomy.json` lists, which reviews may mention. In a [`Dataset`], also the people and
/// services that only the business lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taxonomy {
    /// What customers judge, at most 10,000 aspects.
    pub aspects: Vec<Concept>,
    /// People, at most 10,000 in the file.
    pub technicians: Vec<Technician>,
    /// Services, at most 10,000 in the file.
    pub services: Vec<Concept>,
    /// Places, at most 10,000.
    pub service_areas: Vec<Concept>,
    /// The languages, as BCP 47 tags, of each phrase of a starter list. Other phrases are meant for every language.
    pub phrase_languages: BTreeMap<String, BTreeSet<&'static str>>,
}

/// An aspect with its id, its label and its phrases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept {
    /// 1 to 1,024 bytes in one line, unique in its list.
    pub id: String,
    /// The name that pages display, 1 to 1,024 bytes in one line.
    pub label: String,
    /// Phrases by which texts mention it, without regard to case.
    pub phrases: Vec<String>,
    /// Longer phrases that contain one of `phrases` in another sense, such as "phone case"; only aspects have them.
    pub not_phrases: Vec<String>,
}

/// A person and the other names that reviews use for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Technician {
    /// The whole name, 1 to 1,024 bytes in one line.
    pub name: String,
    /// Other names, each 1 to 1,024 bytes in one line.
    pub aliases: Vec<String>,
}

/// The hand-written parts of the insights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editorial {
    /// A summary of the reviews, at most 65,536 bytes.
    pub summary: Option<String>,
    /// A sentence that is displayed prominently.
    pub pull_quote: Option<String>,
    /// Questions and answers with the reviews that support them.
    pub faq: Vec<Question>,
    /// Ids of the reviews that are shown before the newest, in their order.
    pub featured: Vec<String>,
}

/// A question, its answer, and the reviews that support it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question, 1 to 65,536 bytes.
    pub question: String,
    /// The answer, 1 to 65,536 bytes.
    pub answer: String,
    /// Ids of published reviews that support the answer.
    pub review_ids: Vec<String>,
}

/// The operator's files, decoded and validated: the input of a snapshot.
#[derive(Clone, Debug)]
pub struct Dataset {
    pub business: Business,
    /// Displayed wherever reviews are.
    pub disclaimer: Option<String>,
    /// Covers all files of the directory; never in the future.
    pub updated_at: Timestamp,
    /// Published reviews only (see [`Review::is_published`]), newest first: date descending, then id descending.
    pub reviews: Vec<Review>,
    /// Names and phrases of `taxonomy.json` and of the business.
    pub taxonomy: Taxonomy,
    /// Hand-written parts; empty without an `editorial.json`.
    pub editorial: Editorial,
    /// The look and the language of the pages; defaults without a `site.json`.
    pub site: site::Site,
    /// A complete insights document from another tool, validated; it is published unchanged.
    pub insights: Option<Vec<u8>>,
    /// Number of reviews in the file that are not published because they are not verified.
    pub unverified_count: u32,
    /// Reviews that the operator has removed permanently, in the order of their file.
    pub removed: Vec<RemovedReview>,
    /// When each review was changed or removed last.
    pub changes: changes::DatasetChanges,
    /// SHA-256 over the bytes of all files, by which replicas can compare their datasets.
    pub digest: [u8; 32],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_ids_is_that_of_their_numbers_where_those_differ() {
        let ids = ["", "-", "0", "01", "Z", "a", "a-", "abcdefghijklmnop"];
        assert!(ids.is_sorted_by_key(|id| id_order(id)));
        assert_eq!(id_order("abcdefghijklmnop"), id_order("abcdefghijklmnopq"));
    }
}
