//! One review of `reviews.json`.

use super::REVIEWS_BYTES_MAX;
use super::json::{self, FileSpec, Item, Text};
use super::mentions::{Comparable, Derive, Matcher};
use super::problem::Problems;
use crate::model::{Media, OwnerReply, Review, Taxonomy, Verification};

/// Entries of `media` of one review, at most: 32; more are refused.
pub const MEDIA_MAX: usize = 32;

/// Bytes of a language tag, at most: 35, the length that RFC 5646 (section 4.4.1) asks buffers to have.
const LANGUAGE_BYTES_MAX: usize = 35;

/// The keys of a review in the order of the file. The first [`KEYS_REQUIRED`] are always there; the others are optional.
pub(crate) const KEYS: [&str; 16] = [
    "id",
    "author",
    "author_avatar_url",
    "rating",
    "date",
    "text",
    "source",
    "source_url",
    "owner_reply",
    "verified",
    "mentioned_technicians",
    "mentioned_services",
    "verification",
    "language",
    "media",
    "translation",
];
pub(crate) const KEYS_REQUIRED: usize = 10;

/// Finds what is wrong with a review that an import would add.
pub(crate) fn check_review(review_json: &str) -> Problems {
    let (taxonomy, mut problems) = (Taxonomy::default(), Problems::default());
    if let Ok(matcher) = &Matcher::new(&taxonomy) {
        let (file, taxonomy) = (FileSpec::new("a review", REVIEWS_BYTES_MAX), &taxonomy);
        json::read(file, review_json.as_bytes(), &mut problems, |entry| {
            let derive = Derive { taxonomy, matcher };
            review(entry, &derive, &mut Comparable::default())
        });
    }
    problems
}

/// Reads an entry; mentions that it does not list are derived from its text, with `words` as a buffer.
pub(super) fn review(entry: Item<'_>, derive: &Derive<'_>, words: &mut Comparable) -> Review {
    entry.object(|keys| {
        let mut review = Review {
            id: keys.key("id").review_id(),
            author: keys.key("author").string(Text::Name),
            author_avatar_url: keys.key("author_avatar_url").optional(Text::Url),
            rating: keys.key("rating").rating(),
            date: keys.key("date").date(),
            text: keys.key("text").optional(Text::Words).unwrap_or_default(),
            source: keys.key("source").string(Text::Name),
            source_url: keys.key("source_url").optional(Text::Url),
            owner_reply: keys.key("owner_reply").non_null().map(owner_reply),
            verified: keys.key("verified").boolean(),
            mentioned_technicians: Vec::new(),
            mentioned_services: Vec::new(),
            verification: None,
            language: None,
            media: Vec::new(),
            translation: None,
        };
        let people = keys.optional_key("mentioned_technicians");
        let services = keys.optional_key("mentioned_services");
        if people.is_none() || services.is_none() {
            words.set(&review.text);
        }
        review.mentioned_technicians = match people {
            Some(people) => people.strings(Text::Name),
            None => derive.technicians(words),
        };
        review.mentioned_services = match services {
            Some(services) => services.strings(Text::Name),
            None => derive.services(words),
        };
        let mut given = |key| keys.optional_key(key).and_then(Item::non_null);
        review.verification = given("verification").map(verification_of);
        let wanted = "a language tag such as \"en\" or \"pt-BR\"";
        review.language = given("language").map(|item| item.string_of(wanted, is_language_tag));
        let media = keys.optional_key("media");
        let media = media.map(|item| item.each(MEDIA_MAX, medium));
        review.media = media.unwrap_or_default();
        let translation = keys.optional_key("translation");
        review.translation = translation.and_then(|item| item.optional(Text::Words));
        review
    })
}

fn owner_reply(item: Item<'_>) -> OwnerReply {
    item.object(|keys| OwnerReply {
        text: keys.key("text").string(Text::Prose),
        date: keys.key("date").date(),
    })
}

fn verification_of(item: Item<'_>) -> Verification {
    item.object(|keys| Verification {
        by: keys.key("by").string(Text::Name),
        method: keys.key("method").optional(Text::Name),
    })
}

fn medium(item: Item<'_>) -> Media {
    let wanted = "a media type of an image, a video or a recording, such as \"image/jpeg\"";
    item.object(|keys| Media {
        url: keys.key("url").string(Text::Url),
        alt: keys.key("alt").string(Text::Line),
        media_type: keys.key("type").string_of(wanted, is_media_type),
    })
}

/// Tells whether `tag` has the form of a language tag (BCP 47): a primary subtag of 2 to 8 letters, or `x` or `i`, then
/// subtags of 1 to 8 letters and digits. Whether the subtags are registered is not looked up.
pub(crate) fn is_language_tag(tag: &str) -> bool {
    let primary = tag.split('-').next().unwrap_or_default();
    let is_primary = primary.len() >= 2 && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_prefix = matches!(primary, "x" | "X" | "i" | "I") && primary.len() < tag.len();
    let is_subtag = |subtag: &str| {
        (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    tag.len() <= LANGUAGE_BYTES_MAX && (is_primary || is_prefix) && tag.split('-').all(is_subtag)
}

/// Tells whether `text` names a type of images, videos or recordings: RFC 6838, section 4.2, without parameters.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    text.split_once('/').is_some_and(|(kind, subtype)| {
        matches!(kind, "image" | "video" | "audio")
            && (1..=127).contains(&subtype.len())
            && subtype.bytes().all(is_mark)
    })
}
