//! `/healthz` and `/readyz`: liveness and readiness of this process.

use bytes::Bytes;
use serde_json::json;

use crate::http::app_state::AppState;
use crate::http::reply::Reply;
use crate::http::served_state::ServedState;

/// Always answers "ok": a process that answers is alive.
pub(crate) fn health() -> Reply<'static> {
    Reply::State {
        healthy: true,
        body: Bytes::from_static(b"{\"status\":\"ok\"}"),
    }
}

/// Answers with readiness, the version that is served, the state of the hub, and all reasons; internal details of
/// reasons are included only if `is_admin`.
pub(crate) fn ready<'s>(app: &AppState, served: &ServedState, is_admin: bool) -> Reply<'s> {
    let reasons = app.readiness.reasons();
    let healthy = !reasons.iter().any(|reason| reason.blocking);
    let snapshot = served.snapshot();
    // The list of reasons says why the hub is not usable.
    let hub = app.hub().map(|hub| {
        let health = hub.health();
        json!({
            "store": hub.store(),
            "usable": health.is_open && health.store_error.is_none(),
            "delivering": health.delivering,
            "paused": health.paused,
        })
    });
    let reasons = reasons.iter().map(|reason| {
        let internal = reason.internal.as_ref().filter(|_| is_admin);
        json!({
            "code": reason.code,
            "message": reason.message,
            "blocking": reason.blocking,
            "details": reason.details.iter().chain(internal).collect::<Vec<_>>(),
        })
    });
    let body = json!({
        "ready": healthy,
        "version": snapshot.version(),
        "updated_at": snapshot.updated_at.to_string(),
        "review_count": snapshot.len(),
        "hub": hub,
        "reasons": reasons.collect::<Vec<_>>(),
    });
    Reply::State {
        healthy,
        body: Bytes::from(body.to_string()),
    }
}
