//! The hub's store: its transactions and its location.
//!
//! Each method of [`Store`] that writes is one transaction: after `Ok`, all its changes are on disk and survive a power
//! loss; after an error, nothing has changed. Methods take batches, so that one write to the disk serves many requests.
//! The rules are those of [`subscription`](super::subscription): a store loads states, applies the rules, and saves.
//!
//! Statements are the same for an SQLite file and for a PostgreSQL database; tables and all that differs are in `sqlite` and
//! `postgres`. Several processes may open the same store: all of them accept requests, and the one with the delivery
//! role verifies and delivers. Ids are never reused.

mod connection;
mod deliveries;
mod maintenance;
mod notices;
#[cfg(feature = "postgres")]
mod postgres;
mod requests;
mod rows;
mod schema;
mod sqlite;
mod types;

use std::fmt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, warn};

use self::connection::Connection;
pub use self::connection::{DbError, StoreError};
pub use self::notices::{NoticeCounts, TellReport};
#[cfg(feature = "postgres")]
pub use self::postgres::{Database, DatabaseUrlError};
pub use self::requests::REJECTIONS_PER_HOST;
pub use self::schema::SCHEMA_VERSION;
pub use self::sqlite::FILE_NAME;
pub use self::types::{
    Accept, AdminCommand, AttemptReport, CopyReport, DenialNotice, PublishResult, QuotaExceeded,
    Quotas, Rejection, RejectionReason, ReportEffect, StoreCounts, StoredSubscription, Tombstone,
    TopicVersion, WaitingRequest,
};
use super::unix_millis::UnixMillis;

/// Largest number of tombstones, of rejections and of denials; beyond it the oldest are deleted. Our choice: a few megabytes at most.
pub const TOMBSTONES_MAX: usize = 10_000;

/// How long the start waits for the database.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Where the hub stores its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// An SQLite file in this directory; one process at a time delivers.
    Directory(PathBuf),
    /// A PostgreSQL database that replicas may share; one at a time delivers.
    #[cfg(feature = "postgres")]
    Database(Box<Database>),
}

impl StoreLocation {
    /// Opens the store: the file `hub.sqlite3` of the directory, or the schema of the database. Creates what
    /// is missing: the directory (mode 0700), the file (mode 0600), the schema. An existing directory keeps its mode.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open(&self) -> Result<Store, StoreError> {
        match self {
            StoreLocation::Directory(directory) => {
                let file = directory.join(FILE_NAME).display().to_string();
                Store::on(sqlite::SqliteConnection::open(directory), file, false)
            }
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => {
                let opened = postgres::PostgresConnection::open(database);
                Store::on(opened, database.to_string(), true)
            }
        }
    }

    /// Opens the store once and closes it again, to check whether a server with the public address `origin` can use it,
    /// or, without an `origin`, whether any server can. Retries for 10 seconds after an error that may be temporary:
    /// services that start together become ready at different times.
    ///
    /// # Errors
    /// The last error of [`StoreLocation::open`], or that the store holds topics of another address.
    pub fn await_usable(&self, origin: Option<&str>) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            match self.check(origin) {
                Err(error) if error.may_pass() && began.elapsed() + pause < WAIT_MAX => {
                    warn!(%error, "waiting for the hub's store");
                }
                done => return done,
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Opens the store and closes it again; with an `origin`, checks that its topics are of that address.
    fn check(&self, origin: Option<&str>) -> Result<(), StoreError> {
        let mut store = self.open()?;
        if let Some(origin) = origin {
            store.check_origin(origin)?;
        }
        Ok(())
    }

    /// Returns the type of the location, for programs: `postgres` or `directory`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_shared() {
            "postgres"
        } else {
            "directory"
        }
    }

    /// Tells whether replicas may share the store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self, StoreLocation::Directory(_))
    }
}

/// Renders the location, without the password of a database.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Directory(directory) => directory.display().fmt(f),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => database.fmt(f),
        }
    }
}

/// A blocking store of the hub's state.
pub struct Store {
    connection: Box<dyn Connection>,
    /// The location, for messages.
    location: String,
    /// Whether replicas share the store.
    is_shared: bool,
    /// The versions that this process has published, and whose content it can send.
    own: Vec<TopicVersion>,
    /// Whether the last claim of deliveries found a topic with content that this process does not have.
    pub(super) is_behind: bool,
}

impl Store {
    /// Opens a store in memory, for tests and fuzzing.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn in_memory() -> Result<Store, StoreError> {
        let opened = sqlite::SqliteConnection::in_memory();
        Store::on(opened, ":memory:".to_owned(), false)
    }

    fn on(
        opened: Result<impl Connection + 'static, DbError>,
        location: String,
        is_shared: bool,
    ) -> Result<Store, StoreError> {
        match opened {
            Ok(connection) => Ok(Store {
                connection: Box::new(connection),
                location,
                is_shared,
                own: Vec::new(),
                is_behind: false,
            }),
            Err(cause) => Err(StoreError { location, cause }),
        }
    }

    /// Runs `query`, and adds the location to its error.
    fn read<T>(
        &mut self,
        query: impl FnOnce(&mut dyn Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        query(self.connection.as_mut()).map_err(|cause| StoreError {
            location: self.location.clone(),
            cause,
        })
    }

    /// Runs `change` in one transaction; commits if it returns `Ok`.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut dyn Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        self.read(|db| {
            let done = commit(db, change);
            if done.is_err() {
                roll_back(db);
            }
            done
        })
    }

    /// Takes the delivery role if no other process has it. The role lasts as long as the store is open.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn try_take_role(&mut self) -> Result<bool, StoreError> {
        self.read(|db| db.try_take_role())
    }

    /// Releases the delivery role for another process.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.read(|db| db.give_up_role())
    }
}

/// Begins a transaction, runs `change`, and commits; after an error the transaction is still open.
fn commit<T>(
    db: &mut dyn Connection,
    change: impl FnOnce(&mut dyn Connection) -> Result<T, DbError>,
) -> Result<T, DbError> {
    db.begin()?;
    let value = change(db)?;
    db.script("COMMIT")?;
    Ok(value)
}

/// Ends a failed transaction.
fn roll_back(db: &mut dyn Connection) {
    if let Err(error) = db.script("ROLLBACK") {
        // SQLite rolls back some failed transactions by itself.
        debug!(%error, "a transaction was not rolled back");
    }
}

/// Stores the time, so that the next start detects a clock that was set back while the service was down.
fn touch(db: &mut dyn Connection, now: UnixMillis) -> Result<(), DbError> {
    let sql = "UPDATE meta SET seen_at = $1";
    db.execute(sql, &[now.into()]).map(drop)
}
