//! A server that runs, the signals that it obeys, and how it ends: SIGHUP reads the data again and opens the access log
//! again, SIGUSR1 does only the latter, SIGTERM and SIGINT stop it.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

use crate::http::{AppState, Reason};

use super::listener::{ListenerGroup, ShutdownPhase, set_phase};
use super::metrics::Counters;
use super::reload::Reloader;
use super::{access_log, systemd, threads};

/// A server that runs; dropping it ends it at once.
pub struct Running {
    pub(super) app: Arc<AppState>,
    pub(super) counters: Arc<Counters>,
    pub(super) drain_time: Duration,
    /// Taken when the server is stopped.
    pub(super) parts: Option<Parts>,
}

/// The threads of a server.
pub(super) struct Parts {
    pub(super) group: ListenerGroup,
    pub(super) reloader: Reloader,
    /// The administrator's listener.
    pub(super) admin: Option<ListenerGroup>,
    /// The thread that writes the access log.
    pub(super) log_writer: Option<JoinHandle<()>>,
}

impl Running {
    fn parts(&self) -> &Parts {
        self.parts.as_ref().expect("only the end takes them")
    }

    /// Returns the address that is listened on, with the port that was taken for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.parts().group.address
    }

    /// Returns the administrator's address, where there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.parts().admin.as_ref().map(|group| group.address)
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
        self.parts().group.connections.open()
    }

    /// Stops accepting, lets the requests in flight end within the drain time, and returns when all is over; false if
    /// connections had to be cut.
    #[must_use]
    pub fn shutdown(mut self) -> bool {
        self.end(Some(ShutdownPhase::Drain)).unwrap_or(false)
    }

    /// Serves until SIGTERM or SIGINT, then drains; a second signal ends at once. SIGHUP reads the data again. The
    /// `signals` are those that the server was started with.
    ///
    /// # Errors
    /// When the system refuses a thread, or the one that accepts connections has panicked.
    pub fn run_until_signal(mut self, mut signals: Signals) -> io::Result<()> {
        let phase = self.parts().group.phase.clone();
        let reload = self.parts().reloader.trigger.clone();
        let app = Arc::clone(&self.app);
        // A thread of its own receives a second signal while the first is being obeyed; it ends with the process.
        threads::spawn(&self.app.readiness, "signals", move || {
            let obey = |order| match order {
                Order::Reload | Order::Reopen => {
                    app.access_log.get().inspect(|log| log.reopen());
                    if order == Order::Reload {
                        reload.request();
                    }
                }
                Order::Stop if *phase.borrow() == ShutdownPhase::Serve => {
                    systemd::stopping();
                    report_draining(&app);
                    set_phase(&phase, ShutdownPhase::Drain);
                }
                Order::Stop => {
                    set_phase(&phase, ShutdownPhase::Quit);
                    app.hub().inspect(|hub| hub.hurry());
                }
            };
            loop {
                let order = signals.next();
                // The next signal is obeyed all the same: SIGTERM stays caught.
                if catch_unwind(AssertUnwindSafe(|| obey(order))).is_err() {
                    threads::report(&app.readiness, "signals");
                }
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
            systemd::stopping();
            report_draining(&self.app);
            set_phase(&parts.group.phase, phase);
        }
        let ended = parts.group.join();
        match phase {
            Some(_) => parts.reloader.stop(),
            // A reload under way ends with the process.
            None => parts.reloader.trigger.stop(),
        }
        // After the requests: what the hub has answered 202 to is on disk by then. It waits for subscribers only after a
        // clean end; what has not ended by then is delivered again after the next start.
        if let Some(hub) = self.app.hub() {
            let is_clean = matches!(ended, Ok(true)) && phase != Some(ShutdownPhase::Quit);
            let time = match is_clean {
                true => self.drain_time,
                false => Duration::ZERO,
            };
            let _all_ended = hub.shutdown(time);
        }
        if let Some(admin) = parts.admin {
            set_phase(&admin.phase, ShutdownPhase::Drain);
            // Scrapes that do not end in time are cut.
            let _cut = admin.join();
        }
        if let Some(writer) = parts.log_writer {
            access_log::stop(&self.app, &writer);
        }
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // There is no caller left to tell.
        let _ended = self.end(Some(ShutdownPhase::Quit));
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
    /// Each with what it asks for, and what is logged then.
    caught: Vec<(Signal, Order, &'static str)>,
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
        let mut signals = Signals {
            runtime: builder.enable_all().build()?,
            caught: Vec::new(),
        };
        let reading = "SIGHUP: reading the data again";
        let reopening = "SIGUSR1: opening the access log again";
        signals.catch(SignalKind::hangup(), Order::Reload, reading)?;
        signals.catch(SignalKind::user_defined1(), Order::Reopen, reopening)?;
        Ok(signals)
    }

    /// Begins to catch SIGTERM and SIGINT: to be called before the first client can be served, so that every client that
    /// was answered sees an orderly shutdown.
    pub(super) fn catch_stops(&mut self) -> io::Result<()> {
        self.catch(SignalKind::terminate(), Order::Stop, "SIGTERM: stopping")?;
        self.catch(SignalKind::interrupt(), Order::Stop, "SIGINT: stopping")
    }

    fn catch(&mut self, kind: SignalKind, order: Order, text: &'static str) -> io::Result<()> {
        let _inside = self.runtime.enter();
        self.caught.push((signal(kind)?, order, text));
        Ok(())
    }

    /// Waits for the next signal, and logs it.
    fn next(&mut self) -> Order {
        let caught = &mut self.caught;
        let (order, text) = self.runtime.block_on(poll_fn(|context| {
            for (signal, order, text) in &mut *caught {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready((*order, *text));
                }
            }
            Poll::Pending
        }));
        info!("{text}");
        order
    }
}
