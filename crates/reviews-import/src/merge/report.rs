//! The report of an import: counts by source, refusals, remarks, and counts of the resulting file. Serialized as JSON.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use super::Merge;
use crate::normalize::ReplyDayFault;
use crate::review::ReviewObject;
use crate::source::{ImportSource, SourceReport};
use reviewd_wire::date::Date;

/// Refusals that are reported with their reasons; further ones are only counted.
const REFUSALS_MAX: usize = 100;
/// Remarks that are reported; further ones are only counted.
const REMARKS_MAX: usize = 10;
/// Ids of missing or removed reviews that are reported; further ones are only counted.
const IDS_MAX: usize = 10;
/// Reviews in the report of a dry run.
const SAMPLE_MAX: usize = 10;
/// Why the oldest review is shown.
const OLDEST: &str = "the oldest";

/// The result of an import, or of its dry run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Whether the file was written.
    pub written: bool,
    /// Whether nothing may be written.
    pub dry_run: bool,
    /// Whether the import changes the file.
    pub changes: bool,
    /// The file's new `updated_at`; `None` if it was not written.
    pub updated_at: Option<String>,
    /// What each source gave, in the order of the sources.
    pub sources: Vec<SourceReport>,
    /// Records that were rejected, in all.
    pub rejected_count: u64,
    /// The first 100 of them, sorted by source and line.
    pub rejected: Vec<Note>,
    /// Replies that are published with the day of the review, as they have none that can be used, in all.
    pub undated_reply_count: u64,
    /// The first 100 of them, of sources that have a column for it.
    pub undated_replies: Vec<Note>,
    /// Remarks on accepted records, in all.
    pub remark_count: u64,
    /// The first 10 remarks.
    pub remarks: Vec<Note>,
    /// Stored reviews of an imported platform that its source no longer has.
    pub missing_count: u64,
    /// The ids of the first 10 of them.
    pub missing_ids: Vec<String>,
    /// Stored reviews that an earlier import read wrongly or with an approximate date, and that this one replaces.
    pub replaced_count: u64,
    /// Stored reviews that were removed because their source no longer has them.
    pub pruned_count: u64,
    /// The ids of the first 10 of them.
    pub pruned_ids: Vec<String>,
    /// Reviews of the resulting file.
    pub review_count: u64,
    /// Those that are published.
    pub published_count: u64,
    /// Those that are not verified and so not published.
    pub unpublished_count: u64,
    /// Reviews of this import that are hidden at their sources.
    pub hidden_count: u64,
    /// Stored reviews that were not published, and are now.
    pub newly_published_count: u64,
    /// Pictures: how many were fetched; `None` without `--media`.
    pub photos: Option<PhotoCounts>,
    /// In a dry run, some of the new or changed reviews: the newest, the oldest, and one of each kind of oddity.
    pub sample: Vec<ReviewSample>,
}

/// What came of the pictures of reviews.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PhotoCounts {
    /// Pictures that are to be fetched, in a dry run; else those that were.
    pub fetched: u64,
    /// Pictures that could not be fetched, and so stay at their addresses.
    pub failed: u64,
    /// Bytes of the new files.
    pub bytes: u64,
    /// The first of those that failed, with reasons.
    pub failures: Vec<String>,
}

/// A review of a dry run, and why it is shown.
#[derive(Debug, Serialize)]
pub struct ReviewSample {
    /// The kind of the review.
    pub why: &'static str,
    /// Its keys in the file.
    pub review: Value,
}

/// Why a record was refused, or a remark on a record that was accepted.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// The index of the source.
    #[serde(skip)]
    at: usize,
    /// The name of the source.
    pub source: String,
    /// The line of the record, from 1.
    pub line: u64,
    /// Why the record was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the operator should check in a record that was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

