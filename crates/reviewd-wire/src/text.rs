//! Text functions that several formats share: quoting and escaping.

/// Longest part of a client's text that a message quotes, in bytes.
pub const QUOTED_BYTES_MAX: usize = 64;

/// Function words of languages: a line has an ISO 639-3 code, its BCP 47 code, and articles, pronouns, auxiliaries and
/// similar words in lower case, with accents. The last two lines have determiners and homonyms of several languages, and `-`
/// as their code.
pub const LANGUAGES: &str = include_str!("languages.txt");

/// Returns at most the first `bytes_max` bytes of `text`, never a part of a character.
#[must_use]
pub fn truncate(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns at most the first 64 bytes of `text`.
#[must_use]
pub fn cut(text: &str) -> &str {
    truncate(text, QUOTED_BYTES_MAX)
}

/// Returns at most the first 64 bytes of a text that may not be UTF-8; invalid parts become U+FFFD.
#[must_use]
pub fn cut_lossy(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(QUOTED_BYTES_MAX)];
    cut(&String::from_utf8_lossy(head)).to_owned()
}

/// Quotes at most 64 bytes of `text` on one line; characters that are not printable are escaped.
#[must_use]
pub fn quote(text: &str) -> String {
    let beginning = cut(text);
    let more = if beginning.len() < text.len() {
        "…"
    } else {
        ""
    };
    format!("\"{}{more}\"", beginning.escape_debug())
}

/// Tells whether people do not see `character`, so that it can hide instructions from them in a text that a model reads:
/// C0 and C1 controls except tab and line feed, marks that override the direction of a text (U+202A to U+202E, U+2066 to
/// U+2069), and tag characters (U+E0000 to U+E007F).
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

/// Returns two hexadecimal digits for each byte, in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| hex_digits(*byte))
        .map(char::from)
        .collect()
}

/// Returns the two hexadecimal digits of a byte, in lower case.
#[must_use]
pub fn hex_digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)])
}

/// Appends `text` percent-encoded (RFC 3986 §2.1), except ASCII bytes for which `is_plain` returns true.
pub fn push_percent(out: &mut String, text: &str, is_plain: impl Fn(u8) -> bool) {
    percent_encode(
        text.as_bytes(),
        |rest| match rest {
            [byte, ..] => byte.is_ascii() && is_plain(*byte),
            [] => false,
        },
        |piece| out.extend(piece.iter().copied().map(char::from)),
    );
}

/// Returns `pattern` with a value for each place such as `{count}`; a place without a value becomes empty. Values are not
/// searched for places.
#[must_use]
pub fn fill_places(pattern: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = values.iter().find(|(place, _)| *place == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Calls `push` with the pieces of `bytes` in percent-encoding, in upper case. `is_plain` gets the bytes from each one on,
/// and returns whether the first of them stays as it is.
pub fn percent_encode(bytes: &[u8], is_plain: impl Fn(&[u8]) -> bool, mut push: impl FnMut(&[u8])) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut plain = bytes;
    let mut rest = bytes;
    while let [byte, after @ ..] = rest {
        if !is_plain(rest) {
            let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
            push(&plain[..plain.len() - rest.len()]);
            push(&[b'%', high, low]);
            plain = after;
        }
        rest = after;
    }
    push(plain);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_one_line_and_cut_at_64_bytes_between_characters() {
        assert_eq!(quote("a\nb"), "\"a\\nb\"");
        assert_eq!(quote(&"x".repeat(64)), format!("\"{}\"", "x".repeat(64)));
        assert_eq!(quote(&"é".repeat(33)), format!("\"{}…\"", "é".repeat(32)));
        assert_eq!(cut(&format!("x{}", "é".repeat(32))).len(), 63);
        assert_eq!(cut_lossy(b"a\xff"), "a\u{fffd}");
        assert_eq!(cut_lossy(&[0xff; 70]).len(), 63);
    }

    #[test]
    fn places_are_filled_once() {
        let values = [("a", "{b}"), ("b", "x")];
        assert_eq!(fill_places("{a}, {b} {c}.", &values), "{b}, x .");
    }

    #[test]
    fn hex_is_lower_case_and_percent_escapes_are_upper_case() {
        assert_eq!(hex(&[0, 0xab]), "00ab");
        let mut out = String::new();
        push_percent(&mut out, "a é/", |byte| byte.is_ascii_graphic());
        assert_eq!(out, "a%20%C3%A9/");
    }
}
