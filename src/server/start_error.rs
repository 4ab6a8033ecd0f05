//! Errors of the start, with messages for the operator.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::load::LoadError;
use super::tls::TlsError;
use crate::http::SettingsError;
use crate::hub::CaError;

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be bound, because of a wrong setting or another process.
    #[error("cannot listen on {address} ({flag}): {cause}{}", remedy(cause))]
    Listen {
        /// The flag that sets the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// The public address is the placeholder of the documentation.
    #[error(
        "--base-url {0}: names under .example are placeholders; set the public address of your service (REVIEWD_BASE_URL)"
    )]
    Placeholder(String),
    /// The data files cannot be served.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file of certificate authorities for callbacks cannot be used.
    #[error("--callback-ca {0}")]
    CallbackCa(#[from] CaError),
    /// The system refused threads or descriptors.
    #[error("cannot start a thread: {0}")]
    Threads(io::Error),
    /// The system refused to deliver signals.
    #[error("cannot receive signals: {0}")]
    Signals(io::Error),
}

impl StartError {
    pub(super) fn listen(flag: &'static str, address: SocketAddr, cause: io::Error) -> StartError {
        StartError::Listen {
            flag,
            address,
            cause,
        }
    }
}

/// Returns a hint for an address that cannot be bound, after a semicolon.
fn remedy(cause: &io::Error) -> &'static str {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    match cause.kind() {
        AddrInUse => "; stop the process that listens there, or use another port",
        AddrNotAvailable => "; use an address of this machine, or 0.0.0.0 or [::] for all of them",
        PermissionDenied => {
            "; use a port of 1024 or above, or let the service manager pass the socket"
        }
        _ => "",
    }
}
