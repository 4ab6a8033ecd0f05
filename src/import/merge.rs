//! Candidates laid over the stored reviews, by id, and the new file that comes of it.
//!
//! The order of records and of sources does not matter: of two versions of a review the one changed later counts, and
//! where the times do not decide, one is chosen by its bytes and the other refused. A review that does not change keeps
//! its bytes. Memory depends on the result: stored reviews are borrowed from the file, and only what changes is held.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::identity::of_content;
use super::normalise::{Candidate, known_id, normalise, unusable};
use super::record::{Field, Found, Record, Refusal};
use super::review::StoredReview;
use super::source::{ImportSource, Vouched};
use super::text::quote;
use crate::dataset::{REVIEWS_BYTES_MAX, REVIEWS_MAX};
use crate::wire::date::{Date, Timestamp};

mod business;
mod duplicates;
mod report;

pub(crate) use business::BusinessFacts;
pub(crate) use report::{Note, NoteText, Report, SourceReport};

/// What stands between two reviews of the file, and at its end.
const SEPARATOR: &str = ",\n    ";
const END: &str = "\n  ]\n}\n";

/// The stored reviews, and what an import makes of them.
#[derive(Default)]
pub struct Merge<'f> {
    /// The other parts of the file as they stand, by key; empty where there is no file.
    parts: BTreeMap<String, &'f RawValue>,
    slots: HashMap<String, Slot<'f>>,
    /// The platforms of reviews, in lower case: a number stands for each.
    platforms: HashMap<String, u32>,
    /// The platforms of which this import had a review.
    imported: HashSet<u32>,
    /// Ids that are never added.
    ignored: HashSet<String>,
    /// Refused records of which it is not known which reviews they are.
    unidentified: u64,
    /// Ids of the reviews that were removed, as their sources have them no more.
    pruned: Vec<String>,
    sources: Vec<SourceReport>,
    /// The first refusals and remarks, and how many remarks there are.
    refusals: Vec<Note>,
    remarks: Vec<Note>,
    remark_count: u64,
    bytes_max: u64,
    /// The ids of stored reviews, by source, author and text; `None` where several have the same.
    same_texts: Option<HashMap<u64, Option<String>>>,
    /// What the operator says of the business, where the file has placeholders.
    business: BusinessFacts,
    /// Bytes of the new file with a separator for each review.
    bytes: u64,
}

/// One id.
#[derive(Default)]
struct Slot<'f> {
    kept: Option<Version<'f>>,
    /// The number of the stored review's platform.
    platform: u32,
    arrived: Option<Arrived<'f>>,
    /// Whether a record of this id came, be it refused.
    named: bool,
}

/// A review as a file holds it.
struct Version<'f> {
    json: Cow<'f, str>,
    date: Date,
    verified: bool,
}

/// The time of the change, where it is known, and the digest of what the source says.
type Rank = (Option<(i64, u32)>, [u8; 32]);

/// The version of a review that this import goes by.
struct Arrived<'f> {
    source: usize,
    line: u64,
    /// What decides between two versions.
    rank: Rank,
    /// Whether the source hides it.
    hidden: bool,
    /// The review where it is new or different.
    fresh: Option<Version<'f>>,
}

impl<'f> Slot<'f> {
    /// The review as the file will hold it.
    fn version(&self) -> Option<&Version<'f>> {
        let arrived = self.arrived.as_ref();
        arrived
            .and_then(|arrived| arrived.fresh.as_ref())
            .or(self.kept.as_ref())
    }

    fn bytes(&self) -> u64 {
        let version = self.version();
        version.map_or(0, |version| (version.json.len() + SEPARATOR.len()) as u64)
    }

    fn stored(&self) -> Option<StoredReview> {
        StoredReview::parse(&self.kept.as_ref()?.json)
    }
}

