//! What can be wrong with a store, in words for the operator.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::schema::SCHEMA_VERSION;

/// A store that cannot be opened, read or written. Nothing of the failed call has happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The operator makes room, then all goes on by itself.
    #[error("{}: the disk is full", .0.display())]
    DiskFull(PathBuf),
    /// The operator changes permissions or the mount.
    #[error("{}: cannot be written (permissions or a read-only mount)", .0.display())]
    ReadOnly(PathBuf),
    /// The operator restores a backup, or moves the files away and loses the subscriptions.
    #[error(
        "{}: the file is damaged ({}); restore a backup, or move all hub.* files away to start without subscriptions",
        .0.display(), .1
    )]
    Corrupt(PathBuf, String),
    /// The file is not one of ours, though its name is.
    #[error("{}: not a state file of reviewd; choose another --state", .0.display())]
    Foreign(PathBuf),
    /// The file was written by a later version.
    #[error(
        "{}: schema {} is newer than this program's {SCHEMA_VERSION}; use the version that wrote it",
        .0.display(), .1
    )]
    Newer(PathBuf, i64),
    /// Another process held the file for longer than the wait.
    #[error("{}: another process is writing; try again", .0.display())]
    Busy(PathBuf),
    /// Anything else that reading or writing met.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, String),
    /// The database cannot be reached, or its answers do not come: it is tried again by itself.
    #[error("{0}: cannot be reached: {1}")]
    Unreachable(String, String),
    /// The database cannot be used as it is set up: the operator changes that, or the address.
    #[error("{0}: cannot be used: {1}")]
    Refused(String, String),
}

impl StoreError {
    /// Returns the error for an operation of the file system on `path`.
    pub(super) fn io(path: &Path, error: &Error) -> StoreError {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull(path),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(path)
            }
            _ => StoreError::Io(path, error.to_string()),
        }
    }

    /// Tells whether it may pass without the operator: another process is done, or the database is back.
    pub(in crate::hub) fn may_pass(&self) -> bool {
        matches!(self, StoreError::Busy(_) | StoreError::Unreachable(..))
    }
}
