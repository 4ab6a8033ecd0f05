//! Search: one set of rules for REST and MCP, indexes over arrays, and the rows that a filter selects.

mod arena;
mod budget;
pub mod builder;
pub mod cursor;
pub mod envelope;
pub mod filter;
pub mod fold;
pub mod index;
pub mod issue;
mod names;
pub mod query;
mod reach;
mod rows;
pub mod run;
mod select;
mod text;
mod tree;

pub use tree::Tuning;

#[cfg(test)]
mod tests;
