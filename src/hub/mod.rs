//! The WebSub hub: stores requests and changed topics, and sends HTTPS requests to callbacks.
//!
//! [`request`] parses a form into a [`HubRequest`] or a [`Refusal`]. [`subscription`] is the state machine of one pair
//! of callback and topic. [`store`] persists the state, in a file or in a database that replicas share, before the hub
//! acknowledges a change. These modules use neither sockets nor the clock: callers pass `now` as a [`UnixMillis`].
//!
//! [`Hub`] is the handle. One thread owns the store and makes all decisions (`engine`). Each exchange with a callback
//! runs on a thread of its own, which never serves requests: `client` sends, `resolve` and [`guard`] choose the
//! address, `transport` connects. [`in_flight`] limits the number of exchanges, and `breaker` distinguishes failures of
//! our own network from failures of callbacks.
//!
//! `docs/design/hub.md` lists the requirements of the W3C Recommendation, with the tests that verify them.

mod breaker;
mod callback;
mod client;
mod engine;
pub mod guard;
mod handle;
pub mod in_flight;
pub mod priority;
pub mod request;
mod resolve;
mod settings;
mod shared;
pub mod store;
pub mod subscription;
mod transport;
mod unix_millis;

pub use callback::Callback;
pub use handle::Hub;
pub use request::{HubRequest, Mode, Refusal, RefusalKind, Secret};
pub use settings::{HubSettings, Lanes, Outside};
pub use shared::{Health, Stats};
pub use store::StoreLocation;
pub use transport::CaError;
pub use unix_millis::UnixMillis;
