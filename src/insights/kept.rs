//! The bytes in which insights outlive the process: the document, and what was read in each review.
//!
//! The document is taken again for the same files and settings. For others, what was read in a review is taken again
//! for one of the same words and stars, as nothing else decides about it but the method. A SHA-256 of all bytes
//! stands at the end; what it lets through is checked all the same, so that no bytes can make a derivation panic.

use std::collections::HashMap;
use std::fmt;

use sha2::{Digest, Sha256};

use super::Options;
use super::card::{MODEL, digests};
use super::derive::{Derived, Mention, Outcome};
use super::polarity::Polarity;
use crate::model::{Dataset, Review, Taxonomy};

/// Changes with the format.
const MAGIC: &[u8; 16] = b"reviewd-insight\x01";

/// To be raised with every change of what is derived or how it is written; a test notices most of them.
const REVISION: u32 = 3;

const SUM_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + 32 + 32 + 3 * 8;
const REVIEW_BYTES: usize = KEY_BYTES + 1 + 4 + 4;
const MENTION_BYTES: usize = 2 + 4 + 4 + 4 + 1 + 4;

/// Bytes of a SHA-256 that tell one review's words and stars from another's.
const KEY_BYTES: usize = 16;

/// What a review is known by: two of the same words and stars are read alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// The key of `review`.
    pub(super) fn of(review: &Review) -> Key {
        let mut hash = Sha256::new();
        hash.update([review.rating.stars()]);
        hash.update(review.text.as_bytes());
        let mut key = [0; KEY_BYTES];
        key.copy_from_slice(&hash.finalize()[..KEY_BYTES]);
        Key(key)
    }
}

/// The insights of a dataset, and what the next derivation can use of them.
#[derive(Debug)]
pub struct Kept {
    /// SHA-256 of method, files and settings.
    subject: [u8; 32],
    /// SHA-256 of all that decides about a review besides itself.
    method: [u8; 32],
    pub(super) derived: Derived,
    document: Vec<u8>,
}

/// Why kept bytes are of no use; answered by deriving anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptError {
    /// Made by another version of this program, or with other aspects.
    Method,
    /// Incomplete, changed after they were written, or none of ours.
    Damaged,
}

impl fmt::Display for KeptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            KeptError::Method => "made by another version or with other aspects",
            KeptError::Damaged => "damaged",
        })
    }
}

impl std::error::Error for KeptError {}

impl Kept {
    pub(super) fn new(
        dataset: &Dataset,
        options: &Options,
        derived: Derived,
        document: Vec<u8>,
    ) -> Kept {
        let method = method(&dataset.taxonomy);
        Kept {
            subject: subject(&method, dataset, options),
            method,
            derived,
            document,
        }
    }

    /// Tells whether the document is the one of `dataset` under `options`.
    #[must_use]
    pub fn is_of(&self, dataset: &Dataset, options: &Options) -> bool {
        self.subject == subject(&method(&dataset.taxonomy), dataset, options)
    }

    /// Returns the document, which stays here too.
    #[must_use]
    pub fn document(&self) -> &[u8] {
        &self.document
    }

    /// Returns the document.
    #[must_use]
    pub fn into_document(self) -> Vec<u8> {
        self.document
    }

    /// Hands the bytes to `sink` in four parts: 25 for each review, 19 for each mention, the document, and 136.
    ///
    /// # Errors
    /// The first of `sink`, which is not called again.
    pub fn encode<E>(&self, mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let Derived {
            keys,
            outcomes,
            mentions,
        } = &self.derived;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&self.method);
        header.extend_from_slice(&self.subject);
        for length in [keys.len(), mentions.len(), self.document.len()] {
            header.extend_from_slice(&(length as u64).to_le_bytes());
        }
        let mut readings =
            Vec::with_capacity(keys.len() * REVIEW_BYTES + mentions.len() * MENTION_BYTES);
        let mut rest = mentions.as_slice();
        for (row, (key, outcome)) in keys.iter().zip(outcomes).enumerate() {
            let own = rest.partition_point(|mention| mention.row as usize <= row);
            readings.extend_from_slice(&key.0);
            let (kind, value) = match *outcome {
                Outcome::Silent => (0, 0),
                Outcome::Unscored { mentions } => (1, mentions),
                Outcome::Scored(score) => (2, score.cast_unsigned()),
            };
            readings.push(kind);
            readings.extend_from_slice(&value.to_le_bytes());
            readings.extend_from_slice(&(own as u32).to_le_bytes());
            rest = &rest[own..];
        }
        for mention in mentions {
            readings.extend_from_slice(&mention.aspect.to_le_bytes());
            for number in [mention.sentence, mention.start, mention.end] {
                readings.extend_from_slice(&number.to_le_bytes());
            }
            readings.push(mention.polarity as u8);
            readings.extend_from_slice(&mention.margin.to_le_bytes());
        }
        let mut sum = Sha256::new();
        for part in [&header, &readings, &self.document] {
            sum.update(part);
            sink(part)?;
        }
        sink(&sum.finalize())
    }

    /// Reads what [`Kept::encode`] wrote, for a dataset of the same `taxonomy`.
    ///
    /// # Errors
    /// [`KeptError`] for any other bytes.
    pub fn decode(bytes: &[u8], taxonomy: &Taxonomy) -> Result<Kept, KeptError> {
        let mut input = Input(bytes);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(KeptError::Damaged);
        }
        let (method, subject) = (input.array()?, input.array()?);
        let [reviews, mentions, document] = [input.length()?, input.length()?, input.length()?];
        let body = bytes.len().checked_sub(SUM_BYTES);
        let (body, sum) = bytes.split_at(body.ok_or(KeptError::Damaged)?);
        if *Sha256::digest(body) != *sum {
            return Err(KeptError::Damaged);
        }
        if method != self::method(taxonomy) {
            return Err(KeptError::Method);
        }
        let sizes = [
            (reviews, REVIEW_BYTES),
            (mentions, MENTION_BYTES),
            (document, 1),
        ];
        // Before anything is allocated for them.
        let size = sizes.iter().try_fold(HEADER_BYTES, |sum, (count, each)| {
            sum.checked_add(count.checked_mul(*each)?)
        });
        if size != Some(body.len()) {
            return Err(KeptError::Damaged);
        }
        let derived = readings(&mut input, reviews, mentions, taxonomy.aspects.len())?;
        Ok(Kept {
            subject,
            method,
            derived,
            document: input.take(document)?.to_vec(),
        })
    }
}

