//! Exit statuses, as sysexits.h numbers them, and which error ends with which.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::hub;
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

/// Why a command failed, as a shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The command line is wrong.
    Usage = 64,
    /// The operator's files are wrong.
    Data = 65,
    /// A file or directory that has to be there is not.
    NoInput = 66,
    /// Something that the command needs is not available, such as the port.
    Unavailable = 69,
    /// An output file or directory cannot be made.
    CannotCreate = 73,
    /// Reading or writing failed.
    Io = 74,
    /// A setting is wrong.
    Config = 78,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// A command's end that was not a success: what to print, and the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit status.
    pub status: Status,
    /// What went wrong and what to change, one line or one for each problem.
    pub message: String,
}

impl Failure {
    /// Returns a failure with this message.
    pub fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure {
            status,
            message: message.into(),
        }
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
        let status = match &error {
            StartError::Load(LoadError::Read(_)) => Status::Io,
            StartError::Load(LoadError::Data(_)) => Status::Data,
            StartError::Load(LoadError::Settings(_))
            | StartError::Settings(_)
            | StartError::AccessLog { .. }
            | StartError::Tls(_)
            | StartError::Hub(hub::StartError::Ca(_)) => Status::Config,
            StartError::Load(LoadError::Panic)
            | StartError::Listen { .. }
            | StartError::Hub(hub::StartError::Thread(_))
            | StartError::Threads(_)
            | StartError::Signals(_) => Status::Unavailable,
        };
        match error {
            StartError::Load(LoadError::Read(error)) => error.into(),
            error => Failure::new(status, error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
