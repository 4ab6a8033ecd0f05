//! Notices during a build that the files have changed again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::super::clock;
use super::super::files::Stamps;

/// Time between two looks at the files during a build.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A build under way, of files that were in this state.
pub(super) struct Build<'f> {
    /// `None` for a build that is finished whatever happens.
    directory: Option<&'f Path>,
    stamps: Stamps,
    stopping: Arc<AtomicBool>,
    is_outdated: AtomicBool,
    looked: Mutex<Instant>,
}

impl<'f> Build<'f> {
    /// Begins with files of `directory` that are in the state `stamps`; without a directory it is finished however they
    /// change.
    pub(super) fn new(
        directory: Option<&'f Path>,
        stamps: Stamps,
        stopping: &Arc<AtomicBool>,
    ) -> Build<'f> {
        Build {
            directory,
            stamps,
            stopping: Arc::clone(stopping),
            is_outdated: AtomicBool::new(false),
            looked: Mutex::new(clock::instant()),
        }
    }

    /// Tells whether the files have changed since they were read, or the server stops; once so, always so. Cheap
    /// enough to be asked at every step.
    pub(super) fn is_outdated(&self) -> bool {
        if self.is_outdated.load(Ordering::Relaxed) {
            return true;
        }
        if self.stopping.load(Ordering::Relaxed) || self.has_changed() {
            self.is_outdated.store(true, Ordering::Relaxed);
        }
        self.is_outdated.load(Ordering::Relaxed)
    }

    fn has_changed(&self) -> bool {
        let Some(directory) = self.directory else {
            return false;
        };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() < LOOK_INTERVAL {
            return false;
        }
        *looked = clock::instant();
        Stamps::of(directory) != self.stamps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_build_is_outdated_once_the_files_change_unless_it_is_to_be_finished() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let stopping = Arc::new(AtomicBool::new(false));
        let build = |watched| Build::new(watched, Stamps::of(path), &stopping);
        let (watched, finished) = (build(Some(path)), build(None));
        assert!(!watched.is_outdated());
        fs::write(path.join("reviews.json"), "{}").unwrap();
        let began = clock::instant();
        while !watched.is_outdated() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is noticed");
        }
        assert!(!finished.is_outdated());
        stopping.store(true, Ordering::SeqCst);
        assert!(finished.is_outdated(), "the server stops");
    }
}