fn readings(
    input: &mut Input<'_>,
    reviews: usize,
    mentions: usize,
    aspects: usize,
) -> Result<Derived, KeptError> {
    let mut derived = Derived::default();
    let mut rows = Vec::with_capacity(mentions);
    for row in 0..reviews {
        derived.keys.push(Key(input.array()?));
        let [kind] = input.array()?;
        let value = input.number()?;
        let outcome = match kind {
            0 => Outcome::Silent,
            1 => Outcome::Unscored { mentions: value },
            2 => Outcome::Scored(value.cast_signed()),
            _ => return Err(KeptError::Damaged),
        };
        derived.outcomes.push(outcome);
        let own = input.number()? as usize;
        if own > mentions - rows.len() {
            return Err(KeptError::Damaged);
        }
        rows.resize(rows.len() + own, row as u32);
    }
    for &row in &rows {
        let mention = Mention {
            row,
            aspect: u16::from_le_bytes(input.array()?),
            sentence: input.number()?,
            start: input.number()?,
            end: input.number()?,
            polarity: {
                let [polarity] = input.array()?;
                let polarity = Polarity::ALL.get(usize::from(polarity));
                *polarity.ok_or(KeptError::Damaged)?
            },
            margin: input.number()?.cast_signed(),
        };
        if usize::from(mention.aspect) >= aspects {
            return Err(KeptError::Damaged);
        }
        derived.mentions.push(mention);
    }
    match rows.len() == mentions {
        true => Ok(derived),
        false => Err(KeptError::Damaged),
    }
}

/// What was read earlier, by review.
#[derive(Debug, Default)]
pub(super) struct Earlier<'k> {
    readings: HashMap<Key, (Outcome, &'k [Mention])>,
}

impl<'k> Earlier<'k> {
    /// What `kept` can tell of the reviews of a dataset with `taxonomy`.
    pub(super) fn of(kept: Option<&'k Kept>, taxonomy: &Taxonomy) -> Earlier<'k> {
        let Some(kept) = kept.filter(|kept| kept.method == method(taxonomy)) else {
            return Earlier::default();
        };
        let mut mentions = kept.derived.mentions.as_slice();
        let pairs = kept.derived.keys.iter().zip(&kept.derived.outcomes);
        let readings = pairs.enumerate().map(|(row, (key, outcome))| {
            let own = mentions.partition_point(|mention| mention.row as usize <= row);
            let (of_review, rest) = mentions.split_at(own);
            mentions = rest;
            (*key, (*outcome, of_review))
        });
        Earlier {
            readings: readings.collect(),
        }
    }

    /// Appends the mentions of the review of `key`, which is in `row` now; `None` if it was not read.
    pub(super) fn take(&self, key: Key, row: u32, mentions: &mut Vec<Mention>) -> Option<Outcome> {
        let (outcome, of_review) = self.readings.get(&key)?;
        mentions.extend(of_review.iter().map(|mention| Mention { row, ..*mention }));
        Some(*outcome)
    }
}

fn method(taxonomy: &Taxonomy) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut put = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    put(env!("CARGO_PKG_VERSION"));
    put(MODEL);
    put(&REVISION.to_string());
    digests().iter().for_each(|digest| put(digest));
    for aspect in &taxonomy.aspects {
        put(&aspect.phrases.len().to_string());
        aspect.phrases.iter().for_each(|phrase| put(phrase));
    }
    hash.finalize().into()
}

fn subject(method: &[u8; 32], dataset: &Dataset, options: &Options) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(method);
    hash.update(dataset.digest);
    hash.update(options.mentions_min.to_le_bytes());
    hash.finalize().into()
}

/// Bytes that are yet to be read.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], KeptError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(KeptError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], KeptError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(KeptError::Damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u32, KeptError> {
        self.array().map(u32::from_le_bytes)
    }

    fn length(&mut self) -> Result<usize, KeptError> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| KeptError::Damaged)
    }
}

#[cfg(test)]
mod tests;
