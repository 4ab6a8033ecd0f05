//! The listener, its accept loop, its worker threads, and their shutdown. Requests are handled by a [`Handler`].
//!
//! One thread accepts and dispatches each connection to the worker with the fewest tasks. Rejected: a listener for each
//! worker (SO_REUSEPORT). It would save some microseconds per connection and nothing per request; but the kernel would
//! distribute connections by a hash, so a few long ones could overload one thread while another is idle, and a second
//! server on the same port would go unnoticed.
//!
//! Each worker has its own runtime, so a connection never moves between cores: measured against one runtime with many
//! threads, a request costs 1 to 9 % less and tail latency varies less. In return, nothing may block on these threads.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::runtime::{self, LocalRuntime};
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_local;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info, warn};

use super::StartError;
use super::config::Config;
use super::connection::Protocols;
use super::connections::{ConnectionPermit, Connections, LimitReached};
use super::metrics::Counters;
use super::service::Handler;
use super::threads::{ThreadStarter, keep_reporting};
use crate::http::LogThrottle;
use crate::limits::Budgets;
use crate::platform;

/// Connections that the kernel queues until they are accepted; it may cut this to `net.core.somaxconn`.
const BACKLOG: i32 = 4_096;

/// Largest number of unsent bytes that a socket buffers (TCP_NOTSENT_LOWAT).
///
/// Without it the kernel buffers megabytes for a peer that reads nothing (measured: 2.8 MB, with it 135 KB). It must be
/// twice the largest segment, 65,483 bytes over loopback: the corked end of a write counts too, and the socket accepts
/// more bytes only if less than half of this is unsent.
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// Receive buffer of a socket (SO_RCVBUF; the kernel doubles it). Otherwise it would grow to `net.ipv4.tcp_rmem`, megabytes
/// for a peer whose requests are not read because it does not read its responses. Request bodies are a megabyte at most,
/// so a larger buffer would save them one round trip.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Pause after a failed accept, so that a lack of descriptors does not cause a busy loop.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Least time between two scans for connections that hold much; a scan of 10,000 takes about a millisecond.
const BUDGET_SCAN_INTERVAL: Duration = Duration::from_millis(10);

/// The phase of the shutdown; it only moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShutdownPhase {
    /// Accept and serve.
    Serve,
    /// Stop accepting, and finish running requests within the drain time.
    Drain,
    /// End at once.
    Quit,
}

