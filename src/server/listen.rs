//! The listening socket, and the loop that accepts from it.
//!
//! One thread accepts and hands each connection to the worker that has the fewest. A listener for each worker
//! (SO_REUSEPORT) would save the hand-over, some microseconds for a connection and nothing for a request; but the
//! kernel then spreads connections by a hash, so a few long ones can crowd one thread while another idles, and a
//! second server on the same port would go unnoticed.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::clock;
use super::config::Config;
use super::connections::{Connections, Full, Membership};
use super::counters::Counters;

/// Connections that the kernel holds until they are accepted; it may cut this to `net.core.somaxconn`.
const BACKLOG: i32 = 4_096;

/// Bytes that a socket takes ahead of what the network has taken.
///
/// Without it the kernel swallows megabytes for a peer that reads nothing (measured: 2.8 MB, with it 135 KB).
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// How long sent bytes may go without an acknowledgement before the kernel gives the connection up.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(20);

/// Pause after a failed accept, so that a lack of descriptors does not spin.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Least time between two log lines about failed accepts.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Takes `address`, without listening yet: a port in use is told before the dataset is read. With `shared` it may be
/// in use by another process that shares it.
///
/// # Errors
/// When the address is taken, not ours, or forbidden.
pub(super) fn bind(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restart must not wait for the last connections of the process before it.
    socket.set_reuse_address(true)?;
    if shared {
        // The next process may listen before this one has stopped.
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        // `[::]` means every address, also where the system's default says otherwise.
        socket.set_only_v6(false)?;
    }
    set_options(&socket)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Takes the socket that somebody else has bound for us, or else the address.
///
/// # Errors
/// As [`bind`], and when the socket is not one of TCP.
pub(super) fn obtain(config: &Config) -> io::Result<Socket> {
    match &config.inherited {
        Some(listener) => adopt(listener),
        None => bind(config.listen, config.reuse_port),
    }
}

fn adopt(listener: &TcpListener) -> io::Result<Socket> {
    let socket = Socket::from(listener.try_clone()?);
    set_options(&socket)?;
    Ok(socket)
}

/// Sets what accepted sockets inherit.
fn set_options(socket: &Socket) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX))?;
    socket.set_nonblocking(true)
}

/// Begins to listen.
///
/// # Errors
/// When another process has begun to listen on the same address since [`bind`].
pub(super) fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts connections until `end`, and passes each on with its place among the others.
///
/// # Errors
/// When the listener cannot be watched.
pub(super) async fn accept(
    listener: TcpListener,
    connections: &Arc<Connections>,
    counters: &Counters,
    mut pass_on: impl FnMut(TcpStream, SocketAddr, Membership),
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut end = pin!(end);
    let mut complaint = Complaint::default();
    let mut place = |stream, peer: SocketAddr| match connections.admit(peer.ip()) {
        Ok(membership) => {
            counters.count_accepted();
            pass_on(stream, peer, membership);
        }
        // Closed at once: cheaper for both sides than a queue that only grows.
        Err(Full::All) => counters.count_turned_away(),
        Err(Full::Address) => counters.count_crowded_out(),
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        // Taken out of this runtime again, for the one of its worker; two system calls for each connection.
        let accepted = accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer)));
        match accepted {
            Ok((stream, peer)) => place(stream, peer),
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                counters.count_accept_error();
                complaint.about(&error);
                sleep(BACK_OFF).await;
            }
        }
    }
    // Who waits in the kernel's queue would be reset with the listener; at most one queue, or a flood would not let us go.
    let listener = listener.into_std()?;
    for _ in 0..BACKLOG {
        let Ok((stream, peer)) = listener.accept() else {
            break;
        };
        stream.set_nonblocking(true)?;
        place(stream, peer);
    }
    Ok(())
}

/// Returns whether only this one connection failed, before it was ours.
fn is_the_peers(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

/// Keeps the log readable while accepting fails again and again.
#[derive(Debug, Default)]
struct Complaint {
    last: Option<Instant>,
    silent: u64,
}

impl Complaint {
    fn about(&mut self, error: &io::Error) {
        let now = clock::instant();
        let recent = self
            .last
            .is_some_and(|last| now - last < COMPLAINT_INTERVAL);
        if recent {
            self.silent += 1;
            return;
        }
        warn!(%error, since_last = self.silent, "a connection could not be accepted, trying again");
        self.last = Some(now);
        self.silent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{UNACKNOWLEDGED_MAX, UNSENT_BYTES_MAX, bind, listen};
    use socket2::SockRef;
    use std::net::TcpStream;

    #[test]
    fn accepted_sockets_inherit_what_the_listener_was_given() {
        let listener = listen(bind("127.0.0.1:0".parse().unwrap(), false).unwrap()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let socket = SockRef::from(&accepted);
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), UNSENT_BYTES_MAX);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED_MAX));
    }

    #[test]
    fn an_address_that_is_listened_on_is_refused() {
        let first = listen(bind("127.0.0.1:0".parse().unwrap(), false).unwrap()).unwrap();
        assert!(bind(first.local_addr().unwrap(), false).is_err());
        assert!(bind(first.local_addr().unwrap(), true).is_err());
    }

    #[test]
    fn an_address_is_shared_where_both_say_so() {
        let first = listen(bind("127.0.0.1:0".parse().unwrap(), true).unwrap()).unwrap();
        let address = first.local_addr().unwrap();
        assert!(bind(address, false).is_err());
        assert!(listen(bind(address, true).unwrap()).is_ok());
    }
}
