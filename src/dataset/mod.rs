//! The operator's files: decoded into a checked `Dataset`, and rendered into the documents that are published.
//!
//! [`decode`] is the one place where files become values. It reads every file to its end and records each problem
//! with its place, so that an operator mends a file once and not error by error; later layers cannot meet a value
//! that was not checked.

mod allow;
mod business;
mod field;
mod given;
mod ignored;
mod locate;
pub mod mentions;
mod node;
mod place;
mod placeholders;
mod practice;
pub mod problem;
pub mod publish;
mod quick;
mod remarks;
mod review;
mod reviews;
mod spelling;
mod taxonomy;
mod trades;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

use sha2::{Digest, Sha256};

pub use field::{ID_BYTES_MAX, LIST_MAX, NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX};
pub(crate) use field::{is_absolute_url, is_id};
pub use ignored::{Ignored, parse_ignored, render_ignored};
pub use placeholders::refuse_placeholders;
pub(crate) use placeholders::{PLACEHOLDER_NAME, PLACEHOLDER_URL};
pub use problem::{Position, Problem, Problems, Warning};
pub use remarks::{RULES, Remarks};
pub use review::MEDIA_MAX;
pub(crate) use review::{REQUIRED_KEYS, is_language_tag, is_media_type};
pub use reviews::REVIEWS_MAX;
pub(crate) use trades::of_type as trade_of_type;

use crate::model::{Dataset, Editorial, Taxonomy, sort_newest_first};
use crate::wire::date::Timestamp;
use allow::Allowed;
use field::Check;
use mentions::{Derive, Matcher};
use problem::Subject;
use review::Reviews;

/// Size of `reviews.json` above which it is refused: 1 GiB, some 1,500,000 reviews.
pub const REVIEWS_BYTES_MAX: usize = 1 << 30;

/// Size of `taxonomy.json` or `editorial.json` above which it is refused: 16 MiB.
pub const LISTS_BYTES_MAX: usize = 16 << 20;

/// Size of `insights.json` above which it is refused: 256 MiB.
pub const INSIGHTS_BYTES_MAX: usize = 256 << 20;

const REVIEWS: Subject = Subject {
    file: "reviews.json",
    bytes_max: REVIEWS_BYTES_MAX,
};
const TAXONOMY: Subject = Subject {
    file: "taxonomy.json",
    bytes_max: LISTS_BYTES_MAX,
};
const EDITORIAL: Subject = Subject {
    file: "editorial.json",
    bytes_max: LISTS_BYTES_MAX,
};
const INSIGHTS: Subject = Subject {
    file: "insights.json",
    bytes_max: INSIGHTS_BYTES_MAX,
};
const CHECK: Subject = Subject {
    file: "check.json",
    bytes_max: LISTS_BYTES_MAX,
};

const IGNORED: Subject = Subject {
    file: "ignored.json",
    bytes_max: LISTS_BYTES_MAX,
};

/// The bytes of the operator's files, as they were read.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// `reviews.json`: the business and its reviews.
    pub reviews: Vec<u8>,
    /// `taxonomy.json`: the names and phrases that reviews may mention.
    pub taxonomy: Option<Vec<u8>>,
    /// `editorial.json`: the hand-written parts of the insights.
    pub editorial: Option<Vec<u8>>,
    /// `insights.json`: a complete insights document made elsewhere.
    pub insights: Option<Vec<u8>>,
    /// `check.json`: warnings that the operator has looked at; nothing of it is published.
    pub check: Option<Vec<u8>>,
    /// `ignored.json`: reviews that were removed for good; ids and days are published.
    pub ignored: Option<Vec<u8>>,
    /// The newest modification time of the files that decide about what is published; `None` for files from memory.
    pub modified: Option<Timestamp>,
}

