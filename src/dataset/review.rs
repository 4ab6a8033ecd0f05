//! One review of `reviews.json`, and all that were read so far.

use std::collections::{HashMap, HashSet};

use super::field::{Check, Kind};
use super::ignored::Ignored;
use super::mentions::{Comparable, Derive};
use super::node::Node;
use super::place::Place;
use crate::model::{Media, OwnerReply, Rating, Review, Verification};
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

    /// Takes out the reviews on the ignore list, which are not to be published though the file has them, and returns
    /// how many there were.
    pub(super) fn hide(&mut self, ignored: &[Ignored]) -> u64 {
        if ignored.is_empty() {
            return 0;
        }
        let hidden: HashSet<&str> = ignored.iter().map(|entry| entry.id.as_str()).collect();
        let before = self.published.len();
        self.published
            .retain(|review| !hidden.contains(review.id.as_str()));
        self.ids.retain(|id, _| !hidden.contains(id.as_str()));
        (before - self.published.len()) as u64
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
            verification,
            language,
            media,
            translation,
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
        let verification = read_verification(verification, &at.key("verification"), check);
        let language = read_language(language, &at.key("language"), check);
        let media = read_media(media, &at.key("media"), check);
        let translation = match translation {
            None => Some(None),
            given => check.optional(given, &at.key("translation"), Kind::Words),
        };
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
            verification,
            language,
            media,
            translation,
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
    verification: Option<Option<Verification>>,
    language: Option<Option<String>>,
    media: Option<Vec<Media>>,
    translation: Option<Option<String>>,
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
            verification: self.verification?,
            language: self.language?,
            media: self.media?,
            translation: self.translation?,
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

/// Reads who verified the review; without the key it was the business.
fn read_verification(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Option<Verification>> {
    if matches!(slot, None | Some(Node::Null)) {
        return Some(None);
    }
    let [by, method] = check.object(slot, at, ["by", "method"])?;
    let by = check.string(by, &at.key("by"), Kind::Name);
    let method = check.optional(method, &at.key("method"), Kind::Name);
    Some(Some(Verification {
        by: by?,
        method: method?,
    }))
}

fn read_language(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Option<String>> {
    let Some(node) = slot else {
        return Some(None);
    };
    match &node {
        Node::Null => Some(None),
        Node::Text(tag) if is_language_tag(tag) => Some(Some(tag.to_string())),
        _ => check.mismatch(at, &node, "a language tag such as \"en\" or \"pt-BR\""),
    }
}

fn read_media(slot: Option<Node<'_>>, at: &Place<'_>, check: &mut Check<'_>) -> Option<Vec<Media>> {
    let node = match slot {
        None => return Some(Vec::new()),
        Some(Node::List(nodes)) if nodes.len() > MEDIA_MAX => {
            let message = format!("holds {} entries, more than {MEDIA_MAX}", nodes.len());
            check.refuse(at, None, message);
            return None;
        }
        Some(node) => node,
    };
    check.each(Some(node), at, |check, node, at| {
        let [url, alt, media_type] = check.object(Some(node), at, ["url", "alt", "type"])?;
        let url = check.string(url, &at.key("url"), Kind::Url);
        let alt = check.string(alt, &at.key("alt"), Kind::Line);
        let type_at = at.key("type");
        let media_type = check.string(media_type, &type_at, Kind::Name)?;
        if !is_media_type(&media_type) {
            let wanted = "a media type of an image, a video or a recording, such as \"image/jpeg\"";
            return check.mismatch(&type_at, &Node::Text(media_type.into()), wanted);
        }
        Some(Media {
            url: url?,
            alt: alt?,
            media_type,
        })
    })
}

/// Entries of `media` of one review, at most: 32; more are refused.
pub const MEDIA_MAX: usize = 32;

/// Bytes of a language tag, at most: 35, the length that RFC 5646 (section 4.4.1) asks buffers to have.
const LANGUAGE_BYTES_MAX: usize = 35;

/// Tells whether `tag` has the form of a language tag (BCP 47): a primary subtag of 2 to 8 letters, or `x` or `i`, then
/// subtags of 1 to 8 letters and digits. Whether the subtags are registered is not looked up.
pub(crate) fn is_language_tag(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let primary = subtags.next().unwrap_or_default();
    let is_primary =
        (2..=8).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_prefix = primary.eq_ignore_ascii_case("x") || primary.eq_ignore_ascii_case("i");
    tag.len() <= LANGUAGE_BYTES_MAX
        && (is_primary || (is_prefix && tag.len() > 2))
        && subtags.all(|subtag| {
            (1..=8).contains(&subtag.len())
                && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// Tells whether `text` names a type of images, videos or recordings: RFC 6838, section 4.2, without parameters.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    text.split_once('/').is_some_and(|(kind, subtype)| {
        matches!(kind, "image" | "video" | "audio")
            && (1..=127).contains(&subtype.len())
            && subtype.bytes().all(is_mark)
    })
}

/// The keys that every review has: with fewer it could be anyone's, whose ids and texts are not ours.
pub(crate) const REQUIRED_KEYS: &[&str] = REVIEW_KEYS.split_at(10).0;

/// The keys of a review, the last six of them optional.
pub(super) const REVIEW_KEYS: [&str; 16] = [
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
    "verification",
    "language",
    "media",
    "translation",
];
