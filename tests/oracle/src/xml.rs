//! Reference implementation of `wire::xml`: successive replacements in the characters that XML 1.0 §2.2 allows.

use reviewd::wire::xml::{escape_attribute, escape_text};

/// Checks `data`, as text, in element content and in attributes.
///
/// # Panics
/// If code and reference differ.
pub fn check_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let allowed: String = text.chars().filter(|&one| is_char(one)).collect();
    let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    let signs = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")];
    let expected = signs.iter().fold(allowed, replace).replace('\r', "&#13;");
    assert_eq!(escape_text(&text), expected);
    let signs = [("\"", "&quot;"), ("'", "&#39;"), ("\t", "&#9;")];
    let expected = signs.iter().fold(expected, replace).replace('\n', "&#10;");
    assert_eq!(escape_attribute(&text), expected);
}

/// The production `Char` of XML.
fn is_char(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}
