//! The operator's files: decoded into a checked `Dataset`, and rendered into the documents that are published.
//!
//! [`decode`] is the only place where files become values. It reads every file completely and records each problem with
//! its position, so an operator sees all errors at once. Other layers get only checked values.

mod advertising;
pub mod changes;
pub mod chunks;
mod companions;
mod json;
mod language;
mod lints;
mod look;
pub mod mentions;
pub mod names;
mod notices;
mod problem;
pub mod publish;
mod reviews;
pub mod similar;
mod site;
mod trades;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::thread;

use sha2::{Digest, Sha256};

pub use companions::render_ignored;
pub use json::{FileSpec, is_absolute_url, is_id, is_review_id, reason, unreadable};
pub use json::{ID_BYTES_MAX, LIST_MAX, NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX};
pub use language::{detect_languages, language_of_tag, tag_of_language};
pub use lints::rules;
pub use notices::{NOTICE_TARGETS_MAX, NoticeValues, UNANSWERED_DAYS_MAX, read_notices};
pub use problem::{Problem, Problems, Warning};
pub use reviews::MEDIA_MAX;
pub use reviews::{KEYS_OPTIONAL, KEYS_REQUIRED, check_review, is_language_tag};
pub use site::PAGE_LANGUAGES;
pub use trades::{is_listed_type, of_type as trade_of_type, trade_names, type_in_words};

use crate::model::changes::ChangeRecord;
use crate::model::site::{Logo, Site};
use crate::model::{Dataset, Editorial, RemovedReview, Review, Taxonomy, sort_newest_first};
use companions::FindPublished;
use json::FileProblems;
use lints::{Lints, Suppression};
use reviewd_wire::date::Timestamp;
use reviews::{ReviewsFile, ReviewsOptions};
use site::SiteFile;

/// Reviews in one file: at most 10,000,000, so that every row number fits 32 bits.
pub const REVIEWS_MAX: usize = 10_000_000;

/// Size of `reviews.json` above which it is refused: 1 GiB, some 1,500,000 reviews.
pub const REVIEWS_BYTES_MAX: usize = 1 << 30;

/// Size of `taxonomy.json`, `editorial.json`, `check.json`, `ignored.json` or `site.json` above which it is refused: 16 MiB.
pub const LISTS_BYTES_MAX: usize = 16 << 20;

/// Size of `insights.json` above which it is refused: 256 MiB.
pub const INSIGHTS_BYTES_MAX: usize = 256 << 20;

/// Size of `notices.json` above which it is refused: 1 MiB.
pub const NOTICES_BYTES_MAX: usize = 1 << 20;

/// Size of `changes.json` above which it is refused: 512 MiB, some 2,500,000 reviews.
pub const CHANGES_BYTES_MAX: usize = 512 << 20;

/// Size of `theme.css` above which it is refused: 64 KiB.
pub const THEME_BYTES_MAX: usize = 64 << 10;

/// Size of a logo above which it is refused: 256 KiB.
pub const LOGO_BYTES_MAX: usize = 256 << 10;

/// Size of `reviews.json`, 1 MiB, above which several threads parse it while another one hashes the files, which takes 1 ms
/// at this size.
const LARGE_BYTES: usize = 1 << 20;

