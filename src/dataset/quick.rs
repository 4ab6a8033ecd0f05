//! The short way through `reviews.json`: a file in which nothing is to be refused, its array read in as many runs as
//! there are threads.
//!
//! Nearly all files are of that kind, so that no entry becomes a tree of its own, no id a key of a map, and no
//! place is carried along. Whatever is unusual gives up, and the file is read again by [`super::reviews`], which tells
//! what is wrong with it; what this way accepts, that one accepts with the same outcome.

use std::fmt;
use std::ops::Range;
use std::thread;

use memchr::memmem;
use serde_core::Deserialize;
use serde_core::de::{Deserializer, Error, MapAccess, Visitor};

use super::REVIEWS;
use super::business;
use super::field::{Check, Kind};
use super::node::{Key, Node};
use super::place::Place;
use super::problem::Problems;
use super::review::{REVIEW_KEYS, Reviews, Seen};
use super::reviews::{FILE_KEYS, Means, OPTIONAL_KEY, ReviewsFile, updated_at};
use crate::model::{Review, id_order};

/// Reads the file, or returns `None` where anything about it is unusual.
pub(super) fn decode(text: &str, means: Means<'_>) -> Option<ReviewsFile> {
    let mut problems = Problems::default();
    let mut check = Check {
        subject: REVIEWS,
        problems: &mut problems,
    };
    let at = Place::ROOT;
    let mut file = ReviewsFile::default();
    let mut given = [false; FILE_KEYS.len()];
    let mut rest = Cursor { text, at: 0 };
    rest.take(b'{')?;
    loop {
        let Key(key) = rest.value()?;
        rest.take(b':')?;
        let known = FILE_KEYS.iter().position(|name| *name == key)?;
        if std::mem::replace(&mut given[known], true) {
            return None;
        }
        match known {
            0 => file.business = business::decode(Some(rest.value()?), &at, &mut check),
            1 => file.disclaimer = check.optional(Some(rest.value()?), &at, Kind::Prose),
            2 => file.updated_at = updated_at(rest.value()?, &at, means.now, &mut check),
            _ => file.reviews = array(&mut rest, means)?,
        }
        if !rest.has(b',') {
            break;
        }
    }
    rest.take(b'}')?;
    let mut keys = given.iter().zip(FILE_KEYS);
    let has_keys = keys.all(|(given, name)| *given || name == OPTIONAL_KEY);
    let is_whole = has_keys && rest.is_at_end() && problems.is_empty();
    is_whole.then_some(file)
}

/// Reads the array of reviews at the cursor.
fn array(rest: &mut Cursor<'_>, means: Means<'_>) -> Option<Reviews> {
    rest.take(b'[')?;
    if rest.has(b']') {
        return Some(Reviews::default());
    }
    rest.skip_blanks();
    let starts = starts(rest.text, rest.at, means.threads.get());
    let ends = starts[1..].iter().copied().chain([rest.text.len()]);
    let runs = starts.iter().zip(ends).map(|(&start, end)| start..end);
    let parts = read_runs(rest.text, runs.collect(), means)?;
    // A run that began inside an entry read what is none: the one before it did not end there.
    let (last, others) = parts.split_last()?;
    let meet = others.iter().zip(&starts[1..]);
    if !last.is_last
        || meet
            .clone()
            .any(|(part, start)| part.is_last || part.end != *start)
    {
        return None;
    }
    rest.at = last.end;
    join(parts, means)
}

/// Reads each of `runs` by a thread of its own.
fn read_runs(text: &str, runs: Vec<Range<usize>>, means: Means<'_>) -> Option<Vec<Part>> {
    thread::scope(|scope| {
        let mut runs = runs.into_iter();
        let first = runs.next()?;
        let mut others = Vec::new();
        for range in runs {
            let spawned =
                thread::Builder::new().spawn_scoped(scope, move || run(text, range, means));
            // Where the system gives no thread, the long way needs none.
            others.push(spawned.ok()?);
        }
        let mut parts = vec![run(text, first, means)?];
        for other in others {
            parts.push(other.join().expect("reading has no panic")?);
        }
        Some(parts)
    })
}

/// Entries that followed each other.
struct Part {
    reviews: Reviews,
    /// The ids of those that are not verified.
    unverified: Vec<String>,
    /// Where the next entry begins, or the array has ended.
    end: usize,
    is_last: bool,
}

/// Reads the entries that begin in `range`, the first of them at its start.
fn run(text: &str, range: Range<usize>, means: Means<'_>) -> Option<Part> {
    let mut problems = Problems::default();
    let mut check = Check {
        subject: REVIEWS,
        problems: &mut problems,
    };
    let mut reviews = Reviews::default();
    let mut unverified = Vec::new();
    let mut rest = Cursor {
        text,
        at: range.start,
    };
    let mut is_last = false;
    while !is_last && rest.at < range.end {
        let Slots(slots) = rest.value()?;
        let entry = reviews.entry(slots, &Place::ROOT, means.derive, &mut check);
        let review = entry.whole()?;
        if review.verified {
            if reviews.published.len() == SAMPLE {
                // For all that may follow, in this run and the next: a guess too high costs addresses and no memory.
                let each = (rest.at - range.start) / SAMPLE;
                let rest = text.len() - rest.at;
                reviews.published.reserve(rest / each.max(1) * 9 / 8);
            }
            reviews.published.push(review);
        } else {
            unverified.push(review.id);
        }
        is_last = !rest.has(b',');
        if is_last {
            rest.take(b']')?;
        }
        rest.skip_blanks();
    }
    reviews.unverified_count = u32::try_from(unverified.len()).ok()?;
    // An unknown key further in leaves the review whole and is a problem all the same.
    problems.is_empty().then_some(Part {
        reviews,
        unverified,
        end: rest.at,
        is_last,
    })
}