impl Files {
    /// SHA-256 over all files that decide about what is published, each with its place and length before it, so that no two sets of files give the
    /// same input.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let parts = [
            Some(&self.reviews),
            self.taxonomy.as_ref(),
            self.editorial.as_ref(),
            self.insights.as_ref(),
        ];
        let mut hash = Sha256::new();
        // Without the list the digest is as it was before there were such lists.
        let ignored = self.ignored.as_ref().map(Some);
        for part in parts.into_iter().chain(ignored) {
            hash.update([u8::from(part.is_some())]);
            if let Some(bytes) = part {
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(bytes);
            }
        }
        hash.finalize().into()
    }
}

/// A dataset that passed every check, and what a careful operator would want to know about it.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Everything that a snapshot is made of.
    pub dataset: Dataset,
    /// A bounded number in a fixed order; none of them keeps the dataset from being served.
    pub warnings: Vec<Warning>,
}

/// A dataset that passed every check, before anybody looked at what deserves a remark.
#[derive(Debug)]
pub struct Unremarked {
    /// Everything that a snapshot is made of.
    pub dataset: Dataset,
    /// Finds the warnings, which takes longer than all the checks.
    pub remarks: Remarks,
    /// The emptied buffer of `reviews.json`, for what needs as much memory: fresh memory costs time.
    pub room: Vec<u8>,
}

/// Decodes and checks the operator's files; `now` decides what lies in the future. The dataset is dated by the later of
/// `updated_at`, where it is given, and the modification time of the files.
///
/// Takes the files by value to free each as soon as it is read. Beside the files and the result it needs memory
/// for one review at a time and for the ids.
///
/// # Errors
/// Every problem of every file, not only the first: see [`Problems`].
pub fn decode(files: Files, now: Timestamp) -> Result<Decoded, Problems> {
    let Unremarked {
        dataset, remarks, ..
    } = decode_by(files, now, NonZeroUsize::MIN)?;
    let warnings = remarks.of(&dataset, NonZeroUsize::MIN);
    Ok(Decoded { dataset, warnings })
}

/// Decodes like [`decode`], by as many threads as given where the files are large, and leaves the warnings to the caller.
///
/// # Errors
/// As [`decode`].
pub fn decode_by(
    files: Files,
    now: Timestamp,
    threads: NonZeroUsize,
) -> Result<Unremarked, Problems> {
    let is_large = files.reviews.len() > BESIDE_BYTES;
    let threads = if is_large { threads } else { NonZeroUsize::MIN };
    let mut problems = Problems::default();
    let (mut taxonomy, extends) = taxonomy(files.taxonomy.as_deref(), &mut problems);
    let matcher = matcher(&taxonomy, &mut problems)?;
    let means = reviews::Means {
        derive: &Derive {
            taxonomy: &taxonomy,
            matcher: &matcher,
        },
        now,
        reviews_max: REVIEWS_MAX,
        threads,
        keeps_ids: files.editorial.is_some() || files.insights.is_some(),
    };
    let (file, digest) = beside(
        is_large,
        || files.digest(),
        || reviews::decode(&files.reviews, means, &mut check(REVIEWS, &mut problems)),
    );
    let mut room = files.reviews;
    if !problems.is_empty() {
        locate::locate(REVIEWS, &room, &mut problems);
    }
    room.clear();
    let mut reviews = file.reviews;
    let ignored = ignored(files.ignored.as_deref(), &mut problems);
    let ignored_count = reviews.hide(&ignored);
    let editorial = editorial(files.editorial.as_deref(), &reviews, &mut problems);
    let allowed = allowed(files.check.as_deref(), &mut problems);
    // Newest first; ids are unique, so that the order does not depend on the order of the file.
    sort_newest_first(&mut reviews.published);
    let insights_at = match &files.insights {
        Some(bytes) => given::check(bytes, &reviews, &mut check(INSIGHTS, &mut problems)),
        None => None,
    };
    let (Some(business), Some(disclaimer), true) =
        (file.business, file.disclaimer, problems.is_empty())
    else {
        for (subject, bytes) in [
            (TAXONOMY, &files.taxonomy),
            (EDITORIAL, &files.editorial),
            (INSIGHTS, &files.insights),
            (CHECK, &files.check),
            (IGNORED, &files.ignored),
        ] {
            if let Some(bytes) = bytes {
                locate::locate(subject, bytes, &mut problems);
            }
        }
        return Err(problems);
    };
    let is_given = files.taxonomy.is_some();
    let trade = trades::chosen(extends, is_given, &business.kind);
    trades::extend(&mut taxonomy.aspects, trade, &reviews.published);
    // A disk whose clock is ahead of ours must not date the content after now.
    let modified = files.modified.map(|time| time.min(now));
    let updated_at = file.updated_at.max(modified);
    let remarks = Remarks {
        taxonomy_given: is_given,
        editorial_given: files.editorial.is_some(),
        matcher,
        today: now.date(),
        insights_at: insights_at.filter(|time| file.updated_at.is_some_and(|at| at != *time)),
        allowed,
        ignored_count,
    };
    let dataset = Dataset {
        business,
        disclaimer,
        updated_at: updated_at.unwrap_or(Timestamp::from_unix(0)),
        reviews: reviews.published,
        taxonomy,
        editorial,
        insights: files.insights,
        unverified_count: reviews.unverified_count,
        removed: ignored::published(&ignored),
        digest,
    };
    Ok(Unremarked {
        dataset,
        remarks,
        room,
    })
}

