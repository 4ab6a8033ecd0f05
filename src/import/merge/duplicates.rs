//! Reviews that may be there twice: typed in by hand and imported later, edited where a source has no ids, or left on
//! two platforms.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Merge, Note, Slot};
use crate::import::columns::normal;
use crate::import::formats::ANONYMOUS;
use crate::import::normalise::Candidate;
use crate::import::review::StoredReview;

impl Merge<'_> {
    /// Gives a candidate whose id is not stored the id of the only stored review that has its source, author and text.
    pub(super) fn adopt_id(&mut self, candidate: &mut Candidate) {
        if self.slots.contains_key(&candidate.id) {
            return;
        }
        let slots = &self.slots;
        let same_texts = self.same_texts.get_or_insert_with(|| {
            let mut ids = HashMap::new();
            for (id, slot) in slots {
                if let Some(key) = slot.stored().and_then(|stored| words_key(&stored)) {
                    let only = ids.entry(key).or_insert_with(|| Some(id.clone()));
                    if only.as_ref() != Some(id) {
                        *only = None;
                    }
                }
            }
            ids
        });
        let key = words_key(&candidate.says);
        if let Some(Some(id)) = key.and_then(|key| same_texts.get(&key)) {
            candidate.id.clone_from(id);
        }
    }

    /// A remark on each added review that looks like another one, by source and line; none is refused for it, since two
    /// people may bear one name and have one opinion on one day.
    pub(super) fn duplicates(&self) -> Vec<Note> {
        // A stored review that a source named by its id is itself, and no duplicate.
        let is_other = |slot: &Slot<'_>| slot.kept.is_some() && !slot.named;
        let mut kept: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| is_other(slot))
            .collect();
        let added = self.slots.iter().filter(|(_, slot)| slot.kept.is_none());
        let mut added: Vec<_> = added
            .filter_map(|(id, slot)| Some((id, slot.arrived.as_ref()?)))
            .collect();
        // Reviews of one platform are as many as it says.
        if added.is_empty() || (kept.is_empty() && self.imported.len() < 2) {
            return Vec::new();
        }
        kept.sort_unstable_by_key(|(id, _)| *id);
        added.sort_unstable_by_key(|(id, arrived)| (arrived.source, arrived.line, *id));
        // The first review with each likeness, and the platform of one that was added.
        let mut known: HashMap<u64, (&str, Option<String>)> = HashMap::new();
        for (id, slot) in kept {
            for (key, _) in slot.stored().iter().flat_map(likeness) {
                known.entry(key).or_insert((id, None));
            }
        }
        let mut notes = Vec::new();
        for (id, arrived) in added {
            let fresh = arrived.fresh.as_ref();
            let Some(review) = fresh.and_then(|fresh| StoredReview::parse(&fresh.json)) else {
                continue;
            };
            let platform = Some(review.text("source").to_lowercase());
            let keys: Vec<(u64, &str)> = likeness(&review).collect();
            let other = keys.iter().find_map(|(key, same)| {
                let (other, added) = known.get(key)?;
                (added.is_none() || *added != platform).then_some((other, same))
            });
            if let Some((other, same)) = other {
                let text = format!("looks like review {other}: same {same}");
                notes.push(Note::remark(arrived.source, arrived.line, text));
            }
            for (key, _) in keys {
                known.entry(key).or_insert_with(|| (id, platform.clone()));
            }
        }
        notes
    }
}

/// A number for a source, an author and a text; none without a text.
fn words_key(review: &StoredReview) -> Option<u64> {
    let text = normal(review.text("text"));
    let key = (
        review.text("source").to_lowercase(),
        normal(review.text("author")),
        &text,
    );
    (!text.is_empty()).then(|| number(&key))
}

/// What a review shares with one that is likely the same, as numbers, and in words.
fn likeness(review: &StoredReview) -> impl Iterator<Item = (u64, &'static str)> + use<> {
    let (author, words) = (normal(review.text("author")), normal(review.text("text")));
    let is_named = !author.is_empty() && !ANONYMOUS.contains(&review.text("author"));
    let text = (!author.is_empty() && !words.is_empty())
        .then(|| (number(&(&author, &words)), "author and text"));
    let stars = review.0.get("rating").map(ToString::to_string);
    let day = is_named.then(|| {
        (
            number(&(&author, review.text("date"), stars)),
            "author, day and stars",
        )
    });
    text.into_iter().chain(day)
}

/// A number that is the same for the same key, and hardly ever for another.
fn number(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
