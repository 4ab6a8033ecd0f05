//! Where the hub keeps its state: a directory of its own, or a database that replicas share.

use std::fmt;
use std::path::PathBuf;

#[cfg(feature = "postgres")]
use super::postgres::{Database, PostgresStore};
use super::sqlite::{Role, SqliteStore};
use super::store::{Store, StoreError, TopicVersion};

/// Where the hub keeps its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// An SQLite file in this directory; one process at a time delivers.
    Directory(PathBuf),
    /// A PostgreSQL database; every replica delivers.
    #[cfg(feature = "postgres")]
    Database(Box<Database>),
}

impl StoreLocation {
    /// Opens the store there.
    ///
    /// # Errors
    /// See [`SqliteStore::open`] and `PostgresStore::open`.
    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        match self {
            StoreLocation::Directory(directory) => Ok(Box::new(SqliteStore::open(directory)?)),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => Ok(Box::new(PostgresStore::open(database)?)),
        }
    }

    /// Opens the store once and closes it again, to know whether a server with the public address `origin` can use it;
    /// without one, whether anybody can.
    ///
    /// # Errors
    /// Those of [`StoreLocation::open`], and a database that holds topics of another address.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "a directory belongs to no address")
    )]
    pub fn check(&self, origin: Option<&str>) -> Result<(), StoreError> {
        match self {
            StoreLocation::Directory(directory) => SqliteStore::open(directory).map(drop),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => {
                let mut store = PostgresStore::open(database)?;
                origin.map_or(Ok(()), |origin| store.check_origin(origin))
            }
        }
    }

    /// Brings the bodies of `editions` to a database, by a connection of its own and before anybody waits for them; a
    /// directory keeps none.
    ///
    /// # Errors
    /// Those of [`StoreLocation::open`], and of every method of a [`Store`].
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "a directory keeps no bodies")
    )]
    pub fn bring(&self, versions: &[TopicVersion]) -> Result<(), StoreError> {
        match self {
            StoreLocation::Directory(_) => Ok(()),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => PostgresStore::open(database)?.bring(versions),
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

    /// Takes the delivery role if it is free; of a database it always is.
    ///
    /// # Errors
    /// See [`Role::try_take`].
    pub fn try_take_role(&self) -> Result<Option<Role>, StoreError> {
        match self {
            StoreLocation::Directory(directory) => Role::try_take(directory),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(_) => Ok(Some(Role::shared())),
        }
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
