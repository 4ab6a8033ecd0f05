//! The reference implementation of `wire::xml`: one character at a time, by the letter of XML 1.0 §2.2.

use reviewd::wire::xml::{escape_attribute, escape_text};

/// Checks `data`, as text, in both places where it may stand.
///
/// # Panics
/// If code and reference differ.
pub fn check_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    assert_eq!(escape_text(&text), reference(&text, false));
    assert_eq!(escape_attribute(&text), reference(&text, true));
}

fn reference(text: &str, attribute: bool) -> String {
    text.chars()
        .filter(|&character| is_char(character))
        .map(|character| escape(character, attribute))
        .collect()
}

fn escape(character: char, attribute: bool) -> String {
    match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' if attribute => "&quot;".to_owned(),
        '\r' => "&#13;".to_owned(),
        '\'' | '\t' | '\n' if attribute => format!("&#{};", u32::from(character)),
        character => character.to_string(),
    }
}

/// The production `Char`.
fn is_char(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}
