//! The hub's client side: threads, queues, the HTTPS client and the guard over callback addresses.
//!
//! [`Hub`] is the handle. Behind it one thread has the store and decides (`engine`), and a [`pool`] of threads of its
//! own, never shared with requests, does the exchanges that wait for strangers: [`client`] sends, [`resolve`] and
//! [`guard`] say where to, [`breaker`] tells their faults from ours.

pub mod breaker;
pub mod client;
mod engine;
mod exchange;
pub mod guard;
mod hub;
mod in_flight;
pub mod pool;
pub mod priority;
pub mod resolve;
pub mod settings;
pub mod signature;
pub mod stats;
mod tcp;
pub mod tls;
#[cfg(feature = "postgres")]
mod wait;

pub use hub::{Health, Hub, StartError};
pub use settings::{Lanes, Outside, Settings};
#[cfg(feature = "postgres")]
pub use wait::await_store;
