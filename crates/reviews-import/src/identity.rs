//! The id of an imported review: the same in every import, independent of the order of the file.

use sha2::{Digest, Sha256};

use reviewd_wire::date::Date;
use reviewd_wire::text::hex;

/// Longest prefix of an id with the source's name, by which people see where a review is from.
const PREFIX_MAX: usize = 24;

/// Hexadecimal digits of the digest in an id: 128 bits.
const HASH_CHARS: usize = 32;

/// Digits of a position in the ids of reviews without dates, and the largest position.
const NUMBER_CHARS: usize = 7;
const NUMBER_MAX: u64 = 9_999_999;

/// Returns the id of the review with the id `own` in `source`.
pub(super) fn id_of_own(source: &str, own: &str) -> String {
    derived(source, &["id", own])
}

/// Returns the id of a review whose source has no ids; after an edit of its text it is another review.
pub(super) fn id_of_content(source: &str, author: &str, date: Date, text: &str) -> String {
    derived(source, &["content", author, &date.to_string(), text])
}

/// Returns the id of a review whose source has no ids, and whose date is approximate. The date is not a part of it, because
/// it is another one in each export.
pub(super) fn id_of_approximate(source: &str, author: &str, text: &str) -> String {
    derived(source, &["about", author, text])
}

/// Returns the id of a review without id and date. All such reviews have one day, so the ids give the order of the file:
/// `below` is the number of records after this one.
pub(super) fn id_of_undated(source: &str, author: &str, text: &str, below: u64) -> String {
    let whole = derived(source, &["undated", author, text]);
    let (name, hash) = whole.rsplit_once('-').unwrap_or(("", &whole));
    let name = &name[..name.len().min(PREFIX_MAX - NUMBER_CHARS)];
    format!("{name}-{:0>NUMBER_CHARS$}-{hash}", below.min(NUMBER_MAX))
}

/// Returns the part of such an id that stays if the file has other reviews before or after it.
pub(super) fn undated_hash(id: &str) -> Option<&str> {
    let (head, hash) = id.rsplit_once('-')?;
    let (_, number) = head.rsplit_once('-')?;
    let is_number =
        number.len() == NUMBER_CHARS && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || hash.len() != HASH_CHARS {
        return None;
    }
    Some(hash)
}

/// Returns the name of the source and 128 bits of the SHA-256 of it and `parts`, each preceded by its length.
fn derived(source: &str, parts: &[&str]) -> String {
    let source = source.to_lowercase();
    let mut hash = Sha256::new();
    for part in std::iter::once(source.as_str()).chain(parts.iter().copied()) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let name_chars = source.chars().filter(char::is_ascii_alphanumeric);
    let mut id: String = name_chars.take(PREFIX_MAX).collect();
    if !id.is_empty() {
        id.push('-');
    }
    id.push_str(&hex(&hash.finalize()[..HASH_CHARS / 2]));
    id
}

#[cfg(test)]
mod tests {
    use super::{id_of_content, id_of_own};
    use reviewd_data::dataset::is_review_id;
    use reviewd_wire::date::Date;

    #[test]
    fn ids_are_stable_and_tell_reviews_apart() {
        // If this value changed, the next import would add every review again under a new id.
        let id = "google-6a3a3793296502e662a9c97b1e123ae4";
        for source in ["google", "Google"] {
            assert_eq!(id_of_own(source, "AbFvOqk1"), id);
        }
        assert_ne!(id_of_own("google", "a"), id_of_own("trustpilot", "a"));
        let day = Date::new(2024, 3, 4).unwrap();
        assert_ne!(
            id_of_content("x", "ab", day, "c"),
            id_of_content("x", "a", day, "bc")
        );
        assert_ne!(id_of_content("x", "a", day, "c"), id_of_own("x", "a"));
        for source in ["Ärzte & Co. / Bewertungen aus aller Welt", "評"] {
            assert!(is_review_id(&id_of_own(source, "x")), "{source}");
        }
    }
}
