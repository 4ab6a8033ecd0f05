//! Strong entity-tags made from content (RFC 9110 §8.8.3).

use std::fmt;

use sha2::{Digest, Sha256};

use super::negotiate::Coding;

/// A strong entity-tag: 32 hexadecimal digits between quotation marks, the first 128 bits of the SHA-256 of
/// what it stands for, with the content coding's suffix if the body is encoded.
///
/// It depends on nothing but the bytes, so two replicas with the same files agree, and `sha256sum` of a body
/// shows the tag. 128 bits leave no chance of two contents sharing one; an inline array, so copying is free.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityTag {
    bytes: [u8; TAG_BYTES],
    len: u8,
}

impl EntityTag {
    /// Returns the tag of `parts` joined together.
    ///
    /// Where the seams matter (a digest and then a query), the caller makes them visible: by parts of fixed
    /// size, or by a separator.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> EntityTag {
        let mut hasher = TagHasher::new();
        for part in parts {
            hasher.update(part);
        }
        hasher.tag()
    }

    /// Returns the tag of content whose SHA-256 is already known.
    #[must_use]
    pub fn from_digest(digest: &[u8; 32]) -> EntityTag {
        let mut bytes = [0u8; TAG_BYTES];
        bytes[0] = b'"';
        for (pair, byte) in bytes[1..BARE_BYTES].chunks_exact_mut(2).zip(digest) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        bytes[BARE_BYTES] = b'"';
        EntityTag {
            bytes,
            len: (BARE_BYTES + 1) as u8,
        }
    }

    /// Returns the tag of the same content in `coding` (RFC 9110 §8.8.3.3: each coding has its own).
    ///
    /// Only the last call counts: a suffix replaces the one before it, and `Identity` has none.
    #[must_use]
    pub fn with_coding(self, coding: Coding) -> EntityTag {
        let suffix = coding.tag_suffix().as_bytes();
        let mut bytes = self.bytes;
        bytes[BARE_BYTES..].fill(0);
        bytes[BARE_BYTES..BARE_BYTES + suffix.len()].copy_from_slice(suffix);
        bytes[BARE_BYTES + suffix.len()] = b'"';
        EntityTag {
            bytes,
            len: (BARE_BYTES + suffix.len() + 1) as u8,
        }
    }

    /// Returns the tag as a header field carries it, with its quotation marks: 34 to 38 ASCII characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes())
            .expect("a tag is made of hexadecimal digits, quotes and a suffix")
    }

    /// Returns the bytes of `as_str`.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for EntityTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// Hashes content that arrives piece by piece; clones share the prefix, and `tag` may be asked at any point,
/// so the tags of all prefixes of an array cost one pass over it.
#[derive(Clone, Debug, Default)]
pub struct TagHasher(Sha256);

impl TagHasher {
    /// Returns a hasher that has seen nothing.
    #[must_use]
    pub fn new() -> TagHasher {
        TagHasher(Sha256::new())
    }

    /// Adds `bytes`; where one call ends and the next begins makes no difference.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the tag of everything added so far; adding may go on.
    #[must_use]
    pub fn tag(&self) -> EntityTag {
        EntityTag::from_digest(&self.0.clone().finalize().into())
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";
/// The opening quotation mark and 32 digits.
const BARE_BYTES: usize = 33;
/// The longest tag: the bare one, the longest suffix (`-zst`) and the closing quotation mark.
const TAG_BYTES: usize = BARE_BYTES + 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_beginning_of_sha256_in_quotes() {
        // `printf abc | sha256sum | cut -c1-32`
        assert_eq!(
            EntityTag::of(&[b"abc"]).as_str(),
            "\"ba7816bf8f01cfea414140de5dae2223\""
        );
        assert_eq!(EntityTag::of(&[b"a", b"", b"bc"]), EntityTag::of(&[b"abc"]));
        assert_ne!(EntityTag::of(&[b"abc"]), EntityTag::of(&[b"abd"]));
    }

    #[test]
    fn each_coding_has_its_own_tag() {
        let tag = EntityTag::of(&[b"abc"]);
        assert_eq!(
            tag.with_coding(Coding::Gzip).as_str(),
            "\"ba7816bf8f01cfea414140de5dae2223-gz\""
        );
        assert_eq!(
            tag.with_coding(Coding::Brotli).as_str(),
            "\"ba7816bf8f01cfea414140de5dae2223-br\""
        );
        assert_eq!(
            tag.with_coding(Coding::Zstd).as_str(),
            "\"ba7816bf8f01cfea414140de5dae2223-zst\""
        );
        assert_eq!(tag.with_coding(Coding::Identity), tag);
    }

    #[test]
    fn suffix_replaces_the_one_before() {
        let tag = EntityTag::of(&[b"abc"]);
        assert_eq!(
            tag.with_coding(Coding::Zstd).with_coding(Coding::Gzip),
            tag.with_coding(Coding::Gzip)
        );
        assert_eq!(
            tag.with_coding(Coding::Zstd).with_coding(Coding::Identity),
            tag
        );
    }

    #[test]
    fn hasher_tells_the_tag_of_each_prefix() {
        let mut hasher = TagHasher::new();
        hasher.update(b"ab");
        let mut other = hasher.clone();
        assert_eq!(hasher.tag(), EntityTag::of(&[b"ab"]));
        hasher.update(b"c");
        other.update(b"d");
        assert_eq!(hasher.tag(), EntityTag::of(&[b"abc"]));
        assert_eq!(other.tag(), EntityTag::of(&[b"abd"]));
    }
}
