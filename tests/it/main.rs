//! Behavior over real sockets: one file per behavior, one server per test on port 0.

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a test is its message, in helpers as well"
)]

mod access_log;
mod answers;
mod attacks;
mod bodies;
mod budgets;
#[cfg(feature = "import")]
mod changes;
mod check;
mod commands;
mod conditional;
mod deploy;
mod documents;
mod errors;
mod faults;
mod feeds;
mod help;
mod http2;
mod hub;
mod idle;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod init;
mod insights_accuracy;
mod insights_later;
mod interface;
mod limits;
mod mcp;
mod media;
mod negotiation;
mod notices;
mod observation;
mod pages;
mod pipelining;
mod questions;
mod rates;
mod raw;
mod reload;
mod replicas;
mod search;
mod service_manager;
mod settings;
mod shutdown;
mod since;
mod site;
mod startup;
mod structured_data;
mod support;
#[cfg(feature = "import")]
mod sync;
mod timeouts;
mod tls;
mod transcripts;
#[cfg(feature = "import")]
mod verification;