fn taxonomy(file: Option<&[u8]>, problems: &mut Problems) -> (Taxonomy, Option<&'static str>) {
    let decode = |bytes| taxonomy::decode_taxonomy(bytes, &mut check(TAXONOMY, problems));
    file.and_then(decode).unwrap_or_default()
}

fn editorial(file: Option<&[u8]>, reviews: &Reviews, problems: &mut Problems) -> Editorial {
    let decode =
        |bytes| taxonomy::decode_editorial(bytes, reviews, &mut check(EDITORIAL, problems));
    file.and_then(decode).unwrap_or_default()
}

fn allowed(file: Option<&[u8]>, problems: &mut Problems) -> Allowed {
    let decoded = file.and_then(|bytes| allow::decode(bytes, &mut check(CHECK, problems)));
    decoded.unwrap_or_default()
}

fn ignored(file: Option<&[u8]>, problems: &mut Problems) -> Vec<Ignored> {
    let decoded = file.and_then(|bytes| ignored::decode(bytes, &mut check(IGNORED, problems)));
    decoded.unwrap_or_default()
}

/// Bytes of `reviews.json` above which the digest has a thread of its own, as it is a millisecond of work; and from
/// which on more than one thread reads.
const BESIDE_BYTES: usize = 1 << 20;

/// Returns what `main` and `other` return, `other` by a thread of its own where it `pays`.
fn beside<T, U: Send>(
    pays: bool,
    other: impl FnOnce() -> U + Send,
    main: impl FnOnce() -> T,
) -> (T, U) {
    if !pays {
        return (main(), other());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let main = main();
        (main, other.join().expect("a digest has no panic"))
    })
}

fn check(subject: Subject, problems: &mut Problems) -> Check<'_> {
    Check { subject, problems }
}

fn matcher(taxonomy: &Taxonomy, problems: &mut Problems) -> Result<Matcher, Problems> {
    Matcher::new(taxonomy).map_err(|error| {
        problems.push(
            TAXONOMY.file,
            "",
            format!("holds too many names and phrases: {error}"),
            None,
        );
        std::mem::take(problems)
    })
}

/// Returns the sample business that is compiled into the binary, for a first run without any files.
#[must_use]
pub fn embedded() -> Files {
    Files {
        reviews: include_bytes!("../../data/reviews.json").to_vec(),
        taxonomy: Some(include_bytes!("../../data/taxonomy.json").to_vec()),
        editorial: Some(include_bytes!("../../data/editorial.json").to_vec()),
        insights: None,
        check: Some(include_bytes!("../../data/check.json").to_vec()),
        ignored: None,
        modified: None,
    }
}
