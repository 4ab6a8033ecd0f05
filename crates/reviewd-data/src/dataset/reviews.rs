//! `reviews.json`: the business and its reviews.
//!
//! serde_json finds the byte range of each entry in the array of reviews. Each thread takes chunks of entries, and
//! simd-json parses a chunk in pieces, so that memory is needed for the tape of one piece per thread. The rest of the file
//! is parsed with an empty array there. If no entries can be found, the whole file is parsed at once, to report its errors.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunks::over_chunks;
use super::json::{
    self, FileProblems, FileSpec, JsonItem, JsonObject, JsonPath, LIST_MAX, TIME, TextRule,
    UNREADABLE,
};
use super::mentions::Matcher;
use super::names::{add_listed, comparable};
use super::problem::Problems;
use super::{REVIEWS, REVIEWS_BYTES_MAX, REVIEWS_MAX};
use crate::model::{
    Address, Business, BusinessLocation, BusinessService, BusinessTechnician, DatePrecision, Geo,
    LanguageSource, METHOD_ACCOUNT, Media, OriginalRating, OwnerReply, Review, Taxonomy,
    Verification,
};
use reviewd_wire::date::{Timestamp, parse_timestamp};
use reviewd_wire::text::quote;

/// Largest number of entries in `media` of one review: 32; more are refused.
pub const MEDIA_MAX: usize = 32;

/// Largest rating on the scale of a source: 1,000, more than any platform uses.
const ORIGINAL_BEST_MAX: f64 = 1_000.0;

/// Longest language tag in bytes: 35, the minimum size of buffers by RFC 5646 (section 4.4.1).
const LANGUAGE_BYTES_MAX: usize = 35;

/// The keys that every review has, in the order of the file.
pub const KEYS_REQUIRED: &str =
    "id author author_avatar_url rating date text source source_url owner_reply verified";

/// The keys that follow if they have a value.
pub const KEYS_OPTIONAL: &str = "mentioned_technicians mentioned_services verification language media \
    translation location date_precision rating_original added_at changed_at";

/// The path of the reviews.
const LIST: JsonPath<'_> = JsonPath::Key(&JsonPath::Root, "reviews");

/// Bytes of reviews that are parsed at a time: their tape is twice as large and stays in the processor's cache.
const PIECE_BYTES: usize = 256 * 1024;

/// The contents of `reviews.json`.
pub(super) struct ReviewsFile {
    pub(super) business: Business,
    pub(super) disclaimer: Option<String>,
    pub(super) updated_at: Option<Timestamp>,
    /// In the order of the file.
    pub(super) reviews: Vec<Review>,
    /// The taxonomy, with the people and services that only the business lists.
    pub(super) taxonomy: Taxonomy,
    /// Names that match several people, each with two of these people.
    pub(super) ambiguous_names: Vec<String>,
}

/// How to decode the file.
#[derive(Clone, Copy)]
pub(super) struct ReviewsOptions<'t> {
    /// Its people and services, and those that the business lists, are looked for in the texts of reviews that list no
    /// mentions.
    pub(super) taxonomy: &'t Taxonomy,
    /// The current time; later dates are in the future.
    pub(super) now: Timestamp,
    /// Number of threads; the result does not depend on it.
    pub(super) threads: NonZeroUsize,
}

/// The entries of the file; other keys are skipped.
#[derive(Deserialize)]
struct RawReviews<'b> {
    #[serde(borrow)]
    reviews: Vec<&'b RawValue>,
}

