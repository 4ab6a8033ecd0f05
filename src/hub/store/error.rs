//! What can be wrong with a store, in words for the operator.

use std::fmt;
use std::io::{Error, ErrorKind};
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
    pub(super) fn io(path: &Path, error: &Error) -> StoreError {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::QuotaExceeded(path),
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::QuotaExceeded(path)
            | StoreError::ReadOnly(path)
            | StoreError::Corrupt(path, _)
            | StoreError::Foreign(path)
            | StoreError::Newer(path, _)
            | StoreError::Busy(path)
            | StoreError::Io(path, _) => write!(f, "{}: ", path.display())?,
            StoreError::Unreachable(name, _) | StoreError::Refused(name, _) => {
                write!(f, "{name}: ")?;
            }
        }
        match self {
            StoreError::QuotaExceeded(_) => f.write_str("the disk is full"),
            StoreError::ReadOnly(_) => {
                f.write_str("cannot be written (permissions or a read-only mount)")
            }
            StoreError::Corrupt(_, what) => write!(
                f,
                "the file is damaged ({what}); restore a backup, or move all hub.* files away to start without subscriptions"
            ),
            StoreError::Foreign(_) => {
                f.write_str("not a state file of reviewd; choose another --state")
            }
            StoreError::Newer(_, version) => write!(
                f,
                "schema {version} is newer than this program's {SCHEMA_VERSION}; use the version that wrote it"
            ),
            StoreError::Busy(_) => f.write_str("another process is writing; try again"),
            StoreError::Io(_, what) => f.write_str(what),
            StoreError::Unreachable(_, what) => write!(f, "cannot be reached: {what}"),
            StoreError::Refused(_, what) => write!(f, "cannot be used: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}
