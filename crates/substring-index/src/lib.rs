//! Exact counts and rows of any substring or word of a million texts, in microseconds.
//!
//! [`SubstringIndex::build`] folds the texts (case, diacritics and typography do not count, see [`mod@fold`]) and builds a
//! suffix tree that is cut off where a byte string occurs in few texts ([`tree`]). A needle that ends inside the tree is
//! answered without reading any text; a longer one has few candidates, whose texts are read. So every answer is exact,
//! also for one letter, for a part of a word and for scripts without spaces, and the index is a small multiple of the
//! texts: how small, the caller says.
//!
//! ```
//! use substring_index::{Options, SubstringIndex};
//!
//! let texts = ["Grüße aus Köln", "the koln concert", "cologne"];
//! let index = SubstringIndex::build(texts.iter().copied(), &Options::default());
//! assert_eq!(index.count("KÖLN"), 2);
//! assert_eq!(index.rows("oln"), [0, 1]);
//! assert_eq!(index.rows("logne"), [2]);
//! assert_eq!(index.rows_of_word("con"), [1]); // a word or the beginning of one
//! assert_eq!(index.count("kolner"), 0);
//! ```
//!
//! The parts are open to callers that combine several conditions: [`arena`] has the folded texts, [`tree`] the lookup of
//! one needle, [`rows`] sets of rows and their intersections, [`words`] says what a word is.

#![forbid(unsafe_code)]

pub mod arena;
pub mod fold;
mod index;
pub mod rows;
pub mod tree;
pub mod words;

pub use index::SubstringIndex;
pub use tree::{IndexOptions as Options, Tuning};
