//! Exit statuses, as sysexits.h numbers them, and which error ends with which.

use std::fmt;
use std::io::{self, Write};

use thiserror::Error;

use crate::server::files::{ReadCause, ReadError};
use crate::server::{LoadError, StartError};

/// Writes a line for people to standard error. One that cannot be written changes nothing:
/// the exit status tells the result.
pub(super) fn tell(line: impl fmt::Display) {
    let _closed = writeln!(io::stderr(), "reviewd: {line}");
}

/// Writes what a command prints to standard output. A reader such as `head` that closes it early is no failure.
///
/// # Errors
/// 74 where it cannot be written.
pub(super) fn print(bytes: &[u8]) -> Result<(), Failure> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("standard output: {error}");
            Err(Failure::new(Status::Io, message))
        }
        _ => Ok(()),
    }
}

/// Why a command failed, as a shell sees it; the help of the program says the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Status {
    Unhealthy = 1,
    Usage = 64,
    Data = 65,
    NoInput = 66,
    Unavailable = 69,
    CannotCreate = 73,
    Io = 74,
    Config = 78,
}

/// Why a command failed: its exit status and a message.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Failure {
    pub(super) status: Status,
    /// What went wrong and what to change, one line or one for each problem.
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(status: Status, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { status, message }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        let status = match error.cause {
            ReadCause::Missing => Status::NoInput,
            ReadCause::TooLarge(_) => Status::Data,
            ReadCause::Changing | ReadCause::System(_) => Status::Io,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        let status = match error {
            StartError::Load(LoadError::Read(error)) => return error.into(),
            StartError::Load(LoadError::Data(_)) => Status::Data,
            StartError::Load(LoadError::Panic)
            | StartError::Listen { .. }
            | StartError::Threads(_)
            | StartError::Signals(_) => Status::Unavailable,
            _ => Status::Config,
        };
        Failure::new(status, error.to_string())
    }
}
