//! The threads that a server needs for as long as it runs. Each reports to the watchdog.
//!
//! If one panics, the program ends with exit status 70, so that the service manager or orchestrator starts it again. The
//! thread alone cannot be started again, because its state is unknown. A server that is part of another program does not end
//! that program: its `/readyz` fails and names the thread.

use std::convert::Infallible;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use tokio::time::sleep;
use tracing::error;

use super::logs;
use super::process::thread_limits;
use crate::http::{AppState, Heartbeat, Liveness, REPORT_INTERVAL, Readiness, Reason};

/// The exit status after a panic: EX_SOFTWARE of sysexits.h.
const PANIC_STATUS: i32 = 70;

/// The code on `/readyz` of a thread that has panicked.
const PANICKED: &str = "thread_panicked";

/// Whether a panic of a needed thread ends the process.
static ENDS_PROCESS: AtomicBool = AtomicBool::new(false);

/// Makes a panic of a thread that a server needs end this process with status 70. Only the program calls this, because a
/// library must not end the process.
pub fn end_process_on_panic() {
    ENDS_PROCESS.store(true, Relaxed);
}

/// Starts the threads of a server, and has them watched.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadStarter {
    readiness: Arc<Readiness>,
    liveness: Arc<Liveness>,
    /// The beginning of the name of each thread.
    prefix: &'static str,
}

impl ThreadStarter {
    /// Creates a starter of threads of the server with the state `app`.
    pub(super) fn new(app: &AppState, prefix: &'static str) -> ThreadStarter {
        ThreadStarter {
            readiness: Arc::clone(&app.readiness),
            liveness: Arc::clone(&app.liveness),
            prefix,
        }
    }

    /// Starts the thread `name`, to which the prefix is added. `body` gets the heartbeat of the thread, and has to report.
    ///
    /// # Errors
    /// If the system refuses a thread; the message names the thread, and the limits that can be the reason.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        body: impl FnOnce(&Heartbeat) -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let name = format!("{}{name}", self.prefix);
        let readiness = Arc::clone(&self.readiness);
        let heartbeat = self.liveness.watch(&name);
        let own_heartbeat = heartbeat.clone();
        let own_name = name.clone();
        let thread = thread::Builder::new().name(name.clone());
        let spawned = thread.spawn(move || {
            // Unwind safe: the values that the thread owned are not used again.
            let result = catch_unwind(AssertUnwindSafe(|| body(&own_heartbeat)));
            own_heartbeat.end();
            result.unwrap_or_else(|panic| {
                report_panic(&readiness, &own_name);
                resume_unwind(panic)
            })
        });
        match spawned {
            Ok(thread) => Ok(thread),
            Err(cause) => {
                heartbeat.end();
                let message = format!("{name}: {cause}{}", thread_limits());
                Err(io::Error::new(cause.kind(), message))
            }
        }
    }
}

/// Reports a panic of the thread `name`, and ends the process if [`end_process_on_panic`] was called. `/readyz` shows only the
/// last such thread.
fn report_panic(readiness: &Readiness, name: &str) {
    let message = format!("the thread {name} has panicked, which is an error in reviewd");
    error!("{message}");
    readiness.report(&Reason::new(PANICKED, message).blocking());
    if ENDS_PROCESS.load(Relaxed) {
        logs::flush();
        process::exit(PANIC_STATUS);
    }
}

/// Reports the progress of a thread that runs an asynchronous runtime, for as long as the runtime polls this.
pub(super) async fn keep_reporting(heartbeat: &Heartbeat) -> Infallible {
    loop {
        heartbeat.report();
        sleep(REPORT_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;

    /// Set in the process that is to end.
    const ENDING: &str = "REVIEWD_TEST_ENDING";

    fn starter(readiness: &Arc<Readiness>) -> ThreadStarter {
        ThreadStarter {
            readiness: Arc::clone(readiness),
            liveness: Arc::default(),
            prefix: "admin-",
        }
    }

    #[test]
    fn a_thread_that_panics_is_named_and_one_that_ends_is_not() {
        let readiness = Arc::new(Readiness::default());
        let starter = starter(&readiness);
        let ended = starter.spawn("ends", |_| 7).unwrap();
        assert_eq!(ended.join().unwrap(), 7);
        assert!(readiness.reasons().is_empty());
        let panic = |_: &Heartbeat| -> () { panic!("on purpose") };
        let panics = starter.spawn("accept", panic).unwrap();
        assert!(panics.join().is_err());
        let reason = &readiness.reasons()[0];
        assert_eq!(reason.code, PANICKED);
        assert!(reason.blocking);
        let said = "the thread admin-accept has panicked";
        assert!(reason.message.contains(said));
    }

    /// The test starts itself again as the process that ends.
    #[test]
    fn a_panic_of_a_needed_thread_ends_the_program_with_70() {
        if env::var_os(ENDING).is_some() {
            end_process_on_panic();
            let panic = |_: &Heartbeat| -> () { panic!("on purpose") };
            let panics = starter(&Arc::default()).spawn("accept", panic).unwrap();
            let _never = panics.join();
            return;
        }
        let own = env::current_exe().unwrap();
        let name = "server::threads::tests::a_panic_of_a_needed_thread_ends_the_program_with_70";
        let ended = Command::new(own)
            .args(["--exact", name])
            .env(ENDING, "1")
            .output();
        assert_eq!(ended.unwrap().status.code(), Some(70));
    }
}
