//! How commands print and fail: the exit statuses, most of them with the numbers of sysexits.h.

use std::fmt;
use std::io::{self, Write};

use thiserror::Error;

use crate::server::files::{FileError, ReadCause};
use crate::server::{LoadError, StartError};

/// Writes a line for people to standard error. Errors are ignored: the exit status tells the result.
pub(super) fn tell(line: impl fmt::Display) {
    let _closed = writeln!(io::stderr(), "reviewd: {line}");
}

/// Writes the output of a command to standard output. It is not an error if a reader such as `head` closes it early.
///
/// # Errors
/// 74 if it cannot be written.
pub(super) fn print(bytes: &[u8]) -> Result<(), Failure> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("standard output: {error}");
            Err(Failure::new(Status::Io, message))
        }
        _ => Ok(()),
    }
}

/// Exit statuses of failed commands, as in the help of the program.
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
    /// The error and its remedy, in one line, or in one line for each problem.
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(status: Status, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { status, message }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        let status = match error.cause {
            ReadCause::Missing => Status::NoInput,
            ReadCause::TooLarge(_) => Status::Data,
            ReadCause::Exposed(_) => Status::Config,
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
