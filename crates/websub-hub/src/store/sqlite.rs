//! A database in an SQLite file: any number of readers, one writer at a time.
//!
//! Write-ahead log with `synchronous=FULL`: a commit that returned is on disk. The cost is one fsync per transaction,
//! which a batch of the hub shares. With `synchronous=NORMAL` a crash could lose the last commits. To lose a result would
//! only repeat a delivery; but to lose a claim could let older content follow newer content.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode as Code, OpenFlags, Statement};

use super::connection::{Connection, DatabaseRow, DbError, Value};
use super::schema::SCHEMA_VERSION;

/// The file of the database.
pub const FILE_NAME: &str = "hub.sqlite3";

/// SQLite's write-ahead log of that file.
const LOG_NAME: &str = "hub.sqlite3-wal";

/// The content of the lock file of a directory that was used.
const USED_MARK: &[u8] =
    b"the state is in hub.sqlite3 and hub.sqlite3-wal; this file is locked by the process that delivers\n";

/// The file whose lock is the delivery role.
const LOCK_NAME: &str = "hub.lock";

/// How long a process waits for the transaction of another one; transactions last milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The smallest page of an SQLite file; the length of an intact file is a multiple of it.
const PAGE_BYTES: u64 = 512;

/// "rvwd": identifies files of this crate.
const APPLICATION_ID: i64 = 0x7276_7764;

/// The tables.
const TABLES: &str = include_str!("sqlite/schema.sql");

/// A connection to `hub.sqlite3` of a state directory.
pub(super) struct SqliteConnection {
    connection: rusqlite::Connection,
    lock_path: PathBuf,
    /// The delivery role: a file that is locked while it is open, at most until the process ends.
    role: Option<File>,
}

impl SqliteConnection {
    /// Opens the file in the directory `dir`. Creates the directory (mode 0700) and the file (mode 0600) if missing. A
    /// directory that exists keeps its mode: it may be a volume with an owner and a group of its own.
    pub(super) fn open(dir: &Path) -> Result<SqliteConnection, DbError> {
        let path = dir.join(FILE_NAME);
        let lock_path = dir.join(LOCK_NAME);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(error_at(dir))?;
        let mark = fs::read(&lock_path).unwrap_or_default();
        let is_used = !mark.is_empty();
        check_files(dir, is_used)?;
        // SQLite gives its log the permissions of the file, so the file is created here first. An existing file must
        // not be opened here, because closing any descriptor of a file releases all locks of the process on it.
        if !path.exists() {
            private().write(true).open(&path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // The log is kept when the last process closes the file, so that a missing log is detected.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let mut opened = SqliteConnection::over(connection, lock_path)?;
        opened.script(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
             PRAGMA journal_size_limit = 16777216",
        )?;
        if !is_used {
            // Marks the directory as used, with a log.
            let file = private().append(true).open(&opened.lock_path);
            let written = file.and_then(|mut file| file.write_all(USED_MARK));
            written.map_err(error_at(&opened.lock_path))?;
        }
        Ok(opened)
    }

    /// Opens a database in memory, which is dropped with the value.
    pub(super) fn in_memory() -> Result<SqliteConnection, DbError> {
        let connection = rusqlite::Connection::open_in_memory()?;
        SqliteConnection::over(connection, PathBuf::new())
    }

    /// Checks that the file is intact, empty or of a hub, and of this version; creates its tables.
    fn over(
        connection: rusqlite::Connection,
        lock_path: PathBuf,
    ) -> Result<SqliteConnection, DbError> {
        let mut opened = SqliteConnection {
            connection,
            lock_path,
            role: None,
        };
        let db: &mut dyn Connection = &mut opened;
        check_intact(db).map_err(io_is_damage)?;
        // Another process may be creating the tables right now.
        db.begin().map_err(io_is_damage)?;
        let version = read_version(db).map_err(io_is_damage)?;
        if version == 0 {
            db.script(TABLES)?;
            db.script(&format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}"
            ))?;
        }
        db.script("COMMIT")?;
        Ok(opened)
    }
}

