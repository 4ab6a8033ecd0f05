//! The shape of a source: all paths of its records, with some of their values, by which columns are found.
//!
//! A row of a table is an object, too, whose keys are the names of the columns. A path is the keys from the record to a
//! value; lists are not entered.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::text::normal;

/// Largest number of columns of a table, and of paths in JSON that are considered.
pub(super) const COLUMNS_MAX: usize = 1_000;

/// Depth of objects in which fields are searched.
const DEPTH_MAX: usize = 4;

/// Number of first records whose values decide between columns.
const SAMPLE_MAX: usize = 500;

/// Different values that are remembered of a column, and their largest size in bytes.
const VALUES_MAX: usize = 40;
const VALUE_BYTES_MAX: usize = 64;

/// Objects that only wrap a review in the response of an API.
const WRAPPERS: [&str; 7] = [
    "node",
    "attributes",
    "fields",
    "properties",
    "_source",
    "review",
    "data",
];

/// All paths of a source.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) columns: Vec<SourceColumn>,
    by_name: HashMap<String, usize>,
    /// The first records.
    pub(super) sample: Vec<Value>,
    pub(super) count: u64,
}

/// A path and its values.
#[derive(Clone, Debug)]
pub(super) struct SourceColumn {
    pub(super) keys: Vec<String>,
    /// The path as written, joined by full stops.
    pub(super) name: String,
    /// The path for comparison: each key in lower case, only letters and digits; without wrappers.
    pub(super) normal: String,
    /// Whether it is an object, whose members are columns, too.
    pub(super) is_object: bool,
    /// Different short values.
    pub(super) values: Vec<String>,
    /// Whether there are more, or longer ones.
    pub(super) has_more: bool,
    /// Records with a value.
    pub(super) filled: u64,
}

impl Shape {
    /// Adds a record.
    pub(super) fn add(&mut self, record: &Value) {
        self.count += 1;
        if let Value::Object(object) = record {
            self.walk(object, &mut Vec::new());
        }
        if self.sample.len() < SAMPLE_MAX {
            self.sample.push(record.clone());
        }
    }

    fn walk(&mut self, object: &Map<String, Value>, keys: &mut Vec<String>) {
        for (key, value) in object {
            keys.push(key.clone());
            self.note(keys, value);
            if let Value::Object(inner) = value
                && keys.len() < DEPTH_MAX
            {
                self.walk(inner, keys);
            }
            keys.pop();
        }
    }

    fn note(&mut self, keys: &[String], value: &Value) {
        let name = keys.join(".");
        let at = match self.by_name.get(&name) {
            Some(at) => *at,
            None if self.columns.len() >= COLUMNS_MAX => return,
            None => {
                self.columns.push(SourceColumn::new(keys, name.clone()));
                self.by_name.insert(name, self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        self.columns[at].note(value);
    }

    /// The columns with this normal name.
    pub(super) fn named(&self, normal: &str) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().enumerate();
        let named = columns.filter(move |(_, column)| column.normal == normal);
        named.map(|(at, _)| at)
    }

    /// Whether a column with this normal name has a value or is empty.
    pub(super) fn has(&self, normal: &str) -> bool {
        self.named(normal).next().is_some()
    }

    /// The column that the operator named, as written or nearly so.
    pub(super) fn written(&self, name: &str) -> Option<usize> {
        let exact = self
            .columns
            .iter()
            .position(|column| column.name.trim() == name);
        if let Some(exact) = exact {
            return Some(exact);
        }
        let keys: Vec<String> = name.split('.').map(normal).collect();
        if let Some(same) = self.named(&keys.join(".")).next() {
            return Some(same);
        }
        let joined = keys.concat();
        self.columns
            .iter()
            .position(|column| normal(&column.name) == joined)
    }
}

impl SourceColumn {
    fn new(keys: &[String], name: String) -> SourceColumn {
        let wrappers = keys[..keys.len() - 1]
            .iter()
            .take_while(|key| WRAPPERS.contains(&key.as_str()));
        let own = &keys[wrappers.count()..];
        let normal: Vec<String> = own.iter().map(|key| normal(key)).collect();
        SourceColumn {
            keys: keys.to_vec(),
            name,
            normal: normal.join("."),
            is_object: false,
            values: Vec::new(),
            has_more: false,
            filled: 0,
        }
    }

    fn note(&mut self, value: &Value) {
        let text = match value {
            Value::Null => return,
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Array(values) => {
                self.filled += u64::from(!values.is_empty());
                self.has_more = true;
                return;
            }
            Value::Object(object) => {
                self.is_object = true;
                self.filled += u64::from(!object.is_empty());
                return;
            }
        };
        if text.is_empty() {
            return;
        }
        self.filled += 1;
        if self.values.contains(&text) {
            return;
        }
        if self.values.len() < VALUES_MAX && text.len() <= VALUE_BYTES_MAX {
            self.values.push(text);
        } else {
            self.has_more = true;
        }
    }

    /// The only value of all records; `None` if there are several, or fewer than `count_min` records with a value.
    pub(super) fn constant(&self, count_min: u64) -> Option<&str> {
        match self.values.as_slice() {
            [value] if !self.has_more && self.filled >= count_min => Some(value),
            _ => None,
        }
    }

    /// The value of this column in a record.
    pub(super) fn value<'v>(&self, record: &'v Value) -> Option<&'v Value> {
        let mut value = record;
        for key in &self.keys {
            value = value.get(key)?;
        }
        Some(value)
    }
}
