//! Imports exports of other services into `reviews.json`: readers, one set of rules for values, one merge.
//!
//! 1. [`ImportSource::open`] takes the bytes of a source and detects its encoding (`encoding`), its format (`formats`)
//!    and its columns (`columns`). No code here opens files or reads the clock.
//! 2. [`ImportSource::records`] reads `record::Record`s, the fields of one review as text. `csv` and `xlsx` give rows,
//!    `json` gives objects. An invalid record is refused, and reading continues; an error of the source itself ends
//!    the import, because an incomplete export must not be imported.
//! 3. `normalise` turns a record into a candidate by the rules of `rating`, `date`, `text` and `identity`, which are the
//!    same for all sources. An ambiguous value is refused with a reason, never guessed.
//! 4. [`Merge`] merges candidates with the stored reviews, by id. A source changes only the fields that it has columns
//!    for, so fields that the operator added by hand stay. [`Merge::render`] returns the new file; the caller checks it
//!    with `dataset::decode` before writing it.

mod columns;
mod csv;
pub mod date;
mod encoding;
mod formats;
mod identity;
mod json;
mod merge;
mod normalise;
mod rating;
mod record;
mod review;
mod source;
mod text;
mod xlsx;

#[cfg(test)]
mod tests;

pub(crate) use formats::formats;
pub use formats::{SourceFormat, named};
pub(crate) use merge::Report;
pub use merge::{Merge, new_file};
pub use record::ReadError;
pub(crate) use record::{Field, parse_mapping};
pub use record::{Found, Record, Refusal};
pub use source::{ImportSource, Options};
pub(crate) use source::{SourceReport, Vouched};
