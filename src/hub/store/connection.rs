//! What a database must do for the store, and the values that go to it and come back.
//!
//! Both databases get the same SQL, with parameters written `$1`, `$2`. A column holds a 64-bit integer, a text or bytes;
//! a flag is the integer 0 or 1.

use std::borrow::Cow;
use std::path::PathBuf;

use super::error::StoreError;
use crate::hub::{Callback, Moment};

/// A connection to a database, used by one thread that waits for every answer.
pub(super) trait Connection: Send {
    /// Begins a transaction. Between `begin` and `commit` of a [`Access::Write`] no other connection writes.
    fn begin(&mut self, access: Access) -> Result<(), StoreError>;

    /// Commits: when it returns `Ok`, the database has promised.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends a transaction whose work is not wanted.
    fn roll_back(&mut self);

    /// Runs a statement and returns its rows.
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs a statement and returns how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Runs a statement once for each set of values, in one exchange with a server.
    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value<'_>>]) -> Result<(), StoreError>;

    /// Takes the delivery role if no other process has it. It lasts as long as the connection.
    fn try_take_role(&mut self) -> Result<bool, StoreError>;

    /// Gives the delivery role to the next process that asks.
    fn give_up_role(&mut self) -> Result<(), StoreError>;

    /// Where the database is, for messages.
    fn place(&self) -> PathBuf;
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A value for a parameter, or one of a row. SQLite's NULL has no type and comes as an integer's.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Int(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Option<Cow<'a, [u8]>>),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Int(Some(number))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Value::Int(Some(number.into()))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Int(Some(flag.into()))
    }
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        Value::Int(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Moment> for Value<'_> {
    fn from(moment: Moment) -> Self {
        Value::Int(Some(moment.unix_ms()))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Some(text.into()))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Text(Some(text.into()))
    }
}

impl<'a> From<&'a [u8; 32]> for Value<'a> {
    fn from(digest: &'a [u8; 32]) -> Self {
        Value::Bytes(Some(Cow::Borrowed(digest)))
    }
}

/// A row, read column by column from the first; what cannot be read is a [`StoreError::Corrupt`] that names the column.
#[derive(Debug)]
pub(super) struct Row(std::vec::IntoIter<Value<'static>>);

impl Row {
    pub(super) fn new(values: Vec<Value<'static>>) -> Row {
        Row(values.into_iter())
    }

    pub(super) fn int_or_null(&mut self, column: &str) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Value::Int(number)) => Ok(number),
            other => null(other, column),
        }
    }

    pub(super) fn int(&mut self, column: &str) -> Result<i64, StoreError> {
        self.int_or_null(column)?.ok_or_else(|| unreadable(column))
    }

    /// Reads an integer of a narrower type.
    pub(super) fn number<T: TryFrom<i64>>(&mut self, column: &str) -> Result<T, StoreError> {
        T::try_from(self.int(column)?).map_err(|_| unreadable(column))
    }

    pub(super) fn flag(&mut self, column: &str) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    pub(super) fn moment(&mut self, column: &str) -> Result<Moment, StoreError> {
        self.int(column).map(Moment::from_unix_ms)
    }

    pub(super) fn text_or_null(&mut self, column: &str) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Value::Text(text)) => Ok(text.map(Cow::into_owned)),
            other => null(other, column),
        }
    }

    pub(super) fn text(&mut self, column: &str) -> Result<String, StoreError> {
        self.text_or_null(column)?.ok_or_else(|| unreadable(column))
    }

    /// Reads a text that `parse` understands.
    pub(super) fn parsed<T>(
        &mut self,
        column: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        parse(&self.text(column)?).ok_or_else(|| unreadable(column))
    }

    /// Reads a callback; every one was parsed before it was stored.
    pub(super) fn callback(&mut self) -> Result<Callback, StoreError> {
        self.parsed("callback", |text| Callback::parse(text).ok())
    }

    fn bytes_or_null(&mut self, column: &str) -> Result<Option<Cow<'static, [u8]>>, StoreError> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            other => null(other, column),
        }
    }

    pub(super) fn digest_or_null(&mut self, column: &str) -> Result<Option<[u8; 32]>, StoreError> {
        let bytes = self.bytes_or_null(column)?;
        let digest = bytes.map(|bytes| <[u8; 32]>::try_from(&*bytes));
        digest.transpose().map_err(|_| unreadable(column))
    }

    pub(super) fn digest(&mut self, column: &str) -> Result<[u8; 32], StoreError> {
        let digest = self.digest_or_null(column)?;
        digest.ok_or_else(|| unreadable(column))
    }

    /// Reads the next columns as values for another statement: a letter of `kinds` for each, `i` for an integer, `t` for a
    /// text, `b` for bytes.
    pub(super) fn values(&mut self, kinds: &str) -> Result<Vec<Value<'static>>, StoreError> {
        let value = |kind| {
            let column = "a column";
            Ok(match kind {
                'i' => Value::Int(self.int_or_null(column)?),
                't' => Value::Text(self.text_or_null(column)?.map(Cow::Owned)),
                _ => Value::Bytes(self.bytes_or_null(column)?),
            })
        };
        kinds.chars().map(value).collect()
    }
}

/// Accepts a NULL in a column of another type.
fn null<T>(value: Option<Value<'_>>, column: &str) -> Result<Option<T>, StoreError> {
    match value {
        Some(Value::Int(None) | Value::Text(None) | Value::Bytes(None)) => Ok(None),
        _ => Err(unreadable(column)),
    }
}

/// The error for a value that cannot be read back; the store adds the place.
fn unreadable(column: &str) -> StoreError {
    StoreError::Corrupt(PathBuf::new(), format!("unreadable {column}"))
}