/// Binds the values of a statement: `$1` is the first of them. To SQLite this is a name, and the index of a parameter is
/// the order in which names first occur in the statement.
fn bind(statement: &mut Statement<'_>, values: &[Value]) -> rusqlite::Result<()> {
    for (position, value) in values.iter().enumerate() {
        // A statement need not use all values.
        if let Some(index) = statement.parameter_index(&format!("${}", position + 1))? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

impl Connection for SqliteConnection {
    fn begin(&mut self) -> Result<(), DbError> {
        // Takes the write lock at once, so that data that was read cannot change before the write.
        self.script("BEGIN IMMEDIATE")
    }

    fn script(&mut self, sql: &str) -> Result<(), DbError> {
        Ok(self.connection.execute_batch(sql)?)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<DatabaseRow>, DbError> {
        let mut statement = self.connection.prepare(sql)?;
        let columns: Rc<[String]> = statement.column_names().map(str::to_owned).collect();
        bind(&mut statement, values)?;
        let mut found = statement.raw_query();
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns.len()).map(|column| row.get(column));
            rows.push(DatabaseRow {
                columns: Rc::clone(&columns),
                values: values.collect::<rusqlite::Result<_>>()?,
            });
        }
        Ok(rows)
    }

    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value>]) -> Result<u64, DbError> {
        let mut statement = self.connection.prepare(sql)?;
        let mut changed = 0;
        for values in sets {
            bind(&mut statement, values)?;
            changed += statement.raw_execute()?;
        }
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn try_take_role(&mut self) -> Result<bool, DbError> {
        if self.role.is_some() {
            return Ok(true);
        }
        let file = private()
            .read(true)
            .write(true)
            .open(&self.lock_path)
            .map_err(error_at(&self.lock_path))?;
        match file.try_lock() {
            Ok(()) => self.role = Some(file),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(self.role.is_some())
    }

    fn give_up_role(&mut self) -> Result<(), DbError> {
        self.role = None;
        Ok(())
    }
}

/// Moves the content of the log into the file and truncates the log, unless another process has the file open.
impl Drop for SqliteConnection {
    fn drop(&mut self) {
        let _busy = self.connection.busy_timeout(Duration::ZERO);
        let _later = self.script("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

/// Adds the path to an error of another file than `hub.sqlite3`, which [`StoreError`](super::StoreError) names.
fn error_at(path: &Path) -> impl FnOnce(io::Error) -> DbError {
    move |error| match DbError::from(error) {
        DbError::DiskFull => DbError::DiskFull,
        other => DbError::Io(format!("{}: {other}", path.display())),
    }
}

/// Describes an error of SQLite for the operator.
impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> DbError {
        if let rusqlite::Error::FromSqlConversionFailure(..) = error {
            return DbError::Corrupt(error.to_string());
        }
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => DbError::DiskFull,
            Some(Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen) => DbError::ReadOnly,
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => DbError::Corrupt(error.to_string()),
            // The last one: another process is restoring the write-ahead log.
            Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed) => {
                DbError::Busy
            }
            _ => DbError::Io(error.to_string()),
        }
    }
}

/// Returns options that create a file which only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).mode(0o600);
    options
}

/// If a file can be opened but not read at all, it is damaged, whatever error SQLite returns.
fn io_is_damage(error: DbError) -> DbError {
    match error {
        DbError::Io(what) => DbError::Corrupt(what),
        other => other,
    }
}

/// Refuses a damaged file.
fn check_intact(db: &mut dyn Connection) -> Result<(), DbError> {
    let found: String = db
        .query_one("PRAGMA quick_check(1)", &[])?
        .get("quick_check")?;
    if found != "ok" {
        let line = found.lines().next().unwrap_or_default().to_owned();
        return Err(DbError::Corrupt(line));
    }
    Ok(())
}

/// Returns the version of the tables; 0 for an empty file. Refuses a file that is not of a hub or of a later version.
fn read_version(db: &mut dyn Connection) -> Result<i64, DbError> {
    let version: i64 = db
        .query_one("PRAGMA user_version", &[])?
        .get("user_version")?;
    let application: i64 = db
        .query_one("PRAGMA application_id", &[])?
        .get("application_id")?;
    let tables: i64 = db
        .query_one("SELECT count(*) AS tables FROM sqlite_schema", &[])?
        .get("tables")?;
    let is_new = (version, application, tables) == (0, 0, 0);
    if application != APPLICATION_ID && !is_new {
        let what = "not the state file of a hub; choose another directory";
        return Err(DbError::Foreign(what.to_owned()));
    }
    if version > SCHEMA_VERSION {
        return Err(DbError::Foreign(format!(
            "schema {version} is newer than this program's {SCHEMA_VERSION}; use the version that wrote it"
        )));
    }
    Ok(version)
}

/// Refuses a truncated file and, in a directory that was used before, a missing file or log. SQLite treats a very short
/// file as new and a missing log as empty, so subscriptions would be lost without an error.
fn check_files(dir: &Path, is_used: bool) -> Result<(), DbError> {
    let what = match fs::metadata(dir.join(FILE_NAME)).map(|metadata| metadata.len()) {
        Err(_) if is_used => "it is missing".to_owned(),
        Ok(length) if (length == 0 && is_used) || !length.is_multiple_of(PAGE_BYTES) => {
            format!("truncated: {length} bytes")
        }
        Ok(_) if is_used && !dir.join(LOG_NAME).exists() => format!("{LOG_NAME} is missing"),
        _ => return Ok(()),
    };
    Err(DbError::Corrupt(what))
}

#[cfg(test)]
#[path = "sqlite/tests.rs"]
mod tests;
