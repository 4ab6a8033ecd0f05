//! The text index in the state directory, so that a restart does not build it again.
//!
//! It is a copy of what can be made of the data files at any time, and nothing depends on it: what is missing, old,
//! broken or of other texts is built anew, and what cannot be written is built at the next start.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use tracing::{info, warn};

use crate::search::index::Index;
use crate::search::stored::{Origin, Reading, Restored, Stored, StoredError, Wanted};

use super::{cache_file, clock};

/// The file's name in the state directory.
const NAME: &str = "search-index";

/// The file, and from how much text on it is used.
#[derive(Clone, Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    texts_min: u64,
}

/// What the file holds, as a thread is finding out that began before anybody knew what is wanted. To drop it ends the
/// thread before its next part of 1 MiB, and frees what it has read.
pub(super) struct Ahead {
    /// Gets what the header tells, which comes long before the rest.
    origin: mpsc::Receiver<Origin>,
    unwanted: Arc<AtomicBool>,
    /// `None` once somebody waits for it.
    thread: Option<JoinHandle<Result<Stored, Refusal>>>,
}

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
        Ahead::begin(bytes, memory_max, Arc::default(), move |part| {
            file.read_exact(part)
        })
    }

    /// Returns what the file holds, which `ahead` may be reading already, if that is `wanted`; if not, one line tells
    /// why.
    pub(super) fn read(&self, wanted: &Wanted<'_>, ahead: Option<Ahead>) -> Option<Restored> {
        if wanted.texts_bytes() < self.texts_min {
            return None;
        }
        let began = clock::instant();
        let outcome = match ahead {
            Some(ahead) => ahead.read(wanted),
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

impl Ahead {
    /// Begins to read `bytes` bytes out of `source`, until it is told that they are `unwanted`; `None` where there is no
    /// thread to be had.
    fn begin(
        bytes: u64,
        memory_max: u64,
        unwanted: Arc<AtomicBool>,
        mut source: impl FnMut(&mut [u8]) -> io::Result<()> + Send + 'static,
    ) -> Option<Ahead> {
        let (tell, origin) = mpsc::sync_channel(1);
        let is_unwanted = Arc::clone(&unwanted);
        let mut read = move || {
            let source = |part: &mut [u8]| match is_unwanted.load(Ordering::Relaxed) {
                true => Err(io::Error::other("another one is wanted")),
                false => source(part),
            };
            let reading = Reading::begin(bytes, memory_max, source)?;
            // Fails where it is unwanted, which is seen at the next part.
            let _gone = tell.send(*reading.origin());
            reading.finish()
        };
        let spawned = thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || read().map_err(Refusal::Stored));
        Some(Ahead {
            origin,
            unwanted,
            thread: Some(spawned.ok()?),
        })
    }

    /// Waits for what is read, unless its header tells already that it is not `wanted`.
    fn read(mut self, wanted: &Wanted<'_>) -> Result<Restored, Refusal> {
        // Without a header the thread has ended, and tells why.
        if let Ok(origin) = self.origin.recv() {
            wanted.check(&origin).map_err(Refusal::Stored)?;
        }
        let thread = self.thread.take().expect("nobody else waits for it");
        let stored = thread.join().expect("reading has no panic")?;
        wanted.accept(stored).map_err(Refusal::Stored)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Until its memory is free, as an index may be built next. What it found interests nobody.
            let _unwanted = thread.join();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use crate::dataset;
    use crate::search::index::IndexOptions;

    /// After that long nobody will come.
    const WAIT_MAX: Duration = Duration::from_secs(60);

    /// The index is held up behind its header until it is unwanted, which so must be told from the header alone.
    #[test]
    fn an_index_of_another_budget_is_not_read_behind_its_header() {
        let sample = dataset::decode(dataset::embedded(), crate::clock::now())
            .expect("the sample is right")
            .dataset;
        let (reviews, taxonomy) = (&sample.reviews, &sample.taxonomy);
        let options = |memory_bytes| IndexOptions {
            memory_bytes,
            threads: NonZeroUsize::MIN,
        };
        let mut file = Vec::new();
        let index = Index::build(reviews, taxonomy, &options(1 << 30));
        let Ok(()) = index.encode::<Infallible>(|part| {
            file.extend_from_slice(part);
            Ok(())
        });
        let unwanted = Arc::new(AtomicBool::new(false));
        let is_unwanted = Arc::clone(&unwanted);
        let (asked, parts) = mpsc::channel();
        let bytes = file.len() as u64;
        let mut file = io::Cursor::new(file);
        let source = move |part: &mut [u8]| {
            let _told = asked.send(part.len());
            let began = clock::instant();
            while file.position() > 0 && !is_unwanted.load(Ordering::Relaxed) {
                if began.elapsed() > WAIT_MAX {
                    return Err(io::Error::other("nobody has judged the header"));
                }
                thread::yield_now();
            }
            file.read_exact(part)
        };
        let ahead = Ahead::begin(bytes, u64::MAX, unwanted, source).expect("a thread");
        let mut refusal = None;
        let _built = Index::build_or_restore(reviews, taxonomy, &options(1 << 29), |wanted| {
            refusal = ahead.read(wanted).err();
            None
        });
        assert!(
            matches!(refusal, Some(Refusal::Stored(StoredError::Budget))),
            "{refusal:?}"
        );
        assert!(parts.iter().count() <= 2, "header and what was under way");
    }
}