/// Parses the file and records its problems in `file_problems`; `None` if not all reviews could be read.
pub(super) fn decode(
    bytes: &[u8],
    options: ReviewsOptions<'_>,
    file_problems: &FileProblems,
) -> Option<ReviewsFile> {
    let entries = find_entries(bytes);
    if let Some(entries) = entries
        && let Some(mut content) = read_around(bytes, &entries, options.now, file_problems)
    {
        content.taxonomy = options.taxonomy.clone();
        add_listed(&mut content.taxonomy, &content.business);
        let matcher = match Matcher::new(&content.taxonomy) {
            Ok(matcher) => matcher,
            Err(error) => {
                let message = format!("has too many names and phrases: {error}");
                file_problems.push_problem(JsonPath::Root, None, message);
                return None;
            }
        };
        content.reviews = read(bytes, &entries, &matcher, options.threads, file_problems);
        content.ambiguous_names = matcher.ambiguous;
        if content.reviews.len() < entries.len() {
            return None;
        }
        return Some(content);
    }
    json::parse(bytes, file_problems, |item| file(item, options.now));
    if file_problems.problems.borrow().is_empty() {
        file_problems.push_problem(JsonPath::Root, None, UNREADABLE);
    }
    None
}

/// Finds the entries of the array of reviews; `None` if the file is too large or is not such a file.
fn find_entries(bytes: &[u8]) -> Option<Vec<&RawValue>> {
    if bytes.len() > REVIEWS.bytes_max {
        return None;
    }
    let file: RawReviews<'_> = serde_json::from_slice(bytes).ok()?;
    Some(file.reviews)
}

/// Reads the file without its entries; `None` if simd-json refuses it.
fn read_around(
    bytes: &[u8],
    entries: &[&RawValue],
    now: Timestamp,
    file_problems: &FileProblems,
) -> Option<ReviewsFile> {
    let range = range_of(bytes, entries);
    let around = [&bytes[..range.start], &bytes[range.end..]];
    json::with_tape(&around, |nodes| {
        file(JsonItem::new(nodes, JsonPath::Root, file_problems), now)
    })
    .ok()
}

/// The byte range of these entries in the file.
fn range_of(bytes: &[u8], entries: &[&RawValue]) -> std::ops::Range<usize> {
    match (entries.first(), entries.last()) {
        (Some(first), Some(last)) => {
            range_of_entry(bytes, first).start..range_of_entry(bytes, last).end
        }
        _ => 0..0,
    }
}

/// The byte range of an entry in the file; the text of the entry is a slice of `bytes`.
fn range_of_entry(bytes: &[u8], entry: &RawValue) -> std::ops::Range<usize> {
    let start = entry.get().as_ptr().addr() - bytes.as_ptr().addr();
    start..start + entry.get().len()
}

/// Reads the file's object without the entries of its reviews.
fn file(item: JsonItem<'_>, now: Timestamp) -> ReviewsFile {
    item.object(|file| {
        let content = ReviewsFile {
            business: business(file.key("business")),
            disclaimer: file.key("disclaimer").nullable_string(TextRule::Prose),
            // Defaults to the modification time of the files.
            updated_at: file.optional_key("updated_at").and_then(|item| {
                let time = item.parsed_string(TIME, |text| parse_timestamp(text.as_bytes()));
                if time.is_some_and(|time| time > now) {
                    item.push_problem("is in the future: set it to the time of the last change");
                }
                time
            }),
            reviews: Vec::new(),
            taxonomy: Taxonomy::default(),
            ambiguous_names: Vec::new(),
        };
        file.key("reviews").each_item(|_| {});
        content
    })
}

fn business(item: JsonItem<'_>) -> Business {
    item.object(|keys| Business {
        name: keys.key("name").string(TextRule::Name),
        kind: keys.key("type").string(TextRule::Name),
        description: keys.key("description").string(TextRule::ProseOrEmpty),
        url: keys.key("url").string(TextRule::Url),
        telephone: keys.key("telephone").string(TextRule::LineOrEmpty),
        email: keys.key("email").string(TextRule::LineOrEmpty),
        address: address(keys.key("address")),
        geo: keys.key("geo").non_null().map(|item| {
            item.object(|keys| Geo {
                latitude: keys.key("latitude").number(-90.0..=90.0),
                longitude: keys.key("longitude").number(-180.0..=180.0),
            })
        }),
        opening_hours: keys.key("opening_hours").strings(TextRule::Name),
        service_areas: keys.key("service_areas").strings(TextRule::Name),
        services: services(keys.key("services")),
        technicians: technicians(keys.key("technicians")),
        same_as: keys.key("same_as").strings(TextRule::Url),
        locations: keys
            .non_null_key("locations")
            .map(locations)
            .unwrap_or_default(),
    })
}

