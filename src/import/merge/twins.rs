//! Reviews that may be there twice: typed in by hand and imported later, edited where a source has no ids, or told by
//! two sources.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::candidate::Candidate;
use super::super::columns::normal;
use super::super::formats::ANONYMOUS;
use super::super::stored::Stored;
use super::{Arrived, Merge, Note, Slot};
use crate::model::Review;

/// A review that others are compared with.
struct Known<'m> {
    id: &'m str,
    /// The number of its source where this import added it; `None` where it was there.
    added: Option<u32>,
}

impl Merge<'_> {
    /// Gives a candidate whose id is not there the id of the only review that has its source, author and text.
    pub(super) fn adopt_id(&mut self, candidate: &mut Candidate) {
        let slots = &self.slots;
        if slots.contains_key(&candidate.id) {
            return;
        }
        let same_texts = self.same_texts.get_or_insert_with(|| {
            let mut ids = HashMap::new();
            for (id, slot) in slots {
                let stored = slot
                    .kept
                    .as_ref()
                    .and_then(|kept| Stored::parse(kept.json.get()));
                let key = stored.and_then(|Stored { review, .. }| {
                    words_key(&review.source, &review.author, &review.text)
                });
                if let Some(key) = key {
                    let only = |known: &mut Option<String>| *known = None;
                    ids.entry(key)
                        .and_modify(only)
                        .or_insert_with(|| Some(id.clone()));
                }
            }
            ids
        });
        let text = candidate.text.as_deref().unwrap_or_default();
        let key = words_key(&candidate.source, &candidate.author, text);
        if let Some(Some(id)) = key.and_then(|key| same_texts.get(&key)) {
            candidate.id.clone_from(id);
        }
    }

    /// What was added and looks like another review, by source and line; nothing is refused for it, since two people
    /// may bear one name and have one opinion on one day.
    pub(super) fn twins(&self) -> Vec<Note> {
        let mut kept: Vec<(&str, &Slot<'_>)> = Vec::new();
        let mut added: Vec<(&str, &Arrived)> = Vec::new();
        for (id, slot) in &self.slots {
            match (&slot.kept, &slot.arrived) {
                // What a source named by its id is itself, and no twin.
                (Some(_), _) if !slot.named => kept.push((id, slot)),
                (None, Some(arrived)) => added.push((id, arrived)),
                _ => {}
            }
        }
        // Reviews of one source are as many as it says.
        if added.is_empty() || (kept.is_empty() && self.spoken.len() < 2) {
            return Vec::new();
        }
        kept.sort_unstable_by_key(|(id, _)| *id);
        added.sort_unstable_by_key(|(id, arrived)| (arrived.source, arrived.line, *id));
        let mut known = HashMap::new();
        for (id, slot) in kept {
            let stored = Stored::parse(slot.version().0);
            for (key, _) in stored.iter().flat_map(|stored| likeness(&stored.review)) {
                known.entry(key).or_insert(Known { id, added: None });
            }
        }
        let mut notes = Vec::new();
        for (id, arrived) in added {
            let json = arrived.fresh.as_ref().map_or("", |fresh| &fresh.json);
            let Some(Stored { review, .. }) = Stored::parse(json) else {
                continue;
            };
            let source = self.sources.get(&review.source.to_lowercase()).copied();
            let keys: Vec<(u64, &str)> = likeness(&review).collect();
            let twin = keys.iter().find_map(|(key, same)| {
                let known: &Known<'_> = known.get(key)?;
                (known.added.is_none() || known.added != source).then_some((known, same))
            });
            if let Some((twin, same)) = twin {
                let text = format!("looks like review {}: same {same}", twin.id);
                notes.push(Note::new(arrived.source, arrived.line, text));
            }
            for (key, _) in keys {
                known.entry(key).or_insert(Known { id, added: source });
            }
        }
        notes
    }
}

/// A number for a source, an author and a text; none without a text.
fn words_key(source: &str, author: &str, text: &str) -> Option<u64> {
    let text = normal(text);
    (!text.is_empty()).then(|| number(&(source.to_lowercase(), normal(author), text)))
}

/// What a review shares with one that is likely the same, as numbers, and in words.
fn likeness(review: &Review) -> impl Iterator<Item = (u64, &'static str)> {
    let author = normal(&review.author);
    let words = normal(&review.text);
    let is_named = !author.is_empty() && !ANONYMOUS.contains(&review.author.as_str());
    let text = (!author.is_empty() && !words.is_empty())
        .then(|| (number(&(&author, &words)), "author and text"));
    let day = is_named.then(|| {
        let key = (&author, review.date.days(), review.rating.stars());
        (number(&key), "author, day and stars")
    });
    text.into_iter().chain(day)
}

/// A number that is the same for the same key, and hardly ever for another.
fn number(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
