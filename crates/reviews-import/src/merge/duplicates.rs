//! Finds possible duplicates: reviews entered by hand and imported later, edited in a source without ids, or written on
//! two platforms.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Merge, Note};
use crate::formats::ANONYMOUS;
use crate::review::ReviewObject;
use crate::text::normal;

impl Merge<'_> {
    /// A remark on each added review that resembles another one, by source and line. None is refused, because two
    /// people may have the same name and the same opinion on the same day.
    pub(super) fn duplicates(&self) -> Vec<Note> {
        let mut stored = Vec::new();
        let mut added = Vec::new();
        for (id, slot) in &self.slots {
            if slot.stored.is_none() {
                added.extend(slot.arrived.as_ref().map(|arrived| (id, arrived)));
            } else if !slot.is_in_import {
                // A stored review that a source named by its id is the same review, not a duplicate.
                stored.push((id, slot));
            }
        }
        // Reviews of one platform are never duplicates of each other.
        if added.is_empty() || (stored.is_empty() && self.imported.len() < 2) {
            return Vec::new();
        }
        stored.sort_unstable_by_key(|(id, _)| *id);
        added.sort_unstable_by_key(|(id, arrived)| (arrived.source, arrived.line, *id));
        // The first review with each key.
        let mut by_key: HashMap<u64, SimilarReview<'_>> = HashMap::new();
        for (id, slot) in stored {
            for key in slot.stored_review().iter().flat_map(keys) {
                by_key.entry(key.hash).or_insert(SimilarReview {
                    id,
                    added_from: None,
                });
            }
        }
        let mut notes = Vec::new();
        for (id, arrived) in added {
            let fresh = arrived.fresh.as_ref();
            let Some(review) = fresh.and_then(|fresh| ReviewObject::parse(&fresh.json)) else {
                continue;
            };
            let platform = review.platform();
            let own = keys(&review);
            for key in &own {
                if let Some(other) = by_key.get(&key.hash)
                    && other.added_from.as_ref() != Some(&platform)
                {
                    let text = format!("looks like review {}: same {}", other.id, key.what);
                    notes.push(self.note(arrived.source, arrived.line, None, Some(text)));
                    break;
                }
            }
            for key in own {
                by_key.entry(key.hash).or_insert_with(|| SimilarReview {
                    id,
                    added_from: Some(platform.clone()),
                });
            }
        }
        notes
    }
}

/// A review that others may resemble.
struct SimilarReview<'m> {
    id: &'m str,
    /// Its platform, if this import adds it.
    added_from: Option<String>,
}

/// What a review shares with its duplicates.
struct DuplicateKey {
    hash: u64,
    /// What is the same, in words.
    what: &'static str,
}

fn keys(review: &ReviewObject) -> Vec<DuplicateKey> {
    let author = normal(review.text("author"));
    let words = normal(review.text("text"));
    let mut keys = Vec::new();
    if author.is_empty() {
        return keys;
    }
    if !words.is_empty() {
        keys.push(DuplicateKey {
            hash: hash_of(&(&author, &words)),
            what: "author and text",
        });
    }
    if !ANONYMOUS.contains(&review.text("author")) {
        let stars = review.0.get("rating").map(ToString::to_string);
        keys.push(DuplicateKey {
            hash: hash_of(&(&author, review.text("date"), stars)),
            what: "author, day and stars",
        });
    }
    keys
}

fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
