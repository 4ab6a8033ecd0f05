//! The Model Context Protocol, hand-written: takes header fields and a body, returns a reply; independent of hyper.
//!
//! One address serves every revision from 2024-11-05 to 2026-07-28. [`Server::check_origin`] checks origin and host of a
//! request. [`Server::handle`] then checks HTTP method, media type, size, message and era, in this order, and calls the
//! JSON-RPC method. Responses come from a [`Catalog`], prepared once for each snapshot. Between requests the server keeps
//! only the list of sessions that clients have ended, and how often each tool was called.
//!
//! Our choices where the standard leaves one:
//!
//! - A session id is issued and never required.
//! - Every `Accept` is accepted.
//! - A duplicate key in an object is rejected.
//! - Invalid values of a tool's arguments give a result with `isError`, which clients show to the model.
//! - `arguments` that are not an object give -32602.
//!
//! `tests.rs` says where the requirements of the standard are tested.

mod catalog;
mod clean;
mod completion;
mod dispatch;
mod guard;
mod head;
pub mod json;
mod jsonrpc;
mod prompts;
pub(crate) mod protocol;
mod reply;
mod request_work;
mod resources;
mod result;
mod server;
mod session;
mod short_form;
mod stateless;
mod tools;

#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub(crate) use catalog::{AI_CATALOG, SERVER_CARD, ai_catalog, server_card};
pub use guard::Origin;
pub use head::{Head, ReplyFormat, SingleField};
pub(crate) use reply::McpRefusal;
pub use reply::{METHODS, McpReply, REQUEST_HEADERS};

pub use server::{Batch, Begun, McpSettings, Server};
pub use session::SessionId;
