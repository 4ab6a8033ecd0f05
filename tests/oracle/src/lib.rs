//! Reference implementations of the fast parts, and `check_*` functions over bytes that tests and fuzz targets share.
//!
//! A reference is so simple that it is unlikely to be wrong, and written in another way than the code that it checks.
//! A `check_*` function takes any bytes, runs both, and panics where they differ: property tests call it with
//! shrinking, a fuzz target is the one line that calls it, and every file of its corpus is replayed by `cargo test`.
//!
//! `CHECKS` names them all; `fuzz/README.md` says how to add one.

pub mod conditional;
pub mod dataset;
pub mod date;
pub mod form;
pub mod forwarded;
pub mod hub;
pub mod import;
pub mod insights;
pub mod json;
pub mod mcp;
pub mod negotiate;
pub mod query;
pub mod request;
pub mod search;
pub mod service;
pub mod xml;

/// Every check by the name of its fuzz target, in alphabetical order; it panics where code and reference differ.
#[expect(clippy::type_complexity, reason = "a name and a function")]
pub const CHECKS: &[(&str, fn(&[u8]))] = &[
    ("accept_encoding", negotiate::check_accept_encoding),
    ("conditional", conditional::check_conditional),
    ("cursor", query::check_cursor),
    ("dataset", dataset::check_dataset),
    ("date", date::check_date),
    ("form", form::check_form),
    ("forwarded", forwarded::check_forwarded),
    ("hub_form", hub::check_hub_form),
    ("hub_sequence", hub::check_hub_sequence),
    ("import_csv", import::check_import_csv),
    ("import_json", import::check_import_json),
    ("import_values", import::check_import_values),
    ("insights", insights::check_insights),
    ("json", json::check_json),
    ("mcp", mcp::check_mcp),
    ("query", query::check_query),
    ("request", request::check_request),
    ("search", search::check_search),
    ("xml", xml::check_xml),
];

/// The lines of `data` without their line feeds: how a check reads several values from one input.
fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests;
