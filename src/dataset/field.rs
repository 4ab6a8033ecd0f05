//! One field at a time: its place, its type and its bounds, every refusal recorded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::mentions::Comparable;
use super::node::{Node, Number};
use super::place::Place;
use super::problem::{Problems, Subject};
use super::spelling::nearest;
use crate::wire::date::{Date, DateError, Timestamp, parse_date, parse_timestamp};

/// Names, labels, ids, phrases and other short strings: at most 1,024 bytes, as no filter can ask for longer ones.
pub const NAME_BYTES_MAX: usize = 1_024;

/// URLs: at most 2,048 bytes.
pub const URL_BYTES_MAX: usize = 2_048;

/// Reviews, replies, answers and other prose: at most 65,536 bytes each.
pub const PROSE_BYTES_MAX: usize = 65_536;

/// Ids of reviews: at most 64 characters.
pub const ID_BYTES_MAX: usize = 64;

/// Lists other than the reviews: at most 10,000 entries.
pub const LIST_MAX: usize = 10_000;

/// What a string has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Short, one line, not blank.
    Name,
    /// Short, one line, may be empty.
    Line,
    /// Long, not blank.
    Prose,
    /// Long, may be empty.
    Words,
    /// An absolute http or https URL with a host.
    Url,
}

/// The checker of one file: reads slots, records what is wrong with them.
///
/// Each method gives `None` exactly when it has recorded a problem, so that a caller can go through all fields of
/// an object first and give up afterwards.
pub(super) struct Check<'p> {
    pub(super) subject: Subject,
    pub(super) problems: &'p mut Problems,
}

