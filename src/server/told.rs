//! Remembers the changes by hand that mirrors were told of, so that mirrors are also told when such a change is taken back.
//!
//! `changes.json` records when each review was added, changed and removed by `reviewd`. A change by hand is in no record:
//! mirrors are told of it with the date of the dataset. If the change is taken back by hand, the record alone would hide that:
//! an edited review agrees with its record again, whose time is older than what mirrors have read, and a review that was added
//! and deleted by hand is neither published nor recorded. With this memory, mirrors are told of both, with the date of the
//! dataset in which the change was taken back. The memory is in the state directory, so a restart loses none of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::model::Dataset;
use crate::model::changes::{RemovedChange, ReviewDigest};
use crate::wire::date::Timestamp;

use super::state_file::replace_file;

/// The file in the state directory.
const TOLD_FILE: &str = "told-changes.json";

/// Largest number of changes that are remembered; with more, none is. Our choice: more changes are the work of a program,
/// which should call `reviewd record`.
const TOLD_MAX: usize = 100_000;

/// The changes without a record that mirrors were told of.
#[derive(Debug, Default)]
pub(super) struct ToldChanges {
    /// The file; `None` without a state directory.
    path: Option<PathBuf>,
    memory: ToldMemory,
    /// Whether the file has `memory`.
    is_stored: bool,
}

/// The content of the file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ToldMemory {
    /// The log of changes that they belong to; `None` if the dataset has none.
    log: Option<String>,
    /// The changes, by the ids of the reviews.
    told: BTreeMap<String, UnrecordedChange>,
}

/// A change of a review that no record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UnrecordedChange {
    /// The time that mirrors were told, in seconds since 1970.
    at: i64,
    /// The digest of the review; `None` for a removal.
    digest: Option<[u8; 16]>,
}

impl ToldChanges {
    /// Reads what a process with this state directory has told. An error is logged.
    pub(super) fn load(state: Option<&Path>) -> ToldChanges {
        let Some(state) = state else {
            return ToldChanges::default();
        };
        let path = state.join(TOLD_FILE);
        let memory = read(&path).unwrap_or_else(|error| {
            warn!(file = %path.display(), %error, "the memory of told changes cannot be read");
            ToldMemory::default()
        });
        ToldChanges {
            path: Some(path),
            memory,
            is_stored: true,
        }
    }

    /// Sets the times of the changes in `dataset` that no record has, or that were told in another state before; remembers
    /// them. `dataset` must have its date already.
    pub(super) fn date(&mut self, dataset: &mut Dataset) {
        let log = dataset.changes.log.clone();
        let mut before = std::mem::take(&mut self.memory);
        if before.log != log || log.is_none() {
            before.told.clear();
        }
        let mut next = Telling {
            date: dataset.updated_at,
            before: before.told,
            told: BTreeMap::new(),
        };
        let reviews = dataset.reviews.iter().zip(&mut dataset.changes.reviews);
        for (review, change) in reviews {
            next.tell(&review.id, Some(change.digest), &mut change.at);
        }
        for removed in &mut dataset.changes.removed {
            next.tell(&removed.id, None, &mut removed.at);
        }
        // What is left is neither published nor recorded: it was added by hand, and deleted again.
        let left: Vec<String> = next.before.keys().cloned().collect();
        for id in left {
            // With a record that is older than all that was told, a removal that was told keeps its time; any other is
            // told now.
            let mut at = Some(Timestamp::MIN);
            next.tell(&id, None, &mut at);
            dataset.changes.removed.push(RemovedChange { id, at });
        }
        if log.is_none() || next.told.len() > TOLD_MAX {
            next.told.clear();
        }
        self.memory = ToldMemory {
            log,
            told: next.told,
        };
        self.is_stored = false;
    }

    /// Stores the memory. To be called before the dataset is served, so that nothing is told that would be forgotten.
    pub(super) fn store(&mut self) {
        if self.is_stored {
            return;
        }
        let Some(path) = &self.path else {
            return;
        };
        let is_unused = self.memory.told.is_empty() && !path.exists();
        if is_unused {
            return;
        }
        let json = serde_json::to_vec(&self.memory).expect("texts and numbers are JSON");
        match replace_file(path, &json) {
            Ok(()) => self.is_stored = true,
            Err(error) => {
                warn!(file = %path.display(), %error, "told changes cannot be stored for the next start");
            }
        }
    }
}

/// Decides when the changes of one dataset are told.
struct Telling {
    /// The date of the dataset.
    date: Timestamp,
    /// What was told before, of reviews that were not decided yet.
    before: BTreeMap<String, UnrecordedChange>,
    /// What no record has, of reviews that were decided.
    told: BTreeMap<String, UnrecordedChange>,
}