/// `reviews.json`: the business and its reviews; the only file that is required.
pub const REVIEWS: FileSpec = FileSpec::new("reviews.json", REVIEWS_BYTES_MAX);
/// `taxonomy.json`: the names and phrases that reviews may mention.
pub const TAXONOMY: FileSpec = FileSpec::new("taxonomy.json", LISTS_BYTES_MAX);
/// `editorial.json`: the hand-written parts of the insights.
pub const EDITORIAL: FileSpec = FileSpec::new("editorial.json", LISTS_BYTES_MAX);
/// `insights.json`: a complete insights document made elsewhere.
pub const INSIGHTS: FileSpec = FileSpec::new("insights.json", INSIGHTS_BYTES_MAX);
/// `check.json`: warnings that the operator suppresses.
pub const CHECK: FileSpec = FileSpec::new("check.json", LISTS_BYTES_MAX);
/// `ignored.json`: permanently removed reviews.
pub const IGNORED: FileSpec = FileSpec::new("ignored.json", LISTS_BYTES_MAX);
/// `changes.json`: when each review was added, changed and removed; written by our commands.
pub const CHANGES: FileSpec = FileSpec::new("changes.json", CHANGES_BYTES_MAX);
/// `site.json`: the look and the language of the pages.
pub const SITE: FileSpec = FileSpec::new("site.json", LISTS_BYTES_MAX);
/// `notices.json`: where notices of changed reviews go. Only its owner may read it.
pub const NOTICES: FileSpec = FileSpec::new("notices.json", NOTICES_BYTES_MAX);
/// `theme.css`: the owner's stylesheet, which follows that of the pages.
pub const THEME: FileSpec = FileSpec::new("theme.css", THEME_BYTES_MAX);
/// `logo.svg`: the owner's logo as a drawing.
pub const LOGO_SVG: FileSpec = FileSpec::new("logo.svg", LOGO_BYTES_MAX);
/// `logo.png`: the owner's logo as a picture. Only one of the two logos may exist.
pub const LOGO_PNG: FileSpec = FileSpec::new("logo.png", LOGO_BYTES_MAX);

/// All files of a data directory; only the first is required.
pub const FILES: [FileSpec; 12] = [
    REVIEWS, TAXONOMY, EDITORIAL, INSIGHTS, CHECK, IGNORED, SITE, THEME, LOGO_SVG, LOGO_PNG,
    NOTICES, CHANGES,
];

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
    /// `check.json`: warnings that the operator suppresses; not published.
    pub check: Option<Vec<u8>>,
    /// `ignored.json`: permanently removed reviews; ids and days are published.
    pub ignored: Option<Vec<u8>>,
    /// `site.json`: the look and the language of the pages.
    pub site: Option<Vec<u8>>,
    /// `theme.css`: the owner's stylesheet.
    pub theme: Option<Vec<u8>>,
    /// `logo.svg`: the owner's logo as a drawing.
    pub logo_svg: Option<Vec<u8>>,
    /// `logo.png`: the owner's logo as a picture.
    pub logo_png: Option<Vec<u8>>,
    /// `changes.json`: when each review was added, changed and removed.
    pub changes: Option<Vec<u8>>,
    /// The newest modification time of the files that affect the published documents; `None` for files from memory.
    pub modified: Option<Timestamp>,
}

impl Files {
    /// SHA-256 of all files that affect the published documents. Each file is preceded by its length and a byte for
    /// whether it exists, so that no two sets of files give the same input.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let lists = [&self.taxonomy, &self.editorial, &self.insights].map(Option::as_ref);
        let files = std::iter::once(Some(&self.reviews)).chain(lists);
        // Without an ignore list the digest is that of versions before ignore lists existed.
        let ignored = self.ignored.as_ref().map(Some);
        let mut hash = Sha256::new();
        for file in files.chain(ignored) {
            hash.update([u8::from(file.is_some())]);
            if let Some(bytes) = file {
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(bytes);
            }
        }
        // The same holds without these files. Each begins with its name, which tells them apart.
        let named: [(&[u8], &Option<Vec<u8>>); 5] = [
            (b"site", &self.site),
            (b"theme", &self.theme),
            (b"logo.svg", &self.logo_svg),
            (b"logo.png", &self.logo_png),
            (b"changes", &self.changes),
        ];
        for (name, file) in named {
            if let Some(bytes) = file {
                hash.update(name);
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(bytes);
            }
        }
        hash.finalize().into()
    }
}

/// A dataset that passed every check.
#[derive(Debug)]
pub struct Decoded {
    /// The input of a snapshot.
    pub dataset: Dataset,
    /// What `changes.json` has recorded; `None` without the file.
    pub record: Option<ChangeRecord>,
    lints: Lints,
}

impl Decoded {
    /// Returns warnings for the operator: a bounded number, in a fixed order. A dataset with warnings is still served.
    /// This takes longer than all checks of [`decode`].
    pub fn warnings(&self) -> Vec<Warning> {
        self.lints.warnings(&self.dataset)
    }
}

