//! Search, with the same rules for REST and MCP: queries, the index, and the rows that a query selects.

pub mod changes;
pub mod envelope;
pub mod figures;
pub mod filter;
pub mod fold;
pub mod hints;
pub mod include;
pub mod index;
pub mod issue;
pub mod names;
pub mod query;
pub mod question;
pub mod rank;
pub mod resolved;
pub mod run;
mod scores;
mod stem;
mod terms;
mod vocabulary;
mod word_index;
pub mod work;

use substring_index::{arena, rows, tree};
pub use tree::Tuning;

#[cfg(test)]
mod tests;