impl Telling {
    /// Decides when the state of a review is told: `digest` is that of the review, or `None` if it is removed. `at` is the
    /// recorded time, or `None` without one, and becomes the time that is told.
    fn tell(&mut self, id: &str, digest: Option<ReviewDigest>, at: &mut Option<Timestamp>) {
        let digest = digest.map(|digest| digest.0);
        let before = self.before.remove(id);
        let told = match (*at, before) {
            (None, _) => UnrecordedChange {
                at: self.date.unix(),
                digest,
            },
            (Some(recorded), Some(told)) if told.at >= recorded.unix() => {
                // What was told last is later than the record.
                if told.digest == digest {
                    told
                } else {
                    UnrecordedChange {
                        at: self.date.unix(),
                        digest,
                    }
                }
            }
            (Some(_), _) => return,
        };
        *at = Some(Timestamp::from_unix(told.at));
        self.told.insert(id.to_owned(), told);
    }
}

/// Reads the file; an empty memory if there is none.
fn read(path: &Path) -> io::Result<ToldMemory> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ToldMemory::default()),
        bytes => serde_json::from_slice(&bytes?).map_err(io::Error::other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::changes::{digest_review, next_time};
    use crate::dataset::{Files, decode, embedded, sample};
    use crate::model::changes::ChangeRecord;

    /// The sample after a change by hand, compared with a record of the sample, at a date.
    fn edited(date: i64, change: impl FnOnce(&mut Dataset)) -> Dataset {
        let record = ChangeRecord::begin("log".to_owned(), &sample());
        let files = Files {
            changes: Some(record.render().into()),
            ..embedded()
        };
        let mut dataset = decode(files, Timestamp::MAX).unwrap().dataset;
        change(&mut dataset);
        dataset.updated_at = Timestamp::from_unix(date);
        for (row, review) in dataset.reviews.iter().enumerate() {
            let digest = digest_review(review);
            let recorded = record.reviews.get(&review.id);
            let is_recorded = recorded.is_some_and(|stored| stored.digest == Some(digest));
            let entry = &mut dataset.changes.reviews[row];
            entry.digest = digest;
            entry.at = entry.at.filter(|_| is_recorded);
        }
        dataset
    }

    fn at(dataset: &Dataset, row: usize) -> i64 {
        dataset.changes.reviews[row].at.unwrap().unix()
    }

    const LATER: i64 = 1_900_000_000;

    #[test]
    fn an_edit_that_is_taken_back_is_told_once() {
        let state = tempfile::tempdir().unwrap();
        let mut told = ToldChanges::load(Some(state.path()));
        let mut dataset = edited(LATER, |dataset| dataset.reviews[0].text.push('!'));
        told.date(&mut dataset);
        told.store();
        assert_eq!(at(&dataset, 0), LATER);
        let unchanged = at(&dataset, 1);
        assert_eq!(unchanged, sample().updated_at.unix());
        // After a restart.
        let mut told = ToldChanges::load(Some(state.path()));
        for date in [LATER + 5, LATER + 9] {
            let mut dataset = edited(date, |_| {});
            told.date(&mut dataset);
            assert_eq!(at(&dataset, 0), LATER + 5, "told when it was taken back");
            assert_eq!(at(&dataset, 1), unchanged);
        }
    }

    #[test]
    fn a_review_that_was_added_and_deleted_by_hand_is_told_as_removed() {
        let mut told = ToldChanges::load(None);
        let mut dataset = edited(LATER, |dataset| {
            let mut review = dataset.reviews[0].clone();
            review.id = "by-hand".to_owned();
            dataset.reviews.push(review);
            let change = dataset.changes.reviews[0];
            dataset.changes.reviews.push(change);
        });
        told.date(&mut dataset);
        for date in [LATER + 5, LATER + 9] {
            let mut dataset = edited(date, |_| {});
            told.date(&mut dataset);
            let removed = &dataset.changes.removed;
            let expected = RemovedChange {
                id: "by-hand".to_owned(),
                at: Some(Timestamp::from_unix(LATER + 5)),
            };
            assert_eq!(removed, &[expected]);
        }
    }

    #[test]
    fn a_recorded_change_is_forgotten() {
        let mut told = ToldChanges::load(None);
        let mut dataset = edited(LATER, |dataset| dataset.reviews[0].text.push('!'));
        told.date(&mut dataset);
        let recorded = next_time(dataset.updated_at, Timestamp::from_unix(0));
        dataset.changes.reviews[0].at = Some(recorded);
        told.date(&mut dataset);
        assert_eq!(dataset.changes.reviews[0].at, Some(recorded));
        assert!(told.memory.told.is_empty());
    }
}
