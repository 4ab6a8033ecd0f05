//! Starts the hub, and reports its health on `/readyz`.

use std::sync::Arc;

use tracing::warn;

use super::config::Config;
use super::{StartError, threads};
use crate::http::{AppState, Readiness, Reason};
use crate::hub::{Health, Hub, Outside};

/// Starts the hub if it is enabled and subscribers can use the public address.
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
    let topics = app.current().snapshot().topics();
    let owner = Arc::downgrade(app);
    let on_health = move |health: &Health| {
        if let Some(app) = owner.upgrade() {
            report(&app.readiness, health);
        }
    };
    let (hub, work) = Hub::start(
        &app.base_url,
        settings,
        Outside::system(),
        topics,
        on_health,
    )?;
    threads::spawn(&app.readiness, "hub", work).map_err(StartError::Threads)?;
    app.set_hub(hub);
    Ok(())
}

/// Reports problems of the hub on `/readyz`. The process is only not ready if the store could never be opened and the
/// operator must act; after a later error it still serves reads.
fn report(readiness: &Readiness, health: &Health) {
    let store = Reason {
        internal: health.store_error.clone(),
        blocking: health.is_off,
        ..Reason::new("hub_store", "the hub's store cannot be used")
    };
    let message = "most callback hosts cannot be reached; failed deliveries do not count";
    let paused = Reason::new("hub_paused", message);
    for (reason, is_present) in [
        (store, health.store_error.is_some()),
        (paused, health.paused),
    ] {
        if is_present {
            readiness.report(&reason);
        } else {
            readiness.withdraw(reason.code);
        }
    }
}