/// Decodes and checks the operator's files; dates after `now` are errors.
///
/// The dataset's date is the latest of these: `updated_at`, if given, the modification time of the files, and the last
/// time in `changes.json`. Needs memory for the result and for the parser's tape of the largest file other than
/// `reviews.json`; the bytes of `reviews.json` are freed after parsing.
///
/// # Errors
/// Every problem of every file, not only the first: see [`Problems`].
pub fn decode(files: Files, now: Timestamp) -> Result<Decoded, Problems> {
    decode_by(files, now, NonZeroUsize::MIN)
}

/// Decodes like [`decode`], on up to `threads` threads if the files are large.
///
/// # Errors
/// As [`decode`].
pub fn decode_by(
    mut files: Files,
    now: Timestamp,
    threads: NonZeroUsize,
) -> Result<Decoded, Problems> {
    let mut problems = Problems::default();
    let taxonomy = json::read_file(
        TAXONOMY,
        &files.taxonomy,
        &mut problems,
        companions::taxonomy,
    )
    .unwrap_or_default();
    let file_problems = FileProblems::new(REVIEWS);
    let (file, digest) = read_and_hash(&files, &taxonomy.taxonomy, now, threads, &file_problems);
    let reviews = file.as_ref().map_or(&[][..], |file| &file.reviews);
    let by_id = reviews::by_id(reviews, &file_problems);
    let is_valid = file_problems.finish(&files.reviews, &mut problems);
    // The largest part of the memory is not needed any more.
    files.reviews = Vec::new();
    let valid_ids = if is_valid { Some(&by_id) } else { None };
    let companions = read_companions(&files, reviews, valid_ids, now, &mut problems);
    let Some(file) = file else {
        return Err(problems);
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    let context = AssemblyContext {
        digest,
        extends: taxonomy.extends,
        now,
        threads,
    };
    Ok(assemble(files, file, companions, &context))
}

/// Reads `reviews.json`, and hashes all files: at the same time if they are large.
fn read_and_hash(
    files: &Files,
    taxonomy: &Taxonomy,
    now: Timestamp,
    threads: NonZeroUsize,
    file_problems: &FileProblems,
) -> (Option<ReviewsFile>, [u8; 32]) {
    let mut options = ReviewsOptions {
        taxonomy,
        now,
        threads,
    };
    if files.reviews.len() <= LARGE_BYTES {
        options.threads = NonZeroUsize::MIN;
        let file = reviews::decode(&files.reviews, options, file_problems);
        return (file, files.digest());
    }
    thread::scope(|scope| {
        let hashing = scope.spawn(|| files.digest());
        let file = reviews::decode(&files.reviews, options, file_problems);
        (file, hashing.join().expect("hashing has no panic"))
    })
}

/// What the files beside `reviews.json` and `taxonomy.json` contain; complete only if no problem was recorded.
struct Companions {
    theme: Option<String>,
    logo: Option<Logo>,
    ignored: Vec<RemovedReview>,
    editorial: Editorial,
    site: SiteFile,
    record: Option<ChangeRecord>,
    suppressed: Vec<Suppression>,
}

/// Reads the files beside `reviews.json`, and checks that the reviews that they name are published. `by_id` has the
/// positions of the reviews by id; without it not all reviews are known, and no name is checked.
fn read_companions(
    files: &Files,
    reviews: &[Review],
    by_id: Option<&HashMap<&str, usize>>,
    now: Timestamp,
    problems: &mut Problems,
) -> Companions {
    let theme = look::theme(files, problems);
    let logo = look::logo(files, problems);
    let ignored = json::read_file(
        IGNORED,
        &files.ignored,
        problems,
        companions::ignored_reviews,
    )
    .unwrap_or_default();
    let ignored_ids = ids_of(&ignored);
    let find = by_id.map(|by_id| {
        move |id: &str| {
            let review = &reviews[*by_id.get(id)?];
            let is_published = review.is_published() && !ignored_ids.contains(id);
            if is_published { Some(review) } else { None }
        }
    });
    let find_published = find.as_ref().map(|find| find as FindPublished<'_, '_>);
    let editorial = json::read_file(EDITORIAL, &files.editorial, problems, |item| {
        companions::editorial(item, find_published)
    });
    companions::check_insights(&files.insights, find_published, problems);
    let site = json::read_file(SITE, &files.site, problems, site::site);
    let record = json::read_file(CHANGES, &files.changes, problems, |item| {
        changes::record(item, now)
    });
    let suppressed = json::read_file(CHECK, &files.check, problems, lints::suppressions);
    Companions {
        theme,
        logo,
        editorial: editorial.unwrap_or_default(),
        site: site.unwrap_or_default(),
        record,
        suppressed: suppressed.unwrap_or_default(),
        ignored,
    }
}

/// Returns the ids of these reviews.
fn ids_of(removed: &[RemovedReview]) -> HashSet<&str> {
    removed.iter().map(|review| review.id.as_str()).collect()
}

/// What [`assemble`] needs besides the contents of the files.
struct AssemblyContext {
    /// That of all files.
    digest: [u8; 32],
    /// The trade whose starter taxonomy the operator's extends.
    extends: Option<&'static str>,
    now: Timestamp,
    threads: NonZeroUsize,
}

/// Joins the contents of all files: sorts the published reviews, detects their languages, dates their changes, and adds
/// the starter taxonomy of the trade.
fn assemble(
    files: Files,
    mut file: ReviewsFile,
    companions: Companions,
    context: &AssemblyContext,
) -> Decoded {
    let all_count = file.reviews.len();
    file.reviews.retain(Review::is_published);
    let published_count = file.reviews.len();
    let ignored_ids = ids_of(&companions.ignored);
    file.reviews
        .retain(|review| !ignored_ids.contains(review.id.as_str()));
    // Ids are unique, so the result does not depend on the order in the file.
    sort_newest_first(&mut file.reviews);
    language::detect_languages(&mut file.reviews, context.threads);
    let record = companions.record;
    let comparison = changes::compare(record.as_ref(), &mut file.reviews, &companions.ignored);
    let has_taxonomy = files.taxonomy.is_some();
    let trade = trades::of_type(&file.business.kind);
    let starter = match context.extends {
        Some(extended) => Some(extended),
        // The operator's own taxonomy is left as it is, unless it extends a trade.
        None if has_taxonomy => None,
        None => Some(trade),
    };
    let site = Site {
        clientele: companions
            .site
            .clientele
            .unwrap_or_else(|| trades::clientele(trade)),
        theme: companions.theme,
        logo: companions.logo,
        ..companions.site.site
    };
    if let Some(starter) = starter {
        let language = site.language.as_deref();
        trades::extend(&mut file.taxonomy, starter, &file.reviews, language);
    }
    // The file server's clock may be ahead of ours: the dataset's date must not be later than now.
    let modified = files.modified.map(|time| time.min(context.now));
    let updated_at = file.updated_at.max(modified).max(comparison.date_min);
    let lints = Lints {
        has_taxonomy,
        ambiguous_names: file.ambiguous_names,
        today: context.now.date(),
        suppressed: companions.suppressed,
        ignored_count: published_count - file.reviews.len(),
    };
    let dataset = Dataset {
        business: file.business,
        disclaimer: file.disclaimer,
        updated_at: updated_at.unwrap_or(Timestamp::from_unix(0)),
        reviews: file.reviews,
        taxonomy: file.taxonomy,
        editorial: companions.editorial,
        site,
        insights: files.insights,
        unverified_count: u32::try_from(all_count - published_count).unwrap_or(u32::MAX),
        removed: companions.ignored,
        changes: comparison.changes,
        digest: context.digest,
    };
    Decoded {
        dataset,
        record,
        lints,
    }
}

/// Returns the sample business that is compiled into the binary, for a first run without any files.
#[must_use]
pub fn embedded() -> Files {
    Files {
        reviews: include_bytes!("../../../../data/reviews.json").to_vec(),
        taxonomy: Some(include_bytes!("../../../../data/taxonomy.json").to_vec()),
        editorial: Some(include_bytes!("../../../../data/editorial.json").to_vec()),
        check: Some(include_bytes!("../../../../data/check.json").to_vec()),
        ..Files::default()
    }
}

/// Returns the dataset of [`embedded`], for examples and tests.
#[must_use]
pub fn sample() -> Dataset {
    let decoded = decode(embedded(), Timestamp::MAX);
    decoded.expect("the sample is valid").dataset
}
