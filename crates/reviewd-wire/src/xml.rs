//! Escaping for XML text and attributes (XML 1.0, fifth edition, §2.2, §2.4, §2.11 and §3.3.3).
//!
//! Characters that XML 1.0 forbids even as references (most controls, U+FFFE, U+FFFF) are dropped, because a
//! single one of them makes the whole document unreadable.

/// Returns `text` as character data: `&`, `<` and `>` as entities.
///
/// A carriage return becomes a reference, because a parser turns a bare one into a line feed.
#[must_use]
pub fn escape_text(text: &str) -> String {
    escape(text, |_| None)
}

/// Returns `text` as an attribute's value, without the surrounding quotation marks, which may be single or double.
///
/// Tabs and line breaks become references, because a parser turns bare ones into spaces.
#[must_use]
pub fn escape_attribute(text: &str) -> String {
    escape(text, |character| match character {
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        _ => None,
    })
}

/// Escapes `text`: replaces the characters for which `entity` returns a replacement, and those that always need one.
fn escape(text: &str, entity: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match (entity(character), character) {
            (Some(replacement), _) => out.push_str(replacement),
            (None, '&') => out.push_str("&amp;"),
            (None, '<') => out.push_str("&lt;"),
            // Needed after `]]`, and harmless elsewhere.
            (None, '>') => out.push_str("&gt;"),
            (None, '\r') => out.push_str("&#13;"),
            (None, '\t' | '\n') => out.push(character),
            (None, '\0'..' ' | '\u{fffe}' | '\u{ffff}') => {}
            (None, _) => out.push(character),
        }
    }
    out
}
