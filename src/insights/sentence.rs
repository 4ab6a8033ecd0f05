//! Where the sentences of a text begin and end.

use std::ops::Range;

/// The byte ranges of the sentences of `text`, in order, without the blanks between them.
///
/// A sentence ends at a line's end, and at `.`, `!`, `?` or `…` before a blank, unless a small letter follows or the
/// word before is a title or an initial. One longer than [`SENTENCE_BYTES_MAX`] is cut at a blank, so that the cost of
/// a sentence is bounded whatever the text is.
pub(super) fn sentences(text: &str) -> Sentences<'_> {
    Sentences { text, at: 0 }
}

/// An iterator over byte ranges.
#[derive(Clone, Debug)]
pub(super) struct Sentences<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Sentences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        if start == self.text.len() {
            return None;
        }
        let end = self.end(start);
        self.at = end;
        let trimmed = self.text[start..end].trim_end().len();
        Some(start..start + trimmed)
    }
}

impl Sentences<'_> {
    /// Where the sentence ends that begins at `start`, after its marks.
    fn end(&self, start: usize) -> usize {
        let mut blank = None;
        let mut characters = self.text[start..].char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            let after = start + offset + character.len_utf8();
            if character == '\n' {
                return after;
            }
            if character.is_whitespace() {
                blank = Some(after);
            }
            if after - start > SENTENCE_BYTES_MAX {
                return blank.unwrap_or(after);
            }
            let last_of_marks = characters
                .peek()
                .is_none_or(|(_, next)| next.is_whitespace());
            if ENDS.contains(&character)
                || (CLOSERS.contains(&character) && self.closes(start, start + offset))
            {
                let stop = last_of_marks && !self.goes_on(start, start + offset, after);
                if stop {
                    return after;
                }
            }
        }
        self.text.len()
    }

    /// Whether the quotation mark or bracket at `at` follows a mark that ends a sentence.
    fn closes(&self, start: usize, at: usize) -> bool {
        self.text[start..at].ends_with(ENDS)
    }

    /// Whether the sentence goes on past the mark at `mark`: after a title or an initial, or before a small letter.
    fn goes_on(&self, start: usize, mark: usize, after: usize) -> bool {
        let next = self.text[after..]
            .trim_start_matches([' ', '\t'])
            .chars()
            .next();
        if next.is_some_and(char::is_lowercase)
            && self.text[mark..].starts_with(['.', '…', ')', '"', '”', '’'])
        {
            return true;
        }
        if !self.text[mark..].starts_with('.') {
            return false;
        }
        let word = self.text[start..mark]
            .rsplit(|letter: char| !letter.is_alphabetic())
            .next()
            .unwrap_or_default();
        let initial =
            word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
        initial
            || ABBREVIATIONS
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
    }
}

/// Bytes after which a sentence is cut.
pub(super) const SENTENCE_BYTES_MAX: usize = 1_000;
const ENDS: [char; 4] = ['.', '!', '?', '…'];
const CLOSERS: [char; 6] = ['"', '”', '\'', '’', ')', '»'];
const ABBREVIATIONS: [&str; 15] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "atty", "esq", "st", "vs", "no", "etc", "approx", "sr",
    "sra",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_stops() {
        assert_eq!(
            split(
                "Ms. Okafor won. \"Really?\" he said! A. D.-W.\nThank you... so much :) 4.5 stars"
            ),
            [
                "Ms. Okafor won.",
                "\"Really?\" he said!",
                "A. D.-W.",
                "Thank you... so much :) 4.5 stars"
            ]
        );
        assert_eq!(split("  \n "), [] as [&str; 0]);
        assert_eq!(split("Done"), ["Done"]);
    }

    #[test]
    fn long_sentences_are_cut_at_a_blank() {
        let text = "word ".repeat(SENTENCE_BYTES_MAX);
        assert!(
            split(&text)
                .iter()
                .all(|one| one.len() <= SENTENCE_BYTES_MAX && one.ends_with("word"))
        );
        let text = "é".repeat(SENTENCE_BYTES_MAX);
        assert_eq!(split(&text).concat(), text);
    }
}
