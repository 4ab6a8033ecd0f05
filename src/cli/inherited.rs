//! Socket activation: the listening socket that a service manager passes (sd_listen_fds(3)), validated before use.

use std::net::TcpListener;
use std::sync::Arc;

use listenfd::ListenFd;
use socket2::SockRef;

use super::exit::{Failure, Status};

/// Returns the listening socket that was passed to this process, if there is one.
///
/// # Errors
/// 78 for anything but one listening TCP socket: listening somewhere else instead would go unnoticed.
pub(super) fn inherited() -> Result<Option<Arc<TcpListener>>, Failure> {
    let refused = |what: &str| {
        let message = format!(
            "LISTEN_FDS: {what}: the socket unit needs one ListenStream= with a port, and Accept=no"
        );
        Err(Failure::new(Status::Config, message))
    };
    let mut passed = ListenFd::from_env();
    match passed.len() {
        0 => return Ok(None),
        1 => {}
        count => return refused(&format!("{count} sockets were passed to this process")),
    }
    match passed.take_tcp_listener(0) {
        Ok(Some(listener)) if SockRef::from(&listener).is_listener().unwrap_or(false) => {
            Ok(Some(Arc::new(listener)))
        }
        _ => {
            refused("what was passed to this process (descriptor 3) is not a listening TCP socket")
        }
    }
}
