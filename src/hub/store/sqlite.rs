//! A database in an SQLite file: any number of readers, one writer at a time.
//!
//! Write-ahead log with `synchronous=FULL`: a commit that returned is on the disk. The price is one fsync a
//! transaction, which the batches of the store share. `synchronous=NORMAL` for the outcomes alone would save it where
//! a loss only repeats a delivery, but then a lost "begun" could let an older content follow a newer one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, Type, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, Statement, ToSql, params_from_iter};

use super::connection::{Access, Connection, Row, Value};
use super::error::StoreError;
use super::schema::{self, SCHEMA_VERSION};

/// A connection to `hub.sqlite3` of a state directory.
pub(super) struct SqliteConnection {
    connection: rusqlite::Connection,
    path: PathBuf,
    /// The delivery role: locked for as long as it is open. The kernel unlocks it when the process ends, however it ends.
    role: Option<File>,
}

impl SqliteConnection {
    /// Opens the file in the directory `dir`. Creates the directory (mode 0700) and the file (mode 0600) if missing. A
    /// directory that exists keeps its mode: it may be a volume with an owner and a group of its own.
    pub(super) fn open(dir: &Path) -> Result<SqliteConnection, StoreError> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(dir);
        made.map_err(|error| StoreError::io(dir, &error))?;
        let path = dir.join(FILE_NAME);
        let fail = |error: std::io::Error| StoreError::io(&path, &error);
        // Held until a new store is open: SQLite does not wait for others who turn on the write-ahead log.
        let is_used = was_used(dir);
        let _opening = match is_used {
            true => None,
            false => Some(lock(dir)?),
        };
        check_files(dir, is_used)?;
        // SQLite gives its log the permissions of the file, so the file is made by us, before; one that is there is left
        // alone, as a descriptor that a process closes takes along all its locks of the file.
        if !path.exists() {
            private().write(true).open(&path).map_err(fail)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let real = fs::canonicalize(&path).map_err(fail)?;
        let connection = rusqlite::Connection::open_with_flags(&real, flags)
            .map_err(|error| translate(&path, &error))?;
        let mut opened = SqliteConnection {
            connection,
            path,
            role: None,
        };
        opened.set_up()?;
        leave_mark(dir)?;
        Ok(opened)
    }

    /// Opens a database that lives and dies with the value.
    pub(super) fn in_memory() -> Result<SqliteConnection, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection =
            rusqlite::Connection::open_in_memory().map_err(|error| translate(&path, &error))?;
        let mut opened = SqliteConnection {
            connection,
            path,
            role: None,
        };
        opened.make_tables()?;
        Ok(opened)
    }

    fn set_up(&mut self) -> Result<(), StoreError> {
        let fail = |error: rusqlite::Error| translate(&self.path, &error);
        self.connection.busy_timeout(BUSY_TIMEOUT).map_err(fail)?;
        // The log stays when the last process closes the file, so that a log that is missing is noticed.
        let keeps_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        self.connection
            .set_db_config(keeps_log, true)
            .map_err(fail)?;
        self.check()?;
        for (pragma, value) in [
            ("journal_mode", "WAL"),
            ("synchronous", "FULL"),
            ("secure_delete", "ON"),
            ("journal_size_limit", "16777216"),
        ] {
            self.connection
                .pragma_update(None, pragma, value)
                .map_err(|error| translate(&self.path, &error))?;
        }
        self.make_tables()
    }

    /// Makes sure that the file is empty or ours, whole, and not of a later version.
    fn check(&self) -> Result<(), StoreError> {
        let path = &self.path;
        // What cannot be read at all, in a file that could be opened, is damage whatever SQLite calls it.
        let fail = |error: rusqlite::Error| match translate(path, &error) {
            StoreError::Io(path, what) => StoreError::Corrupt(path, what),
            other => other,
        };
        // In one transaction, as another process may be making the tables right now.
        let look = self.connection.unchecked_transaction().map_err(fail)?;
        let pragma = |name| look.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let version = pragma("user_version").map_err(fail)?;
        let application = pragma("application_id").map_err(fail)?;
        let tables: i64 = look
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(fail)?;
        look.finish().map_err(fail)?;
        if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
            return Err(StoreError::Foreign(path.to_owned()));
        }
        if version > SCHEMA_VERSION {
            return Err(StoreError::Newer(path.to_owned(), version));
        }
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(fail)?;
        if verdict != "ok" {
            let line = verdict.lines().next().unwrap_or_default().to_owned();
            return Err(StoreError::Corrupt(path.to_owned(), line));
        }
        Ok(())
    }

    /// Makes the tables of a new file, or takes those of an earlier version to this one.
    fn make_tables(&mut self) -> Result<(), StoreError> {
        self.begin(Access::Write)?;
        let made = || -> rusqlite::Result<()> {
            let connection = &self.connection;
            let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            for sql in schema::statements(version, schema::DATED) {
                connection.execute_batch(sql)?;
            }
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", SCHEMA_VERSION)
        };
        made().map_err(|error| translate(&self.path, &error))?;
        self.commit()
    }

    fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection
            .execute_batch(sql)
            .map_err(|error| translate(&self.path, &error))
    }

    fn prepare(&self, sql: &str) -> rusqlite::Result<Statement<'_>> {
        self.connection.prepare(&sql.replace('$', "?"))
    }
}

