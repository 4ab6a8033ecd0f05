//! Search: one set of rules for REST and MCP, indexes over arrays, and the rows that a filter selects.

mod arena;
pub mod envelope;
pub mod filter;
pub mod fold;
pub mod hints;
pub mod index;
pub mod issue;
pub mod names;
pub mod query;
mod rows;
pub mod run;
mod terms;
mod tree;

pub use tree::Tuning;

#[cfg(test)]
mod tests;
