//! Query strings and forms: their pairs, read and written (`application/x-www-form-urlencoded`, WHATWG URL §5).
//!
//! A broken escape or invalid UTF-8 is an error here, while the URL standard replaces such bytes: a filter that
//! silently changes its meaning is worse than a rejected request.

#![warn(clippy::indexing_slicing)]

use super::text::push_percent;

/// One `name=value` of a form, both still encoded; a piece without `=` is a name with an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormPair<'a> {
    /// The bytes before the first `=`.
    pub name: &'a [u8],
    /// The bytes after the first `=`, which may contain more `=`.
    pub value: &'a [u8],
}

/// Returns the pairs of `raw`, in order and still encoded, without allocating; empty pieces (`&&`) are skipped.
pub fn pairs(raw: &[u8]) -> impl Iterator<Item = FormPair<'_>> {
    let pieces = raw.split(|byte| *byte == b'&');
    pieces.filter(|piece| !piece.is_empty()).map(|piece| {
        // Names and values are short. For so few bytes a plain loop is faster than a call of `memchr`.
        let equals = piece.iter().position(|byte| *byte == b'=');
        let (name, rest) = piece.split_at(equals.unwrap_or(piece.len()));
        FormPair {
            name,
            value: rest.get(1..).unwrap_or_default(),
        }
    })
}

/// Appends `text` encoded as a name or a value: a space as `+`, and all bytes but letters, digits and `*-._` in
/// percent-encoding.
pub fn push_encoded(out: &mut String, text: &str) {
    for (at, part) in text.split(' ').enumerate() {
        if at > 0 {
            out.push('+');
        }
        push_percent(out, part, |byte| {
            byte.is_ascii_alphanumeric() || b"*-._".contains(&byte)
        });
    }
}

/// Appends the decoded `raw` to `out`: `+` is a space and `%41` is `A`.
///
/// Allocates only if `out` lacks capacity; `raw.len()` more bytes always suffice. There is no limit: the caller
/// bounds `raw` or the result. On an error `out` is unchanged.
///
/// # Errors
/// `BrokenEscape` for a `%` without two hexadecimal digits, `NotUtf8` if the decoded bytes are not UTF-8.
pub fn decode_into(raw: &[u8], out: &mut String) -> Result<(), FormError> {
    decode(raw, b' ', out)
}

/// Appends the decoded `raw` to `out` like `decode_into`, but does not decode `+` (RFC 3986 §2.1): for paths.
///
/// # Errors
/// Those of `decode_into`.
pub fn decode_path(raw: &[u8], out: &mut String) -> Result<(), FormError> {
    decode(raw, b'+', out)
}

fn decode(raw: &[u8], plus: u8, out: &mut String) -> Result<(), FormError> {
    if !raw.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        out.push_str(std::str::from_utf8(raw).map_err(|_| FormError::NotUtf8)?);
        return Ok(());
    }
    let start = out.len();
    let mut bytes = std::mem::take(out).into_bytes();
    let decoded = push_decoded(raw, plus, &mut bytes);
    let (mut bytes, error) = match (String::from_utf8(bytes), decoded) {
        (Ok(text), Ok(())) => {
            *out = text;
            return Ok(());
        }
        (Ok(text), Err(error)) => (text.into_bytes(), error),
        (Err(not_utf8), decoded) => (
            not_utf8.into_bytes(),
            decoded.err().unwrap_or(FormError::NotUtf8),
        ),
    };
    bytes.truncate(start);
    *out = String::from_utf8(bytes).expect("the original content is UTF-8");
    Err(error)
}

fn push_decoded(raw: &[u8], plus: u8, out: &mut Vec<u8>) -> Result<(), FormError> {
    let mut rest = raw;
    while let [byte, after @ ..] = rest {
        rest = after;
        out.push(match byte {
            b'+' => plus,
            b'%' => {
                let broken = FormError::BrokenEscape {
                    at: raw.len() - after.len() - 1,
                };
                let digits = rest.split_off(..2).ok_or(broken)?;
                unescape(digits).ok_or(broken)?
            }
            plain => *plain,
        });
    }
    Ok(())
}

/// Returns the byte that two hexadecimal digits encode.
pub fn unescape(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high << 4 | low).ok()
}

/// Why bytes cannot be decoded: a client error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// A `%` is not followed by two hexadecimal digits.
    #[error("must have two hexadecimal digits after the % at byte {at}")]
    BrokenEscape {
        /// Offset of the `%` in the raw bytes.
        at: usize,
    },
    /// The decoded bytes are not UTF-8.
    #[error("must be UTF-8 after percent-decoding")]
    NotUtf8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stand_between_ampersands_and_end_their_name_at_the_first_equals_sign() {
        let raw = b"a=1&&b&=c&d==e&";
        let found: Vec<_> = pairs(raw).map(|pair| (pair.name, pair.value)).collect();
        let expected: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b""), (b"", b"c"), (b"d", b"=e")];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_plus_is_a_space_in_a_form_and_itself_in_a_path() {
        let mut form = String::new();
        assert_eq!(decode_into(b"a+b%20%C3%a9", &mut form), Ok(()));
        assert_eq!(form, "a b é");
        let mut path = String::new();
        assert_eq!(decode_path(b"a+b%20%C3%a9", &mut path), Ok(()));
        assert_eq!(path, "a+b é");
    }

    #[test]
    fn what_cannot_be_decoded_is_named_and_changes_nothing() {
        let broken = |at| FormError::BrokenEscape { at };
        for (raw, error) in [
            (&b"a%"[..], broken(1)),
            (b"ab%4", broken(2)),
            (b"%41%zz", broken(3)),
            (b"%ff%", broken(3)),
            (b"%ff", FormError::NotUtf8),
            (b"\xff", FormError::NotUtf8),
        ] {
            let mut out = "before".to_owned();
            assert_eq!(decode_into(raw, &mut out), Err(error), "{raw:?}");
            assert_eq!(out, "before");
        }
    }

    #[test]
    fn an_encoded_text_is_decoded_again() {
        for (text, expected) in [
            ("", ""),
            ("a b", "a+b"),
            (" +&=%", "+%2B%26%3D%25"),
            ("*-._~é", "*-._%7E%C3%A9"),
        ] {
            let mut encoded = String::new();
            push_encoded(&mut encoded, text);
            assert_eq!(encoded, expected, "{text}");
            let mut decoded = String::new();
            decode_into(encoded.as_bytes(), &mut decoded).expect(text);
            assert_eq!(decoded, text);
        }
    }
}