impl Connection for SqliteConnection {
    fn begin(&mut self, access: Access) -> Result<(), StoreError> {
        self.script(match access {
            Access::Read => "BEGIN",
            // Takes the lock at once, so that nothing that was read has changed when something is written.
            Access::Write => "BEGIN IMMEDIATE",
        })
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.script("COMMIT")
    }

    fn roll_back(&mut self) {
        // A transaction that SQLite has ended by itself is not there any more.
        let _ended = self.script("ROLLBACK");
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let query = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.prepare(sql)?;
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(values), |row| {
                let values = (0..columns).map(|column| read(column, row.get_ref(column)?));
                Ok(Row::new(values.collect::<rusqlite::Result<_>>()?))
            })?;
            rows.collect()
        };
        query().map_err(|error| translate(&self.path, &error))
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let execute = || self.prepare(sql)?.execute(params_from_iter(values));
        let changed = execute().map_err(|error| translate(&self.path, &error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value<'_>>]) -> Result<(), StoreError> {
        let execute = || -> rusqlite::Result<()> {
            let mut statement = self.prepare(sql)?;
            for values in sets {
                statement.execute(params_from_iter(values))?;
            }
            Ok(())
        };
        execute().map_err(|error| translate(&self.path, &error))
    }

    fn try_take_role(&mut self) -> Result<bool, StoreError> {
        if self.role.is_some() {
            return Ok(true);
        }
        let path = self.path.with_file_name(LOCK_NAME);
        let fail = |error: std::io::Error| StoreError::io(&path, &error);
        let file = private().read(true).write(true).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => self.role = Some(file),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(error)) => return Err(fail(error)),
        }
        Ok(self.role.is_some())
    }

    fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.role = None;
        Ok(())
    }

    fn place(&self) -> PathBuf {
        self.path.clone()
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Value::Int(Some(number)) => ValueRef::Integer(*number),
            Value::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Value::Int(None) | Value::Text(None) | Value::Bytes(None) => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

fn read(column: usize, value: ValueRef<'_>) -> rusqlite::Result<Value<'static>> {
    let damage = |kind| rusqlite::Error::InvalidColumnType(column, "column".to_owned(), kind);
    Ok(match value {
        ValueRef::Null => Value::Int(None),
        ValueRef::Integer(number) => number.into(),
        ValueRef::Text(text) => match String::from_utf8(text.to_vec()) {
            Ok(text) => text.into(),
            Err(_) => return Err(damage(Type::Text)),
        },
        ValueRef::Blob(bytes) => Value::Bytes(Some(bytes.to_vec().into())),
        ValueRef::Real(_) => return Err(damage(Type::Real)),
    })
}

/// Moves what is in the log into the file, and empties the log, unless another process has the file open.
impl Drop for SqliteConnection {
    fn drop(&mut self) {
        let _busy = self.connection.busy_timeout(Duration::ZERO);
        let _later = self.script("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

/// Says what SQLite met in the operator's words.
fn translate(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    if matches!(error, rusqlite::Error::InvalidColumnType(..)) {
        return StoreError::Corrupt(path, error.to_string());
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::QuotaExceeded(path),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            StoreError::ReadOnly(path)
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt(path, error.to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(path),
        _ => StoreError::Io(path, error.to_string()),
    }
}

/// Returns options that make a file which only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).mode(0o600);
    options
}

/// Locks the directory for as long as the value lives; a second process waits.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let fail = |error: std::io::Error| StoreError::io(dir, &error);
    let directory = File::open(dir).map_err(fail)?;
    for _ in 0..=LOCK_TRIES {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(fs::TryLockError::Error(error)) => return Err(fail(error)),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(BUSY_TIMEOUT / LOCK_TRIES),
        }
    }
    Err(StoreError::Busy(dir.join(FILE_NAME)))
}

/// Tells whether a store in the directory has been opened before, as [`leave_mark`] notes.
fn was_used(dir: &Path) -> bool {
    fs::metadata(dir.join(LOCK_NAME)).is_ok_and(|metadata| metadata.len() > 0)
}

/// Tells whether the program that used the directory last keeps the log of a closed file; version 0.1.0 removes it.
fn keeps_log(dir: &Path) -> bool {
    let mark = fs::read(dir.join(LOCK_NAME));
    mark.is_ok_and(|mark| mark.ends_with(LOG_MARK))
}

/// Notes in the lock's file that the directory is in use, and has a log.
fn leave_mark(dir: &Path) -> Result<(), StoreError> {
    if keeps_log(dir) {
        return Ok(());
    }
    let path = dir.join(LOCK_NAME);
    let written = private()
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(LOG_MARK));
    written.map_err(|error| StoreError::io(&path, &error))
}

/// Refuses a file that has been cut, and one that is missing, or whose log is, where the directory has been in use. SQLite
/// takes a very short file for a new one, and a log that is gone for an empty one, and subscriptions would be gone without a
/// word.
fn check_files(dir: &Path, is_used: bool) -> Result<(), StoreError> {
    let path = dir.join(FILE_NAME);
    let length = fs::metadata(&path).map(|metadata| metadata.len()).ok();
    let what = match length {
        None if is_used => "it is missing".to_owned(),
        Some(length) if (length == 0 && is_used) || !length.is_multiple_of(PAGE_BYTES) => {
            format!("it is {length} bytes long")
        }
        Some(_) if keeps_log(dir) && !dir.join(LOG_NAME).exists() => {
            format!(
                "{LOG_NAME} is missing; if version 0.1.0 has run here since, remove {LOCK_NAME}"
            )
        }
        _ => return Ok(()),
    };
    Err(StoreError::Corrupt(path, what))
}

/// The file that holds everything.
pub const FILE_NAME: &str = "hub.sqlite3";

/// SQLite's write-ahead log of that file.
const LOG_NAME: &str = "hub.sqlite3-wal";

/// The last line of the lock's file where the log is kept.
const LOG_MARK: &[u8] =
    b"the state is in hub.sqlite3 and hub.sqlite3-wal; this file is locked by the process that delivers\n";

/// The file whose lock is the delivery role.
const LOCK_NAME: &str = "hub.lock";

/// How long one process waits for another's transaction; they last milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The smallest page of an SQLite file: every whole file is a multiple of it.
const PAGE_BYTES: u64 = 512;

/// How often a process that waits for the directory tries to lock it.
const LOCK_TRIES: u32 = 1_000;

/// "rvwd": tells our files from other people's.
const APPLICATION_ID: i64 = 0x7276_7764;

#[cfg(test)]
#[path = "sqlite/tests.rs"]
mod tests;
