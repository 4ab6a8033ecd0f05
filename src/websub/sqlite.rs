//! The hub's state in an SQLite file: one file, any number of readers, one writer at a time.
//!
//! Write-ahead log with `synchronous=FULL`: a commit that returned is on the disk. The price is one fsync a
//! transaction, which the batches of [`Store`] share. `synchronous=NORMAL` for the outcomes alone would save it where
//! a loss only repeats a delivery, but then a lost "begun" could let an older content follow a newer one.

mod adoption;
mod deliveries;
mod directory;
mod maintenance;
mod requests;
mod rows;
mod schema;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::moment::Moment;
use super::store::{
    Accept, AdminCommand, Claim, Counts, Delivery, DenialNotice, Lane, Listed, Published,
    QuotaExceeded, Quotas, Recorded, Report, Store, StoreError, SweepReport, Tombstone,
    TopicVersion, Verification, WaitingRequest,
};
use super::subscription::Policy;
use super::transfer::{ExportedSubscription, ImportDecision};

/// A [`Store`] in `hub.sqlite3` of a state directory.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
}

/// The delivery role: whoever holds it delivers, the others accept and read.
#[derive(Debug)]
pub struct Role {
    /// Locked for as long as it is open; the kernel unlocks it when the process ends, however it ends. `None` where
    /// everybody has the role.
    _file: Option<File>,
}

impl SqliteStore {
    /// Opens the store in the directory `dir`. Creates the directory (mode 0700) and the file (mode 0600) if missing. A
    /// directory that exists keeps its mode.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], `Foreign` or `Newer` for a file that cannot be used, `ReadOnly`, `QuotaExceeded`, `Busy` or `Io` as
    /// the disk has it.
    pub fn open(dir: &Path) -> Result<SqliteStore, StoreError> {
        directory::prepare(dir)?;
        let path = dir.join(FILE_NAME);
        // Held until a new store is open: SQLite does not wait for others who turn on the write-ahead log.
        let _opening = match directory::was_used(dir) {
            true => None,
            false => Some(directory::lock(dir)?),
        };
        directory::check_length(dir, &path)?;
        // SQLite gives its log the permissions of the file, so the file is made by us, before; one that is there is left
        // alone, as a descriptor that a process closes takes along all its locks of the file.
        if !path.exists() {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(&path)
                .map_err(|error| StoreError::io(&path, &error))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let real = fs::canonicalize(&path).map_err(|error| StoreError::io(&path, &error))?;
        let connection =
            Connection::open_with_flags(&real, flags).map_err(|error| translate(&path, &error))?;
        let mut store = SqliteStore { connection, path };
        store.set_up()?;
        directory::leave_mark(dir)?;
        Ok(store)
    }

    /// Opens a store that lives and dies with the value: for tests and fuzzing.
    ///
    /// # Errors
    /// [`StoreError::Io`] when memory is short.
    pub fn in_memory() -> Result<SqliteStore, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| translate(&path, &error))?;
        let mut store = SqliteStore { connection, path };
        store.write(schema::prepare)?;
        Ok(store)
    }

    fn set_up(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let fail = |error: rusqlite::Error| translate(&path, &error);
        self.connection.busy_timeout(BUSY_TIMEOUT).map_err(fail)?;
        schema::check(&self.connection, &self.path)?;
        for (pragma, value) in [
            ("journal_mode", "WAL"),
            ("synchronous", "FULL"),
            ("secure_delete", "ON"),
            ("journal_size_limit", "16777216"),
        ] {
            self.connection
                .pragma_update(None, pragma, value)
                .map_err(fail)?;
        }
        self.write(schema::prepare)
    }

    /// Runs `change` in one transaction that takes the write lock at once; commits if it returns `Ok`.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = &self.path;
        let fail = |error: rusqlite::Error| translate(path, &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fail)?;
        let value = change(&transaction).map_err(fail)?;
        transaction.commit().map_err(fail)?;
        Ok(value)
    }

    /// Runs `look` in one read transaction: it sees one state from its first statement to its last.
    fn read<T>(
        &mut self,
        look: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = &self.path;
        let fail = |error: rusqlite::Error| translate(path, &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Deferred)
            .map_err(fail)?;
        look(&transaction).map_err(fail)
    }
}

impl Role {
    /// Returns the role of a store in which claims alone keep replicas apart.
    #[must_use]
    pub fn shared() -> Role {
        Role { _file: None }
    }

    /// Takes the delivery role of `dir` if no other process has it.
    ///
    /// # Errors
    /// As the file system has them.
    pub fn try_take(dir: &Path) -> Result<Option<Role>, StoreError> {
        let path = dir.join(LOCK_NAME);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| StoreError::io(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Role { _file: Some(file) })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(StoreError::io(&path, &error)),
        }
    }
}

