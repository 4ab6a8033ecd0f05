//! `reviews.json`: the business and its reviews.
//!
//! serde_json finds where each entry of the array of reviews is, and simd-json parses the entries in pieces, so that memory
//! is needed for one piece of tape per thread. The rest of the file is parsed with an empty array there. A file in which
//! no entries can be found is parsed whole, which tells what is wrong with it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Check, Item, NameOf, Parser, Path, Text, UNREADABLE};
use super::mentions::{Comparable, Derive};
use super::problem::Problems;
use super::review::review;
use super::{REVIEWS, REVIEWS_MAX};
use crate::model::{Address, Business, BusinessService, BusinessTechnician, Geo, Review};
use crate::wire::date::Timestamp;
use crate::wire::text::quote;

/// What `reviews.json` holds.
pub(super) struct ReviewsFile {
    pub(super) business: Business,
    pub(super) disclaimer: Option<String>,
    pub(super) updated_at: Option<Timestamp>,
    /// In the order of the file.
    pub(super) reviews: Vec<Review>,
}

/// How the file is read.
#[derive(Clone, Copy)]
pub(super) struct Options<'d> {
    /// Finds the mentions that a review does not list in its text.
    pub(super) derive: &'d Derive<'d>,
    /// What is after it is in the future.
    pub(super) now: Timestamp,
    /// The result does not depend on it.
    pub(super) threads: NonZeroUsize,
    /// Bytes of reviews that are parsed at a time, about.
    pub(super) piece_bytes: usize,
}

/// Bytes of reviews that are parsed at a time: their tape is twice as large and stays in the processor's cache.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

/// The path of the reviews.
const LIST: Path<'_> = Path::Key(&Path::Root, "reviews");

/// The entries of the file; other keys are left aside.
#[derive(Deserialize)]
struct Entries<'b> {
    #[serde(borrow)]
    reviews: Vec<&'b RawValue>,
}

/// Reads the file, and records in `check` what is wrong with it; `None` where not all reviews could be looked at.
pub(super) fn decode(bytes: &[u8], options: Options<'_>, check: &Check) -> Option<ReviewsFile> {
    let is_small = bytes.len() <= REVIEWS.bytes_max;
    let entries = is_small.then(|| serde_json::from_slice(bytes));
    if let Some(Ok(Entries { reviews: entries })) = entries
        && let Ok(mut content) = around(bytes, &entries, options.now, check)
    {
        content.reviews = read(bytes, &entries, options, check);
        return (content.reviews.len() == entries.len()).then_some(content);
    }
    json::parse(bytes, check, |item| file(item, options.now));
    if check.problems.borrow().is_empty() {
        check.refuse(Path::Root, None, UNREADABLE);
    }
    None
}

/// Reads the file without its `entries`.
fn around(
    bytes: &[u8],
    entries: &[&RawValue],
    now: Timestamp,
    check: &Check,
) -> Result<ReviewsFile, simd_json::Error> {
    let between = entries.first().zip(entries.last());
    let range = between.map_or(0..0, |(first, last)| range_of(bytes, first, last));
    let around = [&bytes[..range.start], &bytes[range.end..]];
    Parser::default().parse(&around, |nodes| file(Item::root(nodes, check), now))
}

/// Where in the file the entries from `first` to `last` are; a raw value is a slice of the file.
fn range_of(bytes: &[u8], first: &RawValue, last: &RawValue) -> std::ops::Range<usize> {
    let offset = |entry: &RawValue| entry.get().as_ptr().addr() - bytes.as_ptr().addr();
    offset(first)..offset(last) + last.get().len()
}

/// Reads the file's object but for the entries of its reviews.
fn file(item: Item<'_>, now: Timestamp) -> ReviewsFile {
    item.object(|file| {
        let content = ReviewsFile {
            business: business(file.key("business")),
            disclaimer: file.key("disclaimer").optional(Text::Prose),
            // Without it the modification time of the files takes its place.
            updated_at: file.optional_key("updated_at").and_then(|item| {
                let time = item.timestamp();
                if time.is_some_and(|time| time > now) {
                    item.refuse("lies in the future: set it to the time of the last change");
                }
                time
            }),
            reviews: Vec::new(),
        };
        file.key("reviews").list(|_| {});
        content
    })
}

