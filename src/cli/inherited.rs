//! Socket activation: the listening socket that a service manager passes (sd_listen_fds(3)), validated before use.

use std::env;
use std::net::TcpListener;
use std::sync::Arc;

use listenfd::ListenFd;
use socket2::SockRef;

use super::exit::{Failure, Status};
use crate::wire::text::quote;

/// Returns the listening socket that was passed to this process, if there is one.
///
/// # Errors
/// 78 for anything but one listening TCP socket: listening somewhere else instead would go unnoticed.
pub(super) fn inherited() -> Result<Option<Arc<TcpListener>>, Failure> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let own_pid = std::process::id().to_string();
    let count = match (variable("LISTEN_FDS"), variable("LISTEN_PID")) {
        (None, _) => return Ok(None),
        // Those for another process do not count.
        (_, Some(pid)) if pid != own_pid => return Ok(None),
        (Some(count), _) => count,
    };
    match count.parse() {
        Ok(0) => return Ok(None),
        Ok(1) => {}
        _ => {
            let message = format!(
                "LISTEN_FDS={} is not 0 or 1: the socket unit needs one ListenStream=",
                quote(&count)
            );
            return Err(Failure::new(Status::Config, message));
        }
    }
    let refused = |what: &str| {
        let message =
            format!("LISTEN_FDS: the socket that was passed to this process (descriptor 3) {what}");
        Failure::new(Status::Config, message)
    };
    let listener = ListenFd::from_env().take_tcp_listener(0).map_err(|_| {
        refused(
            "is not a TCP socket, or is closed: the socket unit needs a ListenStream= with a port",
        )
    })?;
    let Some(listener) = listener else {
        return Ok(None);
    };
    let socket = SockRef::from(&listener);
    if socket.peer_addr().is_ok() {
        return Err(refused("is a connection: the socket unit needs Accept=no"));
    }
    if !socket.is_listener().unwrap_or(false) {
        return Err(refused(
            "does not listen: its owner has to call listen first",
        ));
    }
    Ok(Some(Arc::new(listener)))
}
