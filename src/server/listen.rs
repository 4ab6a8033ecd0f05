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
use super::connections::{ConnectionPermit, Connections, LimitReached};
use super::counters::Counters;

/// Connections that the kernel holds until they are accepted; it may cut this to `net.core.somaxconn`.
const BACKLOG: i32 = 4_096;

/// Bytes that a socket takes ahead of what the network has taken.
///
/// Without it the kernel swallows megabytes for a peer that reads nothing (measured: 2.8 MB, with it 135 KB). It has to
/// be twice the largest segment, 65,483 bytes over loopback: the corked end of a lot counts, too, and the socket takes
/// more only when less than half of this waits.
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// Pause after a failed accept, so that a lack of descriptors does not spin.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Least time between two log lines about failed accepts.
const FAILURE_INTERVAL: Duration = Duration::from_secs(1);

/// Least time between two log lines about limits of connections that are reached; `reviewd_connections_refused_total` and
/// `reviewd_connections_cut_total` count each connection.
const FULL_INTERVAL: Duration = Duration::from_secs(60);

/// Takes `address`, without listening yet: a port in use is told before the dataset is read.
///
/// # Errors
/// When the address is taken, not ours, or forbidden.
pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restart must not wait for the last connections of the process before it.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` means every address, also where the system's default says otherwise.
        socket.set_only_v6(false)?;
    }
    set_options(&socket)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Takes the inherited socket, or else binds the address.
///
/// # Errors
/// As [`bind`], and when the socket is not one of TCP.
pub(super) fn obtain(config: &Config) -> io::Result<Socket> {
    match &config.inherited {
        Some(listener) => adopt(listener),
        None => bind(config.listen),
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
    mut pass_on: impl FnMut(TcpStream, SocketAddr, ConnectionPermit),
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut end = pin!(end);
    let mut failures = LogThrottle::every(FAILURE_INTERVAL);
    let mut crowds = RejectionLog::default();
    let mut place = |stream, peer: SocketAddr| match connections.admit(peer.ip()) {
        Ok((permit, closed_for)) => {
            counters.count_accepted();
            if let Some(full) = closed_for {
                crowds.tell(full, connections.max());
            }
            pass_on(stream, peer, permit);
        }
        // Closed at once: cheaper for both sides than a queue that only grows.
        Err(full) => {
            match full {
                LimitReached::All => counters.count_turned_away(),
                LimitReached::Address => counters.count_crowded_out(),
            }
            crowds.tell(full, connections.max());
        }
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
                if let Some(since_last) = failures.take(clock::instant()) {
                    warn!(%error, since_last, "a connection could not be accepted, trying again");
                }
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

/// Says that a limit of connections is reached.
#[derive(Debug)]
struct RejectionLog {
    all: LogThrottle,
    address: LogThrottle,
}

impl Default for RejectionLog {
    fn default() -> RejectionLog {
        RejectionLog {
            all: LogThrottle::every(FULL_INTERVAL),
            address: LogThrottle::every(FULL_INTERVAL),
        }
    }
}

impl RejectionLog {
    fn tell(&mut self, full: LimitReached, max: u32) {
        let now = clock::instant();
        match full {
            LimitReached::All => {
                if let Some(since_last) = self.all.take(now) {
                    warn!(
                        max,
                        since_last,
                        "--max-connections are open: the one that is idle longest is closed for each new one, or that one \
                         where none is"
                    );
                }
            }
            LimitReached::Address => {
                if let Some(since_last) = self.address.take(now) {
                    warn!(
                        since_last,
                        "an address has as many connections as --address-connections allow: the one that is idle longest is \
                         closed for each new one, or that one where none is; a proxy is to be named by --trusted-proxy"
                    );
                }
            }
        }
    }
}

/// Keeps the log readable while the same happens again and again.
#[derive(Debug)]
struct LogThrottle {
    interval: Duration,
    last: Option<Instant>,
    silent: u64,
}

impl LogThrottle {
    /// Permits one line in `interval`.
    fn every(interval: Duration) -> LogThrottle {
        LogThrottle {
            interval,
            last: None,
            silent: 0,
        }
    }

    /// Returns how often it has happened without a word since the last line, or `None` where there is to be none.
    fn take(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now - last < self.interval) {
            self.silent += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.silent))
    }
}

#[cfg(test)]
mod tests {
    use super::{FULL_INTERVAL, Instant, LogThrottle, UNSENT_BYTES_MAX, bind, listen};
    use socket2::SockRef;
    use std::net::TcpStream;
    use std::time::Duration;

    #[test]
    fn a_full_server_says_so_once_a_minute_and_counts_what_it_left_out() {
        let mut complaint = LogThrottle::every(FULL_INTERVAL);
        let began = Instant::now();
        let minute = Duration::from_secs(60);
        assert_eq!(complaint.take(began), Some(0));
        assert_eq!(complaint.take(began), None);
        assert_eq!(
            complaint.take(began + minute - Duration::from_nanos(1)),
            None
        );
        assert_eq!(complaint.take(began + minute), Some(2));
        assert_eq!(complaint.take(began + minute), None);
        assert_eq!(complaint.take(began + minute * 2), Some(1));
    }

    #[test]
    fn accepted_sockets_inherit_what_the_listener_was_given() {
        let listener = listen(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let socket = SockRef::from(&accepted);
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), UNSENT_BYTES_MAX);
        // The kernel would count a peer that reads nothing for a while as one that does not acknowledge.
        assert_eq!(socket.tcp_user_timeout().unwrap(), None);
    }

    #[test]
    fn an_address_that_is_listened_on_is_refused() {
        let first = listen(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
        assert!(bind(first.local_addr().unwrap()).is_err());
    }
}
