//! Reads JSON objects, one per line, in an array, or in lists within documents, and makes a record of each: from the
//! keys of its format, or from keys with usual names.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use super::columns::Columns;
use super::formats::{Form, SourceFormat, formats, named};
use super::record::{Field, Found, Mapping, ReadError, Record, Refusal};
use reviewd_data::dataset::{KEYS_OPTIONAL, KEYS_REQUIRED, reason, unreadable};

/// The keys under which documents hold their reviews.
const LISTS: [&str; 6] = [
    "reviews",
    "locationReviews",
    "data",
    "items",
    "results",
    "response",
];

/// Largest nesting depth of objects in which lists of reviews are searched.
const DEPTH_MAX: usize = 8;

/// Longest review in bytes, 1 MiB, more than any text that is published; a longer one is refused.
const ELEMENT_BYTES_MAX: usize = 1 << 20;

/// Number of first elements by which the format of a JSON source is detected.
const SAMPLE_ELEMENTS: usize = 20;

/// The JSON of a possible review, and the line on which it begins.
pub(super) struct Element<'t> {
    line: u64,
    json: &'t str,
}

/// Finds the elements of a text. If the first line is a complete JSON value, each line is an element, and an invalid
/// line does not affect the others. Otherwise the text is one or several documents.
pub(super) fn elements<'t>(
    text: &'t str,
    mapping: &Mapping,
) -> Result<impl Iterator<Item = Element<'t>> + use<'t>, ReadError> {
    let mut parts = Vec::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default();
    if serde_json::from_str::<&RawValue>(first).is_ok() {
        lines.for_each(|line| push(line, mapping, &mut parts));
    } else {
        for document in Deserializer::from_str(text).into_iter::<&RawValue>() {
            let failed =
                |error: serde_json::Error| ReadError::at(error.line() as u64, unreadable(&error));
            let document = document.map_err(failed)?;
            push(document.get(), mapping, &mut parts);
        }
    }
    // Line number and offset of the previous element.
    let (mut line, mut before) = (1, 0);
    Ok(parts.into_iter().map(move |json: &str| {
        let at = json.as_ptr().addr() - text.as_ptr().addr();
        // The lists of a document may be in another order than in `LISTS`.
        if at < before {
            (line, before) = (1, 0);
        }
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[before..at]).count() as u64;
        before = at;
        Element { line, json }
    }))
}

/// Detects the format of a JSON source by the keys of its first elements; `None` if the text is not JSON.
pub(super) fn find_format(text: &str) -> Option<&'static SourceFormat> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let found = elements(text, &Mapping::new()).ok().into_iter().flatten();
    let mut first = found.take(SAMPLE_ELEMENTS);
    let format = first.find_map(|element| of_value(&element.value().ok()?));
    format.or_else(|| named("jsonl"))
}

fn of_value(value: &Value) -> Option<&'static SourceFormat> {
    let has = |key: &str| value.get(key).is_some();
    let mut formats = formats().iter().filter(|format| format.form != Form::Table);
    let found = formats.find(|format| format.marks.split_whitespace().any(has));
    let is_reviewd = || KEYS_REQUIRED.split(' ').all(has);
    found.or_else(|| named("reviewd").filter(|_| is_reviewd()))
}

/// Adds the elements of an array, or of the lists in an object that is not a review itself, such as a page of an API
/// response; any other value is an element.
fn push<'t>(json: &'t str, mapping: &Mapping, parts: &mut Vec<&'t str>) {
    match lists(json, DEPTH_MAX).filter(|_| !is_review(json, mapping)) {
        Some(list) => parts.extend(list),
        None => parts.push(json),
    }
}

fn lists(json: &str, depth: usize) -> Option<Vec<&str>> {
    if json.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return Some(list.into_iter().map(RawValue::get).collect());
    }
    let depth = depth.checked_sub(1)?;
    let object: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let found = LISTS
        .iter()
        .filter_map(|key| lists(object.get(*key)?.get(), depth));
    found.reduce(|mut all, list| {
        all.extend(list);
        all
    })
}

/// Tells whether an object has a rating and a date, and so is a review rather than a page that lists reviews.
fn is_review(json: &str, mapping: &Mapping) -> bool {
    if json.len() > ELEMENT_BYTES_MAX {
        return false;
    }
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let known = value.as_object().map(usual_keys);
    let known = known.and_then(Result::ok).unwrap_or_default();
    [Field::Rating, Field::Date].into_iter().all(|field| {
        let mut named = mapping.iter().filter(|(mapped, _)| *mapped == field);
        known.has(field) || named.any(|(_, path)| lookup(&value, path).is_some())
    })
}

