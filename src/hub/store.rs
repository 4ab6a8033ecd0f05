//! What the hub keeps, and what of it must be atomic.
//!
//! One method of [`Store`] is one transaction: when it returns `Ok`, all of it is on disk and survives the loss of
//! power; on an error nothing of it has happened. Methods take batches, so that one write to the disk serves many.
//! The rules are those of [`subscription`](super::subscription): a store loads states, applies them, and saves.
//!
//! The SQL is the same for an SQLite file and for a PostgreSQL database; what differs is in `sqlite` and `postgres`. Several
//! processes may have a store open: all of them accept requests, and the one that has the delivery role verifies and
//! delivers. Ids are never used twice.

mod connection;
mod copy;
mod deliveries;
mod error;
mod host_room;
mod maintenance;
#[cfg(feature = "postgres")]
mod postgres;
mod requests;
mod rows;
mod schema;
mod sqlite;
mod types;

use std::fmt;
use std::path::Path;

use tracing::debug;

use self::connection::{Access, Connection};
pub use self::error::StoreError;
#[cfg(feature = "postgres")]
pub use self::postgres::Database;
pub use self::schema::SCHEMA_VERSION;
pub use self::sqlite::FILE_NAME;
pub use self::types::{
    Accept, AdminCommand, Claim, CopyReport, Counts, Delivery, DenialNotice, Lane, Listed,
    Published, QuotaExceeded, Quotas, Recorded, Report, SweepReport, Tombstone, TopicVersion,
    WaitingRequest,
};
use super::moment::Moment;

/// A blocking store of the hub's state. The errors of every method are those of [`StoreError`].
pub struct Store {
    connection: Box<dyn Connection>,
    /// Whether replicas share it.
    is_shared: bool,
    /// Digests of what this process has published: what it can send.
    own: Vec<[u8; 32]>,
    is_behind: bool,
}

impl Store {
    /// Opens the store in `hub.sqlite3` of the directory `dir`. Creates the directory (mode 0700) and the file (mode 0600)
    /// if missing; a directory that exists keeps its mode.
    pub fn in_directory(dir: &Path) -> Result<Store, StoreError> {
        let connection = sqlite::SqliteConnection::open(dir)?;
        Ok(Store::on(Box::new(connection), false))
    }

    /// Opens a store that lives and dies with the value: for tests and fuzzing.
    pub fn in_memory() -> Result<Store, StoreError> {
        let connection = sqlite::SqliteConnection::in_memory()?;
        Ok(Store::on(Box::new(connection), false))
    }

    /// Opens the store in the schema `reviewd` of a database, which replicas may share.
    #[cfg(feature = "postgres")]
    pub fn in_database(database: &Database) -> Result<Store, StoreError> {
        let connection = postgres::PostgresConnection::open(database)?;
        Ok(Store::on(Box::new(connection), true))
    }

    fn on(connection: Box<dyn Connection>, is_shared: bool) -> Store {
        Store {
            connection,
            is_shared,
            own: Vec::new(),
            is_behind: false,
        }
    }

    /// Runs `act` in one transaction; commits if it returns `Ok`.
    fn within<T>(
        &mut self,
        access: Access,
        act: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let db = self.connection.as_mut();
        let value = db.begin(access).and_then(|()| act(db));
        let done = value.and_then(|value| db.script("COMMIT").map(|()| value));
        done.map_err(|error| {
            // SQLite has ended some failed transactions by itself.
            if let Err(error) = db.script("ROLLBACK") {
                debug!(%error, "a transaction was not rolled back");
            }
            match error {
                StoreError::Corrupt(place, what) if place.as_os_str().is_empty() => {
                    StoreError::Corrupt(db.place(), what)
                }
                other => other,
            }
        })
    }

    fn read<T>(
        &mut self,
        look: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Access::Read, look)
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Access::Write, change)
    }

    /// Takes the delivery role if no other process has it. It lasts as long as the store is open.
    pub fn try_take_role(&mut self) -> Result<bool, StoreError> {
        self.connection.try_take_role()
    }

    /// Gives the delivery role to the next process that asks.
    pub fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.connection.give_up_role()
    }

    /// Tells whether the last claim of deliveries found a topic that holds something else than this process has published.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }
}

/// Notes the clock, so that one that went back while the service was down is seen at the next start.
fn touch(db: &mut dyn Connection, now: Moment) -> Result<(), StoreError> {
    let sql = "UPDATE meta SET seen_at = $1";
    db.execute(sql, &[now.into()]).map(drop)
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.connection.place().display())
    }
}

/// Tombstones and denials kept, each; beyond it the oldest go. Our choice: a few megabytes at most.
pub const TOMBSTONES_MAX: usize = 10_000;
