//! `/healthz` and `/readyz`: liveness and readiness of this process.

use bytes::Bytes;
use serde_json::json;

use crate::http::app_state::{AppState, INSIGHTS_PENDING};
use crate::http::reply::Reply;
use crate::http::served_state::ServedState;

/// Answers "ok", or 503 with the names of the threads that hang, because of which the process has to be replaced.
pub(crate) fn health(app: &AppState) -> Reply<'static> {
    let hung = app.liveness.hung();
    let healthy = hung.is_empty();
    let body = if healthy {
        json!({"status": "ok"})
    } else {
        json!({"status": "hung", "threads": hung})
    };
    Reply::State {
        healthy,
        body: Bytes::from(body.to_string()),
    }
}

/// Answers with readiness, the version that is served, the state of the hub, and all reasons; their internal details are
/// included only if `is_admin`. If `query` has the parameter `insights`, the process is not ready before the insights are
/// derived.
pub(crate) fn ready<'s>(
    app: &AppState,
    served: &ServedState,
    query: &str,
    is_admin: bool,
) -> Reply<'s> {
    let needs_insights = query.split('&').any(is_insights);
    let mut reasons = app.reasons(served);
    for reason in &mut reasons {
        reason.blocking |= needs_insights && reason.code == INSIGHTS_PENDING;
    }
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
            "lagging": health.lagging,
        })
    });
    let shown_reasons = reasons.iter().map(|reason| {
        let internal = if is_admin {
            reason.internal.as_ref()
        } else {
            None
        };
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
        "reasons": shown_reasons.collect::<Vec<_>>(),
    });
    Reply::State {
        healthy,
        body: Bytes::from(body.to_string()),
    }
}

/// Tells whether a parameter is `insights`, with any value or none.
fn is_insights(parameter: &str) -> bool {
    parameter.split('=').next() == Some("insights")
}
