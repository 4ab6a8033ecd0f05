//! Strong entity-tags computed from content (RFC 9110 §8.8.3).

use std::fmt;

use sha2::{Digest, Sha256};
use siphasher::sip128::SipHasher24;

use super::negotiate::Coding;
use super::text::hex_digits;

/// The opening quotation mark and 32 digits.
const BARE_BYTES: usize = 33;
/// The longest tag: the bare one, the longest suffix (`-br`) and the closing quotation mark.
const TAG_BYTES: usize = BARE_BYTES + 4;

/// A strong entity-tag: 32 hexadecimal digits between quotation marks, the first 128 bits of the SHA-256 of the
/// content, with the content coding's suffix if the body is encoded.
///
/// It depends only on the bytes, so two replicas with the same files agree, and `sha256sum` of a body prints the
/// digits. With 128 bits, collisions are practically impossible. Stored inline, so copying is cheap.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityTag {
    bytes: [u8; TAG_BYTES],
    len: u8,
}

impl EntityTag {
    /// Returns the tag of `parts` joined together. If boundaries between parts matter (a digest and then a
    /// query), the caller must use parts of fixed size or a separator.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> EntityTag {
        EntityTag::from_digest(&digest(parts))
    }

    /// Returns the tag of all bytes hashed so far; hashing may continue, so one pass can return the tags of all
    /// prefixes of an array.
    #[must_use]
    pub fn of_hasher(hasher: &Sha256) -> EntityTag {
        EntityTag::from_digest(&hasher.clone().finalize().into())
    }

    /// Returns the tag of content whose SHA-256 is already known.
    #[must_use]
    pub fn from_digest(digest: &[u8; 32]) -> EntityTag {
        let (halves, _) = digest.as_chunks();
        EntityTag::from_half_digest(&halves[0])
    }

    /// Returns the tag of content from the first 128 bits of its hash; a tag contains no more.
    #[must_use]
    pub fn from_half_digest(digest: &[u8; 16]) -> EntityTag {
        let mut bytes = [0u8; TAG_BYTES];
        bytes[0] = b'"';
        for (pair, byte) in bytes[1..BARE_BYTES].chunks_exact_mut(2).zip(digest) {
            pair.copy_from_slice(&hex_digits(*byte));
        }
        bytes[BARE_BYTES] = b'"';
        EntityTag {
            bytes,
            len: (BARE_BYTES + 1) as u8,
        }
    }

    /// Returns the tag of the same content in `coding` (RFC 9110 §8.8.3.3: each coding has its own).
    ///
    /// A later call replaces the suffix of an earlier one; `Identity` has no suffix.
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

    /// Returns the tag as sent in header fields, with its quotation marks: 34 to 37 ASCII characters.
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

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Creates the tags of responses that are computed per query: 128 bits of SipHash-2-4, keyed by a SHA-256 of the data.
///
/// A tag is compared only with other tags of the same URL, which differ only by the content, and so by the key. So the
/// hash of the query need not resist attackers, only be fast: about 400 instructions for 25 bytes, instead of 7,000 for
/// two blocks of SHA-256 in software.
#[derive(Clone, Copy, Debug)]
pub struct QueryTags {
    key: [u64; 2],
}

impl QueryTags {
    /// Creates the tags of responses that depend on `parts`; for boundaries between parts see [`EntityTag::of`].
    #[must_use]
    pub fn new(parts: &[&[u8]]) -> QueryTags {
        let digest = digest(parts);
        let (words, _) = digest.as_chunks::<8>();
        QueryTags {
            key: [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])],
        }
    }

    /// Returns the tag of the response to `query` at the path with this number.
    #[must_use]
    pub fn tag(&self, path_number: u8, query: &[u8]) -> EntityTag {
        let [first, second] = self.key;
        let hasher = SipHasher24::new_with_keys(first ^ u64::from(path_number), second);
        EntityTag::from_half_digest(&hasher.hash(query).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_beginning_of_sha256_in_quotes() {
        // `printf abc | sha256sum | cut -c1-32`
        let tag = "\"ba7816bf8f01cfea414140de5dae2223\"";
        assert_eq!(EntityTag::of(&[b"abc"]).as_str(), tag);
        assert_eq!(EntityTag::of(&[b"a", b"", b"bc"]), EntityTag::of(&[b"abc"]));
        assert_ne!(EntityTag::of(&[b"abc"]), EntityTag::of(&[b"abd"]));
    }

    #[test]
    fn each_coding_has_a_suffix_that_replaces_that_of_another() {
        let tag = EntityTag::of(&[b"abc"]);
        let gzip = tag.with_coding(Coding::Gzip);
        assert_eq!(gzip.as_str(), "\"ba7816bf8f01cfea414140de5dae2223-gz\"");
        let brotli = gzip.with_coding(Coding::Brotli);
        assert_eq!(brotli.as_str(), "\"ba7816bf8f01cfea414140de5dae2223-br\"");
        assert_eq!(brotli.with_coding(Coding::Identity), tag);
        assert_eq!(format!("{brotli:?}"), brotli.as_str());
    }

    #[test]
    fn a_query_tag_is_siphash_2_4_of_the_query_under_the_key() {
        let tags = QueryTags {
            key: [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908],
        };
        // `vectors_sip128` of the reference code.
        let tag = tags.tag(0, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(tag.as_str(), "\"3b62a9ba6258f5610f83e264f31497b4\"");
    }

    #[test]
    fn the_number_of_the_path_changes_bits_of_the_key() {
        let of_path = QueryTags { key: [0b110, 7] }.tag(0b011, b"rating=5");
        let of_key = QueryTags { key: [0b101, 7] }.tag(0, b"rating=5");
        assert_eq!(of_path, of_key);
    }

    #[test]
    fn query_tags_tell_content_address_and_query_apart() {
        let [tags, other] = [QueryTags::new(&[b"", b"a"]), QueryTags::new(&[b"b"])];
        let tag = tags.tag(0, b"rating=5");
        assert_eq!(tag, QueryTags::new(&[b"a"]).tag(0, b"rating=5"));
        assert_ne!(tag, tags.tag(0, b"rating=4"));
        assert_ne!(tag, tags.tag(1, b"rating=5"));
        assert_ne!(tag, other.tag(0, b"rating=5"));
    }
}
