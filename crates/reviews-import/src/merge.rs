//! Merges candidates with the stored reviews, by id, and renders the new file.
//!
//! The result is independent of the order of records and sources: of two versions of a review the one changed later
//! wins; if the times do not decide, one is chosen by its digest and the other is refused. A review that does not
//! change keeps its bytes. Stored reviews are borrowed from the file; only changed ones are owned.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::identity::{id_of_approximate, id_of_content, undated_hash};
use super::normalize::{Candidate, RecordError, ReplyDayFault, id_of, normalize, unusable};
use super::record::{Field, Record, RecordResult, Refusal};
use super::review::ReviewObject;
use super::source::{ImportSource, Vouched};
use super::text::{normal, short_message};
use reviewd_data::model::{Business, DatePrecision, is_business};
use reviewd_wire::date::{Date, Timestamp};
use reviewd_wire::text::quote;

mod duplicates;
mod photos;
mod report;
mod superseded;
mod verify;

use super::source::SourceReport;
pub use photos::{PhotoFiles, PhotoTable};
pub use report::{Note, PhotoCounts, Report, ReviewSample};
pub use verify::VerifiedAs;

/// The line end and the spaces before a review in the file.
const INDENT: &str = "\n    ";

/// The end of the file, after the last review.
const END: &str = "\n  ]\n}\n";

/// Why the stored file cannot be merged with anything.
#[derive(Debug, Error)]
pub enum StoredFileError {
    /// It is not JSON of the right form.
    #[error("reviews.json: cannot be read: {}", short_message(.0))]
    Json(#[from] serde_json::Error),
    /// A review lacks its date or rating.
    #[error("reviews.json: a review cannot be read")]
    Review,
}

/// Why nothing is pruned.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum PruneError {
    /// So many of the refused records have no readable id.
    #[error(
        "--prune: {0} of the rejected records have no id that could be read, so it is not known which reviews \
         the source still has; nothing was written"
    )]
    Unidentified(u64),
    /// A source has no review that could be taken.
    #[error("--prune: a source contains no review; nothing was written")]
    Empty,
}

/// The stored reviews, and the changes of an import.
#[derive(Default)]
pub struct Merge<'f> {
    /// The other parts of the file, unchanged, by key.
    parts: BTreeMap<String, &'f RawValue>,
    slots: HashMap<String, Slot<'f>>,
    /// The platforms, in lower case, of the reviews in this import.
    imported: HashSet<String>,
    /// Ids that are never added.
    ignored: HashSet<String>,
    /// Ids of stored reviews without dates, by the part of the id that does not depend on their order.
    undated: HashMap<String, String>,
    /// Number of refused records without a readable id.
    unidentified: u64,
    /// Ids of the reviews that were removed because their sources no longer have them.
    pruned: Vec<String>,
    sources: Vec<SourceReport>,
    /// The first replies whose day cannot be used.
    undated_replies: Vec<Note>,
    /// The first refusals and remarks, and the number of all remarks.
    refusals: Vec<Note>,
    remarks: Vec<Note>,
    remark_count: u64,
    /// The pictures that were fetched by earlier imports.
    photos: PhotoTable,
    /// Reviews that changed as their pictures were fetched.
    photo_changes: u64,
}

/// The stored and the imported version of a review.
#[derive(Default)]
struct Slot<'f> {
    stored: Option<Version<'f>>,
    arrived: Option<Arrived<'f>>,
    /// Whether the import has a record with this id, even a refused one.
    is_in_import: bool,
}

/// A review as stored in the file.
struct Version<'f> {
    json: Cow<'f, str>,
    date: Date,
    /// Whether the date is approximate.
    is_approximate: bool,
    is_published: bool,
}

impl<'f> Version<'f> {
    fn new(json: impl Into<Cow<'f, str>>, date: Date, review: &ReviewObject) -> Version<'f> {
        Version {
            json: json.into(),
            date,
            is_approximate: !review.text("date_precision").is_empty(),
            is_published: review.is_published(),
        }
    }
}

/// Which of two versions of a review is used: the one changed later; if that is unknown, the one with the higher digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct VersionRank {
    /// When the source changed it, in seconds since 1970, if it says so.
    changed: Option<i64>,
    /// The digest of the source's data.
    digest: [u8; 32],
}

/// The version of a review that this import uses.
struct Arrived<'f> {
    source: usize,
    line: u64,
    /// Decides between two versions: the higher one wins.
    rank: VersionRank,
    /// Whether the source hides the review.
    hidden: bool,
    /// The review, if it is new or changed.
    fresh: Option<Version<'f>>,
}

