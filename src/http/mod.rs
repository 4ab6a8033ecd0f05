//! Requests into responses.
//!
//! [`handle`] takes requests from hyper, [`respond_simple`] those that the fast path has read; both make the same
//! `RequestHead` of them and call the same code, and each encodes the reply in its own way. Replies are made from a
//! [`ServedState`]: one snapshot and everything about it that a reply needs, prepared once when the dataset was loaded. A
//! request takes the current site when it begins and keeps it to the end, so a reload never mixes two datasets.
//!
//! The order of the checks is fixed: rate (429), number of fields (431), Host, Transfer-Encoding, target, route (404),
//! method (405), and then what the endpoint itself asks for. Every status and header name is written in `reply.rs`.

mod access_log;
pub mod admin;
mod app_state;
mod arena;
pub mod body;
mod client;
mod endpoint;
mod fast_path;
mod head;
mod host;
mod in_memory_transport;
mod prerendered;
mod rate_limit;
mod readiness;
mod reply;
mod request_metrics;
mod respond;
mod router;
mod served_state;
mod target;

pub use access_log::{AccessLog, LogEntry, MethodName, WriterMessage, WriterStats};
pub use app_state::{AppState, Limits, Rates, Settings, SettingsError};
pub use body::Body;
pub use client::{Proxies, ProxyField};
pub use fast_path::{FastResponse, ProtocolError, protocol_error, respond_simple};
#[doc(hidden)]
pub use in_memory_transport::respond_via_hyper;
pub use prerendered::{FileBody, MemFd, MemFdRange};
pub use readiness::{Readiness, Reason};
pub use request_metrics::{BOUNDS_NS, Class, RequestMetrics, Searcher};
pub use respond::{ResponseFuture, handle, internal_error, respond};
pub use router::ROUTE_LABELS;
pub use served_state::ServedState;