/// Binds `address`, the value of `flag`, without listening: a port in use is reported before the dataset is read.
pub(super) fn bind(flag: &'static str, address: SocketAddr) -> Result<Socket, StartError> {
    let bound = match bind_socket(address) {
        // All addresses of a machine without IPv6 are those of IPv4.
        Err(error) if address.is_ipv6() && address.ip().is_unspecified() && has_no_ipv6(&error) => {
            bind_socket(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
        }
        bound => bound,
    };
    bound.map_err(|cause| StartError::listen(flag, address, cause))
}

fn bind_socket(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for the last connections of the previous process.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` means all addresses, even if the system's default differs.
        socket.set_only_v6(false)?;
    }
    set_options(&socket)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Tells whether an address cannot be bound because the system has no IPv6, or has it disabled.
fn has_no_ipv6(error: &io::Error) -> bool {
    let missing = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL];
    let code = error.raw_os_error();
    missing
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// Returns the socket that the service manager passed, or else binds the public address.
pub(super) fn bind_public(config: &Config) -> Result<Socket, StartError> {
    let Some(listener) = &config.inherited else {
        return bind("--listen", config.listen);
    };
    adopt(listener).map_err(|cause| StartError::listen("--listen", config.listen, cause))
}

/// Returns a socket of its own for an inherited listener, which stays open.
fn adopt(listener: &TcpListener) -> io::Result<Socket> {
    let socket = Socket::from(listener.try_clone()?);
    set_options(&socket)?;
    Ok(socket)
}

/// Sets the options that accepted sockets inherit.
fn set_options(socket: &Socket) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    platform::limit_unsent_bytes(SockRef::from(socket), UNSENT_BYTES_MAX)?;
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.set_nonblocking(true)
}

/// Starts to listen on the socket that is bound to `address`.
pub(super) fn listen(
    flag: &'static str,
    address: SocketAddr,
    socket: Socket,
) -> Result<TcpListener, StartError> {
    let listening = socket.listen(BACKLOG);
    listening.map_err(|cause| StartError::listen(flag, address, cause))?;
    Ok(socket.into())
}

/// What serves the connections of a listener.
pub(super) struct ListenerService<H> {
    pub(super) handler: H,
    /// `None` for connections without TLS.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) counters: Arc<Counters>,
    /// The budgets of bytes in flight that the connections count for.
    pub(super) budgets: Arc<Budgets>,
}

/// A listener with its threads.
#[derive(Debug)]
pub(super) struct ListenerGroup {
    /// The local address.
    pub(super) address: SocketAddr,
    /// The phase of its shutdown; changed by [`set_phase`].
    pub(super) phase: watch::Sender<ShutdownPhase>,
    pub(super) connections: Arc<Connections>,
    /// Returns whether every connection ended by itself, or why none could be accepted.
    thread: JoinHandle<io::Result<bool>>,
}

impl ListenerGroup {
    /// Starts to serve `listener` with the threads and limits of `config`.
    pub(super) fn start<H: Handler>(
        listener: TcpListener,
        service: ListenerService<H>,
        config: &Config,
        threads: &ThreadStarter,
    ) -> io::Result<ListenerGroup> {
        let address = listener.local_addr()?;
        let connections = Arc::new(Connections::new(
            &config.limits,
            config.proxies.clone(),
            service.budgets,
        ));
        let counters = service.counters;
        let protocols = Protocols::new(service.handler, config, service.tls, Arc::clone(&counters));
        let mut workers = Vec::new();
        for number in 0..config.threads.get() {
            workers.push(Worker::start(threads, &format!("serve-{number}"))?);
        }
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (phase, phases) = watch::channel(ShutdownPhase::Serve);
        let acceptor = Acceptor {
            address,
            connections: Arc::clone(&connections),
            protocols: Arc::new(protocols),
            counters,
            workers,
            drain_time: config.drain_time,
            phases,
            accept_log: LogThrottle::default(),
            limit_logs: Default::default(),
        };
        let thread = threads.spawn("accept", move |heartbeat| {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    ended = acceptor.run(listener) => ended,
                    never = keep_reporting(heartbeat) => match never {},
                }
            })
        })?;
        Ok(ListenerGroup {
            address,
            phase,
            connections,
            thread,
        })
    }

    /// Waits for the end; false if connections were closed before their requests were answered.
    ///
    /// # Errors
    /// If the system did not let the listener accept connections, or the thread that accepts them has panicked.
    pub(super) fn join(self) -> io::Result<bool> {
        match self.thread.join() {
            Ok(ended) => ended,
            Err(_) => {
                let message = "the thread that accepts connections has panicked";
                Err(io::Error::other(message))
            }
        }
    }
}

/// Moves `phase` forward, never back.
pub(super) fn set_phase(phase: &watch::Sender<ShutdownPhase>, next: ShutdownPhase) {
    phase.send_modify(|current| *current = next.max(*current));
}

/// Waits until `phase` is reached, or the [`ListenerGroup`] is dropped.
async fn reached(mut phases: watch::Receiver<ShutdownPhase>, phase: ShutdownPhase) {
    let _gone = phases.wait_for(|current| *current >= phase).await;
}

/// Closes connections whenever a budget of bytes in flight is short; see [`Connections::close_heaviest`].
async fn close_heaviest(connections: &Connections) -> Infallible {
    loop {
        connections.until_budget_is_short().await;
        connections.close_heaviest();
        sleep(BUDGET_SCAN_INTERVAL).await;
    }
}

/// The state of the accepting thread.
struct Acceptor<H> {
    address: SocketAddr,
    connections: Arc<Connections>,
    protocols: Arc<Protocols<H>>,
    counters: Arc<Counters>,
    workers: Vec<Worker>,
    drain_time: Duration,
    phases: watch::Receiver<ShutdownPhase>,
    /// Limits the log lines about failed accepts.
    accept_log: LogThrottle,
    /// Limits the log lines about connection limits, indexed by `LimitReached as usize`.
    limit_logs: [LogThrottle; 2],
}

impl<H: Handler> Acceptor<H> {
    /// Serves until the end; returns whether every connection ended by itself. If no connection can be accepted, drains
    /// and returns the error.
    async fn run(mut self, listener: TcpListener) -> io::Result<bool> {
        let connections = Arc::clone(&self.connections);
        let accepted = tokio::select! {
            accepted = self.accept(listener) => accepted,
            never = close_heaviest(&connections) => match never {},
        };
        if let Err(error) = &accepted {
            error!(%error, "no connections can be accepted; the server stops");
        }
        // The listener is closed now: the kernel refuses new connections, so that clients can go elsewhere.
        self.connections.begin_drain();
        let clean = tokio::select! {
            biased;
            clean = self.connections.drained(self.drain_time) => clean,
            () = reached(self.phases, ShutdownPhase::Quit) => false,
        };
        let address = self.address;
        if clean {
            info!(%address, "all connections have ended");
        } else {
            let open = self.connections.open();
            warn!(
                %address,
                open,
                "connections are closed before their requests were answered"
            );
        }
        // All threads are stopped before the first is joined; they close every connection that is still open. Each ends after
        // the request that it handles now: a handler does not block, and the work of a search and of a tool is bounded.
        let threads: Vec<_> = self.workers.into_iter().map(Worker::stop).collect();
        for thread in threads {
            // The other workers are joined even if this one has panicked.
            let _panic = thread.join();
        }
        accepted?;
        Ok(clean)
    }

    /// Accepts connections until the drain begins, and passes each to a worker.
    async fn accept(&mut self, listener: TcpListener) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut draining = pin!(reached(self.phases.clone(), ShutdownPhase::Drain));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut draining => break,
            };
            // Deregisters the socket from this runtime, for the worker's; two system calls per connection.
            match accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    self.counters.accept_errors.inc();
                    if self.accept_log.take() {
                        warn!(%error, "a connection could not be accepted; trying again");
                    }
                    sleep(BACK_OFF).await;
                }
            }
        }
        // Connections in the kernel's queue would be reset with the listener, so they are accepted; at most one queue,
        // so that a flood cannot delay the end.
        let listener = listener.into_std()?;
        for _ in 0..BACKLOG {
            let Ok((stream, peer)) = listener.accept() else {
                break;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.admit(stream, peer);
            }
        }
        Ok(())
    }

    /// Dispatches the connection to a worker, or closes it at once if a limit is reached: cheaper for both sides than
    /// an unlimited queue.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        match self.connections.admit(peer.ip()) {
            Ok(admitted) => {
                self.counters.accepted.inc();
                self.dispatch(stream, admitted.permit);
                if let Some(limit) = admitted.evicted_for {
                    self.log_limit(limit);
                }
            }
            Err(limit) => {
                match limit {
                    LimitReached::All => self.counters.rejected_total.inc(),
                    LimitReached::Address => self.counters.rejected_per_address.inc(),
                };
                self.log_limit(limit);
            }
        }
    }

    /// Logs that a limit is reached, at most once a minute.
    fn log_limit(&self, limit: LimitReached) {
        if !self.limit_logs[limit as usize].take() {
            return;
        }
        let fact = match limit {
            LimitReached::All => "as many connections are open as --max-connections allows",
            LimitReached::Address => {
                "an address has as many connections as --address-connections allows (a proxy has to be named by \
                 --trusted-proxy)"
            }
        };
        let address = self.address;
        let limit = self.connections.limit(limit);
        warn!(
            %address,
            limit,
            "{fact}: each new connection closes the one that has been idle longest or makes the least progress, or is \
             closed if all make progress"
        );
    }

    /// Dispatches a connection to the worker with the fewest tasks, which are its connections and their HTTP/2 streams.
    fn dispatch(&self, stream: TcpStream, permit: ConnectionPermit) {
        let workers = self.workers.iter();
        let Some(worker) = workers.min_by_key(|worker| worker.runtime.metrics().num_alive_tasks())
        else {
            return;
        };
        let protocols = Arc::clone(&self.protocols);
        // If the worker has ended, the task is dropped, which closes the connection.
        worker.runtime.spawn(async move {
            // Fails only if the runtime has no memory for its table; then the connection is closed.
            if let Ok(stream) = tokio::net::TcpStream::from_std(stream) {
                spawn_local(protocols.serve(stream, permit));
            }
        });
    }
}

/// A thread that serves connections.
#[derive(Debug)]
struct Worker {
    runtime: runtime::Handle,
    /// Stops the thread when it is dropped.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(threads: &ThreadStarter, name: &str) -> io::Result<Worker> {
        let (started, starting) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        // A local runtime cannot be moved to its thread, so the thread creates it.
        let thread = threads.spawn(name, move |heartbeat| {
            let runtime = match LocalRuntime::new() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _received = started.send(Err(error));
                    return;
                }
            };
            // The receiver waits for this message.
            let _received = started.send(Ok(runtime.handle().clone()));
            runtime.block_on(async {
                tokio::select! {
                    _dropped = stopped => {}
                    never = keep_reporting(heartbeat) => match never {},
                }
            });
        })?;
        let runtime = starting.recv().map_err(io::Error::other)??;
        Ok(Worker {
            runtime,
            stop,
            thread,
        })
    }

    /// Makes the thread end, and returns it.
    fn stop(self) -> JoinHandle<()> {
        drop(self.stop);
        self.thread
    }
}

/// Tells whether an accept failed only for this connection, by an act of its peer.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

#[cfg(all(test, target_os = "linux", not(feature = "portable")))]
mod tests {
    use super::*;

    #[test]
    fn accepted_sockets_inherit_the_options_of_the_listener() {
        let listening = "127.0.0.1:0".parse().unwrap();
        let socket = bind("--listen", listening).unwrap();
        let listener = listen("--listen", listening, socket).unwrap();
        listener.set_nonblocking(false).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let socket = SockRef::from(&accepted);
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), UNSENT_BYTES_MAX);
        assert_eq!(socket.recv_buffer_size().unwrap(), 2 * RECEIVE_BYTES);
        // With this option, the kernel would count a peer that reads slowly as one that does not acknowledge.
        assert_eq!(socket.tcp_user_timeout().unwrap(), None);
    }
}
