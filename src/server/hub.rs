//! The hub in the server's hands: started on what is served, heard on `/readyz`, stopped with the rest.

use std::sync::Arc;

use tracing::warn;

use super::config::Config;
use super::{StartError, threads};
use crate::http::{AppState, Readiness, Reason};
use crate::hub::{Health, Hub, Outside};

/// Starts the hub if there is to be one, and if the public address is one that subscribers can use.
pub(super) fn start(
    config: &Config,
    app: &Arc<AppState>,
    is_public: bool,
) -> Result<(), StartError> {
    let Some(settings) = config.hub.clone() else {
        return Ok(());
    };
    if !is_public {
        warn!("without --base-url subscribers could not name the topics, so the hub answers 503");
        app.readiness.report(&Reason {
            code: OFF,
            message: "the hub needs --base-url; use --no-hub where there is to be none".to_owned(),
            details: Vec::new(),
            internal: None,
            blocking: true,
        });
        return Ok(());
    }
    let topics = app.current().snapshot().topics();
    let told = Arc::downgrade(app);
    let on_health = move |health: &Health| {
        if let Some(app) = told.upgrade() {
            report(&app.readiness, health);
        }
    };
    let outside = Outside::system();
    let hub = Hub::start(app.base_url(), settings, outside, topics, on_health)
        .map_err(StartError::Hub)?;
    app.set_hub(hub);
    Ok(())
}

/// Tells on `/readyz` what hinders the hub. Traffic goes elsewhere only after a panic, and where the store could not be
/// opened since the start and the operator has to act: a later fault is no reason to give up reads.
fn report(readiness: &Readiness, health: &Health) {
    if health.panicked {
        threads::report(readiness, "hub");
    }
    for (code, message, is_so, internal, blocking) in [
        (
            STORE,
            "the hub's store cannot be used",
            health.store_error.is_some(),
            health.store_error.clone(),
            health.is_off,
        ),
        (
            PAUSED,
            "deliveries are paused: most callback hosts cannot be reached",
            health.paused,
            None,
            false,
        ),
    ] {
        if is_so {
            readiness.report(&Reason {
                code,
                message: message.to_owned(),
                details: Vec::new(),
                internal,
                blocking,
            });
        } else {
            readiness.withdraw(code);
        }
    }
}

/// Under this code `/readyz` tells that the hub's store cannot be used.
const STORE: &str = "hub_store";

/// Under this code `/readyz` tells that there is no public address for the hub.
const OFF: &str = "hub_off";

/// Under this code `/readyz` tells that deliveries are paused.
const PAUSED: &str = "hub_paused";
