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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        let mut out = Vec::new();
        push_text(&mut out, text);
        String::from_utf8(out).expect("the writer keeps UTF-8")
    }

    fn attribute(text: &str) -> String {
        let mut out = Vec::new();
        push_attribute(&mut out, text);
        String::from_utf8(out).expect("the writer keeps UTF-8")
    }

    #[test]
    fn markup_is_escaped_white_space_survives_and_what_xml_forbids_is_dropped() {
        assert_eq!(text("a<b>&\"c\"'d']]>"), "a&lt;b&gt;&amp;\"c\"'d']]&gt;");
        let quoted = "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;";
        assert_eq!(attribute("a<b>&\"c\"'d'"), quoted);
        assert_eq!(text("a\tb\nc\r\nd"), "a\tb\nc&#13;\nd");
        assert_eq!(attribute("a\tb\nc\rd e"), "a&#9;b&#10;c&#13;d e");
        assert_eq!(text("\u{0}a\u{8}\u{b}b\u{1f}c\u{fffe}d\u{ffff}"), "abcd");
        let kept = " \u{7f}\u{85}\u{fffd}\u{ff41}é€\u{10ffff}";
        assert_eq!(
            (text(kept), attribute(kept)),
            (kept.to_owned(), kept.to_owned())
        );
    }
}
