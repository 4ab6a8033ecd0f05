//! The signals that the program obeys: SIGHUP reads the data again, SIGTERM and SIGINT stop it.

use std::io;

use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// SIGHUP is caught from here on, the others once the server serves: until then they end the program at once.
#[derive(Debug)]
pub struct Signals {
    runtime: Runtime,
    hangup: Signal,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Read the data again.
    Reload,
    /// Stop in good order.
    Stop,
}

impl Signals {
    /// Begins to catch SIGHUP, which would end the program otherwise.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn install() -> io::Result<Signals> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let hangup = {
            let _inside = runtime.enter();
            signal(SignalKind::hangup())?
        };
        Ok(Signals { runtime, hangup })
    }

    /// Passes on what signals ask for, as long as the process lives.
    ///
    /// # Errors
    /// When the system refuses, at the beginning.
    pub(super) fn obey(self, mut order: impl FnMut(Order)) -> io::Result<()> {
        let Signals {
            runtime,
            mut hangup,
        } = self;
        runtime.block_on(async move {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            loop {
                tokio::select! {
                    _ = hangup.recv() => {
                        info!("SIGHUP: reading the data again");
                        order(Order::Reload);
                    }
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
