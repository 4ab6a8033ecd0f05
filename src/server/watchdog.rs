//! The watchdog: a thread that checks every few seconds whether each long-lived thread has reported in time. It names
//! those that hang in the log and on `/readyz`. While none hangs, it tells the service manager that the process works, and
//! otherwise the manager replaces the process (`WatchdogSec=` of systemd). `/healthz` checks the same reports itself.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tracing::{error, info};

use super::{clock, systemd};
use crate::http::{AppState, REPORT_INTERVAL, Reason};

/// The code on `/readyz` of threads that hang.
const HUNG: &str = "thread_hung";

/// Starts the watchdog; it ends when the server is gone.
pub(super) fn start(app: &Arc<AppState>) -> io::Result<JoinHandle<()>> {
    let app = Arc::downgrade(app);
    let interval = match systemd::watchdog_time() {
        // Twice as often as the service manager expects.
        Some(time) => REPORT_INTERVAL.min(time / 2),
        None => REPORT_INTERVAL,
    };
    let thread = thread::Builder::new().name("watchdog".to_owned());
    thread.spawn(move || {
        let mut reported = Vec::new();
        let mut checked = clock::instant();
        while let Some(app) = app.upgrade() {
            // A process that was stopped or frozen as a whole gets time for its first reports.
            let was_frozen = checked.elapsed() > interval + REPORT_INTERVAL;
            checked = clock::instant();
            if !was_frozen {
                reported = check(&app, &reported);
            }
            drop(app);
            thread::sleep(interval);
        }
    })
}

/// Reports the threads that hang if they are others than the `reported` ones, and returns them.
fn check(app: &AppState, reported: &[String]) -> Vec<String> {
    let hung = app.liveness.hung();
    let has_changed = hung != reported;
    if has_changed && hung.is_empty() {
        info!("all threads report again");
        app.readiness.withdraw(HUNG);
    } else if has_changed {
        let message = format!("no report for 30 seconds of: {}", hung.join(", "));
        error!("{message}");
        app.readiness.report(&Reason::new(HUNG, message).blocking());
    }
    // Last, because a service manager that hangs delays it.
    if hung.is_empty() {
        systemd::alive();
    }
    hung
}
