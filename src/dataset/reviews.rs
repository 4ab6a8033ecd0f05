//! `reviews.json`: the business and its reviews.
//!
//! serde_json finds where each entry of the array of reviews is, and simd-json parses the entries in pieces, so that memory
//! is needed for one piece of tape per thread. The rest of the file is parsed with an empty array there. A file in which
//! no entries can be found is parsed whole, which tells what is wrong with it.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::business;
use super::companions::Ignored;
use super::json::{self, Check, Item, Parser, Path, Text};
use super::locate::locate;
use super::mentions::{Comparable, Derive};
use super::problem::{Problem, Problems};
use super::review::review;
use super::{REVIEWS, REVIEWS_MAX};
use crate::model::{Business, Review, id_order};
use crate::wire::date::Timestamp;
use crate::wire::text::quote;

/// What `reviews.json` holds.
pub(super) struct ReviewsFile {
    pub(super) business: Business,
    pub(super) disclaimer: Option<String>,
    pub(super) updated_at: Option<Timestamp>,
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

/// The entries of the file; other keys are left aside.
#[derive(Deserialize)]
struct Entries<'b> {
    #[serde(borrow)]
    reviews: Vec<&'b RawValue>,
}

/// Reads the file; its first part is `None` if there was a problem anywhere in it.
pub(super) fn decode(
    bytes: &[u8],
    options: Options<'_>,
    problems: &mut Problems,
) -> (Option<ReviewsFile>, Reviews) {
    let mut reviews = Reviews::default();
    let is_small = bytes.len() <= REVIEWS.bytes_max;
    let entries = is_small.then(|| serde_json::from_slice(bytes));
    let check = Check::new(REVIEWS.name);
    let content = match entries {
        Some(Ok(Entries { reviews: entries })) => {
            let content = around(bytes, &entries, options.now, &check);
            reviews.read(bytes, &entries, options, &check);
            reviews.index(&check);
            content
        }
        _ => None,
    };
    let Some(content) = content else {
        reviews.is_incomplete = true;
        let content = json::read(REVIEWS, bytes, problems, |item| file(item, options.now));
        if content.is_some() {
            problems.push(Problem::of_file(REVIEWS.name, json::reason(None)));
        }
        return (None, reviews);
    };
    let mut found = check.into_problems();
    let is_valid = found.is_empty();
    if !is_valid {
        locate(bytes, &mut found);
        problems.append(found);
    }
    (is_valid.then_some(content), reviews)
}

/// Reads the file without its `entries`; `None` where that is not JSON.
fn around(
    bytes: &[u8],
    entries: &[&RawValue],
    now: Timestamp,
    check: &Check,
) -> Option<ReviewsFile> {
    let between = entries.first().zip(entries.last());
    let range = between.map_or(0..0, |(first, last)| range_of(bytes, first, last));
    let around = [&bytes[..range.start], &bytes[range.end..]];
    let parsed = Parser::default().parse(&around, |nodes| file(Item::root(nodes, check), now));
    parsed.ok()
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
            business: business::business(file.key("business")),
            disclaimer: file.key("disclaimer").optional(Text::Prose),
            // Without it the modification time of the files takes its place.
            updated_at: file.optional_key("updated_at").and_then(|item| {
                let time = item.timestamp();
                if time.is_some_and(|time| time > now) {
                    item.refuse("lies in the future: set it to the time of the last change");
                }
                time
            }),
        };
        file.key("reviews").list(|_| {});
        content
    })
}

/// A number of the first entry, and that and some that follow it.
type Piece<'e, 'b> = (usize, &'e [&'b RawValue]);

