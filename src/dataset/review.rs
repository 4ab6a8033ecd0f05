//! One review of `reviews.json`, and all that were read so far.

use std::collections::HashMap;

use super::field::{Check, Kind};
use super::mentions::{Comparable, Derive};
use super::node::Node;
use super::place::Place;
use crate::model::{OwnerReply, Rating, Review};
use crate::wire::date::Date;

/// The reviews that passed, and the ids of all.
#[derive(Default)]
pub(super) struct Reviews {
    /// The verified ones, in the order of the file.
    pub(super) published: Vec<Review>,
    /// How many are not verified.
    pub(super) unverified_count: u32,
    /// Every id, with the entry that bears it.
    pub(super) ids: HashMap<String, Seen>,
    /// Whether `ids` lacks some, because the file was not read to its end or an entry's id was refused.
    pub(super) incomplete: bool,
    words: Comparable,
}

/// The entry of `reviews` that bears an id.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) index: usize,
    /// Whether the review is published.
    pub(super) verified: bool,
}

impl Reviews {
    /// Says why nothing may refer to `id`, or `None` if it is the id of a published review.
    ///
    /// One mistake is one problem: a review that was refused for another reason may be referred to, and where ids
    /// are not all known, any may.
    pub(super) fn why_not(&self, id: &str) -> Option<&'static str> {
        match self.ids.get(id) {
            Some(seen) if seen.verified => None,
            Some(_) => Some("is the id of a review that is not verified and so not published"),
            None if self.incomplete => None,
            None => Some("is not the id of a review"),
        }
    }

    /// Reads one entry: keeps it if it is verified, counts it if not, remembers its id in both cases.
    pub(super) fn read(
        &mut self,
        node: Node<'_>,
        index: usize,
        at: &Place<'_>,
        derive: &Derive<'_>,
        check: &mut Check<'_>,
    ) {
        let Some(slots) = check.object(Some(node), at, REVIEW_KEYS) else {
            self.incomplete = true;
            return;
        };
        let mut entry = self.entry(slots, at, derive, check);
        entry.verified = self.remember(entry.id.as_deref(), entry.verified, index, at, check);
        match entry.whole() {
            Some(review) if review.verified => self.published.push(review),
            Some(_) => self.unverified_count += 1,
            None => {}
        }
    }

    /// Reads the values of one entry, in the order of [`REVIEW_KEYS`].
    pub(super) fn entry(
        &mut self,
        slots: [Option<Node<'_>>; REVIEW_KEYS.len()],
        at: &Place<'_>,
        derive: &Derive<'_>,
        check: &mut Check<'_>,
    ) -> Entry {
        let [
            id,
            author,
            avatar,
            rating,
            date,
            text,
            source,
            source_url,
            reply,
            verified,
            people,
            services,
        ] = slots;
        let id = check.review_id(id, &at.key("id"));
        let author = check.string(author, &at.key("author"), Kind::Name);
        let author_avatar_url = check.optional(avatar, &at.key("author_avatar_url"), Kind::Url);
        let rating = check.whole(rating, &at.key("rating"), 1, 5);
        let date = check.date(date, &at.key("date"));
        let text = check
            .optional(text, &at.key("text"), Kind::Words)
            .map(Option::unwrap_or_default);
        let source = check.string(source, &at.key("source"), Kind::Name);
        let source_url = check.optional(source_url, &at.key("source_url"), Kind::Url);
        let owner_reply = owner_reply(reply, &at.key("owner_reply"), check);
        let verified = check.boolean(verified, &at.key("verified"));
        let (people, services) =
            self.mentions(people, services, text.as_deref(), at, derive, check);
        Entry {
            id,
            author,
            author_avatar_url,
            rating: rating.and_then(|stars| Rating::new(u8::try_from(stars).ok()?)),
            date,
            text,
            source,
            source_url,
            owner_reply,
            verified,
            people,
            services,
        }
    }

    /// Reads the two lists of mentions, and derives from the text what the entry does not give.
    fn mentions(
        &mut self,
        people: Option<Node<'_>>,
        services: Option<Node<'_>>,
        text: Option<&str>,
        at: &Place<'_>,
        derive: &Derive<'_>,
        check: &mut Check<'_>,
    ) -> (Option<Vec<String>>, Option<Vec<String>>) {
        if people.is_none() || services.is_none() {
            self.words.set(text.unwrap_or_default());
        }
        let people = match people {
            Some(_) => check.strings(people, &at.key("mentioned_technicians"), Kind::Name),
            None => Some(derive.technicians(&self.words)),
        };
        let services = match services {
            Some(_) => check.strings(services, &at.key("mentioned_services"), Kind::Name),
            None => Some(derive.services(&self.words)),
        };
        (people, services)
    }

    /// Remembers the id of an entry, and refuses it if another entry bears it.
    fn remember(
        &mut self,
        id: Option<&str>,
        verified: Option<bool>,
        index: usize,
        at: &Place<'_>,
        check: &mut Check<'_>,
    ) -> Option<bool> {
        self.incomplete |= id.is_none();
        if let Some(id) = id {
            let seen = Seen {
                index,
                verified: verified.unwrap_or(true),
            };
            if let Some(first) = self.ids.get(id) {
                let message = format!("is the id of reviews[{}] too", first.index);
                check.refuse(&at.key("id"), Some(&Node::Text(id.into())), message);
                return None;
            }
            self.ids.insert(id.to_owned(), seen);
        }
        verified
    }
}

/// The values of an entry; one is `None` exactly when a problem was recorded for it.
pub(super) struct Entry {
    id: Option<String>,
    author: Option<String>,
    author_avatar_url: Option<Option<String>>,
    rating: Option<Rating>,
    date: Option<Date>,
    text: Option<String>,
    source: Option<String>,
    source_url: Option<Option<String>>,
    owner_reply: Option<Option<OwnerReply>>,
    verified: Option<bool>,
    people: Option<Vec<String>>,
    services: Option<Vec<String>>,
}

impl Entry {
    /// Returns the review, unless a value was refused.
    pub(super) fn whole(self) -> Option<Review> {
        Some(Review {
            id: self.id?,
            author: self.author?,
            author_avatar_url: self.author_avatar_url?,
            rating: self.rating?,
            date: self.date?,
            text: self.text?,
            source: self.source?,
            source_url: self.source_url?,
            owner_reply: self.owner_reply?,
            verified: self.verified?,
            mentioned_technicians: self.people?,
            mentioned_services: self.services?,
        })
    }
}

fn owner_reply(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Option<OwnerReply>> {
    if slot == Some(Node::Null) {
        return Some(None);
    }
    let [text, date] = check.object(slot, at, ["text", "date"])?;
    let text = check.string(text, &at.key("text"), Kind::Prose);
    let date = check.date(date, &at.key("date"));
    Some(Some(OwnerReply {
        text: text?,
        date: date?,
    }))
}

/// The keys that every review has: with fewer it could be anyone's, whose ids and texts are not ours.
pub(crate) const REQUIRED_KEYS: &[&str] = REVIEW_KEYS.split_at(10).0;

/// The keys of a review, the last two of them optional.
pub(super) const REVIEW_KEYS: [&str; 12] = [
    "id",
    "author",
    "author_avatar_url",
    "rating",
    "date",
    "text",
    "source",
    "source_url",
    "owner_reply",
    "verified",
    "mentioned_technicians",
    "mentioned_services",
];
