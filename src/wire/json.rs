//! An append-only JSON writer (RFC 8259).
//!
//! Every function appends to a buffer that the caller owns and sizes; nothing is kept and nothing fails.
//! [`Object`] and [`Array`] place the commas.

use super::text::hex_digits;

/// Appends `text` as a JSON string, quoted and escaped (RFC 8259 §7).
///
/// Only what must be escaped is: the quotation mark, the backslash and U+0000 to U+001F.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends `text` escaped but without quotes, so that a JSON text can stand inside a JSON string.
///
/// `text` is expected to be UTF-8; other bytes are passed through as they are.
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for block in text.chunks(BLOCK_BYTES) {
        push_block(out, block);
    }
}

/// Bytes that are escaped at a time: twice as many are made room for, and cleared.
const BLOCK_BYTES: usize = 16 * 1024;

/// Appends a block word by word: a word is written whole, and from each byte that needs a backslash on what is left of
/// it is written once more, one place further. Words with control characters, which no JSON text has, go byte by byte.
fn push_block(out: &mut Vec<u8>, text: &[u8]) {
    let (words, rest) = text.as_chunks::<8>();
    if words.is_empty() {
        return push_bytes(out, rest);
    }
    let mut at = out.len();
    // A word of eight quotes becomes 16 bytes, and the last of them is written with the seven after it.
    out.resize(at + 16 * words.len() + 8, 0);
    for word in words {
        let (mut marks, has_controls) = marks(u64::from_le_bytes(*word));
        if has_controls {
            // Eight of them become 48 bytes.
            out.resize(out.len() + 32, 0);
            for &byte in word {
                let (escape, length) = escape(byte);
                out[at..at + 6].copy_from_slice(&escape);
                at += length;
            }
            continue;
        }
        out[at..at + 8].copy_from_slice(word);
        while marks != 0 {
            let bit = marks.trailing_zeros() & !7;
            let escape = at + (bit / 8) as usize;
            let left = u64::from_le_bytes(*word) >> bit;
            out[escape] = b'\\';
            out[escape + 1..escape + 9].copy_from_slice(&left.to_le_bytes());
            // One more byte was written than was read.
            at += 1;
            marks &= marks - 1;
        }
        at += 8;
    }
    out.truncate(at);
    push_bytes(out, rest);
}

/// Appends bytes escaped, one by one.
fn push_bytes(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        let (escape, length) = escape(byte);
        out.extend_from_slice(&escape[..length]);
    }
}

/// The highest bit of each of eight bytes that must be escaped, and no other bit; and whether one of them is a control
/// character.
fn marks(word: u64) -> (u64, bool) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f * ONES;
    // Each sum's bytes stay below 0x100, so nothing is carried from one byte into the next.
    let differs = |byte: u8| {
        let other = word ^ (u64::from(byte) * ONES);
        ((other & LOW) + LOW) | other
    };
    let is_printed = (((word & LOW) + 0x60 * ONES) | word) | LOW;
    let marks = !(is_printed & differs(b'"') & differs(b'\\')) & !LOW;
    (marks, is_printed != u64::MAX)
}

/// What stands for a byte in a string: the first bytes of six, and how many.
fn escape(byte: u8) -> ([u8; 6], usize) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0..0x20 => {
            let [high, low] = hex_digits(byte);
            return ([b'\\', b'u', b'0', b'0', high, low], 6);
        }
        plain => return ([plain, 0, 0, 0, 0, 0], 1),
    };
    ([b'\\', short, 0, 0, 0, 0], 2)
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

/// Appends `null`.
pub fn push_null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
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
    /// Keys are not compared: writing one twice is the caller's mistake.
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
            None => self.null(key),
        }
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

    /// Appends `true` or `false`.
    pub fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        self.raw(key, if value { b"true" } else { b"false" })
    }

    /// Appends `null`.
    pub fn null(&mut self, key: &str) -> &mut Self {
        self.raw(key, b"null")
    }

    /// Appends `value` as it stands, which must be one JSON value.
    pub fn raw(&mut self, key: &str, value: &[u8]) -> &mut Self {
        self.key(key).extend_from_slice(value);
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

    /// Appends a string.
    pub fn string(&mut self, value: &str) -> &mut Self {
        push_string(self.item(), value);
        self
    }

    /// Appends a whole number.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        push_u64(self.item(), value);
        self
    }

    /// Appends `value` as it stands, which must be one JSON value.
    pub fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.item().extend_from_slice(value);
        self
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
        array.string(value);
    }
    array.end();
}

#[cfg(test)]
mod tests;
