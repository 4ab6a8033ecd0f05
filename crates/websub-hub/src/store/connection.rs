//! The interface of the store to its database, the rows of results, and the errors, with messages for the operator.
//!
//! Both databases get the same SQL, with parameters written `$1`, `$2`. The values are those of rusqlite: a 64-bit
//! integer, a text, bytes or NULL; a flag is the integer 0 or 1. Columns are read by their names.

use std::io::{self, ErrorKind};
use std::rc::Rc;

pub(super) use rusqlite::types::Value;
use rusqlite::types::{FromSql, FromSqlResult, ValueRef};

use crate::UnixMillis;

/// A synchronous connection to a database, used by one thread.
pub(super) trait Connection: Send {
    /// Begins a transaction. No other connection can write until it ends.
    fn begin(&mut self) -> Result<(), DbError>;

    /// Runs statements without values. After `COMMIT` returns `Ok`, the transaction is durable.
    fn script(&mut self, sql: &str) -> Result<(), DbError>;

    /// Runs a statement and returns its rows.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<DatabaseRow>, DbError>;

    /// Runs a statement once for each set of values, in one exchange with a server, and returns how many rows it changed.
    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value>]) -> Result<u64, DbError>;

    /// Takes the delivery role if no other process has it, for at most as long as the connection is open.
    fn try_take_role(&mut self) -> Result<bool, DbError>;

    /// Gives up the delivery role, so that another process can take it.
    fn give_up_role(&mut self) -> Result<(), DbError>;
}

/// Columns of a row with their values.
pub(super) type RowValues = Vec<(&'static str, Value)>;

impl dyn Connection + '_ {
    /// Returns the row of a statement that always has one.
    pub(super) fn query_one(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<DatabaseRow, DbError> {
        let row = self.query(sql, values)?.into_iter().next();
        row.ok_or_else(|| unreadable("row"))
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, DbError> {
        self.execute_each(sql, &[values.to_vec()])
    }

    pub(super) fn insert(&mut self, table: &str, row: RowValues) -> Result<(), DbError> {
        let (names, values): (Vec<&str>, Vec<Value>) = row.into_iter().unzip();
        let names = names.join(", ");
        let parameters = parameters(1, values.len());
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({parameters})");
        self.execute(&sql, &values).map(drop)
    }

    /// Updates columns of the rows with these ids; the columns must be the same for all rows.
    pub(super) fn update(
        &mut self,
        table: &str,
        rows: Vec<(i64, RowValues)>,
    ) -> Result<(), DbError> {
        let Some((_, first)) = rows.first() else {
            return Ok(());
        };
        let mut assignments = Vec::with_capacity(first.len());
        for (number, (name, _)) in (2..).zip(first) {
            assignments.push(format!("{name} = ${number}"));
        }
        let sql = format!(
            "UPDATE {table} SET {} WHERE id = $1",
            assignments.join(", ")
        );
        let values = rows.into_iter().map(|(id, columns)| {
            let columns = columns.into_iter().map(|(_, value)| value);
            std::iter::once(id.into()).chain(columns).collect()
        });
        self.execute_each(&sql, &values.collect::<Vec<_>>())
            .map(drop)
    }
}

/// Returns `count` parameters from `$first` on, separated by commas.
pub(super) fn parameters(first: usize, count: usize) -> String {
    let all = (first..first + count).map(|number| format!("${number}"));
    all.collect::<Vec<_>>().join(", ")
}

/// Returns a number of rows as a parameter.
pub(super) fn limit(rows: usize) -> Value {
    isize::try_from(rows).unwrap_or(isize::MAX).into()
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

impl From<UnixMillis> for Value {
    fn from(time: UnixMillis) -> Value {
        time.as_ms().into()
    }
}

impl FromSql for UnixMillis {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<UnixMillis> {
        i64::column_result(value).map(UnixMillis::new)
    }
}

/// A row. A value that cannot be read is a [`DbError::Corrupt`] with the name of the column.
#[derive(Debug)]
pub(super) struct DatabaseRow {
    pub(super) columns: Rc<[String]>,
    pub(super) values: Vec<Value>,
}

impl DatabaseRow {
    pub(super) fn get<T: FromSql>(&self, column: &str) -> Result<T, DbError> {
        let at = self.columns.iter().position(|name| name == column);
        let value = at.and_then(|at| self.values.get(at));
        let read = value.and_then(|value| T::column_result(value.into()).ok());
        read.ok_or_else(|| unreadable(column))
    }

    /// Reads a count.
    pub(super) fn count(&self, column: &str) -> Result<u64, DbError> {
        u64::try_from(self.get::<i64>(column)?).map_err(|_| unreadable(column))
    }

    /// Reads a text and parses it with `parse`.
    pub(super) fn parsed<T>(
        &self,
        column: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, DbError> {
        parse(&self.get::<String>(column)?).ok_or_else(|| unreadable(column))
    }
}

/// The error for a value that cannot be read back.
fn unreadable(what: &str) -> DbError {
    DbError::Corrupt(format!("unreadable {what}"))
}

/// Why a store cannot be opened, read or written. The failed call has had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {cause}")]
pub struct StoreError {
    /// The file, or the database without its password.
    pub location: String,
    /// The error.
    pub cause: DbError,
}

/// An error of a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// Ends when the operator frees space; no restart is needed.
    #[error("the disk is full")]
    DiskFull,
    /// The operator must change permissions or the mount.
    #[error("cannot be written (permissions or a read-only mount)")]
    ReadOnly,
    /// The operator must restore a backup, or move the files away and lose the subscriptions.
    #[error(
        "the file is damaged ({0}); restore a backup, or move all hub.* files away to start without subscriptions"
    )]
    Corrupt(String),
    /// The file has the right name, but is not of a hub or is of a later version.
    #[error("{0}")]
    Foreign(String),
    /// Another process locked the file for longer than the timeout.
    #[error("another process is writing; try again")]
    Busy,
    /// Any other error of reading or writing.
    #[error("{0}")]
    Io(String),
    /// The database cannot be reached or does not respond; the connection is retried automatically.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The database cannot be used in its configuration: the operator must change that, or the address.
    #[error("cannot be used: {0}")]
    Refused(String),
}

impl StoreError {
    /// Tells whether the error may end without the operator: when another process is done, or the database is back.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self.cause, DbError::Busy | DbError::Unreachable(_))
    }
}

impl From<io::Error> for DbError {
    fn from(error: io::Error) -> DbError {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DbError::DiskFull,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => DbError::ReadOnly,
            _ => DbError::Io(error.to_string()),
        }
    }
}
