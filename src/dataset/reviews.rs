//! `reviews.json`: the business and its reviews, read as a stream so that one review at a time is a tree.
//!
//! A file without mistakes is read by [`quick`] alone; this way is for the others, and tells what is wrong with them.

use std::fmt;
use std::num::NonZeroUsize;

use serde_core::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::business;
use super::field::{Check, Kind};
use super::mentions::Derive;
use super::node::{self, Key, Node, Number};
use super::place::Place;
use super::quick;
use super::review::Reviews;
use crate::model::Business;
use crate::wire::date::Timestamp;

/// Reviews in one file: at most 10,000,000, which keeps every row far within 32 bits.
pub const REVIEWS_MAX: usize = 10_000_000;

/// The one of [`FILE_KEYS`] that may be left out: the modification time of the files takes its place.
pub(super) const OPTIONAL_KEY: &str = "updated_at";

/// The keys of the file.
pub(super) const FILE_KEYS: [&str; 4] = ["business", "disclaimer", "updated_at", "reviews"];

/// What `reviews.json` holds; a part is `None` where it was refused or missing.
#[derive(Default)]
pub(super) struct ReviewsFile {
    pub(super) business: Option<Business>,
    pub(super) disclaimer: Option<Option<String>>,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) reviews: Reviews,
}

/// What a file is read with.
#[derive(Clone, Copy)]
pub(super) struct Means<'d> {
    /// Finds the mentions that a review does not list in its text.
    pub(super) derive: &'d Derive<'d>,
    /// What lies after it lies in the future.
    pub(super) now: Timestamp,
    /// More reviews than this are refused.
    pub(super) reviews_max: usize,
    /// How many read a file without mistakes; the outcome is the same.
    pub(super) threads: NonZeroUsize,
    /// Whether the ids are needed once the file is read, as other files refer to them.
    pub(super) keeps_ids: bool,
}

/// Decodes the file.
pub(super) fn decode(bytes: &[u8], means: Means<'_>, check: &mut Check<'_>) -> ReviewsFile {
    let mut file = ReviewsFile::default();
    let Some(text) = node::utf8(check.subject, bytes, check.problems) else {
        file.reviews.incomplete = true;
        return file;
    };
    if !text.trim_start().starts_with('{') {
        // Anything but an object is small or senseless: the tree's own message will do.
        if let Some(node) = node::parse(check.subject, bytes, check.problems) {
            check.object(Some(node), &Place::ROOT, FILE_KEYS);
        }
        file.reviews.incomplete = true;
        return file;
    }
    quick::decode(text, means).unwrap_or_else(|| decode_long(text, means, check))
}

/// Decodes a file of which each problem is to be told.
pub(super) fn decode_long(text: &str, means: Means<'_>, check: &mut Check<'_>) -> ReviewsFile {
    let mut file = ReviewsFile::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    let stream = FileStream {
        check,
        means,
        file: &mut file,
    };
    let outcome = stream.deserialize(&mut parser).and_then(|()| parser.end());
    if let Err(error) = outcome {
        node::syntax(check.subject, &error, check.problems);
        file.reviews.incomplete = true;
    }
    file
}

struct FileStream<'c, 'p> {
    check: &'c mut Check<'p>,
    means: Means<'c>,
    file: &'c mut ReviewsFile,
}

impl<'de> DeserializeSeed<'de> for FileStream<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FileStream<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let FileStream { check, means, file } = self;
        let mut given = [false; FILE_KEYS.len()];
        while let Some(Key(key)) = object.next_key::<Key<'de>>()? {
            let known = FILE_KEYS.iter().position(|name| *name == key);
            let again = known.is_some_and(|index| std::mem::replace(&mut given[index], true));
            let at = Place::ROOT.key(&key);
            match known {
                Some(_) if again => {
                    check.refuse(&at, None, "is given twice");
                    object.next_value::<IgnoredAny>()?;
                }
                Some(0) => file.business = business::decode(Some(object.next_value()?), &at, check),
                Some(1) => {
                    file.disclaimer = check.optional(Some(object.next_value()?), &at, Kind::Prose)
                }
                Some(2) => {
                    file.updated_at = updated_at(object.next_value()?, &at, means.now, check)
                }
                Some(_) => object.next_value_seed(ReviewStream {
                    check,
                    means,
                    reviews: &mut file.reviews,
                })?,
                None => {
                    check.unknown(&key, &Place::ROOT, &FILE_KEYS);
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        for (name, given) in FILE_KEYS.iter().zip(given) {
            if !given && *name != OPTIONAL_KEY {
                check.refuse(&Place::ROOT.key(name), None, "is missing");
            }
        }
        Ok(())
    }
}

/// Reads the time of the last change, which is not in the future.
pub(super) fn updated_at(
    node: Node<'_>,
    at: &Place<'_>,
    now: Timestamp,
    check: &mut Check<'_>,
) -> Option<Timestamp> {
    let time = check.timestamp(Some(node.clone()), at)?;
    if time > now {
        check.refuse(
            at,
            Some(&node),
            "lies in the future: set it to the time of the last change",
        );
        return None;
    }
    Some(time)
}

struct ReviewStream<'c, 'p> {
    check: &'c mut Check<'p>,
    means: Means<'c>,
    reviews: &'c mut Reviews,
}

impl ReviewStream<'_, '_> {
    fn refuse(self, node: &Node<'_>) {
        self.check
            .refuse(&Place::ROOT.key("reviews"), Some(node), "is not an array");
    }
}

impl<'de> DeserializeSeed<'de> for ReviewStream<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReviewStream<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of reviews")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        let parent = Place::ROOT.key("reviews");
        let ReviewStream {
            check,
            means,
            reviews,
        } = self;
        let read = |node: Node<'de>, index: usize| {
            if index < means.reviews_max {
                reviews.read(node, index, &parent.index(index), means.derive, check);
            }
        };
        let count = each_node(list, read)?;
        if count > means.reviews_max {
            let message = format!("holds {count} entries, more than {}", means.reviews_max);
            check.refuse(&parent, None, message);
        }
        reviews.published.shrink_to_fit();
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.refuse(&Node::Null);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.refuse(&Node::Bool(value));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.refuse(&Node::Number(Number::Unsigned(value)));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.refuse(&Node::Number(Number::Negative(value)));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.refuse(&Node::Number(Number::Float(value)));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.refuse(&Node::Text(text.into()));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.refuse(&Node::Object(Vec::new()));
        Ok(())
    }
}

/// Calls `read` with each entry of `list` and its number, and returns how many there are.
fn each_node<'de, A: SeqAccess<'de>>(
    mut list: A,
    mut read: impl FnMut(Node<'de>, usize),
) -> Result<usize, A::Error> {
    let mut count = 0;
    while let Some(node) = list.next_element()? {
        read(node, count);
        count += 1;
    }
    Ok(count)
}
