//! The Model Context Protocol by hand: bytes and head fields in, reply out; knows no hyper.
//!
//! One address serves every revision from 2024-11-05 to 2026-07-28. [`Server::handle`] takes a request apart in a
//! fixed order: origin and host, method, media type, message, era, and only then the method itself. What it answers
//! from is a [`Catalog`], prepared once for each snapshot. Nothing is remembered between two requests but the sessions
//! that clients have ended.
//!
//! Our choices where the standard leaves one: a session id is handed out and never required; every `Accept` is welcome;
//! a key that comes twice in one object is refused; wrong values of a tool's arguments are a result with `isError`,
//! which a model gets to read, and wrong shapes are -32602. `tests.rs` has a table of requirements and their tests.

mod catalog;
mod completion;
mod dispatch;
mod guard;
mod head;
pub mod json;
mod jsonrpc;
mod lean;
mod prompts;
pub(crate) mod protocol;
mod reply;
mod resources;
mod result;
mod server;
mod session;
mod stateless;
mod tools;

#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use guard::Origin;
pub use head::{Field, Form, Head};
pub(crate) use reply::Refusal;
pub use reply::{METHODS, REQUEST_HEADERS, Reply};
pub use server::{Server, Settings};
pub use session::SessionId;
pub(crate) use tools::ToolCalls;