impl Store for SqliteStore {
    fn publish(
        &mut self,
        versions: &[TopicVersion],
        policy: &Policy,
        now: Moment,
    ) -> Result<Published, StoreError> {
        self.write(|tx| maintenance::publish(tx, versions, policy, now))
    }

    /// Keeps none: whoever has the delivery role delivers what it serves.
    fn body(&mut self, _digest: &[u8; 32]) -> Result<Option<Bytes>, StoreError> {
        Ok(None)
    }

    fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.write(|tx| requests::accept(tx, requests, quotas, now))
    }

    fn claim_requests(
        &mut self,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Verification>, StoreError> {
        let found = self.read(|tx| requests::find(tx, claim, now))?;
        if found.is_empty() {
            Ok(found)
        } else {
            self.write(|tx| requests::claim(tx, found))
        }
    }

    fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError> {
        let found = self.read(|tx| deliveries::find(tx, lane, claim, now))?;
        if found.is_empty() {
            Ok(Vec::new())
        } else {
            self.write(|tx| deliveries::begin(tx, &found, claim, now))
        }
    }

    fn take_notices(&mut self, limit: usize, now: Moment) -> Result<Vec<DenialNotice>, StoreError> {
        let found = self.read(|tx| maintenance::find_notices(tx, limit, now))?;
        if found.is_empty() {
            Ok(Vec::new())
        } else {
            self.write(|tx| maintenance::take_notices(tx, found))
        }
    }

    fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> Result<bool, StoreError> {
        self.write(|tx| maintenance::defer_notice(tx, notice, now))
    }

    fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.write(|tx| {
            maintenance::touch(tx, now)?;
            reports
                .iter()
                .map(|report| deliveries::record(tx, report, policy, now))
                .collect()
        })
    }

    fn sweep(
        &mut self,
        policy: &Policy,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError> {
        if self.read(|tx| maintenance::is_swept(tx, tombstone_age, now))? {
            return Ok(SweepReport::default());
        }
        self.write(|tx| maintenance::sweep(tx, policy, tombstone_age, now))
    }

    fn recover(&mut self, policy: &Policy, now: Moment) -> Result<(), StoreError> {
        self.write(|tx| maintenance::recover(tx, policy, now))
    }

    fn shift(&mut self, by_ms: i64) -> Result<(), StoreError> {
        self.write(|tx| maintenance::shift(tx, by_ms))
    }

    fn set_paused(&mut self, lasts: Option<Duration>, now: Moment) -> Result<(), StoreError> {
        let until = lasts.map_or(Moment::ZERO, |lasts| now.plus(lasts));
        self.write(|tx| maintenance::set_paused(tx, until))
    }

    fn is_paused(&mut self, now: Moment) -> Result<bool, StoreError> {
        self.read(|tx| maintenance::is_paused(tx, now))
    }

    fn counts(&mut self, now: Moment) -> Result<Counts, StoreError> {
        self.read(|tx| maintenance::counts(tx, now))
    }

    fn list(&mut self, after: i64, limit: usize, _now: Moment) -> Result<Vec<Listed>, StoreError> {
        self.read(|tx| rows::list(tx, after, limit))
    }

    fn tombstones(&mut self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|tx| rows::tombstones(tx, limit))
    }

    fn requests(&mut self, limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        self.read(|tx| requests::list(tx, limit))
    }

    fn apply_admin(
        &mut self,
        id: i64,
        order: AdminCommand,
        policy: &Policy,
        now: Moment,
    ) -> Result<bool, StoreError> {
        self.write(|tx| maintenance::apply_admin(tx, id, order, policy, now))
    }

    fn adopt(
        &mut self,
        moved: &[ExportedSubscription],
        now: Moment,
    ) -> Result<Vec<ImportDecision>, StoreError> {
        self.write(|tx| adoption::adopt(tx, moved, now))
    }
}

/// Says what SQLite met in the operator's words.
fn translate(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match error {
        rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
            StoreError::Corrupt(path, error.to_string())
        }
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::QuotaExceeded(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                StoreError::ReadOnly(path)
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Corrupt(path, error.to_string())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(path),
            _ => StoreError::Io(path, error.to_string()),
        },
    }
}

/// The file that holds everything.
pub const FILE_NAME: &str = "hub.sqlite3";

/// The file whose lock is the delivery role.
const LOCK_NAME: &str = "hub.lock";

/// How long one process waits for another's transaction; they last milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
#[path = "sqlite/tests.rs"]
mod tests;
