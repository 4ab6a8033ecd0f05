//! Reviews that another one replaces: what an earlier import read wrongly, and approximate dates where the exact one is
//! known.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Merge, Slot, of_about, of_content};
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

    /// Stored reviews without a text of which this import has the text: same platform, author, day and stars.
    fn without_text(&self) -> HashSet<String> {
        let mut found = HashSet::new();
        for slot in self.slots.values().filter(|slot| slot.stored.is_none()) {
            let Some(review) = slot.arrived_review() else {
                continue;
            };
            let Some(date) = review.date().filter(|_| !review.text("text").is_empty()) else {
                continue;
            };
            let source = review.text("source");
            let author = review.text("author");
            for id in [
                of_content(source, author, date, ""),
                of_about(source, author, ""),
            ] {
                let Some(slot) = self.slots.get(&id).filter(|slot| !slot.is_named) else {
                    continue;
                };
                if let Some(stored) = slot.stored_review()
                    && stored.0.get("rating") == review.0.get("rating")
                {
                    found.insert(id);
                }
            }
        }
        found
    }

    /// Reviews with an approximate date that are there with an exact one, too: same platform, author and text.
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
        let exact: HashSet<u64> = exact_slots.into_iter().filter_map(content).collect();
        let mut replaced = HashSet::new();
        for (id, slot) in approximate {
            if content(slot).is_some_and(|content| exact.contains(&content)) {
                replaced.insert(id.clone());
            }
        }
        replaced
    }
}

/// Identifies the content of a review; `None` without a text.
fn content(slot: &Slot<'_>) -> Option<u64> {
    let review = ReviewObject::parse(&slot.version()?.json)?;
    let text = normal(review.text("text"));
    if text.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (review.platform(), normal(review.text("author")), text).hash(&mut hasher);
    Some(hasher.finish())
}
