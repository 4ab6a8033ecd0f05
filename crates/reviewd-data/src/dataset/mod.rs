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
mod site;
mod trades;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
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
pub use trades::{STARTER_LANGUAGES, of_type as trade_of_type, type_in_words};

use crate::model::changes::ChangeRecord;
use crate::model::site::Site;
use crate::model::{Dataset, Review, sort_newest_first};
use companions::FindPublished;
use json::Check;
use lints::Lints;
use reviewd_wire::date::Timestamp;

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
/// The look and the language of the pages.
pub const SITE: FileSpec = FileSpec::new("site.json", LISTS_BYTES_MAX);

/// `notices.json`: where notices of changed reviews go. Only its owner may read it.
pub const NOTICES: FileSpec = FileSpec::new("notices.json", NOTICES_BYTES_MAX);

/// The owner's stylesheet, which follows that of the pages.
pub const THEME: FileSpec = FileSpec::new("theme.css", THEME_BYTES_MAX);
/// The owner's logo as a drawing.
pub const LOGO_SVG: FileSpec = FileSpec::new("logo.svg", LOGO_BYTES_MAX);
/// The owner's logo as a picture; only one of the two may exist.
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
        // Without an ignore list the digest equals that of versions before ignore lists existed.
        let ignored = self.ignored.as_ref().map(Some);
        let mut hash = Sha256::new();
        for file in files.chain(ignored) {
            hash.update([u8::from(file.is_some())]);
            if let Some(bytes) = file {
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(bytes);
            }
        }
        // Likewise without the files of the look and the record of changes; the name keeps each apart from the others.
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

/// Decodes and checks the operator's files; dates after `now` are errors. The dataset's date is the later of
/// `updated_at`, if given, the modification time of the files, and the last time in `changes.json`. Needs memory for the result and for the parser's
/// tape of the largest file other than `reviews.json`; the bytes of `reviews.json` are freed after parsing.
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
pub fn decode_by(files: Files, now: Timestamp, threads: NonZeroUsize) -> Result<Decoded, Problems> {
    let is_large = files.reviews.len() > LARGE_BYTES;
    let mut problems = Problems::default();
    let taxonomy = json::read(
        TAXONOMY,
        &files.taxonomy,
        &mut problems,
        companions::taxonomy,
    );
    let (taxonomy, extends) = taxonomy.unwrap_or_default();
    let options = reviews::ReviewsOptions {
        taxonomy: &taxonomy,
        now,
        threads: if is_large { threads } else { NonZeroUsize::MIN },
    };
    let check = Check::new(REVIEWS);
    let (file, digest) = thread::scope(|scope| {
        let digest = is_large.then(|| scope.spawn(|| files.digest()));
        let read = reviews::decode(&files.reviews, options, &check);
        let digest = digest.map(|thread| thread.join().expect("hashing has no panic"));
        (read, digest.unwrap_or_else(|| files.digest()))
    });
    let all = file.as_ref().map_or(&[][..], |file| &file.reviews);
    let by_id = reviews::by_id(all, &check);
    let is_known = check.finish(&files.reviews, &mut problems);
    let theme = look::theme(&files, &mut problems);
    let logo = look::logo(&files, &mut problems);
    drop(files.reviews);
    let ignored = json::read(IGNORED, &files.ignored, &mut problems, companions::ignored);
    let ignored = ignored.unwrap_or_default();
    let ignored_ids: HashSet<&str> = ignored.iter().map(|entry| entry.id.as_str()).collect();
    let published = |id: &str| {
        let review = by_id.get(id).map(|at| &all[*at]);
        review.filter(|review| review.is_published() && !ignored_ids.contains(id))
    };
    let published: Option<FindPublished<'_, '_>> = is_known.then_some(&published);
    let editorial = json::read(EDITORIAL, &files.editorial, &mut problems, |item| {
        companions::editorial(item, published)
    });
    companions::check_insights(&files.insights, published, &mut problems);
    let site_file = json::read(SITE, &files.site, &mut problems, site::site);
    let record = json::read(CHANGES, &files.changes, &mut problems, |item| {
        changes::record(item, now)
    });
    let suppressed = json::read(CHECK, &files.check, &mut problems, lints::suppressions);
    let Some(mut file) = file.filter(|_| problems.is_empty()) else {
        return Err(problems);
    };
    let all_count = file.reviews.len();
    file.reviews.retain(Review::is_published);
    let published_count = file.reviews.len();
    let is_left = |review: &Review| !ignored_ids.contains(review.id.as_str());
    file.reviews.retain(is_left);
    // Ids are unique, so the result does not depend on the order in the file.
    sort_newest_first(&mut file.reviews);
    language::detect_languages(&mut file.reviews, threads);
    let comparison = changes::compare(record.as_ref(), &mut file.reviews, &ignored);
    let is_given = files.taxonomy.is_some();
    // The operator's own taxonomy is left as it is, unless it extends a trade.
    let trade = extends.or_else(|| (!is_given).then(|| trades::of_type(&file.business.kind)));
    if let Some(trade) = trade {
        let owner = site_file
            .as_ref()
            .and_then(|file| file.site.language.as_deref());
        trades::extend(&mut file.taxonomy, trade, &file.reviews, owner);
    }
    // The file server's clock may be ahead of ours: the dataset's date must not be later than now.
    let modified = files.modified.map(|time| time.min(now));
    let updated_at = file.updated_at.max(modified).max(comparison.date_min);
    let lints = Lints {
        taxonomy_given: is_given,
        ambiguous_names: file.ambiguous_names,
        today: now.date(),
        suppressed: suppressed.unwrap_or_default(),
        ignored_count: published_count - file.reviews.len(),
    };
    let site_file = site_file.unwrap_or_default();
    let by_type = trades::clientele(trades::of_type(&file.business.kind));
    let site = Site {
        clientele: site_file.clientele.unwrap_or(by_type),
        theme,
        logo,
        ..site_file.site
    };
    let dataset = Dataset {
        business: file.business,
        disclaimer: file.disclaimer,
        updated_at: updated_at.unwrap_or(Timestamp::from_unix(0)),
        reviews: file.reviews,
        taxonomy: file.taxonomy,
        editorial: editorial.unwrap_or_default(),
        site,
        insights: files.insights,
        unverified_count: u32::try_from(all_count - published_count).unwrap_or(u32::MAX),
        removed: ignored,
        changes: comparison.changes,
        digest,
    };
    Ok(Decoded {
        dataset,
        record,
        lints,
    })
}

/// Size of `reviews.json` above which several threads parse it and another one computes the digest (1 ms at this size).
const LARGE_BYTES: usize = 1 << 20;

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
