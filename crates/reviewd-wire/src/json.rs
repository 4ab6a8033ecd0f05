//! An append-only JSON writer (RFC 8259).
//!
//! Every function appends to a buffer that the caller owns and sizes; there is no other state, and no function fails.
//! [`Object`] and [`Array`] write the commas.

use std::borrow::Cow;

use serde_json::Value;

use super::text::hex_digits;

/// Each byte of a word is 1.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte of a word.
const HIGH_BITS: u64 = 0x80 * ONES;

/// Appends `text` as a JSON string, quoted and escaped (RFC 8259 §7).
///
/// Escapes only what must be escaped: quotation mark, backslash, and U+0000 to U+001F.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends `text` escaped but without quotes, so that a JSON text can be embedded in a JSON string.
///
/// `text` is expected to be UTF-8; other bytes are copied unchanged.
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    // Eight bytes are copied at a time; then those from the first that must be escaped are removed again.
    while let Some(chunk) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        // The highest bit of each byte marks one that must be escaped. The subtractions borrow from the next byte only
        // after such a byte, so the first mark is right; only the first is used. Non-ASCII bytes need no escape.
        let marks = marks_of_controls(word) | marks_of(word, b'"') | marks_of(word, b'\\');
        let plain = (marks & HIGH_BITS & !word).trailing_zeros() as usize / 8;
        out.extend_from_slice(chunk);
        rest = &rest[plain..];
        if let Some(byte) = chunk.get(plain) {
            out.truncate(out.len() - (8 - plain));
            push_byte(out, *byte);
            rest = &rest[1..];
        }
    }
    for byte in rest {
        push_byte(out, *byte);
    }
}

/// Sets the highest bit of the first ASCII byte of `word` below U+0020, and of no ASCII byte before it. Marks after it
/// may be wrong, and those of other bytes mean nothing.
#[inline(always)]
fn marks_of_controls(word: u64) -> u64 {
    word.wrapping_sub(0x20 * ONES)
}

/// Like [`marks_of_controls`], for bytes that equal `byte`.
#[inline(always)]
fn marks_of(word: u64, byte: u8) -> u64 {
    (word ^ (u64::from(byte) * ONES)).wrapping_sub(ONES)
}

#[inline(always)]
fn push_byte(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        0x08 => out.extend_from_slice(b"\\b"),
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\n' => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        b'\r' => out.extend_from_slice(b"\\r"),
        0..0x20 => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&hex_digits(byte));
        }
        plain => out.push(plain),
    }
}

/// Appends `value` in decimal, without allocating.
pub fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

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

/// Returns a value as messages quote it: a scalar as its text, an array or object as its type.
///
/// A number is quoted as its shortest equal decimal, without an exponent: `5.0` is `5`.
pub fn value_text(value: &Value) -> Cow<'_, str> {
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

/// Returns a JSON document for an element `script` of HTML: with `<`, `>` and `&` escaped, which could end the element or
/// open a comment. In JSON they occur only in strings.
#[must_use]
pub fn escape_for_script(document: &str) -> String {
    document
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests;
