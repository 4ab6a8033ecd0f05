//! A server that runs, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tracing::error;

use crate::http::{AppState, Reason};

use super::config::Config;
use super::counters::Counters;
use super::listener_group::{ListenerGroup, ShutdownPhase, set_phase};
use super::observers::AdminServices;
use super::reload::Reloader;
use super::signals::{Order, Signals};
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
    pub(super) observers: AdminServices,
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
            address: parts.group.address(),
            admin_address: parts.observers.admin.as_ref().map(ListenerGroup::address),
            drain_time: config.drain_time,
            systemd: config.systemd.clone(),
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

    /// Returns what the server counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> u32 {
        self.parts.as_ref().map_or(0, |parts| parts.group.open())
    }

    /// Reads the data again, as SIGHUP does; returns at once.
    pub fn reload(&self) {
        if let Some(parts) = &self.parts {
            parts.reloader.trigger().request();
        }
    }

    /// Stops accepting, lets the requests in flight end within the drain time, and returns when all is over; false if
    /// connections had to be cut.
    #[must_use]
    pub fn shutdown(mut self) -> bool {
        self.end(ShutdownPhase::Drain)
    }

    /// Serves until SIGTERM or SIGINT, then drains; a second signal ends at once. SIGHUP reads the data again.
    ///
    /// # Errors
    /// When the system refuses a thread, or the one that accepts connections has panicked.
    pub fn run_until_signal(mut self, signals: Signals) -> io::Result<()> {
        let Some(parts) = self.parts.take() else {
            return Ok(());
        };
        let Parts {
            group, reloader, ..
        } = &parts;
        let (phase, reload, app) = (group.control(), reloader.trigger(), Arc::clone(&self.app));
        let systemd = self.systemd.clone();
        let order = move |order| match order {
            Order::Reload => {
                reopen_access_log(&app);
                reload.request();
            }
            Order::Reopen => reopen_access_log(&app),
            Order::Stop => {
                systemd.stopping();
                report_draining(&app);
                let again = *phase.borrow() >= ShutdownPhase::Drain;
                if again && let Some(hub) = app.hub() {
                    hub.hurry();
                }
                set_phase(
                    &phase,
                    if again {
                        ShutdownPhase::Quit
                    } else {
                        ShutdownPhase::Drain
                    },
                );
            }
        };
        // On a thread of its own, so that a second signal is heard while the first is being obeyed; it ends with us.
        Threads::new(&self.app.readiness, "").spawn("signals", move || {
            if let Err(error) = signals.obey(order) {
                error!(%error, "signals cannot be received, SIGTERM ends the program without draining");
            }
        })?;
        let ended = parts.group.join();
        let clean = ended.as_ref().is_ok_and(|clean| *clean);
        // A reload under way ends with the process.
        parts.reloader.begin_stop();
        self.stop_hub(clean);
        parts.observers.stop(&self.app);
        ended.map(drop)
    }

    fn end(&mut self, phase: ShutdownPhase) -> bool {
        let Some(parts) = self.parts.take() else {
            return true;
        };
        self.systemd.stopping();
        report_draining(&self.app);
        parts.group.set_phase(phase);
        let clean = parts.group.join().unwrap_or(false);
        parts.reloader.stop();
        self.stop_hub(clean && phase == ShutdownPhase::Drain);
        parts.observers.stop(&self.app);
        clean
    }

    /// Stops the hub, after the requests: what it has answered 202 to is on disk by then. Unless `patient` it does
    /// not wait for subscribers.
    fn stop_hub(&self, patient: bool) {
        let time = if patient {
            self.drain_time
        } else {
            Duration::ZERO
        };
        if let Some(hub) = self.app.hub() {
            // What had not ended by then is delivered again after the next start.
            let _all_ended = hub.shutdown(time);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(ShutdownPhase::Quit);
    }
}

/// Has the access log, if there is one, opened anew.
fn reopen_access_log(app: &AppState) {
    if let Some(log) = app.access_log() {
        log.reopen();
    }
}

/// Tells on `/readyz` that traffic should go elsewhere.
fn report_draining(app: &AppState) {
    app.readiness.report(&Reason {
        code: "draining",
        message: "the server is stopping".to_owned(),
        details: Vec::new(),
        internal: None,
        blocking: true,
    });
}