fn address(item: JsonItem<'_>) -> Address {
    item.object(|keys| Address {
        street_address: keys.key("street_address").string(TextRule::LineOrEmpty),
        locality: keys.key("locality").string(TextRule::LineOrEmpty),
        region: keys.key("region").string(TextRule::LineOrEmpty),
        postal_code: keys.key("postal_code").string(TextRule::LineOrEmpty),
        country: keys.key("country").string(TextRule::LineOrEmpty),
    })
}

fn locations(item: JsonItem<'_>) -> Vec<BusinessLocation> {
    let locations = item.items(LIST_MAX, |item| {
        item.object(|keys| BusinessLocation {
            id: keys.key("id").string(TextRule::Name),
            label: keys.key("label").string(TextRule::Name),
            address: keys.key("address").non_null().map(address),
        })
    });
    item.push_duplicates("id", locations.iter().map(|location| &location.id));
    locations
}

fn services(item: JsonItem<'_>) -> Vec<BusinessService> {
    let services = item.items(LIST_MAX, |item| {
        item.object(|keys| BusinessService {
            id: keys.key("id").string(TextRule::Name),
            label: keys.key("label").string(TextRule::Name),
        })
    });
    item.push_duplicates("id", services.iter().map(|service| &service.id));
    services
}

fn technicians(item: JsonItem<'_>) -> Vec<BusinessTechnician> {
    let people = item.items(LIST_MAX, |item| {
        item.object(|keys| BusinessTechnician {
            name: keys.key("name").string(TextRule::Name),
            title: keys.key("title").string(TextRule::LineOrEmpty),
        })
    });
    item.push_duplicates("name", people.iter().map(|person| &person.name));
    people
}

/// Reads the entries of the file.
fn read(
    bytes: &[u8],
    entries: &[&RawValue],
    matcher: &Matcher,
    threads: NonZeroUsize,
    file_problems: &FileProblems,
) -> Vec<Review> {
    let count = entries.len();
    if count > REVIEWS_MAX {
        let message = format!("has {count} entries, more than {REVIEWS_MAX}");
        file_problems.push_problem(LIST, None, message);
        return Vec::new();
    }
    let parts = over_chunks(count, threads, |rows| {
        read_chunk(bytes, rows.start, &entries[rows], matcher)
    });
    let mut reviews = Vec::with_capacity(count);
    for (part, problems) in parts {
        reviews.extend(part);
        file_problems.problems.borrow_mut().append(problems);
    }
    reviews
}

/// Reads some entries; `first` is the number of the first one.
fn read_chunk(
    bytes: &[u8],
    mut first: usize,
    mut entries: &[&RawValue],
    matcher: &Matcher,
) -> (Vec<Review>, Problems) {
    let file_problems = FileProblems::new(REVIEWS);
    let mut reviews = Vec::with_capacity(entries.len());
    while !entries.is_empty() {
        let start = range_of(bytes, entries).start;
        let fitting = entries
            .partition_point(|entry| range_of_entry(bytes, entry).end - start <= PIECE_BYTES);
        let (piece, rest) = entries.split_at(fitting.max(1));
        read_piece(bytes, first, piece, &file_problems, &mut |entry| {
            reviews.push(review(entry, matcher));
        });
        first += piece.len();
        entries = rest;
    }
    (reviews, file_problems.problems.into_inner())
}

