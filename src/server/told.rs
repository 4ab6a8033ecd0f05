//! Remembers which changes that no record has were told to mirrors, so that one that is taken back is told, too.
//!
//! A review that is edited by hand has the date of the dataset in the log of changes. If the edit is taken back by hand, the
//! review agrees with the record again, whose time is older than what mirrors have read; and a review that was added and
//! deleted by hand is in neither. Both are told at the date of the dataset in which they were taken back. The memory is in the
//! state directory, so a restart loses none of it.

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

/// Changes that are remembered. Our choice: more are the work of a program, which should call `reviewd record`.
const TOLD_MAX: usize = 100_000;

/// The changes that were told without a record, by id.
#[derive(Debug, Default)]
pub(super) struct ToldChanges {
    /// `None` without a state directory.
    path: Option<PathBuf>,
    memory: ToldMemory,
    is_stored: bool,
}

/// What is stored.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ToldMemory {
    /// The log that they belong to.
    log: Option<String>,
    told: BTreeMap<String, UnrecordedChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UnrecordedChange {
    /// Seconds since 1970.
    at: i64,
    /// `None` for a removal.
    digest: Option<[u8; 16]>,
}

impl ToldChanges {
    /// Reads what a process with the same state directory has told.
    pub(super) fn load(state: Option<&Path>) -> ToldChanges {
        let path = state.map(|state| state.join(TOLD_FILE));
        let memory = path.as_deref().map(|path| {
            read(path).unwrap_or_else(|error| {
                warn!(file = %path.display(), %error, "the memory of told changes cannot be read");
                ToldMemory::default()
            })
        });
        ToldChanges {
            path,
            memory: memory.unwrap_or_default(),
            is_stored: true,
        }
    }

    /// Dates the changes of `dataset` that were told differently before, and remembers those that no record has. The
    /// dataset has its date.
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
        // Neither published nor recorded: added by hand, and deleted again.
        let gone: Vec<String> = next.before.keys().cloned().collect();
        for id in gone {
            // Told as published, it changes now.
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

    /// Stores the memory, before what it remembers is served.
    pub(super) fn store(&mut self) {
        let Some(path) = self.path.as_deref().filter(|_| !self.is_stored) else {
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

/// The changes of one dataset, as they are told.
struct Telling {
    date: Timestamp,
    before: BTreeMap<String, UnrecordedChange>,
    told: BTreeMap<String, UnrecordedChange>,
}

impl Telling {
    /// Decides when the state of a review (`None`: removed) is told: `at` is the recorded time, or `None`.
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
