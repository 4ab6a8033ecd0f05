//! What can go wrong with a database, and what of it the operator is told.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use super::super::store::StoreError;

/// What went wrong on the way to the database, there, or in reading what it sent.
#[derive(Debug)]
pub(super) enum Fault {
    /// The client's error, the server's own included.
    Client(tokio_postgres::Error),
    /// No answer by our own deadline.
    Silence,
    /// A value that cannot be read back.
    Damage(String),
    /// The schema, the rights or the settings are not what is needed.
    Refused(String),
    /// A topic that we have published is not there any more.
    Gone(String),
    /// The body that a topic is to have is not there: it has to be brought, again or for the first time.
    Bodiless,
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        Fault::Client(error)
    }
}

impl Fault {
    /// Tells whether the connection does not answer any more, not even to a word that ends the transaction.
    pub(super) fn is_deaf(&self) -> bool {
        match self {
            Fault::Client(error) => error.is_closed(),
            Fault::Silence => true,
            Fault::Damage(_) | Fault::Refused(_) | Fault::Gone(_) | Fault::Bodiless => false,
        }
    }

    /// Says it in the operator's words; `name` is the database.
    pub(super) fn into_error(self, name: &str) -> StoreError {
        let place = || PathBuf::from(name);
        let error = match self {
            Fault::Silence => {
                return StoreError::Unreachable(name.to_owned(), "does not answer".to_owned());
            }
            Fault::Damage(what) => return StoreError::Corrupt(place(), what),
            Fault::Refused(what) => return StoreError::Refused(name.to_owned(), what),
            // The store is opened anew after that, and whatever opens it publishes.
            Fault::Gone(topic) => {
                let what = format!("the topic {topic} is gone from it, and is published again");
                return StoreError::Io(place(), what);
            }
            // Others publish all the time: as with every transaction that another was in the way of, it is tried again.
            Fault::Bodiless => return StoreError::Busy(place()),
            Fault::Client(error) => error,
        };
        let text = text(&error);
        match error.code() {
            None if is_lasting(&error, &text) => StoreError::Refused(name.to_owned(), text),
            None => StoreError::Unreachable(name.to_owned(), text),
            Some(code) => match Kind::of(code) {
                Kind::Refused => StoreError::Refused(name.to_owned(), text),
                Kind::QuotaExceeded => StoreError::QuotaExceeded(place()),
                Kind::Busy => StoreError::Busy(place()),
                Kind::Unreachable => StoreError::Unreachable(name.to_owned(), text),
                Kind::Other => {
                    StoreError::Io(place(), format!("{text} (SQLSTATE {})", code.code()))
                }
            },
        }
    }
}

/// What an error of the server means for whoever waits.
enum Kind {
    /// Stays until somebody changes a setting, a password or rights.
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
            // A schema of our name that is not ours, or that somebody has changed.
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
