//! JSON objects of any make: one a line, or in an array.

use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use super::RECORD_BYTES_MAX;
use super::columns::{Columns, Mapping};
use super::read::{ReadError, Reading, Shape};
use super::record::{Field, Found, Record, Sink};
use super::stream::{LISTS, elements};

/// Reads objects, one a line, or a document that lists them.
pub(super) fn read(
    source: impl BufRead,
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    let make = |value: &Value, line| record(value, &reading.mapping, line);
    if is_document(&reading.head) {
        return stream(source, make, sink);
    }
    each_line(source, |line, text| {
        let found = match serde_json::from_str(text) {
            Ok(value) => found(make(&value, line), line),
            Err(error) => Found::Refused {
                line,
                reason: format!("is not JSON: {error}"),
            },
        };
        sink(found)
    })?;
    Ok(Shape::default())
}

/// Reads a document that lists reviews, each of which `make` knows.
pub(super) fn stream(
    source: impl BufRead,
    make: impl Fn(&Value, u64) -> Result<Record, String>,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    elements(source, &mut |line, value| {
        sink(found(make(value, line), line))
    })?;
    Ok(Shape::default())
}

fn found(made: Result<Record, String>, line: u64) -> Found {
    match made {
        Ok(record) => Found::Record(record),
        Err(reason) => Found::Refused { line, reason },
    }
}

/// Whether a text is one document: its first line is not a whole object, or one that lists reviews.
fn is_document(head: &str) -> bool {
    let text = head.trim_start();
    let first = text.lines().next().unwrap_or_default();
    match serde_json::from_str::<Value>(first) {
        Ok(Value::Object(object)) => LISTS
            .iter()
            .any(|key| object.get(*key).is_some_and(|value| value.is_array())),
        _ => text.starts_with(['{', '[']),
    }
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
            on(line, text.trim()).map_err(ReadError::Full)?;
        }
    }
    Ok(())
}

/// Makes a record of an object by the names of its keys, or as the operator says; `a.b` is the key `b` of `a`.
fn record(value: &Value, mapping: &Mapping, line: u64) -> Result<Record, String> {
    let Value::Object(object) = value else {
        return Err("is not an object".to_owned());
    };
    let mut record = Record::at(line);
    let keys: Vec<&String> = object.keys().collect();
    // Keys that the operator named may lie deeper, so they are looked up by their paths.
    let columns = Columns::find(keys.iter().map(|key| key.as_str()), &Mapping::new())?;
    for (field, at) in &columns.used {
        if let Some(value) = keys.get(*at).and_then(|key| object.get(*key)) {
            set(&mut record, *field, value);
        }
    }
    for (field, path) in mapping {
        set(
            &mut record,
            *field,
            lookup(object, path).unwrap_or(&Value::Null),
        );
    }
    Ok(record)
}

fn lookup<'v>(object: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    let (key, rest) = path.split_once('.')?;
    lookup(object.get(key)?.as_object()?, rest)
}

/// Notes a value; of an object the part that says the same.
fn set(record: &mut Record, field: Field, value: &Value) {
    let Value::Object(object) = value else {
        return record.set(field, plain(value));
    };
    let part = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key));
    let names: &[&str] = match field {
        Field::Author => &["name", "displayName", "fullName"],
        Field::Rating => &["ratingValue", "value", "rating"],
        Field::Reply | Field::Text => &["text", "comment", "content", "body"],
        _ => &["value", "$date", "date"],
    };
    record.set(field, part(names).map(plain).unwrap_or_default());
    match field {
        Field::Rating => {
            if let Some(best) = part(&["bestRating", "best"]) {
                record.set(Field::Best, plain(best));
            }
        }
        Field::Reply => {
            if let Some(date) = part(&[
                "date",
                "updateTime",
                "createdAt",
                "created_at",
                "datePublished",
            ]) {
                record.set(Field::ReplyDate, plain(date));
            }
        }
        _ => {}
    }
}

/// A value as text; null and what is no single value are empty.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}
