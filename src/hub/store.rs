//! The persistent state of the hub, and its transactions.
//!
//! Each method of [`Store`] that changes state is one transaction: when it returns `Ok`, the change is on disk and
//! survives power loss; after an error it has had no effect. Methods take batches, which share one write to the disk.
//! The store loads states, changes them by the rules of [`subscription`](super::subscription), and saves them.
//!
//! SQLite and PostgreSQL use the same SQL; the differences are in `sqlite` and `postgres`. Several processes may have a
//! store open: all accept requests, and the one with the delivery role verifies and delivers. Ids are never used twice.

mod connection;
mod deliveries;
mod maintenance;
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
#[cfg(feature = "postgres")]
pub use self::postgres::Database;
pub use self::schema::SCHEMA_VERSION;
pub use self::sqlite::FILE_NAME;
pub use self::types::{
    Accept, AdminCommand, Claim, CopyReport, Counts, DenialNotice, Lane, Listed, Published,
    QuotaExceeded, Quotas, Recorded, Report, Tombstone, TopicVersion, WaitingRequest,
};
use super::moment::Moment;

/// The location of the hub's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// An SQLite file in this directory; one process at a time delivers.
    Directory(PathBuf),
    /// A PostgreSQL database that replicas may share; one at a time delivers.
    #[cfg(feature = "postgres")]
    Database(Box<Database>),
}

impl StoreLocation {
    /// Opens the store: the file `hub.sqlite3` of the directory, or the schema `reviewd` of the database. Creates what is
    /// missing: the directory (mode 0700), the file (mode 0600), the schema. An existing directory keeps its mode.
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

    /// Opens and closes the store once, to check whether a server with the public address `origin` can use it; without
    /// one, whether any server can. Retries errors that may pass for 10 seconds, because services that start together
    /// are not ready at the same time.
    ///
    /// # Errors
    /// The last error of [`StoreLocation::open`], or that the store has topics of another origin.
    pub fn await_usable(&self, origin: Option<&str>) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            let checked = self
                .open()
                .and_then(|mut store| origin.map_or(Ok(()), |origin| store.check_origin(origin)));
            match checked {
                Err(error) if error.may_pass() && began.elapsed() + pause < WAIT_MAX => {
                    warn!(%error, "waiting for the hub's store");
                }
                done => return done,
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Returns the type of the location, as shown on `/readyz`: `directory` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.is_shared() {
            true => "postgres",
            false => "directory",
        }
    }

    /// Tells whether replicas may share the location.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self, StoreLocation::Directory(_))
    }
}

/// The path, or the URL of the database without its password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Directory(directory) => directory.display().fmt(f),
            #[cfg(feature = "postgres")]
            StoreLocation::Database(database) => database.fmt(f),
        }
    }
}

/// A blocking store of the hub's state. The errors of every method are those of [`StoreError`].
pub struct Store {
    connection: Box<dyn Connection>,
    /// The location, for messages.
    place: String,
    /// Whether replicas may share the store.
    is_shared: bool,
    /// The versions that this process has published, and can deliver.
    own: Vec<TopicVersion>,
    /// Whether the last claim of deliveries found a topic with other content than in `own`.
    pub(super) is_behind: bool,
}

impl Store {
    /// Opens a store in memory, for tests and fuzzing.
    pub fn in_memory() -> Result<Store, StoreError> {
        let opened = sqlite::SqliteConnection::in_memory();
        Store::on(opened, ":memory:".to_owned(), false)
    }

    fn on(
        opened: Result<impl Connection + 'static, DbError>,
        place: String,
        is_shared: bool,
    ) -> Result<Store, StoreError> {
        match opened {
            Ok(connection) => Ok(Store {
                connection: Box::new(connection),
                place,
                is_shared,
                own: Vec::new(),
                is_behind: false,
            }),
            Err(cause) => Err(StoreError { place, cause }),
        }
    }

    /// Runs `query`, which changes nothing.
    fn read<T>(
        &mut self,
        query: impl FnOnce(&mut dyn Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        query(self.connection.as_mut()).map_err(|cause| StoreError {
            place: self.place.clone(),
            cause,
        })
    }

    /// Runs `change` in one transaction; commits if it returns `Ok`.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut dyn Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        self.read(|db| {
            let value = db.begin().and_then(|()| change(db));
            let done = value.and_then(|value| db.script("COMMIT").map(|()| value));
            if done.is_err()
                && let Err(error) = db.script("ROLLBACK")
            {
                // SQLite rolls back some failed transactions by itself.
                debug!(%error, "a transaction was not rolled back");
            }
            done
        })
    }

    /// Takes the delivery role if no other process has it. It lasts as long as the store is open.
    pub fn try_take_role(&mut self) -> Result<bool, StoreError> {
        self.read(|db| db.try_take_role())
    }

    /// Gives up the delivery role, so that another process can take it.
    pub fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.read(|db| db.give_up_role())
    }
}

/// Stores the time, so that the next start detects a clock that was set back while the service was down.
fn touch(db: &mut dyn Connection, now: Moment) -> Result<(), DbError> {
    let sql = "UPDATE meta SET seen_at = $1";
    db.execute(sql, &[now.into()]).map(drop)
}

/// Tombstones and denials kept, each; beyond it the oldest are deleted. Our choice: a few megabytes at most.
pub const TOMBSTONES_MAX: usize = 10_000;

/// How long the start waits for the database.
const WAIT_MAX: Duration = Duration::from_secs(10);
