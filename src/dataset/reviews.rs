//! `reviews.json`: the business and its reviews.
//!
//! The array of reviews is parsed in pieces, so that memory is needed for one piece of tape per thread. A piece ends
//! where the next entry seems to begin: after a comma, at the bytes with which the first entry begins (`{"id"`). That
//! cannot mislead: the first piece begins at an entry, so if it is JSON its end is the end of an entry, and so on to the
//! last; and the file without what is between the brackets of `reviews` has to be JSON with an empty array there. Where
//! anything of that fails, the file is parsed whole, which is right for any file and tells what is wrong.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::thread;

use memchr::{memmem, memrchr_iter};
use serde::de::IgnoredAny;

use super::business;
use super::companions::Ignored;
use super::json::{self, Check, Item, Parser, Path, Text};
use super::locate::locate;
use super::mentions::{Comparable, Derive};
use super::problem::Problems;
use super::review::review;
use super::{LISTS_BYTES_MAX, REVIEWS, REVIEWS_MAX};
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

/// Reads the file; its first part is `None` if there was a problem anywhere in it.
pub(super) fn decode(
    bytes: &[u8],
    options: Options<'_>,
    problems: &mut Problems,
) -> (Option<ReviewsFile>, Reviews) {
    let mut reviews = Reviews::default();
    let pieces = (bytes.len() <= REVIEWS.bytes_max)
        .then(|| in_pieces(bytes, options))
        .flatten();
    let file = match pieces {
        Some((file, of_pieces, mut found)) => {
            reviews = of_pieces;
            let is_valid = found.is_empty();
            if !is_valid {
                locate(bytes, &mut found);
                problems.append(found);
            }
            Some(file).filter(|_| is_valid)
        }
        None => whole(bytes, options, &mut reviews, problems),
    };
    (file, reviews)
}

/// Reads the file from one tape, which takes twice its size; a file that is not JSON is noticed before.
fn whole(
    bytes: &[u8],
    options: Options<'_>,
    reviews: &mut Reviews,
    problems: &mut Problems,
) -> Option<ReviewsFile> {
    reviews.is_incomplete = true;
    // A tree tells the reason better, and takes several times the memory of the file.
    let problem = match bytes.len() > LISTS_BYTES_MAX {
        true => json::diagnose::<IgnoredAny>(REVIEWS, bytes),
        false => json::diagnose::<serde_json::Value>(REVIEWS, bytes),
    };
    if let Some(problem) = problem {
        problems.push(problem);
        return None;
    }
    json::read(REVIEWS, bytes, problems, |item| {
        reviews.is_incomplete = false;
        let check = item.check();
        let file = file(item, options.now, |item| {
            let mut words = Comparable::default();
            item.list(|entry| reviews.add(entry, options.derive, &mut words));
        });
        reviews.index(check);
        file
    })
}

/// Reads the file in pieces; `None` where it cannot be taken apart.
fn in_pieces(bytes: &[u8], options: Options<'_>) -> Option<(ReviewsFile, Reviews, Problems)> {
    let start = start(bytes)?;
    // The array ends with the last bracket, or with one of the last where the business comes after the reviews.
    let ends = memrchr_iter(b']', bytes).take_while(|end| *end >= start);
    let (file, end, check) = ends.take(ENDS_MAX).find_map(|end| {
        let check = Check::new(REVIEWS.name);
        let mut is_empty = false;
        let around = [&bytes[..start], &bytes[end..]];
        let parsed = Parser::default().parse(&around, |nodes| {
            file(Item::root(nodes, &check), options.now, |item| {
                is_empty = true;
                item.list(|_| is_empty = false);
            })
        });
        let file = parsed.ok().filter(|_| is_empty)?;
        Some((file, end, check))
    })?;
    let pieces = pieces(&bytes[start..end], options.piece_bytes);
    let threads = options.threads.get();
    let mut parts = in_runs(&pieces, threads, |run| read_pieces(run, options));
    let has_problem = |part: &Option<(Reviews, Problems)>| {
        part.as_ref()
            .is_some_and(|(_, problems)| !problems.is_empty())
    };
    if parts.len() > 1 && parts.iter().any(has_problem) {
        // Only a single run knows the numbers of its entries.
        parts = vec![read_pieces(&pieces, options)];
    }
    let mut all = Reviews::default();
    let mut problems = check.into_problems();
    for part in parts {
        let (reviews, found) = part?;
        all.append(reviews);
        problems.append(found);
    }
    all.published.shrink_to_fit();
    let check = Check::new(REVIEWS.name);
    all.index(&check);
    problems.append(check.into_problems());
    Some((file, all, problems))
}