/// Reads pieces of a file.
fn read_pieces(
    bytes: &[u8],
    pieces: &[Piece<'_, '_>],
    options: Options<'_>,
) -> (Reviews, Problems) {
    let check = Check::new(REVIEWS.name);
    let mut parser = Parser::default();
    let mut words = Comparable::default();
    let mut reviews = Reviews::default();
    let count: usize = pieces.iter().map(|(_, entries)| entries.len()).sum();
    reviews.all.reserve_exact(count);
    let parent = Path::Key(&Path::Root, "reviews");
    let mut read = |reviews: &mut Reviews, first: usize, entries: &[&RawValue]| {
        let text = &bytes[range_of(bytes, entries[0], entries[entries.len() - 1])];
        parser.parse(&[b"[", text, b"]"], |nodes| {
            let mut numbers = first..;
            Item::root(nodes, &check).list(|entry| {
                let path = Path::Index(&parent, numbers.next().unwrap_or_default());
                reviews.add(entry.at(path), options.derive, &mut words);
            });
        })
    };
    for (first, entries) in pieces {
        if read(&mut reviews, *first, entries).is_ok() {
            continue;
        }
        // It holds a number or half a character that serde_json did not look at.
        for (at, entry) in (*first..).zip(*entries) {
            if read(&mut reviews, at, &[entry]).is_err() {
                let path = Path::Index(&parent, at);
                let error = serde_json::from_str::<serde_json::Value>(entry.get()).err();
                check.refuse(path, None, json::reason(error.as_ref()));
                let refused = Item::refused(path, &check);
                reviews.add(refused, options.derive, &mut Comparable::default());
            }
        }
    }
    (reviews, check.into_problems())
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

/// The reviews of a file.
#[derive(Default)]
pub(super) struct Reviews {
    /// In the order of the file.
    all: Vec<Review>,
    /// The numbers of entries that were refused, ascending; each may be what another file refers to.
    refused: Vec<usize>,
    /// The numbers of all with an id, each after its [`id_order`], in the order of ids.
    by_id: Vec<(u128, u32)>,
    /// Ids that the operator has removed for good.
    ignored: HashSet<String>,
    /// Whether ids are missing, because the file is not JSON or an id was refused.
    is_incomplete: bool,
}

impl Reviews {
    /// Reads the entries of the file.
    fn read(&mut self, bytes: &[u8], entries: &[&RawValue], options: Options<'_>, check: &Check) {
        let count = entries.len();
        if count > REVIEWS_MAX {
            let message = format!("holds {count} entries, more than {REVIEWS_MAX}");
            self.is_incomplete = true;
            return check.refuse(Path::Key(&Path::Root, "reviews"), None, message);
        }
        let in_piece = (count * options.piece_bytes / bytes.len().max(1)).max(1);
        let numbers = (0..count).step_by(in_piece);
        let pieces: Vec<Piece<'_, '_>> = numbers.zip(entries.chunks(in_piece)).collect();
        let threads = options.threads.get();
        for (part, problems) in in_runs(&pieces, threads, |run| read_pieces(bytes, run, options)) {
            self.is_incomplete |= part.is_incomplete;
            let before = self.all.len();
            self.refused
                .extend(part.refused.iter().map(|at| before + at));
            match self.all.is_empty() {
                true => self.all = part.all,
                false => self.all.extend(part.all),
            }
            check.append(problems);
        }
    }

    /// Reads one entry.
    fn add(&mut self, entry: Item<'_>, derive: &Derive<'_>, words: &mut Comparable) {
        let before = entry.check().count();
        let review = review(entry, derive, words);
        if entry.is_refused() || entry.check().count() > before {
            self.refused.push(self.all.len());
        }
        self.is_incomplete |= review.id.is_empty();
        self.all.push(review);
    }

    /// Indexes the ids, and refuses those of more than one entry.
    fn index(&mut self, check: &Check) {
        let numbers = self.all.iter().map(|review| id_order(&review.id)).zip(0..);
        let mut by_id: Vec<(u128, u32)> = numbers.collect();
        let id = |at: u32| self.all[at as usize].id.as_str();
        by_id.sort_unstable_by(|left, right| {
            let in_order = left.0.cmp(&right.0);
            in_order.then_with(|| (id(left.1), left.1).cmp(&(id(right.1), right.1)))
        });
        // Each later entry with the first of its id.
        let mut doubles: Vec<(u32, u32)> = Vec::new();
        for same in by_id.chunk_by(|left, right| left.0 == right.0 && id(left.1) == id(right.1)) {
            if !id(same[0].1).is_empty() {
                doubles.extend(same[1..].iter().map(|(_, at)| (*at, same[0].1)));
            }
        }
        doubles.sort_unstable();
        let parent = Path::Key(&Path::Root, "reviews");
        for (at, first) in doubles {
            let entry = Path::Index(&parent, at as usize);
            let message = format_args!("is the id of reviews[{first}] too");
            check.refuse(Path::Key(&entry, "id"), Some(quote(id(at))), message);
        }
        self.by_id = by_id;
    }

    /// Returns the published review of `id`; or why there is none, `None` where a refused entry may be it: one mistake is
    /// one problem.
    pub(super) fn find(&self, id: &str) -> Result<&Review, Option<&'static str>> {
        let order = |(number, at): &(u128, u32)| {
            let known = &self.all[*at as usize].id;
            number
                .cmp(&id_order(id))
                .then_with(|| known.as_str().cmp(id))
        };
        let found = self.by_id.binary_search_by(order);
        let found = found.map(|at| self.by_id[at].1 as usize);
        match found.map(|at| (at, &self.all[at])) {
            Ok((at, _)) if self.refused.binary_search(&at).is_ok() => Err(None),
            Ok((_, review)) if !review.verified => Err(Some(
                "is the id of a review that is not verified and so not published",
            )),
            Ok((_, review)) if !self.ignored.contains(id) => Ok(review),
            Err(_) if self.is_incomplete => Err(None),
            _ => Err(Some("is not the id of a review")),
        }
    }

    /// Takes note of the reviews that are not to be published though the file has them.
    pub(super) fn ignore(&mut self, ignored: &[Ignored]) {
        self.ignored = ignored.iter().map(|entry| entry.id.clone()).collect();
    }

    /// Returns the reviews to be published, and how many were left out as not verified and as ignored.
    pub(super) fn into_published(mut self) -> (Vec<Review>, u32, u64) {
        let count = self.all.len();
        self.all.retain(|review| review.verified);
        let verified = self.all.len();
        if !self.ignored.is_empty() {
            self.all.retain(|review| !self.ignored.contains(&review.id));
        }
        let unverified = u32::try_from(count - verified).unwrap_or(u32::MAX);
        let ignored = (verified - self.all.len()) as u64;
        (self.all, unverified, ignored)
    }
}

#[cfg(test)]
mod tests;
