//! What can go wrong with a database, and what of it the operator is told.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use super::StoreError;

/// Says in the operator's words what went wrong on the way to the database `name`, or there.
pub(super) fn translate(error: &tokio_postgres::Error, name: &str) -> StoreError {
    let (place, text, name) = (PathBuf::from(name), text(error), name.to_owned());
    let Some(code) = error.code() else {
        return match is_lasting(error, &text) {
            true => StoreError::Refused(name, text),
            false => StoreError::Unreachable(name, text),
        };
    };
    let class = code.code().get(..2).unwrap_or_default();
    match *code {
        // Rights that are missing, a schema of our name that is not ours, or that was changed by hand.
        SqlState::INVALID_CATALOG_NAME
        | SqlState::INSUFFICIENT_PRIVILEGE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::UNDEFINED_TABLE
        | SqlState::DUPLICATE_TABLE => StoreError::Refused(name, text),
        _ if class == "28" => StoreError::Refused(name, text),
        SqlState::DISK_FULL => StoreError::DiskFull(place),
        // Another transaction was in the way: try again.
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE
        | SqlState::QUERY_CANCELED => StoreError::Busy(place),
        // The server is going, coming, full of connections, or a standby.
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::FEATURE_NOT_SUPPORTED => {
            StoreError::Unreachable(name, text)
        }
        _ if ["08", "53", "57"].contains(&class) => StoreError::Unreachable(name, text),
        _ => StoreError::Io(place, format!("{text} (SQLSTATE {})", code.code())),
    }
}

/// Tells whether an error without a word of the server stays until the operator changes something: a certificate that is
/// not the right one, a server without TLS, a way of authentication that is not ours.
fn is_lasting(error: &tokio_postgres::Error, text: &str) -> bool {
    let is_tls = |cause: &(dyn Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>();
        let inner = io.and_then(io::Error::get_ref);
        inner.is_some_and(|inner| inner.is::<rustls::Error>())
    };
    // The kind of the others is not to be had but by their words.
    causes(error).any(is_tls)
        || text.starts_with("authentication error")
        || text.starts_with("invalid configuration")
        || text.contains("server does not support TLS")
}

/// Renders an error and its causes in one line.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    let text = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => causes(error).fold(error.to_string(), |text, cause| {
            let cause = cause.to_string();
            match text.ends_with(&cause) {
                true => text,
                false => format!("{text}: {cause}"),
            }
        }),
    };
    text.replace('\n', " ")
}

fn causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| {
        (*cause).source()
    })
}