impl Merge<'_> {
    /// A note on a record of the source with index `at`.
    pub(super) fn note(
        &self,
        at: usize,
        line: u64,
        reason: Option<String>,
        remark: Option<String>,
    ) -> Note {
        let source = self.sources[at].source.clone();
        Note {
            at,
            source,
            line,
            reason,
            remark,
        }
    }

    /// Records why a record is refused.
    pub(super) fn push_refusal(&mut self, at: usize, line: u64, reason: String) {
        self.sources[at].rejected += 1;
        if self.refusals.len() < REFUSALS_MAX {
            let note = self.note(at, line, Some(reason), None);
            self.refusals.push(note);
        }
    }

    /// Records that a reply is published with the day of the review.
    pub(super) fn push_undated_reply(
        &mut self,
        at: usize,
        line: u64,
        fault: ReplyDayFault,
        source: &ImportSource<'_>,
    ) {
        self.sources[at].undated_replies += 1;
        // Without a column of such days, one line for all replies says it.
        if source.has_reply_days() && self.undated_replies.len() < REFUSALS_MAX {
            let note = self.note(at, line, None, Some(fault.to_string()));
            self.undated_replies.push(note);
        }
    }

    /// Records a remark on a record that was accepted.
    pub(super) fn remark(&mut self, at: usize, line: u64, remark: String) {
        self.remark_count += 1;
        if self.remarks.len() < REMARKS_MAX {
            let note = self.note(at, line, None, Some(remark));
            self.remarks.push(note);
        }
    }

    /// The reports of the sources, with the counts of added, changed and unchanged reviews.
    pub(super) fn source_reports(&self) -> Vec<SourceReport> {
        let mut sources = self.sources.clone();
        let superseded = self.superseded();
        for (id, slot) in &self.slots {
            let is_superseded = superseded.contains(id);
            if let Some(arrived) = &slot.arrived {
                let source = &mut sources[arrived.source];
                match (&slot.stored, &arrived.fresh) {
                    (None, _) if is_superseded => source.repeated += 1,
                    (None, _) => source.added += 1,
                    (Some(_), Some(_)) => source.changed += 1,
                    (Some(_), None) => source.unchanged += 1,
                }
            }
        }
        sources
    }

    /// Returns the report; that of a dry run includes some reviews.
    pub fn report(&self, is_dry: bool) -> Report {
        let sources = self.source_reports();
        let duplicates = self.duplicates();
        let remark_count = self.remark_count + duplicates.len() as u64;
        let mut rejected = self.refusals.clone();
        rejected.sort_by_key(|note| (note.at, note.line));
        let remarks = self.remarks.iter().chain(&duplicates).take(REMARKS_MAX);
        let missing = self.missing();
        let superseded = self.superseded();
        let mut left = Vec::new();
        let mut replaced_count = 0;
        for (id, slot) in &self.slots {
            if !superseded.contains(id) {
                left.push(slot);
            } else if slot.stored.is_some() {
                replaced_count += 1;
            }
        }
        let changed: u64 = sources
            .iter()
            .map(|source| source.added + source.changed)
            .sum();
        let is_changed =
            !self.pruned.is_empty() || replaced_count + self.photo_changes + changed > 0;
        let mut report = Report {
            dry_run: is_dry,
            changes: is_changed,
            rejected_count: sources.iter().map(|source| source.rejected).sum(),
            rejected,
            undated_reply_count: sources.iter().map(|source| source.undated_replies).sum(),
            undated_replies: self.undated_replies.clone(),
            remark_count,
            remarks: remarks.cloned().collect(),
            missing_count: missing.len() as u64,
            missing_ids: first_ids(&missing),
            pruned_count: self.pruned.len() as u64,
            pruned_ids: first_ids(&self.pruned),
            replaced_count,
            review_count: left.len() as u64,
            sources,
            ..Report::default()
        };
        if is_dry {
            report.sample = self.sample();
        }
        for slot in left {
            let is_published = slot.version().is_some_and(|version| version.is_published);
            let was_unpublished = slot
                .stored
                .as_ref()
                .is_some_and(|stored| !stored.is_published);
            let is_hidden = slot.arrived.as_ref().is_some_and(|arrived| arrived.hidden);
            report.published_count += u64::from(is_published);
            report.newly_published_count += u64::from(is_published && was_unpublished);
            report.hidden_count += u64::from(is_hidden);
        }
        report.unpublished_count = report.review_count - report.published_count;
        report
    }

    /// The newest and the oldest review, and one of each kind of oddity, of those that are new or changed.
    fn sample(&self) -> Vec<ReviewSample> {
        let superseded = self.superseded();
        let mut fresh: Vec<SampleCandidate<'_>> = Vec::new();
        for (id, slot) in &self.slots {
            if superseded.contains(id) {
                continue;
            }
            if let Some(review) = slot.arrived_review()
                && let Some(arrived) = &slot.arrived
                && let Some(date) = review.date()
            {
                fresh.push(SampleCandidate {
                    id,
                    date,
                    review,
                    is_hidden: arrived.hidden,
                });
            }
        }
        fresh.sort_unstable_by_key(|one| Reverse((one.date, one.id)));
        let mut sample = Vec::new();
        let mut shown = HashSet::new();
        for kind in &ODDITIES {
            let mut odd = fresh
                .iter()
                .filter(|one| (kind.holds)(one) && !shown.contains(one.id));
            let found = if kind.why == OLDEST {
                odd.next_back()
            } else {
                odd.next()
            };
            if let Some(found) = found {
                shown.insert(found.id);
                sample.push(ReviewSample {
                    why: kind.why,
                    review: Value::Object(found.review.0.clone()),
                });
            }
        }
        sample.truncate(SAMPLE_MAX);
        sample
    }
}

/// A review that the report of a dry run may show.
struct SampleCandidate<'m> {
    id: &'m str,
    date: Date,
    review: ReviewObject,
    is_hidden: bool,
}

fn first_ids(ids: &[String]) -> Vec<String> {
    ids.iter().take(IDS_MAX).cloned().collect()
}

/// A kind of reviews that a dry run shows one of.
struct Oddity {
    why: &'static str,
    holds: fn(&SampleCandidate<'_>) -> bool,
}

/// The kinds, in their order in the report.
const ODDITIES: [Oddity; 9] = [
    Oddity {
        why: "the newest",
        holds: |one| !one.is_hidden,
    },
    Oddity {
        why: OLDEST,
        holds: |one| !one.is_hidden,
    },
    Oddity {
        why: "hidden at its source",
        holds: |one| one.is_hidden,
    },
    Oddity {
        why: "without a text",
        holds: |one| one.review.text("text").is_empty(),
    },
    Oddity {
        why: "with an approximate date",
        holds: |one| !one.review.text("date_precision").is_empty(),
    },
    Oddity {
        why: "with a converted rating",
        holds: |one| one.review.0.contains_key("rating_original"),
    },
    Oddity {
        why: "with a translation",
        holds: |one| one.review.0.contains_key("translation"),
    },
    Oddity {
        why: "with a reply",
        holds: |one| {
            let reply = one.review.0.get("owner_reply");
            reply.is_some_and(Value::is_object)
        },
    },
    Oddity {
        why: "with pictures",
        holds: |one| one.review.0.contains_key("media"),
    },
];
