//! Search: one set of rules for REST and MCP, indexes over arrays, and the rows that a filter selects.

mod arena;
mod budget;
pub mod builder;
pub mod cursor;
pub mod envelope;
mod every_word;
pub mod filter;
pub mod fold;
pub mod hints;
pub mod index;
pub mod issue;
pub mod names;
pub mod query;
mod reach;
mod rows;
pub mod run;
mod select;
mod text;
mod tree;
pub mod words;

pub use tree::Tuning;

#[cfg(test)]
mod tests;
