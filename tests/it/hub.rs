//! Tests of the hub against real subscribers: HTTPS servers on this machine with certificates of a private authority.
//! Only `adversary` simulates subscribers and time, because it needs thousands of subscribers.

mod adversary;
pub(crate) mod authority;
#[cfg(feature = "postgres")]
mod cable;
pub(crate) mod chaos;
mod clock;
mod command;
mod content;
#[cfg(feature = "postgres")]
mod copy;
mod crash;
mod failures;
mod guard;
mod handover;
mod handshake;
mod http;
mod neighbors;
mod older;
mod pause;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
pub(crate) mod postgres_shared;
#[cfg(feature = "postgres")]
mod replicas;
pub(crate) mod rig;
mod sample;
mod state;
pub(crate) mod subscriber;
mod table;
