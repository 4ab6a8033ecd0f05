//! A running server, its signals and its shutdown: SIGHUP reloads the data and reopens the access log, SIGUSR1 only
//! reopens the access log, SIGTERM and SIGINT stop the server.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tracing::info;

use crate::http::{AppState, REPORT_INTERVAL, Reason};

use super::listener::{ListenerGroup, ShutdownPhase, set_phase};
use super::metrics::Counters;
use super::reload::Reloader;
use super::threads::ThreadStarter;
use super::{log_writer, systemd};

/// A running server; dropping it stops it at once.
pub struct Running {
    pub(super) app: Arc<AppState>,
    pub(super) counters: Arc<Counters>,
    pub(super) drain_time: Duration,
    /// `None` once the server is stopped.
    pub(super) parts: Option<Parts>,
}

/// The threads of a server.
pub(super) struct Parts {
    pub(super) group: ListenerGroup,
    pub(super) reloader: Reloader,
    /// The administrator's listener.
    pub(super) admin: Option<ListenerGroup>,
}

impl Running {
    /// Returns the threads of a server that is not stopped.
    fn parts(&self) -> &Parts {
        self.parts.as_ref().expect("only `end` takes them")
    }

    /// Returns the listening address, with the port that the system chose for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.parts().group.address
    }

    /// Returns the administrator's address, if there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.parts().admin.as_ref().map(|group| group.address)
    }

    /// Returns the shared state.
    #[must_use]
    pub fn app(&self) -> &Arc<AppState> {
        &self.app
    }

    /// Returns the counters of connections.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn open_connections(&self) -> u32 {
        self.parts().group.connections.open()
    }

    /// Stops accepting, lets requests in flight finish within the drain time, and returns when the server has stopped;
    /// false if connections had to be closed before their requests were answered.
    #[must_use]
    pub fn shutdown(mut self) -> bool {
        self.end(Some(ShutdownPhase::Drain)).unwrap_or(false)
    }

    /// Serves until SIGTERM or SIGINT, then drains; a second signal stops at once. SIGHUP reloads the data. The
    /// `signals` are those that the server was started with.
    ///
    /// # Errors
    /// If the system refuses a thread or lets no connection be accepted, or if the thread that accepts has panicked.
    pub fn run_until_signal(mut self, mut signals: Signals) -> io::Result<()> {
        let phase = self.parts().group.phase.clone();
        let reload = self.parts().reloader.trigger.clone();
        let app = Arc::clone(&self.app);
        // A separate thread, so that a second signal is received during the shutdown; it ends with the process.
        let threads = ThreadStarter::new(&self.app, "");
        threads.spawn("signals", move |heartbeat| {
            loop {
                heartbeat.report();
                let Some(caught) = signals.next() else {
                    continue;
                };
                match caught.order {
                    SignalOrder::Reload => {
                        log_writer::reopen();
                        reload.request();
                    }
                    SignalOrder::Reopen => log_writer::reopen(),
                    SignalOrder::Stop if *phase.borrow() == ShutdownPhase::Serve => {
                        systemd::stopping();
                        report_draining(&app);
                        set_phase(&phase, ShutdownPhase::Drain);
                    }
                    SignalOrder::Stop => {
                        set_phase(&phase, ShutdownPhase::Quit);
                        if let Some(hub) = app.hub() {
                            hub.shutdown_now();
                        }
                    }
                }
                // Logged after the signal is obeyed, so that logging cannot delay that.
                info!("{}", caught.text);
            }
        })?;
        self.end(None).map(drop)
    }

    /// Stops the server with `phase`, or with `None` waits until a signal has done so. Returns whether all connections ended
    /// by themselves.
    fn end(&mut self, phase: Option<ShutdownPhase>) -> io::Result<bool> {
        let Some(parts) = self.parts.take() else {
            return Ok(true);
        };
        if let Some(phase) = phase {
            systemd::stopping();
            report_draining(&self.app);
            set_phase(&parts.group.phase, phase);
        }
        let ended = parts.group.join();
        match phase {
            Some(_) => parts.reloader.stop(),
            // A running reload ends with the process.
            None => parts.reloader.trigger.stop(),
        }
        // The hub stops after the requests, so that those answered with 202 are on disk. It waits for its own requests only
        // after a clean drain; deliveries that are then unfinished are repeated after the next start.
        if let Some(hub) = self.app.hub() {
            let is_clean = matches!(ended, Ok(true)) && phase != Some(ShutdownPhase::Quit);
            let time_max = if is_clean {
                self.drain_time
            } else {
                Duration::ZERO
            };
            let _all_ended = hub.shutdown(time_max);
        }
        if let Some(admin) = parts.admin {
            set_phase(&admin.phase, ShutdownPhase::Drain);
            // Scrapes that do not end in time are cancelled.
            let _cut = admin.join();
        }
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // There is no caller to whom the result could be returned.
        let _ended = self.end(Some(ShutdownPhase::Quit));
    }
}

