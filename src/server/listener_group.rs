//! The listener, the workers behind it, and how they stop. It knows requests only as a [`Handler`].

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info, warn};

use super::config::Config;
use super::connection::Protocols;
use super::connections::Connections;
use super::counters::Counters;
use super::listen;
use super::service::Handler;
use super::threads::Threads;
use super::workers::Workers;

/// How far the stop has come; it only ever goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShutdownPhase {
    /// Accept and serve.
    Serve,
    /// Accept no more, finish what is under way within the drain time.
    Drain,
    /// End at once.
    Quit,
}

/// What is listened on.
#[derive(Debug)]
pub(super) struct Listeners {
    /// For clients.
    pub(super) public: TcpListener,
    /// For the watchdog alone.
    pub(super) own: Option<TcpListener>,
}

impl Listeners {
    /// Returns a listener that is not shared, without a watchdog.
    pub(super) fn alone(public: TcpListener) -> Listeners {
        Listeners { public, own: None }
    }
}

/// A listener that is being served.
#[derive(Debug)]
pub(super) struct ListenerGroup {
    address: SocketAddr,
    phase: watch::Sender<ShutdownPhase>,
    connections: Arc<Connections>,
    /// Returns whether every connection ended by itself.
    thread: JoinHandle<bool>,
}

impl ListenerGroup {
    /// Begins to serve `listeners` by `handler`, under TLS where there is what accepts it.
    ///
    /// # Errors
    /// When the system refuses threads or descriptors.
    pub(super) fn start<H: Handler>(
        listeners: Listeners,
        handler: H,
        config: &Config,
        tls: Option<TlsAcceptor>,
        counters: Arc<Counters>,
        threads: Threads,
    ) -> io::Result<ListenerGroup> {
        let address = listeners.public.local_addr()?;
        let connections = Arc::new(Connections::new(&config.limits, config.proxies.clone()));
        let protocols = Protocols::new(handler, config, tls, Arc::clone(&counters));
        let workers = Workers::start(config.threads, &Arc::new(protocols), &threads)?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (phase, heard) = watch::channel(ShutdownPhase::Serve);
        let acceptor = Acceptor {
            connections: Arc::clone(&connections),
            counters,
            workers,
            drain_time: config.drain_time,
            address,
        };
        let thread = threads.spawn("accept", move || acceptor.run(&runtime, listeners, heard))?;
        Ok(ListenerGroup {
            address,
            phase,
            connections,
            thread,
        })
    }

    /// Returns the address that is listened on.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many connections are open.
    pub(super) fn open(&self) -> u32 {
        self.connections.open()
    }

    /// Returns the open connections.
    pub(super) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Asks for a later phase, and returns a handle that can ask again.
    pub(super) fn set_phase(&self, phase: ShutdownPhase) {
        set_phase(&self.phase, phase);
    }

    /// Returns what asks for a later phase from elsewhere.
    pub(super) fn control(&self) -> watch::Sender<ShutdownPhase> {
        self.phase.clone()
    }

    /// Waits for the end; false if connections had to be cut.
    ///
    /// # Errors
    /// When the thread has panicked, which ends every connection.
    pub(super) fn join(self) -> io::Result<bool> {
        let ended = self.thread.join();
        ended.map_err(|_| io::Error::other("the thread that accepts connections has panicked"))
    }
}

/// Moves `phase` forward, never back.
pub(super) fn set_phase(phase: &watch::Sender<ShutdownPhase>, next: ShutdownPhase) {
    phase.send_if_modified(|current| {
        let forward = *current < next;
        *current = next.max(*current);
        forward
    });
}

/// What the accepting thread owns.
struct Acceptor {
    connections: Arc<Connections>,
    counters: Arc<Counters>,
    workers: Workers,
    drain_time: Duration,
    /// Told where connections were cut: there are two listeners.
    address: SocketAddr,
}

impl Acceptor {
    fn run(
        self,
        runtime: &runtime::Runtime,
        listeners: Listeners,
        mut heard: watch::Receiver<ShutdownPhase>,
    ) -> bool {
        let clean = runtime.block_on(async {
            if let Err(error) = self.accept(listeners, &heard).await {
                error!(%error, "the listener cannot be watched, nothing is served");
            }
            // The listener is closed by now: what comes next is refused by the kernel, and can go elsewhere.
            self.drain(&mut heard).await
        });
        self.workers.stop();
        clean
    }

    async fn accept(
        &self,
        listeners: Listeners,
        heard: &watch::Receiver<ShutdownPhase>,
    ) -> io::Result<()> {
        let Listeners { public, own } = listeners;
        let draining = |mut heard| async move { reached(&mut heard, ShutdownPhase::Drain).await };
        let pass_on = |stream, peer, permit| self.workers.pass_on(stream, peer, permit);
        let accept = |listener, end| {
            listen::accept(listener, &self.connections, &self.counters, pass_on, end)
        };
        let public = accept(public, draining(heard.clone()));
        match own {
            None => public.await,
            Some(own) => {
                let own = accept(own, draining(heard.clone()));
                tokio::try_join!(public, own).map(|_| ())
            }
        }
    }

    async fn drain(&self, heard: &mut watch::Receiver<ShutdownPhase>) -> bool {
        self.connections.begin_drain();
        let clean = tokio::select! {
            biased;
            clean = self.connections.drained(self.drain_time) => clean,
            () = reached(heard, ShutdownPhase::Quit) => false,
        };
        if clean {
            info!("all connections have ended");
        } else {
            let open = self.connections.open();
            warn!(
                address = %self.address,
                open,
                "connections are cut before their requests were answered"
            );
        }
        clean
    }
}

/// Waits until `phase` is reached; a server whose handle is gone stops as well.
async fn reached(heard: &mut watch::Receiver<ShutdownPhase>, phase: ShutdownPhase) {
    let _gone = heard.wait_for(|current| *current >= phase).await;
}
