//! The WebSub hub: requests and changed topics into stored state, and that into HTTPS requests to callbacks.
//!
//! [`request`] turns a form into a [`HubRequest`] or a [`Refusal`]; [`subscription`] is the life of one pair of
//! callback and topic, events in and effects out; [`store`] says what must be atomic and on disk before it is
//! promised and keeps it in a file, or in a database that replicas share. These know neither a socket nor the clock: `now`
//! comes in as a [`Moment`].
//!
//! [`Hub`] is the handle. Behind it one thread has the store and decides (`engine`), and each exchange with a callback has a
//! thread of its own, never one that serves requests: `client` sends, `resolve` and [`guard`] say where to, `transport`
//! connects. [`in_flight`] tells how many exchanges may begin, and `breaker` faults of callbacks
//! from ours.
//!
//! `docs/design/hub.md` has what the W3C Recommendation asks of a hub, with the tests that hold it.

mod breaker;
mod callback;
mod client;
mod engine;
pub mod guard;
mod handle;
pub mod in_flight;
mod moment;
pub mod priority;
pub mod request;
mod resolve;
mod settings;
mod shared;
pub mod store;
pub mod subscription;
mod transport;

pub use callback::Callback;
pub use handle::Hub;
pub use moment::Moment;
pub use request::{HubRequest, Mode, Refusal, RefusalKind, Secret};
pub use settings::{Lanes, Outside, Settings};
pub use shared::{Health, Stats};
pub use store::StoreLocation;
pub use transport::CaError;