/// Reads the file's object, its array of reviews by `reviews`.
fn file(item: Item<'_>, now: Timestamp, reviews: impl FnOnce(Item<'_>)) -> ReviewsFile {
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
        reviews(file.key("reviews"));
        content
    })
}

/// Brackets at the end of a file that may be the end of its reviews.
const ENDS_MAX: usize = 100;

/// Returns where the first entry of `reviews` is.
fn start(bytes: &[u8]) -> Option<usize> {
    let key = b"\"reviews\"";
    let value = &bytes[memmem::find(bytes, key)? + key.len()..];
    let value = value.trim_ascii_start().strip_prefix(b":")?;
    let entries = value.trim_ascii_start().strip_prefix(b"[")?;
    Some(bytes.len() - entries.trim_ascii_start().len())
}

/// Cuts entries with commas between them into pieces of about `piece_bytes`.
fn pieces(entries: &[u8], piece_bytes: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = entries;
    if let Some(opening) = opening(entries) {
        let finder = memmem::Finder::new(opening);
        while let Some(at) = rest.get(piece_bytes..).and_then(|after| finder.find(after)) {
            let (piece, after) = rest.split_at(piece_bytes + at);
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            let end = piece.iter().rposition(|byte| !is_blank(byte));
            let Some(piece) = end.and_then(|end| piece[..=end].strip_suffix(b",")) else {
                break;
            };
            pieces.push(piece);
            rest = after;
        }
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Returns the bytes with which the first entry begins, up to the end of its first key.
fn opening(entries: &[u8]) -> Option<&[u8]> {
    let key = entries.strip_prefix(b"{")?.trim_ascii_start();
    let length = memchr::memchr(b'"', key.strip_prefix(b"\"")?)?;
    Some(&entries[..entries.len() - key.len() + length + 2])
}

/// Reads entries; `None` where a piece is not JSON.
fn read_pieces(pieces: &[&[u8]], options: Options<'_>) -> Option<(Reviews, Problems)> {
    let check = Check::new(REVIEWS.name);
    let mut parser = Parser::default();
    let mut words = Comparable::default();
    let mut reviews = Reviews::default();
    for (number, piece) in pieces.iter().enumerate() {
        parser
            .parse(&[b"[", piece, b"]"], |nodes| {
                let parent = Path::Key(&Path::Root, "reviews");
                Item::root(nodes, &check).list(|entry| {
                    let path = Path::Index(&parent, reviews.count);
                    reviews.add(entry.at(path), options.derive, &mut words);
                });
            })
            .ok()?;
        if number == 0 {
            // A guess too high costs addresses and no memory.
            reviews
                .published
                .reserve(reviews.count * pieces.len() * 9 / 8);
        }
    }
    Some((reviews, check.into_problems()))
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
    /// How many entries there are; those beyond [`REVIEWS_MAX`] are not read.
    count: usize,
    /// Those to be published, in the order of the file.
    pub(super) published: Vec<Review>,
    /// The other entries, in that order too.
    others: Vec<Other>,
    /// Numbers of [`id_order`] with places in `published` or, beyond its end, in `others`, ascending.
    by_id: Vec<(u128, u32)>,
    /// Ids that the operator has removed for good.
    ignored: HashSet<String>,
    /// Whether ids are missing, because the file is not JSON or an id was refused.
    is_incomplete: bool,
}

/// An entry that is not published.
struct Other {
    id: String,
    /// How many published ones are before it.
    published_before: usize,
    /// Whether it was refused, and so may be what another file refers to.
    is_refused: bool,
}

impl Reviews {
    /// How many reviews are not verified.
    pub(super) fn unverified_count(&self) -> u32 {
        u32::try_from(self.others.len()).unwrap_or(u32::MAX)
    }

    /// Reads one entry.
    fn add(&mut self, entry: Item<'_>, derive: &Derive<'_>, words: &mut Comparable) {
        self.count += 1;
        if self.count > REVIEWS_MAX {
            return;
        }
        let before = entry.check().count();
        let review = review(entry, derive, words);
        let is_refused = entry.check().count() > before;
        if review.verified && !is_refused {
            return self.published.push(review);
        }
        self.is_incomplete |= review.id.is_empty();
        self.others.push(Other {
            id: review.id,
            published_before: self.published.len(),
            is_refused,
        });
    }

    fn append(&mut self, next: Reviews) {
        let count = self.published.len();
        self.count += next.count;
        self.is_incomplete |= next.is_incomplete;
        self.others
            .extend(next.others.into_iter().map(|other| Other {
                published_before: count + other.published_before,
                ..other
            }));
        match self.published.is_empty() {
            true => self.published = next.published,
            false => self.published.extend(next.published),
        }
    }

    /// Indexes the ids, and refuses those of more than one entry.
    fn index(&mut self, check: &Check) {
        let parent = Path::Key(&Path::Root, "reviews");
        if self.count > REVIEWS_MAX {
            let message = format!("holds {} entries, more than {REVIEWS_MAX}", self.count);
            return check.refuse(parent, None, message);
        }
        let published = self.published.iter().map(|review| &review.id);
        let ids = published.chain(self.others.iter().map(|other| &other.id));
        let mut by_id: Vec<(u128, u32)> = ids.map(|id| id_order(id)).zip(0..).collect();
        by_id.sort_unstable();
        // A later and the first entry of an id, and where that is.
        let mut doubles: Vec<(usize, usize, u32)> = Vec::new();
        // Those that begin alike in sixteen bytes are few, or the ids are made to be so and still sorted soon.
        let groups = by_id.chunk_by_mut(|left, right| left.0 == right.0);
        for alike in groups.filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by_key(|(_, at)| (self.id(*at), *at));
            let same = alike.chunk_by(|left, right| self.id(left.1) == self.id(right.1));
            for same in same.filter(|same| !self.id(same[0].1).is_empty()) {
                let mut indexes: Vec<usize> =
                    same.iter().map(|(_, at)| self.index_of(*at)).collect();
                indexes.sort_unstable();
                let later = indexes[1..].iter();
                doubles.extend(later.map(|index| (*index, indexes[0], same[0].1)));
            }
        }
        doubles.sort_unstable();
        for (index, first, at) in doubles {
            let entry = Path::Index(&parent, index);
            let message = format_args!("is the id of reviews[{first}] too");
            check.refuse(Path::Key(&entry, "id"), Some(quote(self.id(at))), message);
        }
        self.by_id = by_id;
    }

    /// The id at a place of `by_id`.
    fn id(&self, at: u32) -> &str {
        let at = at as usize;
        match self.published.get(at) {
            Some(review) => &review.id,
            None => &self.others[at - self.published.len()].id,
        }
    }

    /// The number in the file of the entry at a place of `by_id`.
    fn index_of(&self, at: u32) -> usize {
        let at = at as usize;
        let is_before = |other: &Other| other.published_before <= at;
        match at.checked_sub(self.published.len()) {
            Some(other) => other + self.others[other].published_before,
            None => at + self.others.partition_point(is_before),
        }
    }

    /// Returns the published review of `id`; or why there is none, `None` where a refused entry may be it: one mistake is
    /// one problem.
    pub(super) fn find(&self, id: &str) -> Result<&Review, Option<&'static str>> {
        let order = |(number, at): &(u128, u32)| {
            number.cmp(&id_order(id)).then_with(|| self.id(*at).cmp(id))
        };
        let found = self.by_id.binary_search_by(order);
        let at = found.map_or(usize::MAX, |at| self.by_id[at].1 as usize);
        let other = at.checked_sub(self.published.len());
        match (
            self.published.get(at),
            other.and_then(|at| self.others.get(at)),
        ) {
            (Some(review), _) if !self.ignored.contains(id) => Ok(review),
            (_, Some(other)) if other.is_refused => Err(None),
            (_, Some(_)) => Err(Some(
                "is the id of a review that is not verified and so not published",
            )),
            (None, None) if self.is_incomplete => Err(None),
            _ => Err(Some("is not the id of a review")),
        }
    }

    /// Takes note of the reviews that are not to be published though the file has them.
    pub(super) fn ignore(&mut self, ignored: &[Ignored]) {
        self.ignored = ignored.iter().map(|entry| entry.id.clone()).collect();
    }

    /// Returns the reviews to be published, and how many were left out as ignored.
    pub(super) fn into_published(mut self) -> (Vec<Review>, u64) {
        let before = self.published.len();
        if !self.ignored.is_empty() {
            self.published
                .retain(|review| !self.ignored.contains(&review.id));
        }
        let left_out = before - self.published.len();
        (self.published, left_out as u64)
    }
}

#[cfg(test)]
mod tests;
