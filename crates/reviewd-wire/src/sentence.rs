//! Splits a text into sentences.

use std::ops::Range;

/// Bytes after which a sentence is cut.
const SENTENCE_BYTES_MAX: usize = 1_000;
/// Marks that end a sentence.
const ENDS: [char; 4] = ['.', '!', '?', '…'];
/// Marks that may follow the end and belong to the sentence.
const CLOSERS: [char; 6] = ['"', '”', '\'', '’', ')', '»'];
/// Words before whose `.` no sentence ends.
const ABBREVIATIONS: [&str; 15] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "atty", "esq", "st", "vs", "no", "etc", "approx", "sr",
    "sra",
];

/// The byte ranges of the sentences of `text`, in order, without the white space between them.
///
/// A sentence ends at a line's end, and at `.`, `!`, `?` or `…` before white space, unless a lower-case letter follows
/// (not directly after `!` or `?`), or an abbreviation or an initial precedes a `.`. A sentence longer than 1,000 bytes is
/// split at white space, which limits the cost per sentence.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start();
        if rest.is_empty() {
            return None;
        }
        let start = text.len() - rest.len();
        let sentence = &rest[..sentence_bytes(rest)];
        at = start + sentence.len();
        Some(start..start + sentence.trim_end().len())
    })
}

/// The length in bytes of the first sentence of `text`, with its closing punctuation.
fn sentence_bytes(text: &str) -> usize {
    let mut blank = None;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        // Most characters are letters, which end nothing.
        if character.is_ascii_alphanumeric() && end <= SENTENCE_BYTES_MAX {
            continue;
        }
        if character == ' ' && end <= SENTENCE_BYTES_MAX {
            blank = Some(end);
            continue;
        }
        if character == '\n' {
            return end;
        }
        if character.is_whitespace() {
            blank = Some(end);
        }
        if end > SENTENCE_BYTES_MAX {
            return blank.unwrap_or(end);
        }
        let is_closer = CLOSERS.contains(&character) && text[..at].ends_with(ENDS);
        let is_end = is_closer || ENDS.contains(&character);
        if is_end && text[end..].starts_with(char::is_whitespace) && !goes_on(text, at, end) {
            return end;
        }
    }
    text.len()
}

/// Whether the sentence continues after the mark at `mark..end`: before a lower-case letter, after an abbreviation or initial.
fn goes_on(text: &str, mark: usize, end: usize) -> bool {
    let next = text[end..].trim_start_matches([' ', '\t']);
    if next.starts_with(char::is_lowercase) && !text[mark..].starts_with(['!', '?']) {
        return true;
    }
    if !text[mark..].starts_with('.') {
        return false;
    }
    let mut words = text[..mark].rsplit(|character: char| !character.is_alphabetic());
    let word = words.next().unwrap_or_default();
    let is_initial =
        word.chars().count() == 1 && word.starts_with(char::is_uppercase) && word != "I";
    is_initial
        || ABBREVIATIONS
            .iter()
            .any(|listed| word.eq_ignore_ascii_case(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn titles_initials_and_quotes_do_not_split_sentences() {
        let text =
            "Ms. Okafor won. \"Really?\" he said! A. D.-W.\nThank you... so much :) 4.5 stars";
        let last = "Thank you... so much :) 4.5 stars";
        let expected = ["Ms. Okafor won.", "\"Really?\" he said!", "A. D.-W.", last];
        assert_eq!(split(text), expected);
        assert_eq!(split("  \n "), [""; 0]);
        assert_eq!(split("Done"), ["Done"]);
    }

    #[test]
    fn long_sentences_are_cut_at_white_space() {
        let text = "word ".repeat(SENTENCE_BYTES_MAX);
        let is_cut = |one: &&str| one.len() <= SENTENCE_BYTES_MAX && one.ends_with("word");
        assert!(split(&text).iter().all(is_cut));
        let text = "é".repeat(SENTENCE_BYTES_MAX);
        assert_eq!(split(&text).concat(), text);
    }
}
