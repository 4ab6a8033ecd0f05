//! Exports of review platforms, and spreadsheets, into one file of reviews: readers, one set of rules for values, one
//! merge.
//!
//! 1. [`ImportSource::open`] takes the bytes of a source and detects its encoding (`encoding`). `csv` and `xlsx` give rows;
//!    `json` finds lists of objects (`javascript` makes JSON of a module); `markup` makes objects of XML and of the linked
//!    data of web pages. A row counts as an object, too. [`archive`] unpacks the files of a ZIP first. No code here opens files or
//!    reads the clock.
//! 2. The keys and values of these objects (`shape`) show the format (`formats`), the columns of each field (`columns`, `replies`, `resolve`), and
//!    the columns that hide reviews (`status`).
//! 3. [`ImportSource::records`] reads [`Record`]s, the fields of one review as text. An invalid record is refused, and
//!    reading continues; an error of the source itself ends the import, because an incomplete export must not be imported.
//! 4. `normalize` turns a record into a candidate by the rules of `rating`, [`date`], `relative`, `text`, `media` and
//!    `identity`, which are the same for all sources. An ambiguous value is refused with a reason, never guessed.
//! 5. [`Merge`] merges candidates with the stored reviews, by id. A source changes only the fields that it has columns
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
//! assert_eq!(report.rejected[0].line, 3); // six of five stars
//! assert!(merge.render(now).contains("\"rating\": 4"));
//! ```

#![forbid(unsafe_code)]

pub mod archive;
mod columns;
mod csv;
pub mod date;
mod encoding;
pub mod fetch;
mod formats;
mod identity;
mod javascript;
mod json;
mod markup;
mod media;
mod merge;
mod normalize;
pub mod photo;
mod rating;
mod record;
mod relative;
pub mod remote;
mod replies;
mod resolve;
mod review;
mod shape;
mod source;
mod status;
mod text;
mod xlsx;

#[cfg(test)]
mod tests;

pub use encoding_rs::Encoding;
pub use formats::{SourceFormat, formats, named};
pub use merge::{
    Merge, Note, PhotoCounts, PhotoFiles, PhotoTable, PruneError, Report, ReviewSample,
    StoredFileError, VerifiedAs, new_file,
};
pub use record::{
    Field, MappedField, Mapping, MappingError, ObjectError, ReadError, Record, RecordResult,
    Refusal, parse_mapping,
};
pub use source::{ImportSource, Options, SourceReport, Vouched};
pub use status::{PublishedIf, StatusOptions, parse_published_if};
pub use text::short_message;