/// Reports on `/readyz` that traffic should go elsewhere.
fn report_draining(app: &AppState) {
    let reason = Reason::new("draining", "the server is stopping");
    app.readiness.report(&reason.blocking());
}

/// The caught signals. SIGHUP and SIGUSR1 are caught from the beginning; SIGTERM and SIGINT after `catch_stops`, and
/// until then they end the program at once.
#[derive(Debug)]
pub struct Signals {
    runtime: Runtime,
    streams: Vec<(Signal, CaughtSignal)>,
}

/// What to do at a signal.
#[derive(Clone, Copy, Debug)]
struct CaughtSignal {
    order: SignalOrder,
    /// The log message.
    text: &'static str,
}

/// The order that a signal gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalOrder {
    /// Reload the data, and reopen the access log.
    Reload,
    /// Reopen the access log.
    Reopen,
    /// Drain; or, if the server drains already, end at once.
    Stop,
}

impl Signals {
    /// Starts to catch SIGHUP and SIGUSR1, which would otherwise end the program.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install() -> io::Result<Signals> {
        let mut builder = runtime::Builder::new_current_thread();
        let mut signals = Signals {
            runtime: builder.enable_all().build()?,
            streams: Vec::new(),
        };
        signals.catch(
            SignalKind::hangup(),
            SignalOrder::Reload,
            "SIGHUP: reloading the data",
        )?;
        signals.catch(
            SignalKind::user_defined1(),
            SignalOrder::Reopen,
            "SIGUSR1: reopening the access log",
        )?;
        Ok(signals)
    }

    /// Starts to catch SIGTERM and SIGINT. Must be called before the first request is served, so that every client that
    /// was answered sees a graceful shutdown.
    pub(super) fn catch_stops(&mut self) -> io::Result<()> {
        self.catch(
            SignalKind::terminate(),
            SignalOrder::Stop,
            "SIGTERM: stopping",
        )?;
        self.catch(
            SignalKind::interrupt(),
            SignalOrder::Stop,
            "SIGINT: stopping",
        )
    }

    /// Starts to catch a signal, which gives `order` and is logged as `text`.
    fn catch(
        &mut self,
        kind: SignalKind,
        order: SignalOrder,
        text: &'static str,
    ) -> io::Result<()> {
        // A signal is registered with the runtime that is entered.
        let _entered = self.runtime.enter();
        let caught = CaughtSignal { order, text };
        self.streams.push((signal(kind)?, caught));
        Ok(())
    }

    /// Waits for the next signal; `None` if there is none within [`REPORT_INTERVAL`].
    fn next(&mut self) -> Option<CaughtSignal> {
        let streams = &mut self.streams;
        let next = poll_fn(|context| {
            for (signal, caught) in &mut *streams {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*caught);
                }
            }
            Poll::Pending
        });
        self.runtime
            .block_on(async { timeout(REPORT_INTERVAL, next).await.ok() })
    }
}
