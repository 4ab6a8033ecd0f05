//! Lists of reviews in JSON documents of any size, one element in memory at a time.

use std::fmt;
use std::io::BufRead;

use serde_core::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::read::{Counted, Progress, ReadError};

/// The keys under which documents hold their reviews.
pub(super) const LISTS: [&str; 6] = [
    "reviews",
    "locationReviews",
    "data",
    "items",
    "results",
    "response",
];

/// Takes an element and the line on which it begins.
pub(super) type OnElement<'o> = dyn FnMut(u64, &Value) -> Result<(), String> + 'o;

/// Reads a document, or several one after the other, to the end and hands on each element of their lists.
pub(super) fn elements(source: impl BufRead, on: &mut OnElement<'_>) -> Result<(), ReadError> {
    let progress = Progress::new();
    let mut parser = serde_json::Deserializer::from_reader(Counted::new(source, &progress, 1));
    let mut walk = Walk {
        progress: &progress,
        on,
        full: None,
        lists: 0,
    };
    let outcome = loop {
        if let Err(error) = (&mut walk).deserialize(&mut parser) {
            break Err(error);
        }
        match parser.end() {
            // Answers of an interface, page after page: what follows is a document too, or says itself what is wrong.
            Err(error) if !error.is_io() => {}
            end => break end,
        }
    };
    let (full, lists) = (walk.full, walk.lists);
    if let Some(message) = full {
        return Err(ReadError::Full(message));
    }
    outcome.map_err(|error| failed(error, progress.line()))?;
    if lists == 0 {
        let message = format!(
            "holds no list of reviews: neither an array, nor one under {}, nor one object a line",
            LISTS.join(", ")
        );
        return Err(ReadError::at(0, message));
    }
    Ok(())
}

/// Says what is wrong with a document, in the words of the reader where it was one of ours.
pub(super) fn failed(error: serde_json::Error, line: u64) -> ReadError {
    if error.is_io() {
        return ReadError::of(error.into(), line);
    }
    let reason = reason(&error);
    let message = if error.is_eof() {
        format!("ends too early, as half a file does ({reason})")
    } else {
        format!("is not JSON that can be read: {reason}")
    };
    ReadError::at(error.line() as u64, message)
}

/// What is wrong with JSON, without the place.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let reason = whole.rsplit_once(" at line ").map(|(reason, _)| reason);
    reason.unwrap_or(&whole).to_owned()
}

/// The way through a document: into its lists, past everything else.
struct Walk<'w, 'o> {
    progress: &'w Progress,
    on: &'w mut OnElement<'o>,
    /// Why no more is wanted.
    full: Option<String>,
    /// How many lists there were.
    lists: u64,
}

impl<'de> DeserializeSeed<'de> for &mut Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a document with reviews")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            if LISTS.contains(&key.as_str()) {
                object.next_value_seed(&mut *self)?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
            self.progress.end_record();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.lists += 1;
        while let Some((line, value)) = list.next_element_seed(Element(self.progress))? {
            self.progress.end_record();
            if let Err(message) = (self.on)(line, &value) {
                self.full = Some(message);
                return Err(A::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// One element; its first byte has been read when it begins, and no later one, so that its line is known.
struct Element<'e>(&'e Progress);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = (u64, Value);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(u64, Value), D::Error> {
        let line = self.0.line();
        Ok((line, Value::deserialize(deserializer)?))
    }
}
