//! An append-only JSON writer (RFC 8259).
//!
//! Every function appends to a buffer that the caller owns and sizes; there is no other state, and no function fails.
//! [`Object`] and [`Array`] write the commas.

use std::borrow::Cow;
use std::io::Write;

use serde_json::Value;

/// Appends `text` as a JSON string, quoted and escaped (RFC 8259 §7): quotation mark, backslash, and U+0000 to U+001F.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect(TAKES_ALL);
}

/// Appends `text` escaped but without quotes, so that a JSON text can be embedded in a JSON string.
///
/// `text` is expected to be UTF-8; other bytes become U+FFFD.
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    push_string(out, &String::from_utf8_lossy(text));
    out.remove(start);
    out.pop();
}

/// Appends `value` in decimal, without allocating.
pub fn push_u64(out: &mut Vec<u8>, value: u64) {
    write!(out, "{value}").expect(TAKES_ALL);
}

const TAKES_ALL: &str = "a vector takes every byte, and a string is JSON";

/// An object that is being written; `end` closes it.
#[derive(Debug)]
#[must_use = "an object is complete only after `end`"]
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    comma: bool,
}

impl<'a> Object<'a> {
    /// Appends `{`.
    pub fn begin(out: &'a mut Vec<u8>) -> Object<'a> {
        out.push(b'{');
        Object { out, comma: false }
    }

    /// Appends `"key":` and returns the buffer, to which the caller appends exactly one value.
    ///
    /// Duplicate keys are not detected: the caller must avoid them.
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        push_string(self.out, key);
        self.out.push(b':');
        self.out
    }

    /// Appends a string.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        push_string(self.key(key), value);
        self
    }

    /// Appends a string, or `null` for `None`: a key is never left out.
    pub fn opt_string(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.string(key, value),
            None => self.raw(key, b"null"),
        }
    }

    /// Appends `value` unchanged; it must be one JSON value.
    pub fn raw(&mut self, key: &str, value: &[u8]) -> &mut Self {
        self.key(key).extend_from_slice(value);
        self
    }

    /// Appends an array of strings.
    pub fn strings<'s>(
        &mut self,
        key: &str,
        values: impl IntoIterator<Item = &'s str>,
    ) -> &mut Self {
        push_strings(self.key(key), values);
        self
    }

    /// Appends a whole number.
    pub fn u64(&mut self, key: &str, value: u64) -> &mut Self {
        push_u64(self.key(key), value);
        self
    }

    /// Appends `}`.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// An array that is being written; `end` closes it.
#[derive(Debug)]
#[must_use = "an array is complete only after `end`"]
pub struct Array<'a> {
    out: &'a mut Vec<u8>,
    comma: bool,
}

impl<'a> Array<'a> {
    /// Appends `[`.
    pub fn begin(out: &'a mut Vec<u8>) -> Array<'a> {
        out.push(b'[');
        Array { out, comma: false }
    }

    /// Appends a comma if one is needed and returns the buffer, to which the caller appends exactly one value.
    pub fn item(&mut self) -> &mut Vec<u8> {
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        self.out
    }

    /// Appends `]`.
    pub fn end(self) {
        self.out.push(b']');
    }
}

/// Appends an array of strings.
pub fn push_strings<'s>(out: &mut Vec<u8>, values: impl IntoIterator<Item = &'s str>) {
    let mut array = Array::begin(out);
    for value in values {
        push_string(array.item(), value);
    }
    array.end();
}

/// Returns how a message quotes a value: a scalar as its text, others as the name of their type.
///
/// A number is quoted as its shortest equal decimal, without an exponent: `5.0` is `5`.
pub fn quote(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string().into(),
            _ => number.to_string().into(),
        },
        Value::Null | Value::Bool(_) => value.to_string().into(),
    }
}

#[cfg(test)]
mod tests;
