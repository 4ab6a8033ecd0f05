//! Insights that outlive the process: one file of the state directory, which saves a derivation at a restart, and
//! reading unchanged reviews again at a reload.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{info, warn};

use crate::insights::kept::{Kept, KeptError};
use crate::insights::{self, Options};
use crate::model::Dataset;

use super::cache_file;

/// The file's name in the state directory.
const NAME: &str = "insights";

/// Larger files are neither written nor read: some two million reviews. Deriving those again is the cost of it.
const BYTES_MAX: u64 = 512 << 20;

/// Where insights are kept.
#[derive(Clone, Debug)]
pub(super) struct InsightsStore {
    /// `None` without a state directory: then everything is derived.
    path: Option<PathBuf>,
    /// Whether what is kept is of a dataset that was loaded after the first.
    is_later: Arc<Mutex<bool>>,
}

impl InsightsStore {
    /// Returns the store of the state directory `state`, which no other thread uses yet.
    pub(super) fn new(state: Option<&Path>) -> InsightsStore {
        let path = state.map(|state| state.join(NAME));
        path.as_deref()
            .into_iter()
            .for_each(cache_file::remove_draft);
        InsightsStore {
            path,
            is_later: Arc::default(),
        }
    }

    /// Reads what was kept last and can be of use for `dataset`; one line in the log tells why nothing can.
    pub(super) fn read(&self, dataset: &Dataset) -> Option<Kept> {
        if dataset.insights.is_some() {
            return None;
        }
        let path = self.path.as_deref()?;
        let bytes = match cache_file::read(path, BYTES_MAX) {
            Ok(bytes) => bytes?,
            Err(error) => {
                warn!(file = %path.display(), %error, "the kept insights cannot be read, so they are derived anew");
                return None;
            }
        };
        let refused = match Kept::decode(&bytes, &dataset.taxonomy) {
            Ok(kept) => return Some(kept),
            Err(refused) => refused,
        };
        let file = path.display();
        match refused {
            KeptError::Method => {
                info!(%file, "the kept insights are {refused}, so they are derived anew")
            }
            KeptError::Damaged => {
                warn!(%file, "the kept insights are {refused}, so they are derived anew")
            }
        }
        None
    }

    /// Returns the document of `dataset`: what `earlier` holds, else derived with its help, and kept.
    pub(super) fn document(
        &self,
        dataset: &Dataset,
        options: &Options,
        earlier: Option<Kept>,
    ) -> Vec<u8> {
        // From here on nothing older is kept; what is being kept is waited for, so that only one thread writes.
        *self.is_later.lock().unwrap_or_else(PoisonError::into_inner) = true;
        match earlier {
            _ if dataset.insights.is_some() => insights::document(dataset, options),
            Some(kept) if kept.is_of(dataset, options) => {
                info!("the kept insights are of the same files, so they are served as they are");
                kept.into_document()
            }
            earlier => {
                let derived = insights::derive(dataset, options, earlier.as_ref());
                drop(earlier);
                self.write(&derived);
                derived.into_document()
            }
        }
    }

    /// Keeps what was derived for the first dataset while others could be loaded, unless one of them was.
    pub(super) fn keep_first(&self, derived: &Kept) {
        let is_later = self.is_later.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_later {
            self.write(derived);
        }
    }

    fn write(&self, kept: &Kept) {
        let Some(path) = &self.path else {
            return;
        };
        let mut room = BYTES_MAX;
        let written = cache_file::write(path, |out| {
            kept.encode(|part| {
                room = room
                    .checked_sub(part.len() as u64)
                    .ok_or_else(|| io::Error::other(format!("more than {BYTES_MAX} bytes")))?;
                out.write_all(part)
            })
        });
        if let Err(error) = written {
            warn!(file = %path.display(), %error, "the insights cannot be kept, so the next start derives them anew");
        }
    }
}

#[cfg(test)]
mod tests;
