//! Other people's exports into `reviews.json`: readers, one rule set for values, one merge.
//!
//! # The plan
//! A source is bytes that the caller opened; nothing here opens a file or asks for the time. It flows one way:
//!
//! 1. `encoding` finds how the bytes are written (byte order mark, UTF-16, UTF-8, else Windows-1252) and turns
//!    them into UTF-8 as they stream; `detect` finds what wrote them from their first `HEAD_BYTES`. `formats` is the
//!    table of what is known: the marks of each format, and under which names it holds what.
//! 2. A *reader* for each form streams `record::Record`s: what the source says of one review, as text, field by
//!    field, with the line on which it begins. `table` takes rows from `csv` or `xlsx`, `json` reads objects (lines,
//!    arrays, documents), `linked` schema.org nodes and saved pages; the latter two share `element`. A record that
//!    cannot be read is refused and the next one read; a source that cannot be read further ends the import, as half
//!    an export is not an export.
//! 3. `normalise` turns a record into a `candidate::Candidate`: `rating`, `date`, `text` and `identity` hold the rules,
//!    which are the same for all sources. Whatever is not certain is refused with its reason, never guessed: dates
//!    such as 03/04/2024 need a file whose other dates decide (`date::Evidence`) or a format.
//! 4. `merge` lays candidates over the reviews that are there, by id. A source speaks only for the fields that it
//!    has a place for, so what the operator added by hand (a mention, `verified`) stays. Reviews that a source no
//!    longer has are kept and counted. Reviews that do not change keep their bytes.
//! 5. `merge::Merge::render` gives the new file, newest first; the caller has it checked by `dataset::decode`,
//!    and writes it only then.
//!
//! # Bounds
//! One record takes at most `RECORD_BYTES_MAX` bytes, one linked document `LINKED_BYTES_MAX`. The merge holds the
//! file that is there, what is added or changed, and an index of ids; the caller's limit on the file is its limit too.
//! So memory depends on the result and not on the source: a gigabyte that changes nothing costs nothing.
//!
//! The order of records and of sources does not matter: of two records with one id the one changed later counts, and
//! where that does not decide, one is chosen by its bytes and the other refused.

pub mod candidate;
mod columns;
mod csv;
pub mod date;
pub mod detect;
mod element;
pub mod encoding;
pub mod formats;
mod identity;
mod json;
mod linked;
pub mod merge;
pub mod normalise;
mod platform;
mod rating;
pub mod read;
pub mod record;
mod stored;
mod table;
mod text;
pub mod xlsx;

#[cfg(test)]
mod tests;

pub use columns::{Mapping, parse_mapping};
pub use read::{ReadError, Reading, Shape, read, read_workbook};

/// One review of a source, at most: 1 MiB, more than any text that is published; a longer one ends the import, since
/// it is mostly a quotation mark that was never closed.
pub const RECORD_BYTES_MAX: u64 = 1 << 20;

/// One schema.org document or saved page: 8 MiB, read whole since its nodes refer to each other; the tree of values can
/// take a hundred times as much memory.
pub const LINKED_BYTES_MAX: u64 = 8 << 20;

/// How much of a source decides what it is: 64 KiB.
pub const HEAD_BYTES: usize = 64 << 10;
