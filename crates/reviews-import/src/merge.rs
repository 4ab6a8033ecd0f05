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

use super::identity::{of_about, of_content, undated_hash};
use super::normalise::{Candidate, known_id, normalise, unusable};
use super::record::{Field, Found, Record, Refusal};
use super::review::StoredReview;
use super::source::{ImportSource, Vouched};
use super::text::normal;
use reviewd_data::model::{Business, DatePrecision};
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
    kept: Option<Version<'f>>,
    arrived: Option<Arrived<'f>>,
    /// Whether the import has a record with this id, even a refused one.
    named: bool,
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
    fn new(json: impl Into<Cow<'f, str>>, date: Date, review: &StoredReview) -> Version<'f> {
        Version {
            json: json.into(),
            date,
            is_approximate: !review.text("date_precision").is_empty(),
            is_published: review.is_published(),
        }
    }
}

/// The time of the change, if it is known, and the digest of the source's data.
type VersionRank = (Option<i64>, [u8; 32]);

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
        fresh.or(self.kept.as_ref())
    }

    fn stored(&self) -> Option<StoredReview> {
        StoredReview::parse(&self.kept.as_ref()?.json)
    }

    /// The new or changed review of this import.
    fn arrived_review(&self) -> Option<StoredReview> {
        let fresh = self.arrived.as_ref()?.fresh.as_ref()?;
        StoredReview::parse(&fresh.json)
    }
}