/// Entries whose length tells how many there may be.
const SAMPLE: usize = 1_000;

/// Makes one of all `parts`, unless two entries have the same id or there are too many.
fn join(parts: Vec<Part>, means: Means<'_>) -> Option<Reviews> {
    let mut all = Reviews::default();
    let mut unverified = Vec::new();
    for part in parts {
        all.unverified_count += part.reviews.unverified_count;
        unverified.extend(part.unverified);
        if all.published.is_empty() {
            all.published = part.reviews.published;
        } else {
            all.published.extend(part.reviews.published);
        }
    }
    all.published.shrink_to_fit();
    let count = all.published.len() + unverified.len();
    if count > means.reviews_max || has_double(&all.published, &unverified) {
        return None;
    }
    if means.keeps_ids {
        let published = all.published.iter().map(|review| (review.id.clone(), true));
        let others = unverified.into_iter().map(|id| (id, false));
        // Where each stands is only asked of doubles.
        let seen = |(id, verified)| (id, Seen { index: 0, verified });
        all.ids = published.chain(others).map(seen).collect();
    }
    Some(all)
}

/// Tells whether two of all ids are the same.
fn has_double(published: &[Review], unverified: &[String]) -> bool {
    let published = published.iter().map(|review| &review.id);
    let ids: Vec<&String> = published.chain(unverified).collect();
    let mut places: Vec<(u128, u32)> = ids.iter().map(|id| id_order(id)).zip(0..).collect();
    places.sort_unstable();
    // Those that begin alike in sixteen bytes are few, or the ids are made to be so and still sorted soon.
    places
        .chunk_by(|left, right| left.0 == right.0)
        .filter(|alike| alike.len() > 1)
        .any(|alike| {
            let mut ids: Vec<&String> = alike.iter().map(|(_, at)| ids[*at as usize]).collect();
            ids.sort_unstable();
            ids.windows(2).any(|pair| pair[0] == pair[1])
        })
}

/// Returns `first`, and where entries seem to begin after each further share of the text: at an object whose first key
/// is `id`, after another object. Inside a string a quotation mark has a backslash before it.
fn starts(text: &str, first: usize, count: usize) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![first];
    for number in 1..count {
        let from = first + (bytes.len() - first) / count * number;
        let mut keys = memmem::find_iter(&bytes[from..], b"\"id\"").take(KEYS_MAX);
        let found = keys.find_map(|at| {
            let before = bytes[from..from + at].trim_ascii_end();
            let comma = before.strip_suffix(b"{")?.trim_ascii_end();
            let object = comma.strip_suffix(b",")?.trim_ascii_end();
            object.ends_with(b"}").then(|| from + before.len() - 1)
        });
        starts.extend(found.filter(|found| starts.last() < Some(found)));
    }
    starts
}

/// Keys that are looked at for a place to begin a run.
const KEYS_MAX: usize = 1_000;

/// A place in the file.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Reads the value at the cursor.
    fn value<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let mut values =
            serde_json::Deserializer::from_str(self.text.get(self.at..)?).into_iter::<T>();
        let value = values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(value)
    }

    /// Goes beyond `mark`, which must be next.
    fn take(&mut self, mark: u8) -> Option<()> {
        self.has(mark).then_some(())
    }

    /// Goes beyond `mark` if it is next.
    fn has(&mut self, mark: u8) -> bool {
        self.skip_blanks();
        let is_next = self.text.as_bytes().get(self.at) == Some(&mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.text.len()
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
    }
}

/// The values of an entry, in the order of [`REVIEW_KEYS`]; refused where a key is unknown or comes twice.
struct Slots<'de>([Option<Node<'de>>; REVIEW_KEYS.len()]);

impl<'de> Deserialize<'de> for Slots<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SlotsVisitor)
    }
}

struct SlotsVisitor;

impl<'de> Visitor<'de> for SlotsVisitor {
    type Value = Slots<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a review")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Slots<'de>, A::Error> {
        let mut slots = [const { None }; REVIEW_KEYS.len()];
        let mut next = 0;
        while let Some(Key(key)) = object.next_key::<Key<'de>>()? {
            // Mostly they come in the order of the documentation.
            let found = match REVIEW_KEYS.get(next) {
                Some(guess) if *guess == key => Some(next),
                _ => REVIEW_KEYS.iter().position(|name| *name == key),
            };
            let Some(place) = found else {
                return Err(A::Error::custom("an unknown key"));
            };
            if slots[place].replace(object.next_value()?).is_some() {
                return Err(A::Error::custom("a key that comes twice"));
            }
            next = place + 1;
        }
        Ok(Slots(slots))
    }
}

#[cfg(test)]
mod tests;
