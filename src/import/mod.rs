//! Other services' exports into `reviews.json`: readers, one rule set for values, one merge.
//!
//! 1. The caller opens the bytes; nothing here opens a file or asks for the time. [`ImportSource::open`] finds the
//!    encoding (`encoding`), the format (`detect`) and the columns (`columns`); `formats` is the table of what is known.
//! 2. A reader for each form hands on `record::Record`s: what the source says of one review, as text, field by field.
//!    `table` takes rows from `csv` or `xlsx`, `json` reads objects and `linked` schema.org nodes, both by `element`. A
//!    record that cannot be read is refused and the next one read; a source that cannot be read further ends the import,
//!    as half an export is not an export.
//! 3. `normalise` turns a record into a candidate by the rules of `rating`, `date`, `text` and `identity`, which are the
//!    same for all sources. What is not certain is refused with its reason, never guessed.
//! 4. [`Merge`] lays candidates over the stored reviews, by id. A source changes only the fields that it has columns
//!    for, so what the operator added by hand stays. [`Merge::render`] gives the new file; the caller has it checked by
//!    `dataset::decode`, and writes it only then.
//!
//! Memory depends on the result and not on the source, but for workbooks and schema.org documents, whose size is limited.

mod columns;
mod csv;
pub mod date;
mod detect;
mod element;
mod encoding;
mod formats;
mod identity;
mod json;
mod linked;
mod merge;
mod normalise;
mod rating;
mod record;
mod review;
mod source;
mod table;
mod text;
mod xlsx;

#[cfg(test)]
mod tests;

pub(crate) use columns::{Mapping, parse_mapping};
pub use detect::named;
pub use formats::SourceFormat;
pub(crate) use formats::formats;
pub use merge::Merge;
pub(crate) use merge::{BusinessFacts, Note, NoteText, Report, SourceReport};
pub use record::{Found, Record, Refusal, Sink};
pub(crate) use source::Vouched;
pub use source::{ImportSource, Opener, Options, ReadError};

/// One review of a source, at most: 1 MiB, more than any text that is published; a longer one ends the import, since
/// it is mostly a quotation mark that was never closed.
pub(crate) const RECORD_BYTES_MAX: u64 = 1 << 20;

/// One schema.org document or saved page: 8 MiB, read whole since its nodes refer to each other; the tree of values can
/// take a hundred times as much memory.
const LINKED_BYTES_MAX: u64 = 8 << 20;

/// The beginning of a source by which its format is found: 64 KiB.
const HEAD_BYTES: usize = 64 << 10;
