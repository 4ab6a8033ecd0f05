//! Reviews that another one replaces: what an earlier import read wrongly, and approximate dates where the exact one is
//! known.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Merge, Slot, id_of_approximate, id_of_content};
use crate::review::ReviewObject;
use crate::text::normal;

impl Merge<'_> {
    /// Ids of reviews that are not in the new file, because another one replaces them. The result does not depend on the
    /// order of records.
    pub(super) fn superseded(&self) -> HashSet<String> {
        let mut superseded = self.without_text();
        superseded.extend(self.approximate());
        superseded
    }

    /// Ids of stored reviews without a text, if a new review of this import has a text and the same platform, author, day
    /// and stars.
    fn without_text(&self) -> HashSet<String> {
        let mut found = HashSet::new();
        for slot in self.slots.values() {
            if slot.stored.is_some() {
                continue;
            }
            let Some(new) = slot.arrived_review() else {
                continue;
            };
            let Some(date) = new.date() else {
                continue;
            };
            if new.text("text").is_empty() {
                continue;
            }
            let source = new.text("source");
            let author = new.text("author");
            // The ids that it would have without its text.
            for id in [
                id_of_content(source, author, date, ""),
                id_of_approximate(source, author, ""),
            ] {
                let Some(without_text) = self.slots.get(&id) else {
                    continue;
                };
                if without_text.is_in_import {
                    continue;
                }
                if let Some(stored) = without_text.stored_review()
                    && stored.0.get("rating") == new.0.get("rating")
                {
                    found.insert(id);
                }
            }
        }
        found
    }

    /// Ids of reviews with an approximate date, if there is one with an exact date and the same platform, author and text.
    fn approximate(&self) -> HashSet<String> {
        let mut approximate = Vec::new();
        let mut exact_slots = Vec::new();
        for (id, slot) in &self.slots {
            if slot.version().is_some_and(|version| version.is_approximate) {
                approximate.push((id, slot));
            } else {
                exact_slots.push(slot);
            }
        }
        if approximate.is_empty() {
            return HashSet::new();
        }
        let exact: HashSet<u64> = exact_slots.into_iter().filter_map(content_hash).collect();
        let mut replaced = HashSet::new();
        for (id, slot) in approximate {
            if content_hash(slot).is_some_and(|hash| exact.contains(&hash)) {
                replaced.insert(id.clone());
            }
        }
        replaced
    }
}

/// The same number for reviews with the same platform, author and text; `None` without a text.
fn content_hash(slot: &Slot<'_>) -> Option<u64> {
    let review = ReviewObject::parse(&slot.version()?.json)?;
    let text = normal(review.text("text"));
    if text.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (review.platform(), normal(review.text("author")), text).hash(&mut hasher);
    Some(hasher.finish())
}
