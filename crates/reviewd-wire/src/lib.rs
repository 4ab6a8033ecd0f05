//! Parsers and renderers of the formats that a small HTTP service reads and writes: bytes into values and back.
//!
//! Nothing here knows what a service is about, reads a clock or does I/O. Parsers take untrusted bytes, never panic, and
//! allocate only what they return.
//!
//! ```
//! use reviewd_wire::conditional::{Validators, is_not_modified};
//! use reviewd_wire::date::{DateError, parse_date};
//! use reviewd_wire::etag::EntityTag;
//!
//! let date = parse_date(b"2026-02-28")?;
//! assert_eq!(date.day(), 28);
//! assert!(parse_date(b"2026-02-30").is_err());
//!
//! let tag = EntityTag::of(&[b"the content"]);
//! let validators = Validators {
//!     etag: tag.as_bytes(),
//!     last_modified: Some(date.timestamp()),
//! };
//! let if_none_match = [tag.as_bytes()];
//! assert!(is_not_modified(validators, if_none_match, []));
//! # Ok::<(), DateError>(())
//! ```

#![forbid(unsafe_code)]

pub mod address;
pub mod authority;
pub mod conditional;
pub mod date;
pub mod etag;
pub mod form;
pub mod forwarded;
pub mod json;
pub mod negotiate;
pub mod network;
pub mod sentence;
pub mod text;
pub mod trace;
pub mod xml;
