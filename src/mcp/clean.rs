//! Cleans what a model reads: drops characters that people do not see and that can hide instructions.
//!
//! These are the characters of [`is_hidden`](crate::wire::text::is_hidden), found in JSON without parsing it. The pages and
//! REST publish the texts as they are; `reviewd check` names the reviews that have such characters.

use std::borrow::Cow;

/// Returns `json` without hidden characters in its strings, raw or escaped as `\u00XX`, `\b`, `\f` or `\r`.
/// Our own JSON, which serde_json writes, has no other escapes of hidden characters.
///
/// Costs one pass over the bytes; nothing is copied if nothing is dropped.
pub(super) fn clean(json: &[u8]) -> Cow<'_, [u8]> {
    let mut cleaned: Option<Vec<u8>> = None;
    // From here on nothing was copied yet.
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = json[at..].iter().position(|byte| is_suspicious(*byte)) {
        at += found;
        let dropped = dropped_bytes(&json[at..]);
        if dropped > 0 {
            let out = cleaned.get_or_insert_with(|| Vec::with_capacity(json.len()));
            out.extend_from_slice(&json[start..at]);
            start = at + dropped;
            at = start;
        } else if json[at] == b'\\' {
            // The escaped byte begins no escape of its own.
            at = json.len().min(at + 2);
        } else {
            at += 1;
        }
    }
    match cleaned {
        None => Cow::Borrowed(json),
        Some(mut out) => {
            out.extend_from_slice(&json[start..]);
            Cow::Owned(out)
        }
    }
}

/// Tells whether a dropped character may begin with `byte`.
fn is_suspicious(byte: u8) -> bool {
    matches!(byte, b'\\' | 0x7f | 0xc2 | 0xe2 | 0xf3)
}

/// Returns the length of the dropped character at the beginning of `rest`; 0 if there is none.
fn dropped_bytes(rest: &[u8]) -> usize {
    match rest {
        [b'\\', b'b' | b'f' | b'r', ..] => 2,
        [b'\\', b'u', b'0', b'0', high, low, ..] => {
            let is_tab_or_line_break = matches!((high, low), (b'0', b'9' | b'a' | b'A'));
            let is_delete = *high == b'7' && matches!(low, b'f' | b'F');
            let is_control = is_delete || matches!(high, b'0' | b'1' | b'8' | b'9');
            if is_control && !is_tab_or_line_break {
                6
            } else {
                0
            }
        }
        [0x7f, ..] => 1,
        [0xc2, 0x80..=0x9f, ..] => 2,
        // U+202A to U+202E, and U+2066 to U+2069.
        [0xe2, 0x80, 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..] => 3,
        // U+E0000 to U+E007F.
        [0xf3, 0xa0, 0x80 | 0x81, 0x80..=0xbf, ..] => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::text::is_hidden;

    #[test]
    fn exactly_the_hidden_characters_are_dropped() {
        for character in '\0'..=char::MAX {
            let json = json!(character.to_string()).to_string();
            let is_dropped = &*clean(json.as_bytes()) == b"\"\"";
            assert_eq!(is_dropped, is_hidden(character), "{character:?}");
        }
    }

    #[test]
    fn characters_that_hide_instructions_are_dropped() {
        for (text, expected) in [
            ("plain \"text\" \\ back", "plain \"text\" \\ back"),
            ("tab\tand\nline", "tab\tand\nline"),
            ("a\rb\u{8}c\u{c}d\u{0}e\u{1b}f\u{7f}g", "abcdefg"),
            ("C1 \u{80}\u{9f}\u{a0}end", "C1 \u{a0}end"),
            (
                "bidi \u{202e}evil\u{202c} \u{2066}x\u{2069} \u{201c}ok\u{201d}",
                "bidi evil x \u{201c}ok\u{201d}",
            ),
            ("tags \u{e0041}\u{e007f}\u{e0001}!", "tags !"),
            ("a literal \\u0007 stays", "a literal \\u0007 stays"),
            ("\\\u{7}", "\\"),
        ] {
            let json = json!({"text": text}).to_string();
            let cleaned: Value = serde_json::from_slice(&clean(json.as_bytes())).expect("JSON");
            assert_eq!(cleaned["text"], expected, "{text:?}");
        }
    }

    #[test]
    fn a_clean_text_is_not_copied() {
        let json = json!({"text": "caf\u{e9} \u{2019} \u{1f600} a\nb"}).to_string();
        assert!(matches!(clean(json.as_bytes()), Cow::Borrowed(_)));
    }
}
