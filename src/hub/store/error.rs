//! What can be wrong with a store, in words for the operator.

use std::fmt;
use std::path::{Path, PathBuf};

use super::schema::SCHEMA_VERSION;

/// A store that cannot be opened, read or written. Nothing of the failed call has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The disk is full: the operator makes room, then all goes on by itself.
    QuotaExceeded(PathBuf),
    /// The file or its directory cannot be written: the operator changes permissions or the mount.
    ReadOnly(PathBuf),
    /// The file is damaged: the operator restores a backup, or moves it away and loses the subscriptions.
    Corrupt(PathBuf, String),
    /// The file is not one of ours, though its name is.
    Foreign(PathBuf),
    /// The file was written by a later version.
    Newer(PathBuf, i64),
    /// Another process held the file for longer than the wait.
    Busy(PathBuf),
    /// Anything else that reading or writing met.
    Io(PathBuf, String),
    /// The database cannot be reached, or its answers do not come: it is tried again by itself.
    Unreachable(String, String),
    /// The database cannot be used as it is set up: a wrong password, missing rights, a newer schema. The operator
    /// changes that, or the address.
    Refused(String, String),
}

impl StoreError {
    /// Returns the error for an operation of the file system on `path`.
    #[must_use]
    pub fn io(path: &Path, error: &std::io::Error) -> StoreError {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::QuotaExceeded(path.to_owned())
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(path.to_owned())
            }
            _ => StoreError::Io(path.to_owned(), error.to_string()),
        }
    }

    /// Tells whether it may pass without the operator: another process is done, or the database is back.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Busy(_) | StoreError::Unreachable(..))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::QuotaExceeded(path) => write!(f, "{}: the disk is full", path.display()),
            StoreError::ReadOnly(path) => write!(
                f,
                "{}: cannot be written (permissions or a read-only mount)",
                path.display()
            ),
            StoreError::Corrupt(path, what) => write!(
                f,
                "{}: the file is damaged ({what}); restore a backup, or move all hub.* files away to start without subscriptions",
                path.display()
            ),
            StoreError::Foreign(path) => write!(
                f,
                "{}: not a state file of reviewd; choose another --state",
                path.display()
            ),
            StoreError::Newer(path, version) => write!(
                f,
                "{}: schema {version} is newer than this program's {SCHEMA_VERSION}; use the version that wrote it",
                path.display()
            ),
            StoreError::Busy(path) => write!(
                f,
                "{}: another process is writing; try again",
                path.display()
            ),
            StoreError::Io(path, what) => write!(f, "{}: {what}", path.display()),
            StoreError::Unreachable(name, what) => write!(f, "{name}: cannot be reached: {what}"),
            StoreError::Refused(name, what) => write!(f, "{name}: cannot be used: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}
