//! What can go wrong with a database, and what of it the operator is told.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use super::StoreError;

/// Says in the operator's words what went wrong on the way to the database `name`, or there.
pub(super) fn translate(error: &tokio_postgres::Error, name: &str) -> StoreError {
    let (place, text) = (PathBuf::from(name), text(error));
    let Some(code) = error.code() else {
        return match is_lasting(error, &text) {
            true => StoreError::Refused(name.to_owned(), text),
            false => StoreError::Unreachable(name.to_owned(), text),
        };
    };
    match Kind::of(code) {
        Kind::Refused => StoreError::Refused(name.to_owned(), text),
        Kind::QuotaExceeded => StoreError::QuotaExceeded(place),
        Kind::Busy => StoreError::Busy(place),
        Kind::Unreachable => StoreError::Unreachable(name.to_owned(), text),
        Kind::Other => StoreError::Io(place, format!("{text} (SQLSTATE {})", code.code())),
    }
}

/// What an error of the server means for the operator.
enum Kind {
    /// Stays until the operator changes a setting, a password or rights.
    Refused,
    QuotaExceeded,
    /// Another transaction was in the way: try again.
    Busy,
    /// The server is going, coming, full of connections, or a standby.
    Unreachable,
    Other,
}

impl Kind {
    fn of(code: &SqlState) -> Kind {
        let class = code.code().get(..2).unwrap_or_default();
        match *code {
            SqlState::INVALID_CATALOG_NAME | SqlState::INSUFFICIENT_PRIVILEGE => Kind::Refused,
            // A schema of our name that is not ours, or that was changed by hand.
            SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE | SqlState::DUPLICATE_TABLE => {
                Kind::Refused
            }
            _ if class == "28" => Kind::Refused,
            SqlState::DISK_FULL => Kind::QuotaExceeded,
            SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::LOCK_NOT_AVAILABLE
            | SqlState::QUERY_CANCELED => Kind::Busy,
            SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::FEATURE_NOT_SUPPORTED => {
                Kind::Unreachable
            }
            _ if ["08", "53", "57"].contains(&class) => Kind::Unreachable,
            _ => Kind::Other,
        }
    }
}

/// Tells whether an error without a word of the server stays until somebody changes something: a certificate that is
/// not the right one, a server without TLS, a way of authentication that is not ours.
fn is_lasting(error: &tokio_postgres::Error, text: &str) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        let inner = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        source = cause.source();
    }
    // The kind of an error is not to be had but by its words.
    text.starts_with("authentication error")
        || text.starts_with("invalid configuration")
        || text.contains("server does not support TLS")
}

/// Renders an error and its causes in one line.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().replace('\n', " ");
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text.replace('\n', " ")
}
