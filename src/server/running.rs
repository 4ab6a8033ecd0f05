//! A server that runs, the signals that it obeys, and how it ends: SIGHUP reads the data again and opens the access log
//! again, SIGUSR1 does only the latter, SIGTERM and SIGINT stop it.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info};

use crate::http::{AppState, Reason};

use super::admin::AdminServices;
use super::config::Config;
use super::counters::Counters;
use super::listener::{ListenerGroup, ShutdownPhase, set_phase};
use super::reload::Reloader;
use super::systemd::SdNotify;
use super::threads::Threads;

/// A server that runs; dropping it ends it at once.
pub struct Running {
    app: Arc<AppState>,
    counters: Arc<Counters>,
    address: SocketAddr,
    drain_time: Duration,
    systemd: SdNotify,
    admin_address: Option<SocketAddr>,
    /// Taken when the server is stopped.
    parts: Option<Parts>,
}

/// The threads of a server.
pub(super) struct Parts {
    pub(super) group: ListenerGroup,
    pub(super) reloader: Reloader,
    pub(super) admin: AdminServices,
}

impl Running {
    pub(super) fn new(
        app: Arc<AppState>,
        counters: Arc<Counters>,
        parts: Parts,
        config: &Config,
    ) -> Running {
        Running {
            app,
            counters,
            address: parts.group.address,
            admin_address: parts.admin.address(),
            drain_time: config.drain_time,
            systemd: config.systemd,
            parts: Some(parts),
        }
    }

    /// Returns the address that is listened on, with the port that was taken for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the administrator's address, where there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Returns the service.
    #[must_use]
    pub fn app(&self) -> &Arc<AppState> {
        &self.app
    }

    /// Returns the counters of connections.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> u32 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.group.connections.open())
    }

    /// Reads the data again, as SIGHUP does; returns at once.
    pub fn reload(&self) {
        if let Some(parts) = &self.parts {
            parts.reloader.trigger.request();
        }
    }

    /// Stops accepting, lets the requests in flight end within the drain time, and returns when all is over; false if
    /// connections had to be cut.
    #[must_use]
    pub fn shutdown(mut self) -> bool {
        self.end(Some(ShutdownPhase::Drain)).unwrap_or(false)
    }

    /// Serves until SIGTERM or SIGINT, then drains; a second signal ends at once. SIGHUP reads the data again.
    ///
    /// # Errors
    /// When the system refuses a thread, or the one that accepts connections has panicked.
    pub fn run_until_signal(mut self, signals: Signals) -> io::Result<()> {
        let Some(parts) = &self.parts else {
            return Ok(());
        };
        let (phase, reload) = (parts.group.phase.clone(), parts.reloader.trigger.clone());
        let (app, systemd) = (Arc::clone(&self.app), self.systemd);
        let obey = move |order| match order {
            Order::Reload => {
                reopen_access_log(&app);
                reload.request();
            }
            Order::Reopen => reopen_access_log(&app),
            Order::Stop => {
                systemd.stopping();
                report_draining(&app);
                let is_second = *phase.borrow() >= ShutdownPhase::Drain;
                if is_second && let Some(hub) = app.hub() {
                    hub.hurry();
                }
                let next = match is_second {
                    true => ShutdownPhase::Quit,
                    false => ShutdownPhase::Drain,
                };
                set_phase(&phase, next);
            }
        };
        // A thread of its own receives a second signal while the first is being obeyed; it ends with the process.
        Threads::new(&self.app.readiness, "").spawn("signals", move || {
            if let Err(error) = signals.obey(obey) {
                error!(%error, "signals cannot be received, SIGTERM ends the program without draining");
            }
        })?;
        self.end(None).map(drop)
    }

    /// Ends the server by `phase`, or waits until a signal has done that; returns whether every connection ended by itself.
    fn end(&mut self, phase: Option<ShutdownPhase>) -> io::Result<bool> {
        let Some(parts) = self.parts.take() else {
            return Ok(true);
        };
        if let Some(phase) = phase {
            self.systemd.stopping();
            report_draining(&self.app);
            set_phase(&parts.group.phase, phase);
        }
        let ended = parts.group.join();
        match phase {
            Some(_) => parts.reloader.stop(),
            // A reload under way ends with the process.
            None => parts.reloader.trigger.stop(),
        }
        let is_clean = matches!(ended, Ok(true)) && phase != Some(ShutdownPhase::Quit);
        self.stop_hub(is_clean);
        parts.admin.stop(&self.app);
        ended
    }

    /// Stops the hub, after the requests: what it has answered 202 to is on disk by then. It waits for subscribers only
    /// after a `clean` end.
    fn stop_hub(&self, clean: bool) {
        let time = if clean {
            self.drain_time
        } else {
            Duration::ZERO
        };
        if let Some(hub) = self.app.hub() {
            // What has not ended by then is delivered again after the next start.
            let _all_ended = hub.shutdown(time);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // There is no caller left to tell.
        let _ended = self.end(Some(ShutdownPhase::Quit));
    }
}

