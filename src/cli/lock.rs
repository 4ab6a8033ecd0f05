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
            let message = format!("{shown}: another command uses the data directory");
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Longer than two pauses, and short for a test.
    const SHORT: Duration = Duration::from_millis(250);

    /// Counts the tries of [`when_free`] for a folder that is free from the try `free_at` on.
    fn tries(time_max: Duration, free_at: u32) -> (Result<(), Status>, u32) {
        let count = Cell::new(0);
        let opened = when_free(time_max, || {
            count.set(count.get() + 1);
            if count.get() < free_at {
                return Err(Failure::new(Status::Unavailable, "in use".to_owned()));
            }
            Ok(())
        });
        (opened.map_err(|failure| failure.status), count.get())
    }

    #[test]
    fn a_folder_in_use_is_tried_again_until_it_is_free_or_the_time_is_over() {
        assert!(matches!(tries(Duration::MAX, 1), (Ok(()), 1)));
        assert!(matches!(tries(Duration::MAX, 3), (Ok(()), 3)));
        assert!(matches!(
            tries(Duration::ZERO, 2),
            (Err(Status::Unavailable), 1)
        ));
        let began = clock::instant();
        let (opened, count) = tries(SHORT, u32::MAX);
        assert!(matches!(opened, Err(Status::Unavailable)));
        assert!(began.elapsed() >= SHORT);
        assert!((2..=4).contains(&count), "{count}");
    }

    #[test]
    fn another_reason_is_not_waited_for() {
        let failure = when_free(Duration::MAX, || lock(Path::new("/nowhere"))).unwrap_err();
        assert!(matches!(failure.status, Status::NoInput));
    }

    #[test]
    fn a_folder_has_one_lock_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        let failure = lock(folder.path()).unwrap_err();
        assert!(matches!(failure.status, Status::Unavailable));
        let expected = "another command uses the data directory";
        assert!(failure.message.contains(expected), "{}", failure.message);
        drop(first);
        assert!(lock(folder.path()).is_ok());
    }

    #[cfg(feature = "import")]
    #[test]
    fn the_page_of_exit_statuses_says_how_long_commands_wait() {
        let page = include_str!("../../docs/operations.md");
        let stated = format!(
            "`notify` waits {} s for it, `sync` {} s",
            crate::cli::notify::LOCK_TIME_MAX.as_secs(),
            crate::cli::sync::LOCK_TIME_MAX.as_secs()
        );
        assert!(page.contains(&stated), "{stated}");
    }
}
