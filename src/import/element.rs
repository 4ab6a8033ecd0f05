//! One JSON object into a record: the values that its format names, or those under known names.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::columns::{Columns, Mapping};
use super::formats::{Form, SourceFormat};
use super::record::{Extra, Field, Record};
use super::stored::{media, verification};

/// The nodes of a schema.org document to which others refer by `@id`.
pub(super) type Nodes<'v> = HashMap<&'v str, &'v Value>;

/// How an element is read.
pub(super) struct ElementReader<'r, 'v> {
    pub(super) format: &'static SourceFormat,
    pub(super) mapping: &'r Mapping,
    /// The nodes of the document, where it is one of schema.org.
    pub(super) nodes: Option<&'r Nodes<'v>>,
}

impl<'v> ElementReader<'_, 'v> {
    /// Makes a record of an element that begins on `line`.
    ///
    /// # Errors
    /// Where it is none.
    pub(super) fn record(&self, value: &'v Value, line: u64) -> Result<Record, String> {
        let format = self.format;
        let has = |value: &Value| {
            let mut needs = format.needs.split_whitespace();
            needs.all(|key| value.get(key).is_some())
        };
        // Some answers wrap each review once more.
        let inner = value.get("review").filter(|inner| inner.is_object());
        let value = inner
            .filter(|inner| !has(value) && has(inner))
            .unwrap_or(value);
        let Value::Object(object) = value else {
            return Err("is not an object".to_owned());
        };
        if !has(value) {
            let (name, needs) = (format.title.split(' ').next(), format.needs);
            let keys: Vec<&str> = needs.split_whitespace().collect();
            let name = name.unwrap_or_default();
            return Err(format!(
                "is no review of {name}: it has no {}",
                keys.join(" or no ")
            ));
        }
        let mut record = Record::at(line);
        for (field, paths) in format.fields {
            match self.first(value, paths) {
                Some((Value::String(whole), true)) => {
                    record.set(*field, whole.rsplit('/').next().unwrap_or_default());
                }
                Some((value, _)) => self.set(&mut record, *field, value),
                // Without a picture here an export does not take away one that another gave.
                None if format.form == Form::WholeJson && *field != Field::Avatar => {
                    record.set(*field, "");
                }
                None => {}
            }
        }
        if format.fields.is_empty() {
            let keys: Vec<&str> = object.keys().map(String::as_str).collect();
            // Keys that the operator named may lie deeper, so they are looked up by their paths.
            for (field, at) in Columns::find(&keys, &[], &Mapping::new(), format)?.used {
                let value = at.first().and_then(|at| object.get(keys[*at.first()?]));
                self.set(&mut record, field, value.unwrap_or(&Value::Null));
            }
        }
        if format.flag == "reviewd" {
            record.is_ours = true;
            // A review without these keys, of an older reviewd, takes nothing away from what is there.
            let given = |key: &str| value.get(key);
            record.extra = Extra {
                verification: given("verification").map(verification),
                language: given("language").map(|tag| tag.as_str().map(str::to_owned)),
                media: given("media").map(media),
                translation: given("translation").map(|text| text.as_str().map(str::to_owned)),
            };
            record.mentions = ["mentioned_technicians", "mentioned_services"].map(|key| {
                let names = value[key].as_array()?;
                // A name that is none is refused as an empty one is.
                Some(
                    names
                        .iter()
                        .map(|name| plain(name).unwrap_or_default())
                        .collect(),
                )
            });
        }
        for (field, path) in self.mapping {
            match lookup(object, path) {
                Some(value) => self.set(&mut record, *field, value),
                None if format.fields.is_empty() => record.set(*field, ""),
                None => {}
            }
        }
        Ok(record)
    }

    /// The value at the first of `paths` that holds something, or else that is there, and whether its end is meant.
    fn first(&self, value: &'v Value, paths: &str) -> Option<(&'v Value, bool)> {
        let mut found = paths.split_whitespace().filter_map(|path| {
            let keys = path.trim_end_matches('/').split('.');
            let mut keys = keys.into_iter();
            let at = keys.try_fold(value, |value, key| self.key(value, key))?;
            Some((at, path.ends_with('/')))
        });
        let first = found.next()?;
        match first.0 {
            Value::Null => found.find(|(value, _)| !value.is_null()).or(Some(first)),
            _ => Some(first),
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
        let part = |keys: &[&str]| {
            let mut found = keys.iter().filter_map(|key| self.key(value, key));
            let first = found.next()?;
            // `{"text": null, "comment": "…"}` says the second.
            match first {
                Value::Null => found.find(|value| !value.is_null()).or(Some(first)),
                _ => Some(first),
            }
        };
        let names: &[&str] = match field {
            _ if self.nodes.is_some() && field != Field::Rating => LINKED,
            Field::Author | Field::Source => &["name", "displayName", "fullName", "value"],
            Field::Rating => &["ratingValue", "value", "rating"],
            Field::Reply | Field::Text | Field::Title => {
                &["text", "comment", "content", "body", "value"]
            }
            _ => &["value", "$date", "date", "$oid"],
        };
        let inner = |value: &'v Value| match self.nodes {
            Some(_) if value.is_object() => LINKED.iter().find_map(|key| self.key(value, key)),
            _ => None,
        };
        let found = part(names).unwrap_or(value);
        let found = inner(found).unwrap_or(found);
        // An organisation without a name says no more than one that is left out.
        if self.nodes.is_some() && field == Field::Source && found.is_object() {
            return;
        }
        put(record, field, found);
        let (beside, keys): (Field, &[&str]) = match field {
            Field::Rating => (Field::Best, &["bestRating", "best"]),
            Field::Reply => (
                Field::ReplyDate,
                &[
                    "date",
                    "updateTime",
                    "createdAt",
                    "created_at",
                    "datePublished",
                ],
            ),
            _ => return,
        };
        if let Some(found) = part(keys) {
            put(record, beside, inner(found).unwrap_or(found));
        }
    }
}

/// Where a schema.org node holds what others have as a single value.
const LINKED: &[&str] = &["@value", "name", "url", "contentUrl", "@id"];

/// The value at a path: a key, or keys with points between them.
pub(super) fn lookup<'v>(object: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    let (key, rest) = path.split_once('.')?;
    lookup(object.get(key)?.as_object()?, rest)
}

/// Sets a field to a single value, or remembers that it is none.
fn put(record: &mut Record, field: Field, value: &Value) {
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
