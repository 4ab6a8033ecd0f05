//! The entity-tags of single reviews, made in the background: to hash a review takes longer than all else about the
//! reply that holds it.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::model::Row;
use crate::wire::etag::EntityTag;

/// What the tag of each review is made of, in the order of rows: 16 bytes each, a thirtieth of a review. Written once;
/// until then a tag is made where it is asked for.
#[derive(Debug, Default)]
pub(super) struct ReviewTags(OnceLock<Box<[[u8; 16]]>>);

impl ReviewTags {
    /// Hashes `reviews`, which come in the order of rows, unless that was done: O(their bytes).
    pub(super) fn prepare<'j>(&self, reviews: impl Iterator<Item = &'j [u8]>) {
        self.0.get_or_init(|| reviews.map(half_digest).collect());
    }

    /// Returns the tag of the review in `row`, whose bytes are `json`: that of nothing but those bytes.
    pub(super) fn tag(&self, row: Row, json: &[u8]) -> EntityTag {
        let prepared = self.0.get().and_then(|all| all.get(row.0 as usize));
        EntityTag::from_half_digest(&prepared.copied().unwrap_or_else(|| half_digest(json)))
    }
}

/// Returns the first 128 bits of the SHA-256 of `json`.
fn half_digest(json: &[u8]) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(json).into();
    let (halves, _) = digest.as_chunks();
    halves[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_that_of_the_bytes_whether_it_was_prepared_or_not() {
        let reviews: [&[u8]; 3] = [b"{\"a\":1}", b"", b"{}"];
        let tags = ReviewTags::default();
        let all = |tags: &ReviewTags| {
            [0, 1, 2].map(|row| tags.tag(Row(row), reviews[row as usize]).to_string())
        };
        let expected = reviews.map(|review| EntityTag::of(&[review]).to_string());
        assert_eq!(all(&tags), expected);
        tags.prepare(reviews.into_iter());
        assert_eq!(all(&tags), expected);
        // What was prepared is not made again.
        assert_eq!(tags.tag(Row(0), b"other").to_string(), expected[0]);
    }
}
