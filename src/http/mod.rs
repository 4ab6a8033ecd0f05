//! The service over hyper: a request comes in, is routed, answered from the current site, and leaves as a reply.
//!
//! [`handle`] is the way in; [`answer_plain`] is a short cut of it for plain requests for documents and reviews, which
//! decides by the same code. What they answer from is a [`Site`]: one snapshot and everything about it that a
//! reply needs, prepared once when the dataset was loaded. A request takes the current site when it begins and keeps
//! it to the end, so a reload never mixes two datasets in one answer.
//!
//! The order of the checks is fixed: rate (429), number of fields (431), Host, Transfer-Encoding, target, route (404), method
//! (405), and only then what the endpoint itself asks for. Every status code and every header name is written in `reply.rs`, nowhere else.

mod access;
pub mod admin;
mod app;
mod arena;
pub mod body;
mod browser;
mod client;
mod endpoint;
mod fields;
mod host;
mod long_way;
mod plain;
mod rate;
mod readiness;
mod ready;
mod reply;
mod router;
mod service;
mod site;
mod target;
mod traffic;

pub use access::{AccessLog, Entry, Ledger, Letter, Verb};
pub use app::{App, Limits, Rates, Settings, SettingsError};
pub use body::Body;
pub use client::{Proxies, ProxyField, client_address};
#[doc(hidden)]
pub use long_way::answer_by_hyper;
pub use plain::{Answered, ProtocolError, answer_plain, protocol_error};
pub use readiness::{Readiness, Reason};
pub use ready::{FilePart, SealedFile, Stored};
pub use router::PLACES;
pub use service::{Answer, Write, broken, handle, respond};
pub use site::Site;
pub use traffic::{BOUNDS_NS, Class, Searcher, Traffic};
