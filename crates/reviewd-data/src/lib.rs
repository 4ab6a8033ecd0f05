//! The files of a reviews service: decoded into a checked [`model::Dataset`], and rendered into the documents that are
//! published.
//!
//! [`dataset::decode`] is the only place where the operator's files become values. It reports every problem of every file
//! with its position. No clock and no I/O: the caller reads the files and says what time it is.
//!
//! ```
//! use reviewd_data::dataset::{Files, decode};
//! use reviewd_wire::date::Timestamp;
//!
//! let files = Files {
//!     reviews: br#"{"business": {"name": "Hart Law"}, "reviews": [{"rating": 7}]}"#.to_vec(),
//!     ..Files::default()
//! };
//! let problems = decode(files, Timestamp::from_unix(1_795_000_000)).unwrap_err();
//! let problem = problems.listed.iter().find(|problem| problem.path == "reviews[0].rating");
//! assert!(problem.unwrap().message.contains("from 1 to 5"));
//! ```

#![forbid(unsafe_code)]

pub mod dataset;
pub mod model;
