//! Socket activation: the listening socket that a service manager passes (sd_listen_fds(3)), validated before use.

use std::env;
use std::net::TcpListener;
use std::sync::Arc;

use listenfd::ListenFd;
use socket2::{Domain, SockRef, Type};

use super::exit::{Failure, Status};

/// Returns the listening socket that was passed to this process, if there is one.
///
/// # Errors
/// 78 for anything but one listening socket of TCP: to listen somewhere else instead would go unnoticed.
pub(super) fn inherited() -> Result<Option<Arc<TcpListener>>, Failure> {
    if announced()? == 0 {
        return Ok(None);
    }
    let mut handed = ListenFd::from_env();
    let listener = handed.take_tcp_listener(0).map_err(|_| {
        // Its own words call a socket of Unix, of UDP or none at all "not a valid tcp socket".
        refused(
            "is not a TCP socket, or is closed: hand over the one of a ListenStream= with a port",
        )
    })?;
    if let Some(listener) = &listener {
        check(&SockRef::from(listener))?;
    }
    Ok(listener.map(Arc::new))
}

/// Returns how many descriptors were handed over, 0 or 1; those for another process do not count.
fn announced() -> Result<u32, Failure> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let Some(count) = variable("LISTEN_FDS") else {
        return Ok(0);
    };
    let ours = std::process::id().to_string();
    if variable("LISTEN_PID").is_some_and(|pid| pid != ours) {
        return Ok(0);
    }
    match count.parse() {
        Ok(count @ 0..=1) => Ok(count),
        _ => {
            let message = format!(
                "LISTEN_FDS='{}' is not 0 or 1: one socket is listened on, so the socket unit needs one ListenStream=",
                count.escape_debug().take(64).collect::<String>()
            );
            Err(Failure::new(Status::Config, message))
        }
    }
}

fn check(socket: &SockRef<'_>) -> Result<(), Failure> {
    let address = socket.local_addr();
    let is_internet =
        address.is_ok_and(|address| [Domain::IPV4, Domain::IPV6].contains(&address.domain()));
    if !is_internet || !matches!(socket.r#type(), Ok(Type::STREAM)) {
        return Err(refused(
            "is not one of TCP: hand over a ListenStream= with a port",
        ));
    }
    if socket.peer_addr().is_ok() {
        return Err(refused("is a connection: the socket unit needs Accept=no"));
    }
    match socket.is_listener() {
        Ok(true) => Ok(()),
        _ => Err(refused(
            "does not listen: whoever made it has to call listen first",
        )),
    }
}

fn refused(why: &str) -> Failure {
    let message =
        format!("LISTEN_FDS: the socket that was handed to this process (descriptor 3) {why}");
    Failure::new(Status::Config, message)
}