impl Check<'_> {
    /// Records a problem at `at`, with the value where there is one.
    pub(super) fn refuse(
        &mut self,
        at: &Place<'_>,
        value: Option<&Node<'_>>,
        message: impl Into<String>,
    ) {
        if self.problems.is_full() {
            // A file of a million mistakes is not worth a million strings.
            return self.problems.count();
        }
        let value = value.map(Node::quote);
        self.problems
            .push(self.subject.file, &at.to_string(), message, value);
    }

    /// Records that the value at `at` is something else than wanted.
    pub(super) fn mismatch<T>(
        &mut self,
        at: &Place<'_>,
        node: &Node<'_>,
        wanted: &str,
    ) -> Option<T> {
        self.refuse(at, Some(node), format!("is not {wanted}"));
        None
    }

    /// Returns what a required key holds.
    pub(super) fn present<'de>(
        &mut self,
        slot: Option<Node<'de>>,
        at: &Place<'_>,
    ) -> Option<Node<'de>> {
        if slot.is_none() {
            self.refuse(at, None, "is missing");
        }
        slot
    }

    /// Opens an object that may hold exactly the keys `known`, and returns their values in that order.
    ///
    /// Unknown keys and keys given twice are recorded; of a double the first value counts.
    pub(super) fn object<'de, const N: usize>(
        &mut self,
        slot: Option<Node<'de>>,
        at: &Place<'_>,
        known: [&'static str; N],
    ) -> Option<[Option<Node<'de>>; N]> {
        let pairs = match self.present(slot, at)? {
            Node::Object(pairs) => pairs,
            other => return self.mismatch(at, &other, "an object"),
        };
        let mut slots = [const { None }; N];
        for (position, (key, node)) in pairs.into_iter().enumerate() {
            // Files are mostly written in the order of the documentation, so the guess is mostly right.
            let found = match known.get(position) {
                Some(guess) if *guess == key => Some(position),
                _ => known.iter().position(|name| *name == key),
            };
            match found.map(|index| &mut slots[index]) {
                None => self.unknown(&key, at, &known),
                Some(Some(_)) => self.refuse(&at.key(&key), None, "is given twice"),
                Some(slot) => *slot = Some(node),
            }
        }
        Some(slots)
    }

    /// Records a key that nothing knows, with the known one that it may have been meant to be.
    pub(super) fn unknown(&mut self, key: &str, at: &Place<'_>, known: &[&'static str]) {
        if self.problems.is_full() {
            return self.problems.count();
        }
        let message = match nearest(key, known) {
            Some(name) => format!("is not a known key; did you mean \"{name}\"?"),
            None => "is not a known key".to_owned(),
        };
        self.refuse(&at.key(key), None, message);
    }

    /// Opens an array of at most `max` entries.
    pub(super) fn list<'de>(
        &mut self,
        slot: Option<Node<'de>>,
        at: &Place<'_>,
        max: usize,
    ) -> Option<Vec<Node<'de>>> {
        match self.present(slot, at)? {
            Node::List(nodes) if nodes.len() <= max => Some(nodes),
            Node::List(nodes) => {
                self.refuse(
                    at,
                    None,
                    format!("holds {} entries, more than {max}", nodes.len()),
                );
                None
            }
            other => self.mismatch(at, &other, "an array"),
        }
    }

    /// Opens an array and reads each entry by `read`; `None` if any entry was refused.
    pub(super) fn each<'de, T>(
        &mut self,
        slot: Option<Node<'de>>,
        at: &Place<'_>,
        mut read: impl FnMut(&mut Self, Node<'de>, &Place<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let nodes = self.list(slot, at, LIST_MAX)?;
        let mut values = Vec::with_capacity(nodes.len());
        let mut complete = true;
        for (index, node) in nodes.into_iter().enumerate() {
            match read(self, node, &at.index(index)) {
                Some(value) => values.push(value),
                None => complete = false,
            }
        }
        complete.then_some(values)
    }

    /// Reads an array of strings of one kind.
    pub(super) fn strings(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        kind: Kind,
    ) -> Option<Vec<String>> {
        self.each(slot, at, |check, node, at| {
            check.string(Some(node), at, kind)
        })
    }

    /// Reads a string of the given kind.
    pub(super) fn string(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        kind: Kind,
    ) -> Option<String> {
        let text = self.text(slot, at, kind)?;
        Some(text.into_owned())
    }

    /// Reads a string of the given kind, or null.
    pub(super) fn optional(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        kind: Kind,
    ) -> Option<Option<String>> {
        match slot {
            Some(Node::Null) => Some(None),
            slot => self.string(slot, at, kind).map(Some),
        }
    }

    /// Records each of `names` that an earlier entry of the list at `at` has too, as names are compared.
    pub(super) fn unique<'s>(
        &mut self,
        names: impl Iterator<Item = &'s str>,
        at: &Place<'_>,
        key: &str,
    ) {
        let mut seen = HashMap::new();
        for (index, name) in names.enumerate() {
            match seen.entry(Comparable::new(name)) {
                Entry::Vacant(entry) => {
                    entry.insert(index);
                }
                Entry::Occupied(entry) => {
                    let message = format!("is the {key} of entry {} too", entry.get());
                    self.refuse(
                        &at.index(index).key(key),
                        Some(&Node::Text(name.into())),
                        message,
                    );
                }
            }
        }
    }

    fn text<'de>(
        &mut self,
        slot: Option<Node<'de>>,
        at: &Place<'_>,
        kind: Kind,
    ) -> Option<Cow<'de, str>> {
        let text = match self.present(slot, at)? {
            Node::Text(text) => text,
            other => return self.mismatch(at, &other, "a string"),
        };
        let bytes_max = match kind {
            Kind::Name | Kind::Line => NAME_BYTES_MAX,
            Kind::Prose | Kind::Words => PROSE_BYTES_MAX,
            Kind::Url => URL_BYTES_MAX,
        };
        let message = if text.len() > bytes_max {
            format!("is longer than {bytes_max} bytes")
        } else if matches!(kind, Kind::Name | Kind::Prose) && text.trim().is_empty() {
            "is empty".to_owned()
        } else if matches!(kind, Kind::Name | Kind::Line) && text.contains(char::is_control) {
            "holds a control character".to_owned()
        } else if matches!(kind, Kind::Url) && !is_absolute_url(&text) {
            "is not an absolute http or https URL".to_owned()
        } else {
            return Some(text);
        };
        self.refuse(at, Some(&Node::Text(text)), message);
        None
    }

    /// Reads true or false.
    pub(super) fn boolean(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) -> Option<bool> {
        match self.present(slot, at)? {
            Node::Bool(value) => Some(value),
            other => self.mismatch(at, &other, "true or false"),
        }
    }

    /// Reads a whole number from `min` to `max`; `5.0` is 5.
    pub(super) fn whole(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        min: u64,
        max: u64,
    ) -> Option<u64> {
        let node = self.present(slot, at)?;
        let Node::Number(number) = node else {
            return self.mismatch(at, &node, &format!("a whole number from {min} to {max}"));
        };
        match number.whole() {
            Some(value) if (min..=max).contains(&value) => Some(value),
            Some(_) => {
                self.refuse(at, Some(&node), format!("is not from {min} to {max}"));
                None
            }
            None => self.mismatch(at, &node, &format!("a whole number from {min} to {max}")),
        }
    }

    /// Reads a number from `min` to `max`.
    pub(super) fn number(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        min: f64,
        max: f64,
    ) -> Option<Number> {
        match self.present(slot, at)? {
            Node::Number(number) if (min..=max).contains(&number.float()) => Some(number),
            other => self.mismatch(at, &other, &format!("a number from {min} to {max}")),
        }
    }

    /// Reads a day, exactly `YYYY-MM-DD`.
    pub(super) fn date(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) -> Option<Date> {
        let node = self.present(slot, at)?;
        let Node::Text(text) = &node else {
            return self.mismatch(at, &node, "a day such as \"2026-11-21\"");
        };
        match parse_date(text.as_bytes()) {
            Ok(date) => Some(date),
            Err(DateError::Shape) => self.mismatch(at, &node, "a day of the form YYYY-MM-DD"),
            Err(DateError::NoSuchDay) => self.mismatch(at, &node, "a day that exists"),
        }
    }

    /// Reads a time in whole seconds (RFC 3339).
    pub(super) fn timestamp(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
    ) -> Option<Timestamp> {
        let node = self.present(slot, at)?;
        let wanted = "a time in whole seconds such as \"2026-11-21T09:00:00Z\"";
        match &node {
            Node::Text(text) => match parse_timestamp(text.as_bytes()) {
                Ok(time) => Some(time),
                Err(_) => self.mismatch(at, &node, wanted),
            },
            _ => self.mismatch(at, &node, wanted),
        }
    }

    /// Reads the id of a review: 1 to 64 characters of `[A-Za-z0-9_-]`, not one of the two that are addresses.
    pub(super) fn review_id(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) -> Option<String> {
        let node = self.present(slot, at)?;
        let Node::Text(text) = &node else {
            return self.mismatch(at, &node, "a string");
        };
        if !is_id(text) {
            return self.mismatch(
                at,
                &node,
                "an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
            );
        }
        if text == "search" || text == "since" {
            self.refuse(
                at,
                Some(&node),
                "is an address of the service and cannot be an id",
            );
            return None;
        }
        Some(text.to_string())
    }
}

/// Whether a text has the shape of a review's id.
pub(crate) fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether `text` is a URL that can be published as it stands: http or https, with a host, nothing to be repaired.
pub(crate) fn is_absolute_url(text: &str) -> bool {
    let schemed = text.starts_with("https://") || text.starts_with("http://");
    // The parser of the url crate forgives blanks and controls by removing them; published text keeps them.
    let clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    schemed && clean && url::Url::parse(text).is_ok_and(|url| url.has_host())
}