impl<'f> Slot<'f> {
    /// The version for the new file.
    fn version(&self) -> Option<&Version<'f>> {
        let fresh = self.arrived.as_ref().and_then(|one| one.fresh.as_ref());
        fresh.or(self.stored.as_ref())
    }

    fn stored_review(&self) -> Option<ReviewObject> {
        ReviewObject::parse(&self.stored.as_ref()?.json)
    }

    /// The new or changed review of this import.
    fn arrived_review(&self) -> Option<ReviewObject> {
        let fresh = self.arrived.as_ref()?.fresh.as_ref()?;
        ReviewObject::parse(&fresh.json)
    }
}

impl<'f> Merge<'f> {
    /// Parses the text of the stored `reviews.json`, which the caller has checked.
    ///
    /// # Errors
    /// If the file cannot be parsed.
    pub fn new(file: &'f str) -> Result<Merge<'f>, StoredFileError> {
        let mut merge = Merge {
            parts: serde_json::from_str(file)?,
            ..Merge::default()
        };
        let reviews = merge.parts.remove("reviews").map_or("[]", RawValue::get);
        for json in serde_json::from_str::<Vec<&RawValue>>(reviews)? {
            let review = ReviewObject::parse(json.get()).ok_or(StoredFileError::Review)?;
            let date = review.date().ok_or(StoredFileError::Review)?;
            let id = review.text("id").to_owned();
            if let Some(hash) = undated_hash(&id) {
                merge.undated.insert(hash.to_owned(), id.clone());
            }
            let slot = merge.slots.entry(id).or_default();
            slot.stored = Some(Version::new(json.get(), date, &review));
        }
        Ok(merge)
    }

    /// Excludes `ids` from the import.
    pub fn ignore(&mut self, ids: impl IntoIterator<Item = String>) {
        self.ignored.extend(ids);
    }

    /// Starts the next source.
    pub fn begin(&mut self, source: &ImportSource<'_>) {
        let report = source.report();
        let business_of_source = report.business.clone();
        self.sources.push(report);
        let Some(business_of_source) = business_of_source else {
            return;
        };
        let business_of_folder = self.business_text("name");
        let name = normal(&business_of_source);
        let own_name = normal(&business_of_folder);
        if !name.contains(&own_name) && !own_name.contains(&name) {
            let remark = format!(
                "the source is about {}, but the data directory about {}: --location keeps reviews of several places apart",
                quote(&business_of_source),
                quote(&business_of_folder)
            );
            self.remark(self.sources.len() - 1, 1, remark);
        }
    }

    /// The text of a key of the folder's business.
    fn business_text(&self, key: &str) -> String {
        let json = self.parts.get("business").map_or("{}", |part| part.get());
        let business: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
        business[key].as_str().unwrap_or_default().to_owned()
    }

    /// Tells whether the name of a source is that of the folder's business, or the host of its website.
    #[must_use]
    pub fn is_business(&self, source: &str) -> bool {
        let name = self.business_text("name");
        let website = self.business_text("url");
        is_business(source, &name, &website)
    }

    /// Adds a record or a refusal of the source that was begun last.
    pub fn take(&mut self, found: RecordResult, source: &ImportSource<'_>) {
        let at = self.sources.len() - 1;
        let record = match found {
            Ok(record) => record,
            Err(Refusal { line, reason }) => {
                self.unidentified += 1;
                return self.push_refusal(at, line, reason.to_string());
            }
        };
        let accepted = normalize(&record, source)
            .and_then(|candidate| self.accept(&record, candidate, source));
        match accepted {
            Ok(Some((id, arrived))) => self.arrive(id, arrived),
            Ok(None) => {}
            Err(error) => {
                match id_of(&record, source) {
                    // The source still has the review, although its record was refused.
                    Some(id) => self.mark_in_import(&id),
                    None => self.unidentified += 1,
                }
                self.push_refusal(at, record.line, error.to_string());
            }
        }
    }

    /// Records that the import has a record with this id, if a review is stored under it.
    fn mark_in_import(&mut self, id: &str) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.is_in_import = true;
        }
    }

    /// Makes a version of a candidate, with its id; `None` if it is on the ignore list.
    fn accept(
        &mut self,
        record: &Record,
        candidate: Candidate,
        source: &ImportSource<'_>,
    ) -> Result<Option<(String, Arrived<'f>)>, RecordError> {
        let at = self.sources.len() - 1;
        let mut says = candidate.says.clone();
        says.use_photos(&self.photos);
        let mut id = candidate.id.clone();
        if candidate.precision == Some(DatePrecision::Unknown)
            && let Some(stored_id) = undated_hash(&id).and_then(|hash| self.undated.get(hash))
        {
            // The file has other reviews before or after it than at the last import.
            id.clone_from(stored_id);
            says.set("id", id.as_str());
        }
        self.imported.insert(says.platform());
        // A review that had no id of its own when it was removed may have one now, so both ids are checked.
        let platform = says.text("source");
        let author = says.text("author");
        let content_id = id_of_content(platform, author, candidate.date, says.text("text"));
        if self.ignored.contains(&id) || self.ignored.contains(&content_id) {
            self.sources[at].ignored += 1;
            return Ok(None);
        }
        let stored = self.slots.get(&id).and_then(Slot::stored_review);
        if record.is_ours && record.filled(Field::Id) == Some(&id) {
            check_same_review(&says, stored.as_ref())?;
        }
        says.keep_avatar(stored.as_ref());
        for remark in unusable(record) {
            self.remark(at, record.line, remark);
        }
        // The rank depends only on the source's data, so the same version wins in the next import.
        let mut ranked = says.0.clone();
        if candidate.precision.is_some() {
            // Another day of collection gives another approximate date.
            ranked.retain(|key, _| key != "date" && key != "date_precision");
        }
        let ranked_json = serde_json::to_vec(&ranked).expect("a value is JSON");
        let rank = VersionRank {
            changed: candidate.updated,
            digest: Sha256::digest(ranked_json).into(),
        };
        if let Some(fault) = candidate.reply_day {
            let is_missing = fault == ReplyDayFault::Missing;
            let is_kept = is_missing && stored.as_ref().is_some_and(|one| says.keep_reply(one));
            if !is_kept {
                self.push_undated_reply(at, record.line, fault, source);
            }
        }
        let date = keep_date(&mut says, &candidate, stored.as_ref());
        // The operator may have set `verified` of a stored review to false by hand.
        let is_vouched = match source.options.vouched {
            Vouched::Nothing => false,
            Vouched::New => stored.is_none(),
            Vouched::All => true,
        };
        if is_vouched {
            says.0.entry("verified").or_insert(true.into());
        }
        let mut review = says.over(stored.as_ref());
        review.set_account(candidate.account, candidate.hidden);
        let fresh = if stored.as_ref() == Some(&review) {
            None
        } else {
            Some(Version::new(review.render(), date, &review))
        };
        let arrived = Arrived {
            source: at,
            line: record.line,
            rank,
            hidden: candidate.hidden,
            fresh,
        };
        Ok(Some((id, arrived)))
    }

    /// Stores a version, or decides between it and an earlier one of this import.
    fn arrive(&mut self, id: String, arrived: Arrived<'f>) {
        let slot = self.slots.entry(id).or_default();
        slot.is_in_import = true;
        let Some(mut earlier) = slot.arrived.take() else {
            slot.arrived = Some(arrived);
            return;
        };
        if earlier.rank.digest == arrived.rank.digest {
            // The same data again: the later of both times is compared with a third version.
            earlier.rank.changed = earlier.rank.changed.max(arrived.rank.changed);
            slot.arrived = Some(earlier);
            self.sources[arrived.source].repeated += 1;
            return;
        }
        let (winner, loser) = if earlier.rank > arrived.rank {
            (earlier, arrived)
        } else {
            (arrived, earlier)
        };
        let times = winner.rank.changed.zip(loser.rank.changed);
        if times.is_some_and(|(one, other)| one != other) {
            // An older version of the same review is not an error.
            self.sources[loser.source].repeated += 1;
            slot.arrived = Some(winner);
            return;
        }
        let other = if winner.source == loser.source {
            format!("line {}", winner.line)
        } else {
            "another source's record".to_owned()
        };
        slot.arrived = Some(winner);
        let reason = format!("id: is also that of {other}, which has other content");
        self.push_refusal(loser.source, loser.line, reason);
    }

    /// Removes one review; `false` if it is not stored.
    pub fn forget(&mut self, id: &str) -> bool {
        self.slots.remove(id).is_some()
    }

    /// Removes the reviews of the imported platforms that are no longer in the sources.
    ///
    /// # Errors
    /// If the sources do not tell for certain which reviews they still have; then nothing is removed.
    pub fn prune(&mut self) -> Result<(), PruneError> {
        if self.unidentified > 0 {
            return Err(PruneError::Unidentified(self.unidentified));
        }
        let mut sources = self.source_reports().into_iter();
        if sources.any(|source| source.taken() == 0) {
            return Err(PruneError::Empty);
        }
        let gone = self.missing();
        for id in &gone {
            self.forget(id);
        }
        self.pruned = gone;
        Ok(())
    }

    /// Ids of the stored reviews of imported platforms that are no longer in the sources, ascending.
    fn missing(&self) -> Vec<String> {
        let superseded = self.superseded();
        let mut ids = Vec::new();
        for (id, slot) in &self.slots {
            if slot.is_in_import || superseded.contains(id) {
                continue;
            }
            let stored = slot.stored_review();
            if stored.is_some_and(|stored| self.imported.contains(&stored.platform())) {
                ids.push(id.clone());
            }
        }
        ids.sort_unstable();
        ids
    }

    /// The text of a part of the file.
    fn part(&self, key: &str) -> &'f str {
        self.parts.get(key).map_or("null", |part| part.get())
    }

    /// Renders the new file, newest first.
    pub fn render(&self, updated_at: Timestamp) -> String {
        let superseded = self.superseded();
        let mut reviews: Vec<(Reverse<(Date, &str)>, &str)> = Vec::new();
        for (id, slot) in &self.slots {
            if let Some(version) = slot.version()
                && !superseded.contains(id)
            {
                reviews.push((Reverse((version.date, id)), &version.json));
            }
        }
        reviews.sort_unstable();
        let bytes = reviews
            .iter()
            .map(|(_, json)| json.len() + INDENT.len() + 1);
        let business = self.part("business");
        let disclaimer = self.part("disclaimer");
        let mut file = format!(
            "{{\n  \"business\": {business},\n  \"disclaimer\": {disclaimer},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": ["
        );
        file.reserve(bytes.sum::<usize>() + END.len());
        for (at, (_, json)) in reviews.into_iter().enumerate() {
            if at > 0 {
                file.push(',');
            }
            file.push_str(INDENT);
            file.push_str(json);
        }
        file.push_str(END);
        file
    }
}

