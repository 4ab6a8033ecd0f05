//! Reference implementations of the fast parts, and `check_*` functions over bytes that tests and fuzz targets share.
//!
//! A reference is so simple that it is unlikely to be wrong, and written in another way than the code that it checks.
//! A `check_*` function takes any bytes, runs both, and panics where they differ: property tests call it with
//! shrinking, a fuzz target is the one line that calls it, and every file of its corpus is replayed by `cargo test`.
//!
//! `CHECKS` names them all; `fuzz/README.md` says how to add one.

mod conditional;
mod dataset;
mod date;
mod form;
mod forwarded;
pub mod hub;
mod import;
mod insights;
mod json;
mod mcp;
mod negotiate;
mod query;
mod request;
mod search;
pub mod service;
mod xml;

pub use conditional::check_conditional;
pub use dataset::check_dataset;
pub use date::check_date;
pub use form::check_form;
pub use forwarded::check_forwarded;
pub use hub::{check_hub_form, check_hub_sequence};
pub use import::{check_import_csv, check_import_json, check_import_values};
pub use insights::check_insights;
pub use json::check_json;
pub use mcp::check_mcp;
pub use negotiate::check_accept_encoding;
pub use query::{check_cursor, check_query, check_since_path};
pub use request::check_request;
pub use search::check_search;
pub use xml::check_xml;

/// Every check by the name of its fuzz target, in alphabetical order; it panics where code and reference differ.
#[expect(clippy::type_complexity, reason = "a name and a function")]
pub const CHECKS: &[(&str, fn(&[u8]))] = &[
    ("accept_encoding", check_accept_encoding),
    ("conditional", check_conditional),
    ("cursor", check_cursor),
    ("dataset", check_dataset),
    ("date", check_date),
    ("form", check_form),
    ("forwarded", check_forwarded),
    ("hub_form", check_hub_form),
    ("hub_sequence", check_hub_sequence),
    ("import_csv", check_import_csv),
    ("import_json", check_import_json),
    ("import_values", check_import_values),
    ("insights", check_insights),
    ("json", check_json),
    ("mcp", check_mcp),
    ("query", check_query),
    ("request", check_request),
    ("search", check_search),
    ("since_path", check_since_path),
    ("xml", check_xml),
];

/// The lines of `data` without their line feeds: how a check reads several values from one input.
fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests;
