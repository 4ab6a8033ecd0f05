//! `/healthz` and `/readyz`: what this process says of itself.

use bytes::Bytes;

use crate::http::app_state::AppState;
use crate::http::reply::Reply;
use crate::http::served_state::ServedState;
use crate::hub::Hub;
use crate::wire::json::{Array, Object, push_null};

/// Answers that the process is alive: it has answered.
pub(crate) fn health() -> Reply<'static> {
    Reply::State {
        healthy: true,
        body: Bytes::from_static(b"{\"status\":\"ok\"}"),
    }
}

/// Answers whether traffic should come here, what is served, and every reason the operator should know, internal ones
/// only if `is_admin`.
pub(crate) fn ready<'s>(app: &AppState, served: &ServedState, is_admin: bool) -> Reply<'s> {
    let reasons = app.readiness.reasons();
    let healthy = !reasons.iter().any(|reason| reason.blocking);
    let snapshot = served.snapshot();
    let mut body = Vec::new();
    let mut object = Object::begin(&mut body);
    object.bool("ready", healthy);
    object.string("version", snapshot.version());
    object.string(
        "updated_at",
        &String::from_utf8_lossy(&snapshot.updated_at.render_rfc3339()),
    );
    object.u64("review_count", u64::from(snapshot.len()));
    match app.hub() {
        Some(hub) => push_hub(object.key("hub"), hub),
        None => push_null(object.key("hub")),
    }
    let mut list = Array::begin(object.key("reasons"));
    for reason in reasons.iter() {
        let mut item = Object::begin(list.item());
        item.string("code", reason.code)
            .string("message", &reason.message)
            .bool("blocking", reason.blocking);
        let internal = reason.internal.as_ref().filter(|_| is_admin);
        let details = reason.details.iter().chain(internal);
        item.strings("details", details.map(String::as_str));
        item.end();
    }
    list.end();
    object.end();
    Reply::State {
        healthy,
        body: Bytes::from(body),
    }
}

/// How the hub is: why it is so is among the reasons.
fn push_hub(out: &mut Vec<u8>, hub: &Hub) {
    let health = hub.health();
    let mut object = Object::begin(out);
    object
        .string("store", hub.store())
        .bool("usable", health.is_open && health.store_error.is_none())
        .bool("delivering", health.delivering)
        .bool("paused", health.paused);
    object.end();
}
