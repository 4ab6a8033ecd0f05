//! Query strings and forms: pairs and percent-decoding (`application/x-www-form-urlencoded`, WHATWG URL §5).
//!
//! Unlike the URL standard, which replaces what it cannot read, a broken escape or invalid UTF-8 is an
//! error here: a filter that silently means something else is worse than a refusal.

use std::fmt;

/// Returns the pairs of `raw`, in order and still encoded, without allocating; empty pieces (`&&`) are skipped.
#[must_use]
pub fn pairs(raw: &[u8]) -> Pairs<'_> {
    Pairs { rest: raw }
}

/// The iterator that `pairs` returns.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
}

/// One `name=value` of a form, both still encoded; a piece without `=` is a name with an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The bytes before the first `=`.
    pub name: &'a [u8],
    /// The bytes after the first `=`, which may contain more of them.
    pub value: &'a [u8],
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        while !self.rest.is_empty() {
            let (piece, rest) = split_once(self.rest, b'&');
            self.rest = rest;
            if !piece.is_empty() {
                let (name, value) = split_once(piece, b'=');
                return Some(Pair { name, value });
            }
        }
        None
    }
}

/// Appends the decoded `raw` to `out`: `+` is a space and `%41` is `A`.
///
/// Allocates only where `out` lacks capacity; `raw.len()` more bytes always suffice. Nothing is cut: the
/// caller bounds `raw` or the outcome. On an error `out` is as it was.
///
/// # Errors
/// `BrokenEscape` for a `%` without two hexadecimal digits, `NotUtf8` if the decoded bytes are not UTF-8.
pub fn decode_into(raw: &[u8], out: &mut String) -> Result<(), FormError> {
    decode(raw, Plus::IsSpace, out)
}

/// Appends the decoded `raw` to `out` as `decode_into` does, but leaves `+` alone (RFC 3986 §2.1): for paths.
///
/// # Errors
/// Those of `decode_into`.
pub fn decode_path(raw: &[u8], out: &mut String) -> Result<(), FormError> {
    decode(raw, Plus::IsPlus, out)
}

/// Decodes by way of a small buffer, because a character may be spread over raw bytes and escapes.
fn decode(raw: &[u8], plus: Plus, out: &mut String) -> Result<(), FormError> {
    let is_plain = |byte: &u8| *byte != b'%' && (*byte != b'+' || plus == Plus::IsPlus);
    if raw.iter().all(is_plain) {
        out.push_str(std::str::from_utf8(raw).map_err(|_| FormError::NotUtf8)?);
        return Ok(());
    }
    let start = out.len();
    let result = decode_pieces(raw, plus, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn decode_pieces(raw: &[u8], plus: Plus, out: &mut String) -> Result<(), FormError> {
    let mut piece = [0u8; PIECE_BYTES];
    let mut len = 0;
    let mut at = 0;
    while at < raw.len() {
        let (byte, read) = match raw[at] {
            b'%' => (
                escape(&raw[at + 1..]).ok_or(FormError::BrokenEscape { at })?,
                3,
            ),
            b'+' if plus == Plus::IsSpace => (b' ', 1),
            byte => (byte, 1),
        };
        piece[len] = byte;
        len += 1;
        at += read;
        if len == PIECE_BYTES {
            len = flush(&mut piece, len, out)?;
        }
    }
    match flush(&mut piece, len, out)? {
        0 => Ok(()),
        _ => Err(FormError::NotUtf8),
    }
}

/// Appends the whole characters of `piece[..len]`, moves the beginning of a cut one to the front, and returns
/// its length (0 to 3).
fn flush(piece: &mut [u8; PIECE_BYTES], len: usize, out: &mut String) -> Result<usize, FormError> {
    let mut chunks = piece[..len].utf8_chunks();
    let Some(chunk) = chunks.next() else {
        return Ok(0);
    };
    out.push_str(chunk.valid());
    let valid = chunk.valid().len();
    if chunks.next().is_some() || !is_cut(&piece[valid..len]) {
        return Err(FormError::NotUtf8);
    }
    piece.copy_within(valid..len, 0);
    Ok(len - valid)
}

/// Whether `bytes` is empty or the beginning of a character that more bytes could complete.
fn is_cut(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.is_empty(),
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    }
}

/// The byte that two hexadecimal digits at the front of `rest` mean.
fn escape(rest: &[u8]) -> Option<u8> {
    let high = hex(*rest.first()?)?;
    let low = hex(*rest.get(1)?)?;
    Some(high << 4 | low)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The bytes before and after the first `separator`, or all of them and nothing.
fn split_once(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(separator, bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// What a plus sign stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    /// In forms and query strings.
    IsSpace,
    /// In paths.
    IsPlus,
}

/// Why bytes cannot be decoded: the client's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// A `%` is not followed by two hexadecimal digits.
    BrokenEscape {
        /// Where the `%` stands, counted from the start of the raw bytes.
        at: usize,
    },
    /// The decoded bytes are not UTF-8.
    NotUtf8,
}

impl fmt::Display for FormError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormError::BrokenEscape { at } => {
                write!(
                    formatter,
                    "must have two hexadecimal digits after the % at byte {at}"
                )
            }
            FormError::NotUtf8 => formatter.write_str("must be UTF-8 after percent-decoding"),
        }
    }
}

impl std::error::Error for FormError {}

/// Bytes that are decoded before they are checked and appended: large enough that checking is by the piece,
/// small enough to clear for nothing.
const PIECE_BYTES: usize = 64;

#[cfg(test)]
mod tests;
