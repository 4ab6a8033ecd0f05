//! Threads that the server needs while it runs: if one panics, `/readyz` fails and names it.
//!
//! The standard library prints the panic itself. The thread is not restarted, because its state is unknown: the service
//! manager or orchestrator must replace a process that is not ready.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tracing::error;

use crate::http::{Readiness, Reason};

/// The code on `/readyz` of a thread that has panicked.
const PANICKED: &str = "thread_panicked";

/// Starts the thread `name`; reports its panic to `readiness`.
pub(super) fn spawn<T: Send + 'static>(
    readiness: &Arc<Readiness>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let (readiness, own_name) = (Arc::clone(readiness), name.to_owned());
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || {
        // Unwind safe: the values that the thread owned are not used again.
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
            report(&readiness, &own_name);
            resume_unwind(panic)
        })
    })
}

/// Reports a panic of the thread `name` in the log and on `/readyz`, which shows only the last such thread.
pub(super) fn report(readiness: &Readiness, name: &str) {
    let message = format!(
        "the thread {name} has panicked, which is an error in reviewd; restart the process"
    );
    error!("{message}");
    readiness.report(&Reason::new(PANICKED, message).blocking());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panics_is_named_and_one_that_ends_is_not() {
        let readiness = Arc::new(Readiness::default());
        let ended = spawn(&readiness, "ends", || 7).unwrap();
        assert_eq!(ended.join().unwrap(), 7);
        assert!(readiness.reasons().is_empty());
        let panic = || -> () { panic!("on purpose") };
        let panics = spawn(&readiness, "admin-accept", panic).unwrap();
        assert!(panics.join().is_err());
        let reason = &readiness.reasons()[0];
        assert!(reason.blocking && reason.code == PANICKED);
        let said = "the thread admin-accept has panicked";
        assert!(reason.message.contains(said));
    }
}