/// Returns a file without reviews; `kind` is a schema.org type. All other fields of the business are empty.
pub fn new_file(name: &str, kind: &str, url: &str, updated_at: Timestamp) -> String {
    let file = json!({
        "business": Business {
            name: name.to_owned(),
            kind: kind.to_owned(),
            url: url.to_owned(),
            ..Business::default()
        },
        "disclaimer": null,
        "updated_at": updated_at.to_string(),
        "reviews": [],
    });
    format!("{file:#}\n")
}

/// Checks that a review exported from a reviewd is the review that has its id here.
fn check_same_review(
    says: &ReviewObject,
    stored: Option<&ReviewObject>,
) -> Result<(), RecordError> {
    let Some(stored) = stored else {
        return Ok(());
    };
    // Author, text or date may be corrected, but it is unlikely that all of them change at once.
    let is_like_it = ["author", "date", "text"]
        .into_iter()
        .any(|key| says.text(key) == stored.text(key) && !stored.text(key).is_empty());
    if is_like_it && says.platform() == stored.platform() {
        return Ok(());
    }
    Err(RecordError::OtherReview {
        author: stored.text("author").to_owned(),
        source_name: stored.text("source").to_owned(),
    })
}

/// Keeps the stored date of a review if the source's is not more exact: an approximate date is another one in each export.
/// Returns the date.
fn keep_date(
    says: &mut ReviewObject,
    candidate: &Candidate,
    stored: Option<&ReviewObject>,
) -> Date {
    let Some(precision) = candidate.precision else {
        return candidate.date;
    };
    let Some(stored) = stored else {
        return candidate.date;
    };
    let stored_precision = stored.text("date_precision");
    let Some(date) = stored.date() else {
        return candidate.date;
    };
    if coarseness(stored_precision) > coarseness_of(precision) {
        return candidate.date;
    }
    says.set("date", date.to_string());
    // What a record does not say stays as it is stored.
    says.0.remove("date_precision");
    date
}

/// Orders precisions as they are written, from the day.
fn coarseness(precision: &str) -> usize {
    match precision {
        "month" => 1,
        "year" => 2,
        "unknown" => 3,
        _ => 0,
    }
}

fn coarseness_of(precision: DatePrecision) -> usize {
    match precision {
        DatePrecision::Month => 1,
        DatePrecision::Year => 2,
        DatePrecision::Unknown => 3,
    }
}