impl<'f> Merge<'f> {
    /// Begins with the stored file, or with none; the file has to have passed the check of the dataset. The new one may
    /// have `bytes_max` bytes, and as many as the check accepts.
    ///
    /// # Errors
    /// A line, where the file has not passed the check.
    pub fn new(file: Option<&'f str>, bytes_max: u64) -> Result<Merge<'f>, String> {
        let mut merge = Merge {
            bytes_max: bytes_max.min(REVIEWS_BYTES_MAX as u64),
            ..Merge::default()
        };
        let wrong = |error: serde_json::Error| format!("reviews.json: cannot be read: {error}");
        if let Some(file) = file {
            merge.parts = serde_json::from_str(file).map_err(wrong)?;
        }
        let reviews = merge.parts.remove("reviews").map_or("[]", RawValue::get);
        for json in serde_json::from_str::<Vec<&RawValue>>(reviews).map_err(wrong)? {
            let stored =
                StoredReview::parse(json.get()).and_then(|review| Some((review.date()?, review)));
            let (date, review) = stored.ok_or("reviews.json: a review cannot be read")?;
            let slot = Slot {
                kept: Some(Version {
                    json: json.get().into(),
                    date,
                    verified: review.is_verified(),
                }),
                platform: merge.number(review.text("source")),
                ..Slot::default()
            };
            merge.bytes += slot.bytes();
            merge.slots.insert(review.text("id").to_owned(), slot);
        }
        merge.bytes += merge.frame_bytes();
        Ok(merge)
    }

    /// Adds none of `ids`, whatever the sources say.
    pub(crate) fn ignore(&mut self, ids: impl IntoIterator<Item = String>) {
        self.ignored.extend(ids);
    }

    /// Begins the next source.
    pub fn begin(&mut self, source: &ImportSource<'_>) {
        self.sources.push(source.report());
    }

    /// Takes what a reader found in the source that was begun last.
    ///
    /// # Errors
    /// A line, where the result would exceed its bounds.
    pub fn take(&mut self, found: Found, source: &ImportSource<'_>) -> Result<(), String> {
        let record = match found {
            Ok(record) => record,
            Err(Refusal { line, reason }) => {
                self.unidentified += 1;
                self.refuse(self.sources.len() - 1, line, reason);
                return Ok(());
            }
        };
        let accepted = normalise(&record, source)
            .and_then(|candidate| self.accept(&record, candidate, source));
        match accepted {
            Ok(Some((id, arrived))) => self.arrive(id, arrived),
            Ok(None) => Ok(()),
            Err(reason) => {
                // The source still has the review, though its record was refused.
                match known_id(&record, source) {
                    Some(id) => self
                        .slots
                        .get_mut(&id)
                        .into_iter()
                        .for_each(|slot| slot.named = true),
                    None => self.unidentified += 1,
                }
                self.refuse(self.sources.len() - 1, record.line, reason);
                Ok(())
            }
        }
    }

    /// Makes a version of a candidate, with its id; none where it is on the ignore list.
    ///
    /// # Errors
    /// Why it is refused.
    fn accept(
        &mut self,
        record: &Record,
        mut candidate: Candidate,
        source: &ImportSource<'_>,
    ) -> Result<Option<(String, Arrived<'f>)>, String> {
        let at = self.sources.len() - 1;
        let platform = self.number(candidate.says.text("source"));
        self.imported.insert(platform);
        if source.options.merges_same_text && !record.is_ours {
            self.adopt_id(&mut candidate);
        }
        let Candidate {
            id,
            date,
            hidden,
            updated,
            mut says,
        } = candidate;
        // A review that had no id of its own when it was removed may have one by now.
        let by_content = of_content(
            says.text("source"),
            says.text("author"),
            date,
            says.text("text"),
        );
        if self.ignored.contains(&id) || self.ignored.contains(&by_content) {
            self.sources[at].ignored += 1;
            return Ok(None);
        }
        says.set("id", id.as_str());
        let stored = self.slots.get(&id).and_then(Slot::stored);
        if record.is_ours && record.filled(Field::Id) == Some(&id) {
            refuse_another(&says, stored.as_ref())?;
        }
        for text in unusable(record) {
            self.remark(Note::remark(at, record.line, text));
        }
        let rank = rank(updated, &says);
        // Of a stored review the operator may have said by hand that it is not verified.
        let is_vouched = match source.options.vouched {
            Vouched::Nothing => false,
            Vouched::New => stored.is_none(),
            Vouched::All => true,
        };
        if is_vouched {
            says.0.entry("verified").or_insert(true.into());
        }
        let review = says.over(stored.as_ref());
        let fresh = (stored.as_ref() != Some(&review)).then(|| Version {
            json: review.render().into(),
            date,
            verified: review.is_verified(),
        });
        let arrived = Arrived {
            source: at,
            line: record.line,
            rank,
            hidden,
            fresh,
        };
        Ok(Some((id, arrived)))
    }

    /// Stores a version, or decides between it and the one that came before.
    fn arrive(&mut self, id: String, arrived: Arrived<'f>) -> Result<(), String> {
        let slot = self.slots.entry(id).or_default();
        slot.named = true;
        if let Some(earlier) = &mut slot.arrived
            && earlier.rank.1 == arrived.rank.1
        {
            // The same words again: the later of both times decides against a third version.
            earlier.rank.0 = earlier.rank.0.max(arrived.rank.0);
            self.sources[arrived.source].repeated += 1;
            return Ok(());
        }
        let before = slot.bytes();
        let (winner, loser) = match slot.arrived.take() {
            Some(earlier) if earlier.rank > arrived.rank => (earlier, Some(arrived)),
            earlier => (arrived, earlier),
        };
        let (source, line, time) = (winner.source, winner.line, winner.rank.0);
        slot.arrived = Some(winner);
        self.bytes = self.bytes + slot.bytes() - before;
        if let Some(loser) = loser {
            let times = time.zip(loser.rank.0);
            if times.is_some_and(|(one, other)| one != other) {
                // An older version of the same review is no mistake.
                self.sources[loser.source].repeated += 1;
            } else {
                let other = match source == loser.source {
                    true => format!("line {line}"),
                    false => "another source's record".to_owned(),
                };
                let reason = format!("id: is that of {other} too, which says something else");
                self.refuse(loser.source, loser.line, reason);
            }
        }
        self.bound()
    }

    fn bound(&self) -> Result<(), String> {
        let bytes_max = self.bytes_max;
        if self.bytes() > bytes_max {
            return Err(format!(
                "reviews.json would be larger than {bytes_max} bytes (--data-file-bytes); \
                 check and serve need the same flag, and take at most {REVIEWS_BYTES_MAX}"
            ));
        }
        match self.slots.len() {
            0..=REVIEWS_MAX => Ok(()),
            _ => Err(format!(
                "reviews.json would hold more than {REVIEWS_MAX} reviews"
            )),
        }
    }

    /// The number of a platform.
    fn number(&mut self, platform: &str) -> u32 {
        let next = u32::try_from(self.platforms.len()).unwrap_or(u32::MAX);
        *self
            .platforms
            .entry(platform.to_lowercase())
            .or_insert(next)
    }

    /// Removes one review; `false` where it is not stored.
    pub(crate) fn forget(&mut self, id: &str) -> bool {
        let removed = self.slots.remove(id);
        self.bytes -= removed.as_ref().map_or(0, Slot::bytes);
        removed.is_some()
    }

    /// Removes the reviews of the imported platforms that are not in the sources any more.
    ///
    /// # Errors
    /// A line, where a source may not be complete or nothing would remain; nothing is removed then.
    pub(crate) fn prune(&mut self) -> Result<(), String> {
        if self.unidentified > 0 {
            let count = self.unidentified;
            return Err(format!(
                "--prune: {count} of the refused records have no id that could be read, so it is not known which reviews \
                 the source still has; nothing was written"
            ));
        }
        if self
            .source_reports()
            .iter()
            .any(|source| source.taken() == 0)
        {
            return Err("--prune: a source holds no review; nothing was written".to_owned());
        }
        let gone = self.missing();
        if gone.len() == self.slots.len() && !gone.is_empty() {
            return Err("--prune: no review would remain; nothing was written".to_owned());
        }
        for id in &gone {
            self.forget(id);
        }
        self.pruned = gone;
        Ok(())
    }

    /// Ids of the stored reviews of imported platforms that are not in the sources any more, ascending.
    fn missing(&self) -> Vec<String> {
        let is_missing = |slot: &Slot<'_>| {
            !slot.named && slot.kept.is_some() && self.imported.contains(&slot.platform)
        };
        let missing = self.slots.iter().filter(|(_, slot)| is_missing(slot));
        let mut ids: Vec<String> = missing.map(|(id, _)| id.clone()).collect();
        ids.sort_unstable();
        ids
    }

