//! Reference implementation of `wire::form`: pairs by `split`, and percent-decoding by the `percent-encoding` crate
//! after a check that every escape is complete.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode, percent_encode};
use reviewd::wire::form::{self, decode_into, decode_path};

/// Checks the splitting of `data` into pairs, and the decoding of `data` and of each name and value in it.
///
/// # Panics
/// If code and reference differ, or if an escaped text is not decoded to the original.
pub fn check_form(data: &[u8]) {
    let found = form::pairs(data).map(|pair| (pair.name, pair.value));
    assert!(found.eq(pairs(data)), "{:?}", data.escape_ascii());
    let halves = pairs(data).flat_map(|(name, value)| [name, value]);
    for raw in halves.chain([data]) {
        for (is_form, decode) in [
            (true, decode_into as fn(&_, &mut _) -> _),
            (false, decode_path),
        ] {
            let mut out = "before".to_owned();
            let expected = decoded(raw, is_form);
            assert_eq!(decode(raw, &mut out).is_ok(), expected.is_some());
            // After an error, the buffer keeps its earlier content.
            assert_eq!(out, "before".to_owned() + &expected.unwrap_or_default());
        }
    }
    let text = String::from_utf8_lossy(data);
    let again = decoded(encode(&text).as_bytes(), true);
    assert_eq!(again.as_deref(), Some(&*text));
}

/// Returns the names and values of a form; empty pieces between `&` are skipped.
pub(super) fn pairs(data: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let pieces = data.split(|&byte| byte == b'&');
    pieces.filter(|piece| !piece.is_empty()).map(|piece| {
        let mut halves = piece.splitn(2, |&byte| byte == b'=');
        let name = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        (name, value)
    })
}

/// Returns the decoded text, in which `+` is a space in a form; `None` for an invalid escape or invalid UTF-8.
pub(super) fn decoded(raw: &[u8], is_form: bool) -> Option<String> {
    for after_percent in raw.split(|&byte| byte == b'%').skip(1) {
        let digits = after_percent.get(..2)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
    }
    let mut spaced = raw.to_vec();
    if is_form {
        for byte in &mut spaced {
            if *byte == b'+' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(percent_decode(&spaced).collect()).ok()
}

/// Escapes every byte except letters and digits.
pub(super) fn encode(text: &str) -> String {
    percent_encode(text.as_bytes(), NON_ALPHANUMERIC).to_string()
}