/// Has the access log, if there is one, opened again.
fn reopen_access_log(app: &AppState) {
    if let Some(log) = app.access_log.get() {
        log.reopen();
    }
}

/// Reports on `/readyz` that traffic should go elsewhere.
fn report_draining(app: &AppState) {
    let reason = Reason::new("draining", "the server is stopping");
    app.readiness.report(&reason.blocking());
}

/// SIGHUP and SIGUSR1 are caught from the beginning; the others from `catch_stops` on, and until then they end
/// the program at once.
#[derive(Debug)]
pub struct Signals {
    runtime: Runtime,
    hangup: Signal,
    rotated: Signal,
    /// SIGTERM and SIGINT.
    stops: Option<[Signal; 2]>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Read the data again, and open the access log again.
    Reload,
    /// Open the access log again.
    Reopen,
    /// Stop in good order.
    Stop,
}

impl Signals {
    /// Begins to catch SIGHUP and SIGUSR1, which would end the program otherwise.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn install() -> io::Result<Signals> {
        let mut builder = runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build()?;
        let inside = runtime.enter();
        let hangup = signal(SignalKind::hangup())?;
        let rotated = signal(SignalKind::user_defined1())?;
        drop(inside);
        Ok(Signals {
            runtime,
            hangup,
            rotated,
            stops: None,
        })
    }

    /// Begins to catch SIGTERM and SIGINT: to be called before the first client can be served, so that every client that
    /// was answered sees an orderly shutdown.
    pub(super) fn catch_stops(&mut self) -> io::Result<()> {
        let _inside = self.runtime.enter();
        let terminate = signal(SignalKind::terminate())?;
        self.stops = Some([terminate, signal(SignalKind::interrupt())?]);
        Ok(())
    }

    /// Passes on what signals ask for, as long as the process lives.
    fn obey(mut self, mut obey: impl FnMut(Order)) -> io::Result<()> {
        if self.stops.is_none() {
            self.catch_stops()?;
        }
        let Some([mut terminate, mut interrupt]) = self.stops else {
            return Ok(());
        };
        let (mut hangup, mut rotated) = (self.hangup, self.rotated);
        self.runtime.block_on(async move {
            loop {
                let (order, text) = tokio::select! {
                    _ = hangup.recv() => (Order::Reload, "SIGHUP: reading the data again"),
                    _ = rotated.recv() => (Order::Reopen, "SIGUSR1: opening the access log again"),
                    _ = terminate.recv() => (Order::Stop, "SIGTERM: stopping"),
                    _ = interrupt.recv() => (Order::Stop, "SIGINT: stopping"),
                };
                info!("{text}");
                // After a panic the next signal, SIGTERM perhaps, is obeyed all the same.
                if catch_unwind(AssertUnwindSafe(|| obey(order))).is_err() {
                    error!(
                        ?order,
                        "obeying a signal panicked, which is an error in reviewd"
                    );
                }
            }
        })
    }
}
