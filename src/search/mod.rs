//! Search, with the same rules for REST and MCP: queries, the index, and the rows that a query selects.

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
pub mod work;

pub use tree::Tuning;

#[cfg(test)]
mod tests;