fn business(item: Item<'_>) -> Business {
    let by_id: [(_, NameOf<BusinessService>); 1] = [("id", |service| &service.id)];
    let by_name: [(_, NameOf<BusinessTechnician>); 1] = [("name", |person| &person.name)];
    item.object(|keys| Business {
        name: keys.key("name").string(Text::Name),
        kind: keys.key("type").string(Text::Name),
        description: keys.key("description").string(Text::Words),
        url: keys.key("url").string(Text::Url),
        telephone: keys.key("telephone").string(Text::Line),
        email: keys.key("email").string(Text::Line),
        address: keys.key("address").object(|keys| Address {
            street_address: keys.key("street_address").string(Text::Line),
            locality: keys.key("locality").string(Text::Line),
            region: keys.key("region").string(Text::Line),
            postal_code: keys.key("postal_code").string(Text::Line),
            country: keys.key("country").string(Text::Line),
        }),
        geo: keys.key("geo").non_null().map(|item| {
            item.object(|keys| Geo {
                latitude: keys.key("latitude").number(-90.0..=90.0),
                longitude: keys.key("longitude").number(-180.0..=180.0),
            })
        }),
        opening_hours: keys.key("opening_hours").strings(Text::Name),
        service_areas: keys.key("service_areas").strings(Text::Name),
        services: keys.key("services").each_unique(&by_id, |item| {
            item.object(|keys| BusinessService {
                id: keys.key("id").string(Text::Name),
                label: keys.key("label").string(Text::Name),
            })
        }),
        technicians: keys.key("technicians").each_unique(&by_name, |item| {
            item.object(|keys| BusinessTechnician {
                name: keys.key("name").string(Text::Name),
                title: keys.key("title").string(Text::Line),
            })
        }),
        same_as: keys.key("same_as").strings(Text::Url),
    })
}

/// A number of the first entry, and that and some that follow it.
type Piece<'e, 'b> = (usize, &'e [&'b RawValue]);

/// Reads the entries of the file.
fn read(bytes: &[u8], entries: &[&RawValue], options: Options<'_>, check: &Check) -> Vec<Review> {
    let count = entries.len();
    let mut reviews = Vec::new();
    if count > REVIEWS_MAX {
        let message = format!("holds {count} entries, more than {REVIEWS_MAX}");
        check.refuse(LIST, None, message);
        return reviews;
    }
    let in_piece = (count * options.piece_bytes / bytes.len().max(1)).max(1);
    let numbers = (0..count).step_by(in_piece);
    let pieces: Vec<Piece<'_, '_>> = numbers.zip(entries.chunks(in_piece)).collect();
    let threads = options.threads.get();
    for (part, problems) in in_runs(&pieces, threads, |run| read_pieces(bytes, run, options)) {
        match reviews.is_empty() {
            true => reviews = part,
            false => reviews.extend(part),
        }
        check.problems.borrow_mut().append(problems);
    }
    reviews
}

/// Reads pieces of a file.
fn read_pieces(
    bytes: &[u8],
    pieces: &[Piece<'_, '_>],
    options: Options<'_>,
) -> (Vec<Review>, Problems) {
    let check = Check::new(REVIEWS);
    let mut parser = Parser::default();
    let mut words = Comparable::default();
    let mut reviews = Vec::with_capacity(pieces.iter().map(|(_, entries)| entries.len()).sum());
    for (first, entries) in pieces {
        let text = &bytes[range_of(bytes, entries[0], entries[entries.len() - 1])];
        let parsed = parser.parse(&[b"[", text, b"]"], |nodes| {
            let mut numbers = *first..;
            Item::root(nodes, &check).list(|entry| {
                let path = Path::Index(&LIST, numbers.next().unwrap_or_default());
                reviews.push(review(entry.at(path), options.derive, &mut words));
            });
        });
        if parsed.is_err() {
            // An entry holds a number or half a character that serde_json did not look at.
            let mut errors = (*first..).zip(*entries).filter_map(|(at, entry)| {
                let error = json::syntax_error(entry.get().as_bytes())?;
                Some((at, json::unreadable(&error)))
            });
            let found = errors.next();
            let (at, message) = found.unwrap_or_else(|| (*first, UNREADABLE.to_owned()));
            check.refuse(Path::Index(&LIST, at), None, message);
        }
    }
    (reviews, check.problems.into_inner())
}

/// Returns the numbers of the reviews by their ids, and refuses ids of more than one.
pub(super) fn by_id<'r>(reviews: &'r [Review], check: &Check) -> HashMap<&'r str, usize> {
    let mut by_id = HashMap::with_capacity(reviews.len());
    // An id that was refused is empty.
    let ids = reviews.iter().map(|review| review.id.as_str()).enumerate();
    for (at, id) in ids.filter(|(_, id)| !id.is_empty()) {
        let first = *by_id.entry(id).or_insert(at);
        if first < at {
            let message = format_args!("is the id of reviews[{first}] too");
            check.refuse(format_args!("reviews[{at}].id"), Some(quote(id)), message);
        }
    }
    by_id
}

/// Splits `items` into a run for each thread, and returns what `read` makes of each, in their order.
pub(super) fn in_runs<'i, T: Sync, R: Send>(
    items: &'i [T],
    threads: usize,
    read: impl Fn(&'i [T]) -> R + Sync,
) -> Vec<R> {
    let read = &read;
    thread::scope(|scope| {
        let mut runs = items.chunks(items.len().div_ceil(threads).max(1));
        let first = runs.next();
        let spawn = |run| {
            let spawned = thread::Builder::new().spawn_scoped(scope, move || read(run));
            spawned.map_err(|_refused| run)
        };
        let others: Vec<_> = runs.map(spawn).collect();
        let mut results: Vec<R> = first.map(read).into_iter().collect();
        results.extend(others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().expect("reading has no panic"),
            Err(run) => read(run),
        }));
        results
    })
}

#[cfg(test)]
mod tests;
