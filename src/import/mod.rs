//! Other services' exports into `reviews.json`: readers, one rule set for values, one merge.
//!
//! 1. [`ImportSource::open`] takes the bytes of a source and finds its encoding (`encoding`), its format (`formats`) and
//!    its columns (`columns`). Nothing here opens a file or asks for the time.
//! 2. [`ImportSource::records`] reads `record::Record`s: what the source says of one review, as text, field by field.
//!    `csv` and `xlsx` give rows, `json` gives objects. A record that cannot be read is refused and the next one read; a
//!    source that cannot be read further ends the import, as half an export is not an export.
//! 3. `normalise` turns a record into a candidate by the rules of `rating`, `date`, `text` and `identity`, which are the
//!    same for all sources. What is not certain is refused with its reason, never guessed.
//! 4. [`Merge`] lays candidates over the stored reviews, by id. A source changes only the fields that it has columns
//!    for, so what the operator added by hand stays. [`Merge::render`] gives the new file; the caller has it checked by
//!    `dataset::decode`, and writes it only then.

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
