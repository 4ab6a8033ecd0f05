//! Why a server did not start, in words for its operator.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::files::ReadError;
use super::load::LoadError;
use super::tls::TlsError;
use crate::dataset::Problems;
use crate::http::SettingsError;
use crate::hub;

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The address cannot be bound: the operator's mistake, or another process.
    Listen {
        /// The flag that names it.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The public address and the administrator's are one: the operator's mistake.
    SameAddress {
        /// The public one.
        listen: SocketAddr,
        /// The administrator's.
        admin_listen: SocketAddr,
    },
    /// The access log cannot be opened: the operator's mistake.
    AccessLog {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A data file cannot be read.
    Read(ReadError),
    /// The data files are refused.
    Data(Problems),
    /// A setting cannot be used.
    Settings(SettingsError),
    /// The certificate or its key cannot be used.
    Tls(TlsError),
    /// The hub cannot be started.
    Hub(hub::StartError),
    /// The system has no randomness to give.
    Random(std::io::Error),
    /// The system refused threads or descriptors.
    Threads(std::io::Error),
    /// The system refused to tell of signals.
    Signals(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Listen {
                flag,
                address,
                cause,
            } => write!(
                formatter,
                "cannot listen on {address} ({flag}): {cause}{}",
                remedy(cause)
            ),
            StartError::SameAddress {
                listen,
                admin_listen,
            } => write!(
                formatter,
                "--admin-listen {admin_listen} is served by --listen {listen}: take another port"
            ),
            StartError::AccessLog { path, cause } => write!(
                formatter,
                "cannot open the access log {} (--access-log): {cause}; name a file in a directory that is there and \
                 may be written",
                path.display()
            ),
            StartError::Read(error) => error.fmt(formatter),
            StartError::Data(problems) => problems.fmt(formatter),
            StartError::Settings(error) => error.fmt(formatter),
            StartError::Tls(error) => error.fmt(formatter),
            StartError::Hub(error) => error.fmt(formatter),
            StartError::Random(error) => write!(formatter, "cannot make a session key: {error}"),
            StartError::Threads(error) => write!(formatter, "cannot start a thread: {error}"),
            StartError::Signals(error) => write!(formatter, "cannot receive signals: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Returns what to change where an address cannot be bound, after a semicolon.
fn remedy(cause: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    match cause.kind() {
        AddrInUse => "; end whoever listens there, or take another port",
        AddrNotAvailable => "; take an address of this machine, or 0.0.0.0 or [::] for all of them",
        PermissionDenied => {
            "; take a port from 1024 on, or let the service manager hand over the socket"
        }
        _ => "",
    }
}

impl From<LoadError> for StartError {
    fn from(error: LoadError) -> StartError {
        match error {
            LoadError::Read(error) => StartError::Read(error),
            LoadError::Data(problems) => StartError::Data(problems),
            LoadError::Settings(error) => StartError::Settings(error),
        }
    }
}

impl From<TlsError> for StartError {
    fn from(error: TlsError) -> StartError {
        StartError::Tls(error)
    }
}