    /// Renders the new file, newest first.
    pub fn render(&self, updated_at: Timestamp) -> String {
        let mut reviews: Vec<(Date, &str, &str)> = self
            .slots
            .iter()
            .filter_map(|(id, slot)| {
                slot.version()
                    .map(|version| (version.date, id.as_str(), &*version.json))
            })
            .collect();
        reviews.sort_unstable_by_key(|&(date, id, _)| Reverse((date, id)));
        let mut file = self.beginning(updated_at);
        file.reserve(self.bytes as usize);
        for (at, (_, _, json)) in reviews.iter().enumerate() {
            file.push_str(&SEPARATOR[usize::from(at == 0)..]);
            file.push_str(json);
        }
        file.push_str(END);
        file
    }

    /// Bytes of the new file, exact where it holds a review.
    pub fn bytes(&self) -> u64 {
        // Before the first review stands no comma.
        self.bytes.saturating_sub(1)
    }
}

/// What decides between two versions; it depends on what the source says alone, and not on the stored review, so that
/// the same version wins at the next import.
fn rank(updated: Option<(i64, u32)>, says: &StoredReview) -> Rank {
    let said = serde_json::to_vec(&says.0).unwrap_or_default();
    (updated, Sha256::digest(said).into())
}

/// Refuses a review of a reviewd whose id is here that of a review by another author.
fn refuse_another(says: &StoredReview, stored: Option<&StoredReview>) -> Result<(), String> {
    let Some(stored) = stored else {
        return Ok(());
    };
    // A name may be corrected, words edited, a day put right, but hardly all at once.
    let is_same = |key| says.text(key) == stored.text(key) && !stored.text(key).is_empty();
    let is_one_platform =
        says.text("source").to_lowercase() == stored.text("source").to_lowercase();
    match is_one_platform && ["author", "date", "text"].into_iter().any(is_same) {
        true => Ok(()),
        false => Err(format!(
            "id: is that of the review by {} from {} that is there",
            quote(stored.text("author")),
            quote(stored.text("source"))
        )),
    }
}
