//! The text index in the state directory, so that a restart does not build it again.
//!
//! It is a copy of what can be made of the data files at any time, and nothing depends on it: what is missing, old,
//! broken or of other texts is built anew, and what cannot be written is built at the next start.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tracing::{info, warn};

use crate::search::index::Index;
use crate::search::stored::{Restored, Stored, StoredError, Wanted};

use super::{cache_file, clock};

/// The file's name in the state directory.
const NAME: &str = "search-index";

/// The file, and from how much text on it is used.
#[derive(Clone, Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    texts_min: u64,
}

/// What the file holds, as a thread is finding out that began before anybody knew what is wanted.
pub(super) struct Ahead(JoinHandle<Result<Stored, Refusal>>);

/// Why the file was not used.
#[derive(Debug)]
enum Refusal {
    Missing,
    Stored(StoredError<io::Error>),
}

impl IndexFile {
    /// Returns the file in the state directory `state`, for texts of at least `texts_min` bytes; `None` without one. No
    /// other thread uses it yet.
    pub(super) fn new(state: Option<&Path>, texts_min: u64) -> Option<IndexFile> {
        let path = state?.join(NAME);
        cache_file::remove_draft(&path);
        Some(IndexFile { path, texts_min })
    }

    /// Begins to read the file on a thread of its own, if its index was built within `memory_max` bytes: reading takes
    /// as long as the dataset's files do, and most starts find that it fits. `None` where there is no file or no
    /// thread to be had.
    pub(super) fn begin(&self, memory_max: u64) -> Option<Ahead> {
        let (mut file, bytes) = cache_file::open(&self.path).ok()??;
        let read = move || {
            Stored::decode(bytes, memory_max, |part| file.read_exact(part)).map_err(Refusal::Stored)
        };
        let spawned = thread::Builder::new().name("index".to_owned()).spawn(read);
        spawned.ok().map(Ahead)
    }

    /// Returns what the file holds, which `ahead` may be reading already, if that is `wanted`; if not, one line tells
    /// why.
    pub(super) fn read(&self, wanted: &Wanted<'_>, ahead: Option<Ahead>) -> Option<Restored> {
        if wanted.texts_bytes() < self.texts_min {
            return None;
        }
        let began = clock::instant();
        let outcome = match ahead {
            Some(Ahead(thread)) => thread
                .join()
                .expect("reading has no panic")
                .and_then(|stored| wanted.accept(stored).map_err(Refusal::Stored)),
            None => self.read_wanted(wanted),
        };
        let file = self.path.display();
        match outcome {
            Ok(restored) => {
                let waited_ms = clock::elapsed_ms(began);
                info!(%file, waited_ms, "the stored search index is used");
                Some(restored)
            }
            Err(reason) if reason.is_expected() => {
                info!(%file, %reason, "the search index is built, which takes a while");
                None
            }
            Err(reason) => {
                warn!(%file, %reason, "the search index is built, as the stored one cannot be used");
                None
            }
        }
    }

    /// Reads the file as far as it is `wanted`.
    fn read_wanted(&self, wanted: &Wanted<'_>) -> Result<Restored, Refusal> {
        match cache_file::open(&self.path) {
            Ok(Some((mut file, bytes))) => wanted
                .decode(bytes, |part| file.read_exact(part))
                .map_err(Refusal::Stored),
            Ok(None) => Err(Refusal::Missing),
            Err(error) => Err(Refusal::Stored(StoredError::Source(error))),
        }
    }

    /// Writes `index` unless it came from the file; gives up once `cancelled`. Seconds for a large one, so on a
    /// background thread.
    pub(super) fn write(&self, index: &Index, cancelled: &AtomicBool) {
        if index.is_restored() || index.texts_bytes() < self.texts_min {
            return;
        }
        let began = clock::instant();
        let file = self.path.display();
        let mut bytes = 0;
        let written = cache_file::write(&self.path, |out| {
            index.encode(|part| {
                if cancelled.load(Ordering::Relaxed) {
                    return Err(io::Error::other("a newer one is on its way"));
                }
                bytes += part.len() as u64;
                out.write_all(part)
            })
        });
        match written {
            Ok(()) => {
                let elapsed_ms = clock::elapsed_ms(began);
                info!(%file, bytes, elapsed_ms, "the search index is stored");
            }
            Err(_) if cancelled.load(Ordering::Relaxed) => {}
            Err(error) => {
                warn!(%file, %error, "the search index cannot be stored, the next start builds it again");
            }
        }
    }
}

impl Refusal {
    /// Tells whether this happens in ordinary operation.
    fn is_expected(&self) -> bool {
        match self {
            Refusal::Missing => true,
            Refusal::Stored(error) => matches!(
                error,
                StoredError::Version | StoredError::Texts | StoredError::Budget
            ),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Missing => formatter.write_str("there is none yet"),
            Refusal::Stored(StoredError::Source(error)) => {
                write!(formatter, "it cannot be read ({error})")
            }
            Refusal::Stored(error) => error.fmt(formatter),
        }
    }
}
