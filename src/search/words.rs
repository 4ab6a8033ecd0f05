//! The terms of `words`: what has to occur in a text, and what must not.
//!
//! A word is found where a word begins, so that `miss` finds "missed" and not "dismiss". What stands in quotation
//! marks begins and ends where words do, so that `"art of"` finds "art of" and not "smart office". A term that begins
//! or ends with no letter or digit, or in a script that writes without spaces, may begin or end anywhere; a word of
//! more than 32 bytes may begin anywhere. A `-` before a term excludes it. Everything is folded, so typographic quotes
//! and dashes do as well.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// Most terms of `words`; more are refused.
pub const TERMS_MAX: usize = 16;

/// Longest word in bytes that is found only where a word begins; the index keeps so much of each word.
pub(super) const WORD_BYTES_MAX: usize = 32;

/// A folded text of at most [`TERMS_MAX`] terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'b>(&'b str);

/// One of the things that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'b> {
    /// What is looked for: folded, not empty.
    pub text: &'b str,
    /// Whether it has to begin where a word does.
    pub begins_word: bool,
    /// Whether it has to end where a word does.
    pub ends_word: bool,
    /// Whether it must not occur.
    pub is_excluded: bool,
    /// The term with its quotation marks, without the `-`.
    pub(super) as_written: &'b str,
}

impl<'b> Words<'b> {
    /// Reads a folded text; one without terms, such as `""`, selects every review.
    ///
    /// # Errors
    /// The number of terms where that is above [`TERMS_MAX`].
    pub fn parse(folded: &'b str) -> Result<Words<'b>, usize> {
        let words = Words(folded);
        match words.terms().count() {
            count if count > TERMS_MAX => Err(count),
            _ => Ok(words),
        }
    }

    /// Returns the folded text as it was given.
    pub fn as_str(&self) -> &'b str {
        self.0
    }

    /// Returns the terms in the order in which they stand.
    pub fn terms(&self) -> impl Iterator<Item = Term<'b>> + use<'b> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            loop {
                rest = rest.trim_start();
                if rest.is_empty() {
                    return None;
                }
                let (is_excluded, after) = match rest.strip_prefix('-') {
                    Some(after) if after.starts_with(|next: char| !next.is_whitespace()) => {
                        (true, after)
                    }
                    _ => (false, rest),
                };
                let (text, is_quoted);
                match after.strip_prefix('"') {
                    // A quotation mark that is not closed ends with the text.
                    Some(quoted) => {
                        (text, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
                        is_quoted = true;
                    }
                    None => {
                        let end = after.find(|next: char| next.is_whitespace() || next == '"');
                        (text, rest) = after.split_at(end.unwrap_or(after.len()));
                        is_quoted = false;
                    }
                }
                let text = text.trim();
                if !text.is_empty() {
                    let is_short = is_quoted || text.len() <= WORD_BYTES_MAX;
                    return Some(Term {
                        text,
                        begins_word: is_short && text.starts_with(is_of_word),
                        ends_word: is_quoted && text.ends_with(is_of_word),
                        is_excluded,
                        as_written: &after[..after.len() - rest.len()],
                    });
                }
            }
        })
    }
}

impl<'b> Term<'b> {
    /// Returns the term that `query` is: `text` anywhere.
    pub fn anywhere(text: &'b str) -> Term<'b> {
        Term {
            text,
            begins_word: false,
            ends_word: false,
            is_excluded: false,
            as_written: text,
        }
    }

    /// Tells whether the term may stand at `at` in the folded `text`, where its bytes do.
    pub(super) fn may_stand(&self, text: &[u8], at: usize) -> bool {
        let end = at + self.text.len();
        (!self.begins_word || !last_character(&text[..at]).is_some_and(is_of_word))
            && (!self.ends_word || !first_character(&text[end..]).is_some_and(is_of_word))
    }
}

fn last_character(text: &[u8]) -> Option<char> {
    let start = text.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    first_character(&text[start..])
}

fn first_character(text: &[u8]) -> Option<char> {
    let text = &text[..text.len().min(4)];
    text.utf8_chunks().next()?.valid().chars().next()
}

/// Tells whether `character`, folded, belongs to a word as the one before it does: a letter, digit or mark of a script
/// that separates words.
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

/// Returns the words of a folded `text` that follow neither its beginning nor a space: the index keeps them behind the
/// text, each as far as [`listed_part`] tells. Together they take at most three times its length.
pub(super) fn words_after_signs(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, character)| {
        let last = std::mem::replace(&mut before, character);
        let is_listed = last != ' ' && !is_of_word(last) && is_of_word(character);
        is_listed.then(|| listed_part(&text[at..]))
    })
}

/// Returns what is listed of the word at the beginning of `text`: its letters and digits, an apostrophe and those that
/// follow it, at most [`WORD_BYTES_MAX`] bytes and never a part of a character.
pub(super) fn listed_part(text: &str) -> &str {
    let mut apostrophes = 0;
    let end = text.char_indices().find(|(at, character)| {
        apostrophes += usize::from(*character == '\'');
        let goes_on = is_of_word(*character) || (*character == '\'' && apostrophes == 1);
        !goes_on || at + character.len_utf8() > WORD_BYTES_MAX
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(&str, bool, bool, bool)> {
        let words = Words::parse(text).expect("few terms");
        let bounds = |term: Term<'_>| (term.begins_word, term.ends_word, term.is_excluded);
        let all = words.terms().map(|term| (term.text, bounds(term)));
        all.map(|(text, (begins, ends, excluded))| (text, begins, ends, excluded))
            .collect()
    }

    #[test]
    fn terms_are_words_phrases_and_what_is_excluded() {
        assert_eq!(
            terms("missed  \" filing deadline \" -rude -\"no way\""),
            [
                ("missed", true, false, false),
                ("filing deadline", true, true, false),
                ("rude", true, false, true),
                ("no way", true, true, true),
            ]
        );
        assert_eq!(
            terms("a\"b c"),
            [("a", true, false, false), ("b c", true, true, false)]
        );
        assert_eq!(terms("- \"\" \" \" -\"\""), [("-", false, false, false)]);
        assert_eq!(
            terms("--a \"$5 (\""),
            [("-a", false, false, true), ("$5 (", false, false, false)]
        );
        assert_eq!(
            terms("日本 \"日本 a\""),
            [
                ("日本", false, false, false),
                ("日本 a", false, true, false)
            ]
        );
        assert!(terms(" ").is_empty());
    }

    #[test]
    fn terms_are_counted_and_long_words_begin_anywhere() {
        assert!(Words::parse(&"a ".repeat(TERMS_MAX)).is_ok());
        assert_eq!(Words::parse(&"a ".repeat(TERMS_MAX + 1)), Err(17));
        let long = "x".repeat(WORD_BYTES_MAX + 1);
        assert!(!terms(&long)[0].1);
        assert!(terms(&long[1..])[0].1);
        assert!(terms(&format!("\"{long}\""))[0].1);
    }

    #[test]
    fn words_that_follow_a_sign_are_listed_up_to_the_next_sign_or_its_apostrophe() {
        let words: Vec<&str> =
            words_after_signs("(it's a well-known\nfact 年5 a_b 'a'b'c").collect();
        assert_eq!(
            words,
            ["it's", "s", "known", "fact", "5", "b", "a'b", "b'c", "c"]
        );
        let long = format!("-{}é", "x".repeat(31));
        assert_eq!(words_after_signs(&long).next().map(str::len), Some(31));
    }
}