/// Reads entries that are parsed at once; if that is refused, one after the other, to report all that are invalid.
fn read_piece(
    bytes: &[u8],
    first: usize,
    piece: &[&RawValue],
    file_problems: &FileProblems,
    read: &mut dyn FnMut(JsonItem<'_>),
) {
    let text = &bytes[range_of(bytes, piece)];
    let parsed = json::with_tape(&[b"[", text, b"]"], |nodes| {
        JsonItem::new(nodes, LIST, file_problems).each_item_from(first, &mut *read);
    });
    if parsed.is_ok() {
        return;
    }
    if let [entry] = piece {
        // It has a number or a lone surrogate that serde_json did not check.
        let error = json::syntax_error(entry.get().as_bytes());
        let message = error.map_or(UNREADABLE.to_owned(), |error| json::unreadable(&error));
        return file_problems.push_problem(JsonPath::Index(&LIST, first), None, message);
    }
    for (at, entry) in (first..).zip(piece.chunks(1)) {
        read_piece(bytes, at, entry, file_problems, read);
    }
}

/// Returns the numbers of the reviews by their ids, and rejects duplicate ids.
pub(super) fn by_id<'r>(
    reviews: &'r [Review],
    file_problems: &FileProblems,
) -> HashMap<&'r str, usize> {
    let mut by_id = HashMap::with_capacity(reviews.len());
    // An invalid id was replaced by an empty one.
    let ids = reviews.iter().map(|review| review.id.as_str()).enumerate();
    for (at, id) in ids.filter(|(_, id)| !id.is_empty()) {
        let first = *by_id.entry(id).or_insert(at);
        if first < at {
            let message = format_args!("is also the id of reviews[{first}]");
            file_problems.push_problem(format_args!("reviews[{at}].id"), Some(quote(id)), message);
        }
    }
    by_id
}

/// Returns the problems of a review that an import would add.
pub fn check_review(review_json: &str) -> Problems {
    let file = FileSpec::new("a review", REVIEWS_BYTES_MAX);
    let mut problems = Problems::default();
    if let Ok(matcher) = Matcher::new(&Taxonomy::default()) {
        json::read_file(file, &Some(review_json), &mut problems, |entry| {
            review(entry, &matcher)
        });
    }
    problems
}

/// Reads an entry; if it lists no mentions, they are found in its text.
pub(super) fn review(entry: JsonItem<'_>, matcher: &Matcher) -> Review {
    entry.object(|keys| {
        let mut review = Review {
            id: keys.key("id").review_id(),
            author: keys.key("author").string(TextRule::Name),
            author_avatar_url: keys
                .key("author_avatar_url")
                .nullable_string(TextRule::Picture),
            rating: keys.key("rating").rating(),
            date: keys.key("date").date(),
            text: keys
                .key("text")
                .non_null()
                .map(prose_or_empty)
                .unwrap_or_default(),
            source: keys.key("source").string(TextRule::Name),
            source_url: keys.key("source_url").nullable_string(TextRule::Url),
            owner_reply: keys.key("owner_reply").non_null().map(owner_reply),
            verified: keys.key("verified").boolean(),
            mentioned_technicians: Vec::new(),
            mentioned_services: Vec::new(),
            verification: None,
            language: None,
            media: Vec::new(),
            translation: None,
            language_source: None,
            location: None,
            date_precision: None,
            rating_original: None,
            added_at: None,
            changed_at: None,
        };
        read_mentions(keys, matcher, &mut review);
        if let Some(item) = keys.non_null_key("verification") {
            review.verification = Some(verification_of(item, review.verified));
        }
        review.language = keys.non_null_key("language").and_then(language_tag);
        if review.language.is_some() {
            review.language_source = Some(LanguageSource::Stated);
        }
        review.media = keys.optional_key("media").map(media).unwrap_or_default();
        review.translation = keys.non_null_key("translation").map(prose_or_empty);
        review.location = keys.non_null_key("location").map(name);
        review.date_precision = keys.non_null_key("date_precision").and_then(date_precision);
        review.rating_original = keys.non_null_key("rating_original").map(original_rating);
        review.added_at = keys.non_null_key("added_at").and_then(time);
        review.changed_at = keys.non_null_key("changed_at").and_then(time);
        review
    })
}

/// Reads the mentions of people and services; a list that the entry lacks is found in the text.
fn read_mentions(keys: &mut JsonObject<'_>, matcher: &Matcher, review: &mut Review) {
    let people = keys.optional_key("mentioned_technicians");
    let services = keys.optional_key("mentioned_services");
    let mut words = String::new();
    if people.is_none() || services.is_none() {
        words = comparable(&review.text);
    }
    review.mentioned_technicians = match people {
        Some(item) => item.strings(TextRule::Name),
        None => matcher.technicians.find_names(&words),
    };
    review.mentioned_services = match services {
        Some(item) => item.strings(TextRule::Name),
        None => matcher.services.find_names(&words),
    };
}

