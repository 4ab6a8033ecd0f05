//! Finds possible duplicates: reviews entered by hand and imported later, edited in a source without ids, or written on
//! two platforms.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Merge, Note, Slot};
use crate::formats::ANONYMOUS;
use crate::review::StoredReview;
use crate::text::normal;

impl Merge<'_> {
    /// A remark on each added review that resembles another one, by source and line. None is refused, because two
    /// people may have the same name and the same opinion on the same day.
    pub(super) fn duplicates(&self) -> Vec<Note> {
        // A stored review that a source named by its id is the same review, not a duplicate.
        let is_other = |(_, slot): &(&String, &Slot<'_>)| slot.kept.is_some() && !slot.named;
        let mut kept: Vec<_> = self.slots.iter().filter(is_other).collect();
        let added = self.slots.iter().filter(|(_, slot)| slot.kept.is_none());
        let added = added.filter_map(|(id, slot)| Some((id, slot.arrived.as_ref()?)));
        let mut added: Vec<_> = added.collect();
        // Reviews of one platform are never duplicates of each other.
        if added.is_empty() || (kept.is_empty() && self.imported.len() < 2) {
            return Vec::new();
        }
        kept.sort_unstable_by_key(|(id, _)| *id);
        added.sort_unstable_by_key(|(id, arrived)| (arrived.source, arrived.line, *id));
        // The first review with each key, and its platform if it was added.
        let mut known: HashMap<u64, (&str, Option<String>)> = HashMap::new();
        for (id, slot) in kept {
            for (key, _) in slot.stored().iter().flat_map(keys) {
                known.entry(key).or_insert((id, None));
            }
        }
        let mut notes = Vec::new();
        for (id, arrived) in added {
            let fresh = arrived.fresh.as_ref();
            let Some(review) = fresh.and_then(|fresh| StoredReview::parse(&fresh.json)) else {
                continue;
            };
            let platform = Some(review.platform());
            let own: Vec<(u64, &str)> = keys(&review).collect();
            let other = own.iter().find_map(|(key, same)| {
                let (other, added) = known.get(key)?;
                (added.is_none() || *added != platform).then_some((other, same))
            });
            if let Some((other, same)) = other {
                let text = format!("looks like review {other}: same {same}");
                notes.push(self.note(arrived.source, arrived.line, None, Some(text)));
            }
            for (key, _) in own {
                known.entry(key).or_insert_with(|| (id, platform.clone()));
            }
        }
        notes
    }
}

/// Returns the keys that a review shares with its duplicates, each with its description.
fn keys(review: &StoredReview) -> impl Iterator<Item = (u64, &'static str)> + use<> {
    let [author, words] = ["author", "text"].map(|key| normal(review.text(key)));
    let is_named = !author.is_empty() && !ANONYMOUS.contains(&review.text("author"));
    let has_words = !author.is_empty() && !words.is_empty();
    let stars = review.0.get("rating").map(ToString::to_string);
    let day = hash_of(&(&author, review.text("date"), stars));
    let text = has_words.then(|| (hash_of(&(&author, &words)), "author and text"));
    let day = is_named.then_some((day, "author, day and stars"));
    text.into_iter().chain(day)
}

fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
