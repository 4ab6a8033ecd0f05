//! Where the hub keeps its state: a directory of its own, or a database that replicas share.

use std::fmt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

#[cfg(feature = "postgres")]
use super::store::Database;
use super::store::{Store, StoreError};

/// Where the hub keeps its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// An SQLite file in this directory; one process at a time delivers.
    Directory(PathBuf),
    /// A PostgreSQL database; one replica at a time delivers.
    #[cfg(feature = "postgres")]
    Database(Box<Database>),
}

impl StoreLocation {
    /// Opens the store there.
    ///
    /// # Errors
    /// See [`Store::in_directory`] and `Store::in_database`.
    pub fn open(&self) -> Result<Store, StoreError> {
        match self {
            StoreLocation::Directory(directory) => Store::in_directory(directory),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => Store::in_database(database),
        }
    }

    /// Opens the store once and closes it again, to know whether a server with the public address `origin` can use it;
    /// without one, whether any can.
    ///
    /// # Errors
    /// Those of [`StoreLocation::open`], and a database that holds topics of another address.
    pub fn check(&self, origin: Option<&str>) -> Result<(), StoreError> {
        let mut store = self.open()?;
        match origin {
            Some(origin) if self.is_shared() => store.check_origin(origin),
            _ => Ok(()),
        }
    }

    /// Checks as [`StoreLocation::check`] does, and tries again for 10 seconds where that may help: services that start
    /// together do not all come up at once.
    ///
    /// # Errors
    /// The last one.
    pub fn await_usable(&self, origin: Option<&str>) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            let Err(error) = self.check(origin) else {
                return Ok(());
            };
            if !error.may_pass() || began.elapsed() + pause >= WAIT_MAX {
                return Err(error);
            }
            warn!(%error, "waiting for the hub's store");
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Returns what kind of place it is, in a word for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            StoreLocation::Directory(_) => "directory",
            #[cfg(feature = "postgres")]
            StoreLocation::Database(_) => "postgres",
        }
    }

    /// Tells whether replicas may share it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self, StoreLocation::Directory(_))
    }
}

/// Without the password of a database.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Directory(directory) => directory.display().fmt(f),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => database.fmt(f),
        }
    }
}

/// How long the start waits for the database.
const WAIT_MAX: Duration = Duration::from_secs(10);
