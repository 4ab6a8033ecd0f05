//! Starts the hub, and reports its health on `/readyz`.

use std::sync::{Arc, OnceLock};

use tracing::warn;

use super::StartError;
use super::config::Config;
use super::threads::ThreadStarter;
use crate::clock;
use crate::http::{AppState, Heartbeat, Readiness, Reason};
use crate::hub::{Health, Hub, Outside};

/// Starts the hub if it is enabled and the public address is one that subscribers can use, which `is_public` tells.
pub(super) fn start(
    config: &Config,
    app: &Arc<AppState>,
    is_public: bool,
) -> Result<(), StartError> {
    let Some(settings) = config.hub.clone() else {
        return Ok(());
    };
    if !is_public {
        warn!("without --base-url subscribers could not name the topics, so the hub returns 503");
        let message = "the hub needs --base-url; use --no-hub to run without a hub";
        let reason = Reason::new("hub_off", message);
        app.readiness.report(&reason.blocking());
        return Ok(());
    }
    let topics = app.current().topics();
    // The hub's thread reports whenever it reads the clock, which it does at least every half second. Its heartbeat exists
    // only once the thread has started.
    let heartbeat = Arc::new(OnceLock::<Heartbeat>::new());
    let reporting = Arc::clone(&heartbeat);
    let outside = Outside {
        unix_ms: Box::new(move || {
            if let Some(heartbeat) = reporting.get() {
                heartbeat.report();
            }
            clock::unix_ms()
        }),
        ..Outside::system()
    };
    let owner = Arc::downgrade(app);
    let (hub, work) = Hub::start(&app.base_url, settings, outside, topics, move |health| {
        if let Some(app) = owner.upgrade() {
            report(&app.readiness, health);
        }
    })?;
    let threads = ThreadStarter::new(app, "");
    let thread = threads.spawn("hub", move |own| {
        heartbeat.get_or_init(|| own.clone());
        work();
    });
    thread.map_err(StartError::Threads)?;
    app.set_hub(hub);
    Ok(())
}

/// Reports problems of the hub on `/readyz`. They leave the process ready, which still serves reads, unless the store could
/// never be opened, so that the operator must act.
fn report(readiness: &Readiness, health: &Health) {
    let store = Reason {
        internal: health.store_error.clone(),
        blocking: health.is_off,
        ..Reason::new("hub_store", "the hub's store cannot be used")
    };
    let paused = Reason::new(
        "hub_paused",
        "most callback hosts cannot be reached; failed deliveries do not count",
    );
    let lagging = Reason::new(
        "hub_lagging",
        "this machine has no core for deliveries; those that time out do not count",
    );
    for (reason, is_present) in [
        (store, health.store_error.is_some()),
        (paused, health.paused),
        (lagging, health.lagging),
    ] {
        if is_present {
            readiness.report(&reason);
        } else {
            readiness.withdraw(reason.code);
        }
    }
}
