//! The state directory: made where there is none, who opens a store in it just now, and whether it has been in use.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread;

use super::{BUSY_TIMEOUT, FILE_NAME, LOCK_NAME, StoreError};

/// Makes the directory where there is none. One that exists keeps its mode: it may be a volume with an owner and a group
/// of its own. What protects the state are the modes of its files.
pub(super) fn prepare(dir: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| StoreError::io(dir, &error))
}

/// Locks the directory for as long as the value lives; whoever comes second waits.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let directory = File::open(dir).map_err(|error| StoreError::io(dir, &error))?;
    for _ in 0..=LOOKS {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(fs::TryLockError::Error(error)) => return Err(StoreError::io(dir, &error)),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(BUSY_TIMEOUT / LOOKS),
        }
    }
    Err(StoreError::Busy(dir.join(FILE_NAME)))
}

/// Tells whether a store in the directory has been opened before, as [`leave_mark`] notes.
pub(super) fn was_used(dir: &Path) -> bool {
    fs::metadata(dir.join(LOCK_NAME)).is_ok_and(|metadata| metadata.len() > 0)
}

/// Refuses a file that has been cut, or is missing where the directory has been in use. SQLite takes a very short one for a new one, and every subscription would be gone
/// without a word. A file of length 0 is new unless the directory has been in use.
pub(super) fn check_length(dir: &Path, path: &Path) -> Result<(), StoreError> {
    if !path.exists() && was_used(dir) {
        return Err(StoreError::Corrupt(
            path.to_owned(),
            "it is missing".to_owned(),
        ));
    }
    let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if (length == 0 && was_used(dir)) || !length.is_multiple_of(PAGE_BYTES) {
        return Err(StoreError::Corrupt(
            path.to_owned(),
            format!("it is {length} bytes long"),
        ));
    }
    Ok(())
}

/// Notes in the lock's file that the directory is in use.
pub(super) fn leave_mark(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(LOCK_NAME);
    let fail = |error: std::io::Error| StoreError::io(&path, &error);
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(fail)?;
    if file.metadata().map_err(fail)?.len() == 0 {
        file.write_all(b"the delivery role of this directory; the state is in hub.sqlite3\n")
            .map_err(fail)?;
    }
    Ok(())
}

/// The smallest page of an SQLite file: every whole file is a multiple of it.
const PAGE_BYTES: u64 = 512;

/// How often whoever waits for the directory looks whether it is free.
const LOOKS: u32 = 1_000;
