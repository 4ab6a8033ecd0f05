//! JSON objects: one a line, in an array, or in the lists of documents of any size, one in memory at a time.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use serde_core::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::RECORD_BYTES_MAX;
use super::columns::Mapping;
use super::element::{ElementReader, is_review};
use super::record::{Refusal, Sink};
use super::source::{ImportSource, ReadError, TOO_LONG};

/// The keys under which documents hold their reviews.
pub(super) const LISTS: [&str; 6] = [
    "reviews",
    "locationReviews",
    "data",
    "items",
    "results",
    "response",
];

/// Reads objects: one a line, in an array, or in the lists of a document.
///
/// # Errors
/// When the source cannot be read further, or `sink` wants no more.
pub(super) fn read(source: &ImportSource<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mapping = &source.options.mapping;
    let found = |value: &Value, line| {
        let reader = ElementReader {
            format: source.format(),
            mapping,
            nodes: None,
        };
        reader.read(value, line)
    };
    if is_document(&source.head, mapping) {
        return elements(source.text()?, &mut |line, value| sink(found(value, line)));
    }
    each_line(source.text()?, |line, text| {
        let value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                let (reason, column) = (reason(&error), error.column());
                let reason = format!("is not JSON: {reason} at column {column}");
                return sink(Err(Refusal { line, reason }));
            }
        };
        let reviews = page(&value, mapping).unwrap_or_else(|| vec![&value]);
        let mut reviews = reviews.into_iter();
        reviews.try_for_each(|review| sink(found(review, line)))
    })
}

/// Whether a text is one document, or several: its first line is not a whole object, or it is all there is and lists
/// reviews.
fn is_document(head: &str, mapping: &Mapping) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    match serde_json::from_str::<Value>(lines.next().unwrap_or_default()) {
        Ok(value @ Value::Object(_)) => {
            let is_alone = !lines.any(|line| line.trim_start().starts_with('{'));
            is_alone && page(&value, mapping).is_some()
        }
        _ => head.trim_start().starts_with(['{', '[']),
    }
}

/// The reviews of an object that is none itself and lists some, such as a page of an interface's answer.
fn page<'v>(value: &'v Value, mapping: &Mapping) -> Option<Vec<&'v Value>> {
    let object = value.as_object()?;
    let mut listed = None;
    for value in LISTS.iter().filter_map(|key| object.get(*key)) {
        let inner = match value {
            Value::Array(list) => Some(list.iter().collect()),
            value => page(value, mapping),
        };
        if let Some(inner) = inner {
            listed.get_or_insert_with(Vec::new).extend(inner);
        }
    }
    listed.filter(|_| !is_review(object, mapping))
}

/// Hands on each line that is not blank.
fn each_line(
    mut source: impl BufRead,
    mut on: impl FnMut(u64, &str) -> Result<(), String>,
) -> Result<(), ReadError> {
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let mut bounded = source.by_ref().take(RECORD_BYTES_MAX + 1);
        let read = bounded.read_until(b'\n', &mut bytes);
        if read.map_err(|error| ReadError::of(error, line))? == 0 {
            break;
        }
        if bytes.len() as u64 > RECORD_BYTES_MAX {
            return Err(ReadError::at(
                line,
                format!("is longer than {RECORD_BYTES_MAX} bytes"),
            ));
        }
        // The source is UTF-8 by now, and a line ends between two characters.
        let text = String::from_utf8_lossy(&bytes);
        if !text.trim().is_empty() {
            on(line, text.trim()).map_err(ReadError::whole)?;
        }
    }
    Ok(())
}

/// Takes an element and the line on which it begins.
type OnElement<'o> = dyn FnMut(u64, &Value) -> Result<(), String> + 'o;

/// Reads a document, or several one after the other, to the end and hands on each element of their lists.
fn elements(source: impl BufRead, on: &mut OnElement<'_>) -> Result<(), ReadError> {
    let position = Rc::new(Position::default());
    let mut parser = serde_json::Deserializer::from_reader(Counted {
        source,
        position: Rc::clone(&position),
    });
    let mut walk = Walk {
        position: &position,
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
    if let Some(message) = walk.full {
        return Err(ReadError::whole(message));
    }
    outcome.map_err(|error| failed(error, 1 + position.feeds.get()))?;
    if walk.lists == 0 {
        return Err(ReadError::whole(format!(
            "holds no list of reviews: neither an array, nor one under {}, nor one object a line",
            LISTS.join(", ")
        )));
    }
    Ok(())
}

/// Says what is wrong with a document, in the words of the reader where it was one of ours.
pub(super) fn failed(error: serde_json::Error, line: u64) -> ReadError {
    if error.is_io() {
        return ReadError::of(error.into(), line);
    }
    let reason = reason(&error);
    let message = match error.is_eof() {
        true => format!("ends too early, as half a file does ({reason})"),
        false => format!("is not JSON that can be read: {reason}"),
    };
    ReadError::at(error.line() as u64, message)
}

/// What is wrong with JSON, without the place.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let reason = whole.rsplit_once(" at line ").map(|(reason, _)| reason);
    reason.unwrap_or(&whole).to_owned()
}

/// How far the parser is, shared with the bytes that it reads through.
#[derive(Default)]
struct Position {
    /// Line feeds before the next byte.
    feeds: Cell<u64>,
    /// Bytes since the record began.
    bytes: Cell<u64>,
}

/// Bytes on their way to the parser: counted, and cut where a record has no end.
struct Counted<R> {
    source: R,
    position: Rc<Position>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        let feeds = memchr::memchr_iter(b'\n', &buffer[..length]).count() as u64;
        let Position { feeds: all, bytes } = &*self.position;
        all.set(all.get() + feeds);
        bytes.set(bytes.get() + length as u64);
        // The parser reads one byte beyond a record.
        match bytes.get() > RECORD_BYTES_MAX + 1 {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG)),
            false => Ok(length),
        }
    }
}

/// The way through a document: into its lists, past everything else.
struct Walk<'w, 'o> {
    position: &'w Position,
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
            match LISTS.contains(&key.as_str()) {
                true => object.next_value_seed(&mut *self)?,
                false => drop(object.next_value::<IgnoredAny>()?),
            }
            self.position.bytes.set(0);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.lists += 1;
        while let Some((line, value)) = list.next_element_seed(Element(self.position))? {
            self.position.bytes.set(0);
            if let Err(message) = (self.on)(line, &value) {
                self.full = Some(message);
                return Err(A::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }

    // A list's key may hold something else, such as a count.

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
struct Element<'e>(&'e Position);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = (u64, Value);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(u64, Value), D::Error> {
        let line = 1 + self.0.feeds.get();
        Ok((line, Value::deserialize(deserializer)?))
    }
}
