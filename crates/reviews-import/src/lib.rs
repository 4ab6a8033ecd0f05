//! Exports of review platforms, and spreadsheets, into one file of reviews: readers, one set of rules for values, one
//! merge.
//!
//! 1. [`ImportSource::open`] takes the bytes of a source and detects its encoding (`encoding`), its format (`formats`)
//!    and its columns (`columns`). No code here opens files or reads the clock.
//! 2. [`ImportSource::records`] reads [`Record`]s, the fields of one review as text. `csv` and `xlsx` give rows,
//!    `json` gives objects. An invalid record is refused, and reading continues; an error of the source itself ends
//!    the import, because an incomplete export must not be imported.
//! 3. `normalise` turns a record into a candidate by the rules of `rating`, [`date`], `text` and `identity`, which are the
//!    same for all sources. An ambiguous value is refused with a reason, never guessed.
//! 4. [`Merge`] merges candidates with the stored reviews, by id. A source changes only the fields that it has columns
//!    for, so fields that the operator added by hand stay. [`Merge::render`] returns the new file; the caller checks it
//!    with `dataset::decode` before writing it.
//!
//! ```
//! use reviewd_wire::date::Timestamp;
//! use reviews_import::{ImportSource, Merge, Options, new_file};
//!
//! let now = Timestamp::from_unix(1_795_000_000);
//! let file = new_file("Hart Law", "LegalService", "https://hart.example/", now);
//! let export = "Name,Stars,Date,Review\nBo,4/5,31.12.2025,Good advice.\nIda,6/5,30.12.2025,Bad.\n";
//!
//! let options = Options::new(now.date());
//! let source = ImportSource::open("export.csv", export.as_bytes(), &options).unwrap();
//! let mut merge = Merge::new(&file).unwrap();
//! merge.begin(&source);
//! for found in source.records() {
//!     merge.take(found.unwrap(), &source);
//! }
//! let report = merge.report(false);
//! assert_eq!(report.sources[0].added, 1);
//! assert_eq!(report.refused[0].line, 3); // six of five stars
//! assert!(merge.render(now).contains("\"rating\": 4"));
//! ```

#![forbid(unsafe_code)]

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

pub use encoding_rs::Encoding;
pub use formats::{SourceFormat, formats, named};
pub use merge::{Merge, Note, Report, new_file};
pub use record::{Field, Found, Mapping, ReadError, Record, Refusal, parse_mapping};
pub use source::{ImportSource, Options, SourceReport, Vouched};