impl Element<'_> {
    /// Makes a record of the element.
    pub(super) fn record(&self, format: &SourceFormat, mapping: &Mapping) -> Found {
        let value = self.value();
        let record = value.and_then(|value| record(&value, self.line, format, mapping));
        let line = self.line;
        record.map_err(|reason| Refusal { line, reason })
    }

    /// Parses the element.
    pub(super) fn value(&self) -> Result<Value, String> {
        if self.json.len() > ELEMENT_BYTES_MAX {
            return Err(format!("is longer than {ELEMENT_BYTES_MAX} bytes"));
        }
        let value = serde_json::from_str(self.json);
        value.map_err(|error| {
            let (reason, column) = (reason(&error), error.column());
            format!("is not JSON: {reason} at column {column}")
        })
    }
}

fn record(
    value: &Value,
    line: u64,
    format: &SourceFormat,
    mapping: &Mapping,
) -> Result<Record, String> {
    let needs = || format.needs.split_whitespace();
    let Value::Object(object) = value else {
        return Err("is not an object".to_owned());
    };
    if !needs().all(|key| object.contains_key(key)) {
        let name = format.title.split(' ').next().unwrap_or_default();
        let needs = needs().collect::<Vec<_>>().join(" or no ");
        return Err(format!("is not a review of {name}: it has no {needs}"));
    }
    let mut record = Record::at(line);
    if format.is_generic() {
        for (field, key) in usual_keys(object)?.fields() {
            set(&mut record, field, object.get(key).unwrap_or(&Value::Null));
        }
    } else {
        for (&field, paths) in format.fields() {
            match at(value, paths) {
                Some((Value::String(whole), true)) => {
                    record.set(field, whole.rsplit('/').next().unwrap_or_default());
                }
                Some((value, _)) => set(&mut record, field, value),
                // A stored avatar that this export lacks may come from another export, so it is kept.
                None if format.form == Form::WholeJson && field != Field::AuthorAvatarUrl => {
                    record.set(field, "")
                }
                None => {}
            }
        }
    }
    if format.flag == "reviewd" {
        record.is_ours = true;
        let extra = KEYS_OPTIONAL.split(' ');
        let extra = extra.filter_map(|key| Some((key.to_owned(), value.get(key)?.clone())));
        record.extra = extra.collect();
    }
    // Keys that the operator named may be nested, so they are looked up as paths.
    for (field, path) in mapping {
        match lookup(value, path) {
            Some(value) => set(&mut record, *field, value),
            None if format.is_generic() => record.set(*field, ""),
            None => {}
        }
    }
    Ok(record)
}

/// Returns the first value at `paths` (separated by `|`) that is not null, else the first one, and whether its path
/// ends with `/`.
fn at<'v>(value: &'v Value, paths: &str) -> Option<(&'v Value, bool)> {
    let mut found = paths.split('|').filter_map(|path| {
        let at = lookup(value, path.trim_end_matches('/'))?;
        Some((at, path.ends_with('/')))
    });
    let first = found.next();
    match first {
        Some((Value::Null, _)) => found.find(|(value, _)| !value.is_null()).or(first),
        _ => first,
    }
}

/// Sets a field to a value. If that is an object, uses its member with the value, such as `displayName` of an author.
fn set(record: &mut Record, field: Field, value: &Value) {
    let part = |keys: &str| at(value, keys).map(|(part, _)| part);
    let found = part(match field {
        Field::Rating => "ratingValue|value|rating",
        Field::Author | Field::Source => "name|displayName|fullName|value",
        Field::OwnerReply | Field::Text | Field::Title => "text|comment|content|body|value",
        _ => "value|date",
    });
    put(record, field, found.unwrap_or(value));
    let (field, keys) = match field {
        Field::Rating => (Field::BestRating, "bestRating|best"),
        Field::OwnerReply => (
            Field::OwnerReplyDate,
            "date|updateTime|createdAt|created_at",
        ),
        _ => return,
    };
    if let Some(found) = part(keys) {
        put(record, field, found);
    }
}

/// Sets a field to a scalar value; records an error for an array or an object.
fn put(record: &mut Record, field: Field, value: &Value) {
    match value {
        Value::String(text) => record.set(field, text.as_str()),
        Value::Number(number) => record.set(field, number.to_string()),
        Value::Bool(value) => record.set(field, value.to_string()),
        Value::Array(values) if !values.is_empty() => record.refuse(field, "an array"),
        Value::Object(object) if !object.is_empty() => record.refuse(field, "an object"),
        Value::Null | Value::Array(_) | Value::Object(_) => record.set(field, ""),
    }
}

/// Finds the keys with usual names in an object.
fn usual_keys(object: &Map<String, Value>) -> Result<Columns, String> {
    let keys: Vec<String> = object.keys().cloned().collect();
    Columns::find(&keys, &[], &Mapping::new(), &formats()[0])
}

/// Returns the value at a path: a key, or keys separated by full stops.
fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    value.get(path).or_else(|| {
        let (key, rest) = path.split_once('.')?;
        lookup(value.get(key)?, rest)
    })
}
