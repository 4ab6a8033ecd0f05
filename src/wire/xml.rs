//! Escaping for XML text and attributes (XML 1.0, fifth edition, §2.2, §2.4, §2.11 and §3.3.3).
//!
//! Characters that XML 1.0 forbids even as references (most controls, U+FFFE, U+FFFF) are dropped, because a
//! single one of them makes the whole document unreadable.

/// Appends `text` as character data: `&`, `<` and `>` as entities.
///
/// A carriage return becomes a reference, because a parser turns a bare one into a line feed.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    push(out, text, |_| None);
}

/// Appends `text` as an attribute's value, without the quotation marks around it, of either kind.
///
/// Tabs and line breaks become references, because a parser turns bare ones into spaces.
pub fn push_attribute(out: &mut Vec<u8>, text: &str) {
    push(out, text, |character| match character {
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        _ => None,
    });
}

/// Appends `text` in runs, with what `entity` names and what is never plain replaced.
fn push(out: &mut Vec<u8>, text: &str, entity: impl Fn(char) -> Option<&'static str>) {
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let replacement = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            // Needed after `]]`, and harmless elsewhere.
            '>' => "&gt;",
            '\r' => "&#13;",
            other => match (entity(other), other) {
                (Some(replacement), _) => replacement,
                (None, '\t' | '\n') => continue,
                (None, '\0'..' ' | '\u{fffe}' | '\u{ffff}') => "",
                (None, _) => continue,
            },
        };
        out.extend_from_slice(&text.as_bytes()[start..at]);
        out.extend_from_slice(replacement.as_bytes());
        start = at + character.len_utf8();
    }
    out.extend_from_slice(&text.as_bytes()[start..]);
}
