//! The lock of a data directory: of the commands that change its files, one at a time does.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::exit::{Failure, Status};
use crate::clock;

/// Pause between two tries to lock a directory.
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Locks a directory for changes, until the result is dropped. The lock is on the directory itself, so no file is left
/// behind.
pub(super) fn lock(path: &Path) -> Result<File, Failure> {
    let locked = File::open(path)
        .map_err(TryLockError::Error)
        .and_then(|folder| folder.try_lock().map(|()| folder));
    let shown = path.display();
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => {
            let message = format!("{shown}: another command uses the folder");
            Failure::new(Status::Unavailable, message)
        }
        TryLockError::Error(error) if error.kind() == io::ErrorKind::NotFound => {
            Failure::new(Status::NoInput, format!("{shown}: {error}"))
        }
        TryLockError::Error(error) => {
            Failure::new(Status::Io, format!("{shown}: cannot be locked: {error}"))
        }
    })
}

/// Calls `open`, which locks a directory, again and again while another command has the lock, for at most `time_max`.
///
/// # Errors
/// Those of `open`; `Unavailable` if another command still has the lock at the end.
pub(super) fn when_free<T>(
    time_max: Duration,
    open: impl Fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let began = clock::instant();
    loop {
        match open() {
            Err(failure)
                if matches!(failure.status, Status::Unavailable) && began.elapsed() < time_max =>
            {
                thread::sleep(LOCK_PAUSE);
            }
            opened => return opened,
        }
    }
}
