//! JSON objects: one a line, in an array, or in the lists of a document; and the records of those of any make.

use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use super::RECORD_BYTES_MAX;
use super::columns::{Columns, Mapping};
use super::read::{ReadError, Reading, Shape};
use super::record::{Field, Found, Record, Sink};
use super::stream::{LISTS, elements, reason};

/// Reads objects that `make` knows: one a line, in an array, or in the lists of a document.
pub(super) fn read(
    source: impl BufRead,
    reading: &Reading,
    make: impl Fn(&Value, u64) -> Result<Record, String>,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    let mut hand_on = |made, line| {
        sink(match made {
            Ok(record) => Found::Record(record),
            Err(reason) => Found::Refused { line, reason },
        })
    };
    if is_document(&reading.head, &reading.mapping) {
        elements(source, &mut |line, value| hand_on(make(value, line), line))?;
        return Ok(Shape::default());
    }
    each_line(source, |line, text| {
        let value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                let (reason, column) = (reason(&error), error.column());
                return hand_on(
                    Err(format!("is not JSON: {reason} at column {column}")),
                    line,
                );
            }
        };
        let reviews = page(&value, &reading.mapping).unwrap_or_else(|| vec![&value]);
        let mut reviews = reviews.into_iter();
        reviews.try_for_each(|review| hand_on(make(review, line), line))
    })?;
    Ok(Shape::default())
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
        match value {
            Value::Array(list) => listed.get_or_insert_with(Vec::new).extend(list),
            value => {
                if let Some(inner) = page(value, mapping) {
                    listed.get_or_insert_with(Vec::new).extend(inner);
                }
            }
        }
    }
    listed.filter(|_| !is_review(object, mapping))
}

/// Whether an object has stars and a day, whatever it lists besides.
fn is_review(object: &Map<String, Value>, mapping: &Mapping) -> bool {
    let known = Columns::find(object.keys().map(String::as_str), &Mapping::new());
    [Field::Rating, Field::Date].into_iter().all(|field| {
        let mut named = mapping.iter().filter(|(mapped, _)| *mapped == field);
        named.any(|(_, path)| lookup(object, path).is_some())
            || known.as_ref().is_ok_and(|columns| columns.has(field))
    })
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
///
/// # Errors
/// Where it is none.
pub(super) fn record(value: &Value, mapping: &Mapping, line: u64) -> Result<Record, String> {
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
        return put(record, field, value);
    };
    let part = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| object.get(*key));
        let first = found.next()?;
        // `{"text": null, "comment": "…"}` says the second.
        match first {
            Value::Null => found.find(|value| !value.is_null()).or(Some(first)),
            _ => Some(first),
        }
    };
    let names: &[&str] = match field {
        Field::Author | Field::Source => &["name", "displayName", "fullName", "value"],
        Field::Rating => &["ratingValue", "value", "rating"],
        Field::Reply | Field::Text | Field::Title => {
            &["text", "comment", "content", "body", "value"]
        }
        _ => &["value", "$date", "date", "$oid"],
    };
    put(record, field, part(names).unwrap_or(value));
    match field {
        Field::Rating => {
            if let Some(best) = part(&["bestRating", "best"]) {
                put(record, Field::Best, best);
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
                put(record, Field::ReplyDate, date);
            }
        }
        _ => {}
    }
}

/// Notes a single value, or that it is none.
pub(super) fn put(record: &mut Record, field: Field, value: &Value) {
    match plain(value) {
        Ok(text) => record.set(field, text),
        Err(what) => record.refuse(field, what),
    }
}

/// A value as text; null, `[]` and `{}` are empty.
///
/// # Errors
/// What it is, where it is no single value.
pub(super) fn plain(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Array(values) if !values.is_empty() => Err("an array"),
        Value::Object(object) if !object.is_empty() => Err("an object"),
        Value::Null | Value::Array(_) | Value::Object(_) => Ok(String::new()),
    }
}
