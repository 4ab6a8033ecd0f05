//! Where words begin and end, and the words that an arena lists because no space precedes them.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// A listed word has at most this many bytes, so a search for a word of more cannot ask for its beginning.
pub const WORD_BYTES_MAX: usize = 32;

/// Tells whether the folded `character` is part of a word: a letter, digit or mark of a script that separates words.
pub fn is_of_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    let is_without_spaces = matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}');
    !is_without_spaces
        && (character.is_alphanumeric()
            || CanonicalCombiningClassMapBorrowed::new().get_u8(character) != 0)
}

/// A word that follows a character other than a space.
pub struct WordAfterSign<'t> {
    /// The character before the word.
    pub sign: char,
    /// The listed part of the word.
    pub word: &'t str,
}

/// Returns the words of a folded `text` that follow a character other than a space. The index lists them after the
/// text, each cut by [`listed_part`]; the list is at most three times as long as the text.
pub fn words_after_signs(text: &str) -> impl Iterator<Item = WordAfterSign<'_>> {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, character)| {
        let sign = std::mem::replace(&mut before, character);
        if sign == ' ' || is_of_word(sign) || !is_of_word(character) {
            return None;
        }
        let word = listed_part(&text[at..]);
        Some(WordAfterSign { sign, word })
    })
}

/// Returns the listed part of the word at the beginning of `text`: its letters and digits, and one apostrophe with the
/// letters and digits after it; at most [`WORD_BYTES_MAX`] bytes of whole characters.
pub fn listed_part(text: &str) -> &str {
    let mut has_apostrophe = false;
    for (at, character) in text.char_indices() {
        let is_first_apostrophe = character == '\'' && !has_apostrophe;
        has_apostrophe |= is_first_apostrophe;
        let goes_on = is_first_apostrophe || is_of_word(character);
        if !goes_on || at + character.len_utf8() > WORD_BYTES_MAX {
            return &text[..at];
        }
    }
    text
}
