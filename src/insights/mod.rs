//! What the reviews say, derived offline: no service is asked, no sentence is made up, and every number leads back to
//! the words that it came from.
//!
//! The way through: `derive` reads each review once (language gate, sentences, aspects, the judgement of each
//! mention); `aspects`, `phrases`, `temporal` and `count` add up; `render` writes the document; `card` says how good
//! the method is. Rendering depends on nothing but the dataset, so replicas agree.

mod aspect;
mod aspects;
mod card;
mod count;
mod derive;
pub mod evaluate;
pub mod explain;
mod language;
mod lexicon;
mod number;
mod parallel;
mod phrases;
pub mod polarity;
mod render;
mod sentence;
pub mod sentiment;
mod summary;
mod temporal;
mod vocabulary;
mod words;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

use crate::model::Dataset;

pub use card::MODEL;
use derive::Derived;

/// Version of the document's schema; keys are only ever added to it.
pub const SCHEMA_VERSION: u64 = 1;

/// Mentions from which on an aspect is scored, unless told otherwise.
pub const MENTIONS_MIN: u32 = 5;

/// How to derive.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many threads read reviews. The document does not depend on it.
    pub threads: NonZeroUsize,
    /// An aspect with fewer mentions is counted and not scored.
    pub mentions_min: u32,
}

/// Renders the bytes of `/insights.json`: the operator's own document as it stands, else the derived one.
///
/// Reads every text a few times: 100,000 reviews with 37 MB of text took 8.5 s of processor time, shared by the
/// threads, so off the request threads. The document of those is 14 MB, mostly `per_review`: evidence is bounded for
/// each aspect. Beside it there are some 30 bytes for each mention and at most a few million phrases.
#[must_use]
pub fn document(dataset: &Dataset, options: &Options) -> Vec<u8> {
    document_unless(dataset, options, &|| false).expect("nothing cancels it")
}

/// Renders what [`document`] renders; `None` where `cancelled` returned true before all reviews were read.
#[must_use]
pub fn document_unless(
    dataset: &Dataset,
    options: &Options,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<u8>> {
    if let Some(given) = &dataset.insights {
        return Some(given.clone());
    }
    let derived = Derived::of(dataset, options, cancelled)?;
    Some(render::Document::of(dataset, options, &derived).render())
}