fn name(item: JsonItem<'_>) -> String {
    item.string(TextRule::Name)
}

fn prose_or_empty(item: JsonItem<'_>) -> String {
    item.string(TextRule::ProseOrEmpty)
}

fn owner_reply(item: JsonItem<'_>) -> OwnerReply {
    item.object(|keys| OwnerReply {
        text: keys.key("text").string(TextRule::Prose),
        date: keys.key("date").date(),
    })
}

fn verification_of(item: JsonItem<'_>, verified: bool) -> Verification {
    let verification = item.object(|keys| Verification {
        by: keys.key("by").string(TextRule::Name),
        method: keys.key("method").nullable_string(TextRule::Name),
    });
    if verified && verification.is_by_account() {
        item.push_problem(format_args!(
            "has the method \"{METHOD_ACCOUNT}\", which needs \"verified\": false, as no customer was matched"
        ));
    }
    verification
}

fn language_tag(item: JsonItem<'_>) -> Option<String> {
    let wanted = "a language tag such as \"en\" or \"pt-BR\"";
    item.permitted_string(wanted, is_language_tag)
}

fn media(item: JsonItem<'_>) -> Vec<Media> {
    item.items(MEDIA_MAX, |item| {
        item.object(|keys| Media {
            url: keys.key("url").string(TextRule::Picture),
            alt: keys.key("alt").string(TextRule::LineOrEmpty),
            media_type: media_type(keys.key("type")),
            thumbnail_url: keys.non_null_key("thumbnail_url").map(picture),
            source_url: keys.non_null_key("source_url").map(url),
        })
    })
}

fn media_type(item: JsonItem<'_>) -> String {
    let wanted = "a media type of an image, a video or a recording, such as \"image/jpeg\"";
    let media_type = item.permitted_string(wanted, is_media_type);
    media_type.unwrap_or_default()
}

fn picture(item: JsonItem<'_>) -> String {
    item.string(TextRule::Picture)
}

fn url(item: JsonItem<'_>) -> String {
    item.string(TextRule::Url)
}

fn date_precision(item: JsonItem<'_>) -> Option<DatePrecision> {
    item.parsed_string("\"month\", \"year\" or \"unknown\"", |text| match text {
        "month" => Some(DatePrecision::Month),
        "year" => Some(DatePrecision::Year),
        "unknown" => Some(DatePrecision::Unknown),
        _ => None,
    })
}

fn original_rating(item: JsonItem<'_>) -> OriginalRating {
    item.object(|keys| OriginalRating {
        value: keys.key("value").number(0.0..=ORIGINAL_BEST_MAX),
        best: keys.key("best").number(1.0..=ORIGINAL_BEST_MAX),
    })
}

fn time(item: JsonItem<'_>) -> Option<Timestamp> {
    item.parsed_string(TIME, |text| parse_timestamp(text.as_bytes()))
}

/// Tells whether `tag` has the form of a language tag (BCP 47): a primary subtag of 2 to 8 letters, then any number of
/// subtags of 1 to 8 letters and digits; or `x` or `i`, then at least one such subtag. Whether the subtags are registered
/// is not looked up.
pub fn is_language_tag(tag: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^([A-Za-z]{2,8}|[xXiI]-[A-Za-z0-9]{1,8})(-[A-Za-z0-9]{1,8})*$";
        Regex::new(pattern).expect("the pattern is valid")
    });
    tag.len() <= LANGUAGE_BYTES_MAX && PATTERN.is_match(tag)
}

/// Tells whether `text` names a type of images, videos or recordings: RFC 6838, section 4.2, without parameters.
fn is_media_type(text: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^(image|video|audio)/[A-Za-z0-9!#$&^_.+-]{1,127}$";
        Regex::new(pattern).expect("the pattern is valid")
    });
    PATTERN.is_match(text)
}

#[cfg(test)]
mod tests;
