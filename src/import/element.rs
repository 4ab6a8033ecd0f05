//! One JSON object into a record: the values that its format names, or those under usual names.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::columns::{Columns, Mapping};
use super::formats::{Form, SourceFormat, formats};
use super::record::{Field, Found, Record, Refusal};
use crate::dataset::{KEYS, KEYS_REQUIRED};

/// The nodes of a schema.org document to which others refer by `@id`.
pub(super) type Nodes<'v> = HashMap<&'v str, &'v Value>;

/// How an element is read.
pub(super) struct ElementReader<'r, 'v> {
    pub(super) format: &'static SourceFormat,
    pub(super) mapping: &'r Mapping,
    /// The nodes of the document, where it is one of schema.org.
    pub(super) nodes: Option<&'r Nodes<'v>>,
}

/// Where a schema.org node holds what others have as a single value.
const LINKED: &[&str] = &["@value", "name", "url", "contentUrl", "@id"];

impl<'v> ElementReader<'_, 'v> {
    /// Makes a record of an element that begins on `line`.
    pub(super) fn read(&self, value: &'v Value, line: u64) -> Found {
        self.record(value, line)
            .map_err(|reason| Refusal { line, reason })
    }

    fn record(&self, value: &'v Value, line: u64) -> Result<Record, String> {
        let format = self.format;
        let needs = || format.needs.split_whitespace();
        let has = |value: &Value| needs().all(|key| value.get(key).is_some());
        // Some answers wrap each review once more.
        let inner = value.get("review").filter(|inner| inner.is_object());
        let value = inner
            .filter(|inner| !has(value) && has(inner))
            .unwrap_or(value);
        let Value::Object(object) = value else {
            return Err("is not an object".to_owned());
        };
        if !has(value) {
            let name = format.title.split(' ').next().unwrap_or_default();
            let needs = needs().collect::<Vec<_>>().join(" or no ");
            return Err(format!("is no review of {name}: it has no {needs}"));
        }
        let mut record = Record::at(line);
        if format.is_generic() {
            for (field, key) in usual_keys(object)?.fields() {
                self.set(&mut record, field, object.get(key).unwrap_or(&Value::Null));
            }
        } else {
            for (field, paths) in format.fields() {
                match self.at(value, paths) {
                    Some((Value::String(whole), true)) => {
                        record.set(field, whole.rsplit('/').next().unwrap_or_default());
                    }
                    Some((value, _)) => self.set(&mut record, field, value),
                    // Without a picture here an export does not take away one that another gave.
                    None if format.form == Form::WholeJson && field != Field::Avatar => {
                        record.set(field, "")
                    }
                    None => {}
                }
            }
        }
        if format.flag == "reviewd" {
            record.is_ours = true;
            let extra = KEYS[KEYS_REQUIRED..].iter();
            let extra = extra.filter_map(|key| Some(((*key).to_owned(), value.get(*key)?.clone())));
            record.extra = extra.collect();
        }
        // Keys that the operator named may lie deeper, so they are looked up by their paths.
        for (field, path) in self.mapping {
            match lookup(object, path) {
                Some(value) => self.set(&mut record, *field, value),
                None if format.is_generic() => record.set(*field, ""),
                None => {}
            }
        }
        Ok(record)
    }

    /// The value at the first of `paths` that holds something, or else that is there, and whether its end is meant.
    fn at(&self, value: &'v Value, paths: &str) -> Option<(&'v Value, bool)> {
        let mut found = paths.split('|').filter_map(|path| {
            let mut keys = path.trim_end_matches('/').split('.');
            let at = keys.try_fold(value, |value, key| self.key(value, key))?;
            Some((at, path.ends_with('/')))
        });
        let first = found.next();
        match first {
            Some((Value::Null, _)) => found.find(|(value, _)| !value.is_null()).or(first),
            _ => first,
        }
    }

    /// The value of a key: of a schema.org list the first, of a reference the node that it means.
    pub(super) fn key(&self, value: &'v Value, key: &str) -> Option<&'v Value> {
        let value = value.get(key)?;
        let Some(nodes) = self.nodes else {
            return Some(value);
        };
        let value = match value {
            Value::Array(values) => values.first()?,
            value => value,
        };
        let reference = value.as_object().filter(|object| object.len() == 1);
        match reference.and_then(|object| object.get("@id")?.as_str()) {
            Some(id) => nodes.get(id).copied(),
            None => Some(value),
        }
    }

    /// Sets a field to a value; of an object to the part that says the same.
    fn set(&self, record: &mut Record, field: Field, value: &'v Value) {
        if !value.is_object() {
            return put(record, field, value);
        }
        let part = |keys: &str| {
            let (part, _) = self.at(value, keys)?;
            // What a node of schema.org holds may be a node again.
            let is_node = self.nodes.is_some() && part.is_object();
            let inner = LINKED
                .iter()
                .filter(|_| is_node)
                .find_map(|key| self.key(part, key));
            Some(inner.unwrap_or(part))
        };
        let found = match field {
            Field::Rating => part("ratingValue|value|rating"),
            _ if self.nodes.is_some() => part("@value|name|url|contentUrl|@id"),
            Field::Author | Field::Source => part("name|displayName|fullName|value"),
            Field::Reply | Field::Text | Field::Title => part("text|comment|content|body|value"),
            _ => part("value|$date|date|$oid"),
        };
        let found = found.unwrap_or(value);
        // An organisation without a name says no more than one that is left out.
        if self.nodes.is_some() && field == Field::Source && found.is_object() {
            return;
        }
        put(record, field, found);
        let beside = match field {
            Field::Rating => part("bestRating|best").map(|found| (Field::Best, found)),
            Field::Reply => part("date|updateTime|createdAt|created_at|datePublished")
                .map(|found| (Field::ReplyDate, found)),
            _ => None,
        };
        if let Some((field, found)) = beside {
            put(record, field, found);
        }
    }
}

/// The keys of an object that have usual names.
fn usual_keys(object: &Map<String, Value>) -> Result<Columns, String> {
    let keys: Vec<String> = object.keys().cloned().collect();
    Columns::find(&keys, &[], &Mapping::new(), &formats()[0])
}

/// Whether an object has stars and a day, whatever it lists besides.
pub(super) fn is_review(object: &Map<String, Value>, mapping: &Mapping) -> bool {
    let known = usual_keys(object).unwrap_or_default();
    [Field::Rating, Field::Date].into_iter().all(|field| {
        let mut named = mapping.iter().filter(|(mapped, _)| *mapped == field);
        known.has(field) || named.any(|(_, path)| lookup(object, path).is_some())
    })
}

/// The value at a path: a key, or keys with points between them.
fn lookup<'v>(object: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    let (key, rest) = path.split_once('.')?;
    lookup(object.get(key)?.as_object()?, rest)
}

/// Sets a field to a single value, or notes that it is none.
pub(super) fn put(record: &mut Record, field: Field, value: &Value) {
    match value {
        Value::String(text) => record.set(field, text.as_str()),
        Value::Number(number) => record.set(field, number.to_string()),
        Value::Bool(value) => record.set(field, value.to_string()),
        Value::Array(values) if !values.is_empty() => record.refuse(field, "an array"),
        Value::Object(object) if !object.is_empty() => record.refuse(field, "an object"),
        Value::Null | Value::Array(_) | Value::Object(_) => record.set(field, ""),
    }
}