impl<'f> Merge<'f> {
    /// Parses the text of the stored `reviews.json`, which the caller has checked.
    ///
    /// # Errors
    /// A message of one line if the file cannot be parsed.
    pub fn new(file: &'f str) -> Result<Merge<'f>, String> {
        let wrong = |error: serde_json::Error| format!("reviews.json: cannot be read: {error}");
        let mut merge = Merge {
            parts: serde_json::from_str(file).map_err(wrong)?,
            ..Merge::default()
        };
        let reviews = merge.parts.remove("reviews").map_or("[]", RawValue::get);
        for json in serde_json::from_str::<Vec<&RawValue>>(reviews).map_err(wrong)? {
            let stored =
                StoredReview::parse(json.get()).and_then(|review| Some((review.date()?, review)));
            let (date, review) = stored.ok_or("reviews.json: a review cannot be read")?;
            let id = review.text("id").to_owned();
            if let Some(hash) = undated_hash(&id) {
                merge.undated.insert(hash.to_owned(), id.clone());
            }
            let slot = merge.slots.entry(id).or_default();
            slot.kept = Some(Version::new(json.get(), date, &review));
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
        let of_source = report.business.clone();
        self.sources.push(report);
        let Some(of_source) = of_source else {
            return;
        };
        let of_folder = self.business_name();
        let (one, other) = (normal(&of_source), normal(&of_folder));
        if !one.contains(&other) && !other.contains(&one) {
            let of_source = quote(&of_source);
            let of_folder = quote(&of_folder);
            let remark = format!(
                "the source is about {of_source}, but the folder about {of_folder}: --location keeps reviews of several places apart"
            );
            self.remark(self.sources.len() - 1, 1, remark);
        }
    }

    /// The name of the folder's business.
    fn business_name(&self) -> String {
        let business = self.parts.get("business").map_or("{}", |part| part.get());
        let business: serde_json::Value = serde_json::from_str(business).unwrap_or_default();
        business["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Adds a record or a refusal of the source that was begun last.
    pub fn take(&mut self, found: Found, source: &ImportSource<'_>) {
        let at = self.sources.len() - 1;
        let record = match found {
            Ok(record) => record,
            Err(Refusal { line, reason }) => {
                self.unidentified += 1;
                return self.refuse(at, line, reason);
            }
        };
        let accepted = normalise(&record, source)
            .and_then(|candidate| self.accept(&record, candidate, source));
        match accepted {
            Ok(Some((id, arrived))) => self.arrive(id, arrived),
            Ok(None) => {}
            Err(reason) => {
                // The source still has the review, although its record was refused.
                match known_id(&record, source) {
                    Some(id) => {
                        if let Some(slot) = self.slots.get_mut(&id) {
                            slot.named = true;
                        }
                    }
                    None => self.unidentified += 1,
                }
                self.refuse(at, record.line, reason);
            }
        }
    }

    /// Makes a version of a candidate, with its id; `None` if it is on the ignore list.
    fn accept(
        &mut self,
        record: &Record,
        candidate: Candidate,
        source: &ImportSource<'_>,
    ) -> Result<Option<(String, Arrived<'f>)>, String> {
        let at = self.sources.len() - 1;
        let mut says = candidate.says.clone();
        says.use_photos(&self.photos);
        let mut id = candidate.id.clone();
        if candidate.precision == Some(DatePrecision::Unknown)
            && let Some(known) = undated_hash(&id).and_then(|hash| self.undated.get(hash))
        {
            // The file has other reviews before or after it than at the last import.
            id.clone_from(known);
            says.set("id", id.as_str());
        }
        self.imported.insert(says.platform());
        // A review that had no id of its own when it was removed may have one now, so both ids are checked.
        let [platform, author, text] = ["source", "author", "text"].map(|key| says.text(key));
        let by_content = of_content(platform, author, candidate.date, text);
        if self.ignored.contains(&id) || self.ignored.contains(&by_content) {
            self.sources[at].ignored += 1;
            return Ok(None);
        }
        let stored = self.slots.get(&id).and_then(Slot::stored);
        if record.is_ours && record.filled(Field::Id) == Some(&id) {
            refuse_another(&says, stored.as_ref())?;
        }
        says.keep_avatar(stored.as_ref());
        for text in unusable(record) {
            self.remark(at, record.line, text);
        }
        // The rank depends only on the source's data, so the same version wins in the next import.
        let mut data = says.0.clone();
        if candidate.precision.is_some() {
            // Another day of collection gives another approximate date.
            data.retain(|key, _| key != "date" && key != "date_precision");
        }
        let data = serde_json::to_vec(&data).expect("a value is JSON");
        let rank = (candidate.updated, Sha256::digest(data).into());
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
        let is_changed = stored.as_ref() != Some(&review);
        let fresh = is_changed.then(|| Version::new(review.render(), date, &review));
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
        slot.named = true;
        let Some(mut earlier) = slot.arrived.take() else {
            slot.arrived = Some(arrived);
            return;
        };
        if earlier.rank.1 == arrived.rank.1 {
            // The same data again: the later of both times is compared with a third version.
            earlier.rank.0 = earlier.rank.0.max(arrived.rank.0);
            slot.arrived = Some(earlier);
            self.sources[arrived.source].repeated += 1;
            return;
        }
        let (winner, loser) = match earlier.rank > arrived.rank {
            true => (earlier, arrived),
            false => (arrived, earlier),
        };
        let times = winner.rank.0.zip(loser.rank.0);
        if times.is_some_and(|(one, other)| one != other) {
            // An older version of the same review is not an error.
            self.sources[loser.source].repeated += 1;
            slot.arrived = Some(winner);
            return;
        }
        let other = match winner.source == loser.source {
            true => format!("line {}", winner.line),
            false => "another source's record".to_owned(),
        };
        slot.arrived = Some(winner);
        let reason = format!("id: is also that of {other}, which has other content");
        self.refuse(loser.source, loser.line, reason);
    }

    /// Removes one review; `false` if it is not stored.
    pub fn forget(&mut self, id: &str) -> bool {
        self.slots.remove(id).is_some()
    }

    /// Removes the reviews of the imported platforms that are no longer in the sources.
    pub fn prune(&mut self) -> Result<(), String> {
        let gone = self.missing();
        let mut sources = self.source_reports().into_iter();
        if self.unidentified > 0 {
            let count = self.unidentified;
            return Err(format!(
                "--prune: {count} of the refused records have no id that could be read, so it is not known which reviews \
                 the source still has; nothing was written"
            ));
        }
        if sources.any(|source| source.taken() == 0) {
            return Err("--prune: a source contains no review; nothing was written".to_owned());
        }
        for id in &gone {
            self.forget(id);
        }
        self.pruned = gone;
        Ok(())
    }

    /// Ids of the stored reviews of imported platforms that are no longer in the sources, ascending.
    fn missing(&self) -> Vec<String> {
        let is_missing = |slot: &Slot<'_>| {
            let is_imported = |stored: StoredReview| self.imported.contains(&stored.platform());
            !slot.named && slot.stored().is_some_and(is_imported)
        };
        let superseded = self.superseded();
        let left = self
            .slots
            .iter()
            .filter(|(id, _)| !superseded.contains(*id));
        let missing = left.filter(|(_, slot)| is_missing(slot));
        let mut ids: Vec<String> = missing.map(|(id, _)| id.clone()).collect();
        ids.sort_unstable();
        ids
    }

    /// Renders the new file, newest first.
    pub fn render(&self, updated_at: Timestamp) -> String {
        let superseded = self.superseded();
        let left = self
            .slots
            .iter()
            .filter(|(id, _)| !superseded.contains(*id));
        let versions = left.filter_map(|(id, slot)| {
            let version = slot.version()?;
            Some((Reverse((version.date, id.as_str())), &*version.json))
        });
        let mut reviews: Vec<_> = versions.collect();
        reviews.sort_unstable();
        let bytes = reviews.iter().map(|(_, json)| json.len() + SEPARATOR.len());
        let part = |key| self.parts.get(key).map_or("null", |part| part.get());
        let [business, disclaimer] = ["business", "disclaimer"].map(part);
        let mut file = format!(
            "{{\n  \"business\": {business},\n  \"disclaimer\": {disclaimer},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": ["
        );
        file.reserve(bytes.sum::<usize>() + END.len());
        for (at, (_, json)) in reviews.into_iter().enumerate() {
            file.push_str(&SEPARATOR[usize::from(at == 0)..]);
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

/// The separator of two reviews in the file, and the end of the file.
const SEPARATOR: &str = ",\n    ";
const END: &str = "\n  ]\n}\n";

/// Refuses a review exported from a reviewd if its id belongs to a different review here.
fn refuse_another(says: &StoredReview, stored: Option<&StoredReview>) -> Result<(), String> {
    let Some(stored) = stored else {
        return Ok(());
    };
    // Author, text or date may be corrected, but it is unlikely that all of them change at once.
    let is_same = |key| says.text(key) == stored.text(key) && !stored.text(key).is_empty();
    let is_one = says.platform() == stored.platform();
    match is_one && ["author", "date", "text"].into_iter().any(is_same) {
        true => Ok(()),
        false => Err(format!(
            "id: is that of the existing review by {} from {}",
            quote(stored.text("author")),
            quote(stored.text("source"))
        )),
    }
}

/// Keeps the stored date of a review if the source's is not more exact: an approximate date is another one in each export.
/// Returns the date.
fn keep_date(
    says: &mut StoredReview,
    candidate: &Candidate,
    stored: Option<&StoredReview>,
) -> Date {
    let (Some(precision), Some(stored)) = (candidate.precision, stored) else {
        return candidate.date;
    };
    let known = stored.text("date_precision");
    let Some(date) = stored
        .date()
        .filter(|_| coarseness(known) <= coarseness_of(precision))
    else {
        return candidate.date;
    };
    says.set("date", date.to_string());
    says.0.remove("date_precision");
    if known.is_empty() {
        says.set("date_precision", serde_json::Value::Null);
    }
    date
}

/// Orders precisions as they are written, from the day.
fn coarseness(precision: &str) -> usize {
    let known = ["", "month", "year", "unknown"];
    known
        .iter()
        .position(|known| *known == precision)
        .unwrap_or_default()
}

fn coarseness_of(precision: DatePrecision) -> usize {
    match precision {
        DatePrecision::Month => 1,
        DatePrecision::Year => 2,
        DatePrecision::Unknown => 3,
    }
}
