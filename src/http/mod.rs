//! The HTTP interface: turns requests into responses.
//!
//! [`handle`] takes a request from hyper, makes its head a `RequestHead`, and builds the response from a [`ServedState`]:
//! one snapshot, and the parts of responses that were prepared when it was loaded. The state is the one that is current
//! when the head, or for `/mcp` the body, is complete. A request keeps it until its end, so no response mixes two datasets.
//!
//! The order of the checks is fixed: rate (429; for bodies to `/mcp` and the hub after the Origin), number of fields
//! (431), Host, Transfer-Encoding, CONNECT, target, route (404), method (405), and then the checks of the endpoint. A
//! response that was made for the request, and a request body, need room in the budgets of [`crate::limits`] (503).
//! Statuses are chosen in `error.rs` and `reply.rs`, those of `/mcp` in the module `mcp`; header fields in `reply.rs`.

mod access_log;
pub(crate) mod admin;
mod app_state;
mod arena;
mod body;
mod client;
mod date;
pub(crate) mod documents;
mod endpoint;
mod error;
mod head;
mod host;
mod liveness;
mod log_throttle;
mod rate_limit;
mod readiness;
mod reply;
mod request_metrics;
mod respond;
mod router;
mod served_state;
mod settings;

pub use access_log::ACCESS_LOG;
pub use app_state::AppState;
pub use body::{Body, BodySlice};
pub(crate) use body::{UNREAD_BYTES_MAX, UNREAD_TIME};
pub use client::{Peer, Proxies};
pub(crate) use error::{HEAD_BYTES_MAX, HttpError};
pub use liveness::Liveness;
#[cfg(test)]
pub(crate) use liveness::SILENCE_MAX;
pub(crate) use liveness::{Heartbeat, REPORT_INTERVAL};
pub(crate) use log_throttle::LogThrottle;
pub use readiness::{Readiness, Reason};
pub(crate) use reply::{close, protocol_error};
pub use request_metrics::RequestMetrics;
pub(crate) use request_metrics::{BOUNDS_US, STATUS_CLASSES};
pub use respond::{HttpAnswer, handle, respond};
pub(crate) use respond::{internal_error, record_refusal};
pub(crate) use router::ROUTE_LABELS;
pub use served_state::ServedState;
pub use settings::{Rates, RequestLimits, Settings, SettingsError};
