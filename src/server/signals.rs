//! The signals that the program obeys: SIGHUP reads the data again and opens the access log anew, SIGUSR1 does only the
//! latter, SIGTERM and SIGINT stop it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info};

/// SIGHUP and SIGUSR1 are caught from the beginning; the others from [`Signals::catch_stops`] on, and until then they end the
/// program at once.
#[derive(Debug)]
pub struct Signals {
    runtime: Runtime,
    hangup: Signal,
    rotated: Signal,
    stops: Option<(Signal, Signal)>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Read the data again, and open the access log anew.
    Reload,
    /// Open the access log anew.
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
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (hangup, rotated) = {
            let _inside = runtime.enter();
            (
                signal(SignalKind::hangup())?,
                signal(SignalKind::user_defined1())?,
            )
        };
        Ok(Signals {
            runtime,
            hangup,
            rotated,
            stops: None,
        })
    }

    /// Begins to catch SIGTERM and SIGINT: to be called before the first client can be served, so
    /// that every client that was answered sees an orderly shutdown.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch_stops(&mut self) -> io::Result<()> {
        self.stops = Some(catch_stops(&self.runtime)?);
        Ok(())
    }

    /// Passes on what signals ask for, as long as the process lives.
    ///
    /// # Errors
    /// When the system refuses, at the beginning.
    pub(super) fn obey(self, mut obey: impl FnMut(Order)) -> io::Result<()> {
        // A panic over one signal must not leave the next one, SIGTERM perhaps, without an answer.
        let mut order = |order| {
            if catch_unwind(AssertUnwindSafe(|| obey(order))).is_err() {
                error!(
                    ?order,
                    "obeying a signal panicked, which is an error in reviewd"
                );
            }
        };
        let Signals {
            runtime,
            mut hangup,
            mut rotated,
            stops,
        } = self;
        let (mut terminate, mut interrupt) = match stops {
            Some(stops) => stops,
            None => catch_stops(&runtime)?,
        };
        runtime.block_on(async move {
            loop {
                tokio::select! {
                    _ = hangup.recv() => {
                        info!("SIGHUP: reading the data again");
                        order(Order::Reload);
                    }
                    _ = rotated.recv() => order(Order::Reopen),
                    _ = terminate.recv() => {
                        info!("SIGTERM: stopping");
                        order(Order::Stop);
                    }
                    _ = interrupt.recv() => {
                        info!("SIGINT: stopping");
                        order(Order::Stop);
                    }
                }
            }
        })
    }
}

/// Catches SIGTERM and SIGINT, in this order.
fn catch_stops(runtime: &Runtime) -> io::Result<(Signal, Signal)> {
    let _inside = runtime.enter();
    Ok((
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ))
}
