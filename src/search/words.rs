//! The terms of `words`: what has to occur in a text, and what must not.
//!
//! A word is found where a word begins, so that `miss` finds "missed" and not "dismiss". What stands in quotation
//! marks, begins with no letter or digit, is longer than 32 bytes, or is of a script that writes without spaces, is
//! found anywhere. A `-` before a term excludes it. Everything is folded, so typographic quotes and dashes do as well.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// Most terms of `words`; more are refused.
pub const TERMS_MAX: usize = 16;

/// Longest word in bytes that is found only where a word begins; the index keeps so much of each word.
pub(in crate::search) const WORD_BYTES_MAX: usize = 32;

/// A folded text of at most [`TERMS_MAX`] terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'b>(&'b str);

/// One of the things that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'b> {
    /// What is looked for: folded, not empty.
    pub text: &'b str,
    /// Whether it may begin within a word.
    pub is_anywhere: bool,
    /// Whether it must not occur.
    pub is_excluded: bool,
    /// The term with its quotation marks, without the `-`.
    as_written: &'b str,
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
    #[must_use]
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
                if !text.trim().is_empty() {
                    let as_written = &after[..after.len() - rest.len()];
                    return Some(Term {
                        as_written,
                        is_anywhere: is_quoted || begins_anywhere(text),
                        text,
                        is_excluded,
                    });
                }
            }
        })
    }
}

impl<'b> Term<'b> {
    /// Returns the term that `query` is: `text` anywhere.
    #[must_use]
    pub fn anywhere(text: &'b str) -> Term<'b> {
        Term {
            text,
            as_written: text,
            is_anywhere: true,
            is_excluded: false,
        }
    }

    /// Returns the search for this term alone, as if it were not excluded.
    pub(in crate::search) fn alone(&self) -> Words<'b> {
        Words(self.as_written)
    }

    /// Returns where the term begins in the folded `text`, occurrence after occurrence.
    pub(in crate::search) fn places_in(&self, text: &str) -> impl Iterator<Item = usize> {
        let places = memchr::memmem::find_iter(text.as_bytes(), self.text.as_bytes());
        places.filter(|at| self.is_anywhere || !text[..*at].ends_with(is_of_word))
    }
}

fn begins_anywhere(text: &str) -> bool {
    text.len() > WORD_BYTES_MAX || !text.starts_with(is_of_word)
}

/// Tells whether `character`, folded, belongs to a word as the one before it does: a letter, digit or mark of a script
/// that separates words.
#[must_use]
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

/// Returns the words of a folded `text` that follow neither its beginning nor a space, each up to the next white space
/// and [`WORD_BYTES_MAX`] bytes: the index keeps them behind the text.
pub(in crate::search) fn words_after_signs(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, character)| {
        let last = std::mem::replace(&mut before, character);
        if last == ' ' || is_of_word(last) || !is_of_word(character) {
            return None;
        }
        let mut end = (at + WORD_BYTES_MAX).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let rest = &text[at..end];
        Some(rest.split(char::is_whitespace).next().unwrap_or(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(&str, bool, bool)> {
        let words = Words::parse(text).expect("few terms");
        let all = words.terms();
        all.map(|term| (term.text, term.is_anywhere, term.is_excluded))
            .collect()
    }

    #[test]
    fn terms_are_words_phrases_and_what_is_excluded() {
        assert_eq!(
            terms("missed  \"filing deadline\" -rude -\"no way\""),
            [
                ("missed", false, false),
                ("filing deadline", true, false),
                ("rude", false, true),
                ("no way", true, true),
            ]
        );
        assert_eq!(terms("a\"b c"), [("a", false, false), ("b c", true, false)]);
        assert_eq!(terms("- \"\" \" \" -\"\""), [("-", true, false)]);
        assert_eq!(terms("--a $5"), [("-a", true, true), ("$5", true, false)]);
        assert_eq!(
            terms("日本 don't"),
            [("日本", true, false), ("don't", false, false)]
        );
        assert!(terms(" ").is_empty());
    }

    #[test]
    fn terms_are_counted_and_long_words_begin_anywhere() {
        assert!(Words::parse(&"a ".repeat(TERMS_MAX)).is_ok());
        assert_eq!(Words::parse(&"a ".repeat(TERMS_MAX + 1)), Err(17));
        let long = "x".repeat(WORD_BYTES_MAX + 1);
        assert!(terms(&long)[0].1);
        assert!(!terms(&long[1..])[0].1);
    }

    #[test]
    fn words_that_follow_a_sign_are_listed_up_to_the_next_space() {
        let words: Vec<&str> = words_after_signs("(it's a well-known\nfact 年5 a_b").collect();
        assert_eq!(words, ["it's", "s", "known", "fact", "5", "b"]);
        let long = format!("-{}", "x".repeat(40));
        assert_eq!(words_after_signs(&long).next().map(str::len), Some(32));
    }
}
