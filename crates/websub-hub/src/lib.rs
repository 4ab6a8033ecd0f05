//! A WebSub hub (W3C Recommendation, 2018) behind any HTTP server: stores requests and changed topics, and sends HTTPS
//! requests to callbacks.
//!
//! The server passes the body of a POST to [`request::parse`] and the result to [`Hub::submit`], answers 202 when that
//! returns, and calls [`Hub::publish`] with its [`Topic`]s whenever one may have changed.
//!
//! [`request`] parses a form into a [`HubRequest`] or a [`RequestRefusal`]. [`subscription`] is the state machine of one pair
//! of callback and topic. [`store`] persists the state, in a file or in a database that replicas share, before the hub
//! acknowledges a change. [`scheduler`] decides which attempts start next. These modules use neither sockets nor the
//! clock: callers pass `now`.
//!
//! [`notice`] has messages to targets of the operator's own, which the hub sends beside the topics.
//!
//! [`Hub`] is the handle. One thread owns the store and makes all decisions (`engine`). Each attempt to reach a callback
//! runs on a thread of a `pool`, which never serves requests: `client` sends, `resolve` and [`guard`] choose the
//! address, `transport` connects. `breaker` distinguishes failures of our own network from failures of callbacks, and
//! `cpu_wait` delays of our own machine.
//!
//! ```
//! use std::time::Duration;
//!
//! use websub_hub::guard::{Guard, Ports};
//! use websub_hub::{Hub, HubSettings, Outside, StoreLocation, Timestamp, Topic, request};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let feed = |body: &'static str, at| Topic {
//!     path: "/feed.xml",
//!     media_type: "application/atom+xml",
//!     digest: sha256(body),
//!     body: body.into(),
//!     updated_at: Timestamp::from_unix(at),
//! };
//! # fn sha256(text: &str) -> [u8; 32] { use sha2::Digest; sha2::Sha256::digest(text).into() }
//! # let state = tempfile::tempdir()?;
//! # let state = state.path().to_owned();
//! let guard = Guard { allow_private: false, ports: Ports::parse("443,8443,1024-")? };
//! let settings = HubSettings::new(StoreLocation::Directory(state), guard);
//! let (hub, work) = Hub::start(
//!     "https://news.example",
//!     settings,
//!     Outside::system(),
//!     [feed("<feed/>", 1)],
//!     |health| eprintln!("{health:?}"),
//! )?;
//! let thread = std::thread::spawn(work);
//!
//! let form = b"hub.mode=subscribe&hub.topic=https%3A%2F%2Fnews.example%2Ffeed.xml\
//!     &hub.callback=https%3A%2F%2F127.0.0.1%2Fpush";
//! let request = request::parse(Some(b"application/x-www-form-urlencoded"), form)?;
//! let client = [192, 0, 2, 1].into(); // the address that asked
//! let refusal = hub.submit(request, client).await.unwrap_err(); // an address of a private network
//! assert!(refusal.reason.starts_with("hub.callback: "));
//!
//! hub.publish([feed("<feed>news</feed>", 2)]); // subscribers are told
//! assert!(hub.shutdown(Duration::from_secs(10)));
//! thread.join().expect("the hub's thread has no panic");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/design/hub.md` of the repository lists the requirements of the Recommendation, with the tests that verify them.

#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc)]

mod breaker;
mod callback;
mod client;
mod clock;
mod cpu_wait;
mod engine;
pub mod guard;
mod handle;
pub mod notice;
mod pool;
pub mod priority;
pub mod request;
mod resolve;
pub mod scheduler;
mod settings;
mod shared;
pub mod store;
pub mod subscription;
mod topic;
mod transport;
mod unix_millis;

pub use callback::{Callback, CallbackError};
pub use client::{NoticeTest, send_test};
pub use handle::Hub;
pub use notice::{NoticeSource, NoticeTarget};
pub use request::{HubRequest, Mode, RefusalKind, RequestRefusal, Secret};
pub use reviewd_wire::date::Timestamp;
pub use scheduler::AttemptLimits;
pub use settings::{HubSettings, Outside};
pub use shared::{Health, Stats};
pub use store::StoreLocation;
pub use topic::Topic;
pub use transport::CaError;
pub use unix_millis::UnixMillis;
