//! The form in which texts and needles are compared: the one of `wire::fold`, shared with the names of the dataset,
//! and the way back to the text as it was written.

use std::ops::Range;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

pub use crate::wire::fold::fold_into;

/// Returns the smallest part of `text` whose folding covers the bytes `folded` of the folding of all of it.
///
/// For marking what a search has found: computed when it is asked for, in time linear in the text, so that an index
/// keeps no offsets. Where several characters fold to one, as a letter and its accent do, all of them are in the part.
#[must_use]
pub fn unfold_range(text: &str, folded: Range<usize>) -> Range<usize> {
    let mut start = None;
    let (mut at, mut folded_at) = (0, 0);
    for (piece, folded_len) in pieces(text) {
        let (end, folded_end) = (at + piece.len(), folded_at + folded_len);
        if start.is_none() && folded_end > folded.start {
            start = Some(at);
        }
        if folded_end >= folded.end {
            return start.unwrap_or(end)..end;
        }
        (at, folded_at) = (end, folded_end);
    }
    start.unwrap_or(at)..at
}

/// Cuts `text` into pieces that fold alone as they do together, each with the length of its folding.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    let mut folded = String::new();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let mut end = first.len_utf8();
        for next in rest[end..].chars() {
            if is_cut(&rest[..end], next) {
                break;
            }
            end += next.len_utf8();
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        folded.clear();
        fold_into(piece, &mut folded);
        Some((piece, folded.len()))
    })
}

/// Tells whether `next` neither moves past nor melts into the characters of `piece` before it.
fn is_cut(piece: &str, next: char) -> bool {
    if next.is_ascii() {
        return true;
    }
    if CanonicalCombiningClassMapBorrowed::new().get_u8(next) != 0 {
        return false;
    }
    let mut together = piece.to_owned();
    together.push(next);
    let (mut whole, mut apart) = (String::new(), String::new());
    fold_into(&together, &mut whole);
    fold_into(piece, &mut apart);
    fold_into(next.encode_utf8(&mut [0; 4]), &mut apart);
    whole == apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the part of `text` that holds the first `needle`, which is folded.
    fn found<'t>(text: &'t str, needle: &str) -> Option<&'t str> {
        let mut folded = String::new();
        fold_into(text, &mut folded);
        let start = folded.find(needle)?;
        Some(&text[unfold_range(text, start..start + needle.len())])
    }

    #[test]
    fn what_was_found_is_the_part_as_it_was_written() {
        assert_eq!(found("The ATTORNEY was", "attorney"), Some("ATTORNEY"));
        assert_eq!(found("un cafe\u{301} bon", "café"), Some("cafe\u{301}"));
        assert_eq!(found("un cafe\u{301} bon", "é"), Some("e\u{301}"));
        assert_eq!(found("ΟΔΥΣΣΕΥΣ!", "σσευσ"), Some("ΣΣΕΥΣ"));
        assert_eq!(found("Ⱥⱥ Ⱥb", "b"), Some("b"));
        assert_eq!(found("\u{1112}\u{1161}\u{11ab}국", "국"), Some("국"));
        assert_eq!(found("a\u{301}\u{323}b", "b"), Some("b"));
    }

    #[test]
    fn an_empty_range_and_one_past_the_end_are_empty() {
        assert_eq!(unfold_range("abc", 1..1), 1..1);
        assert_eq!(unfold_range("abc", 9..9), 3..3);
        assert_eq!(unfold_range("", 0..0), 0..0);
    }

    proptest! {
        #[test]
        fn pieces_fold_alone_as_they_do_together(
            text in "[a-zA-Z ßẞİıΣςK\u{300}\u{301}\u{323}\u{327}\u{345}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가é日\u{9c7}\u{9be}\u{9d7}👩\u{200d}🏽]{0,24}",
        ) {
            let (mut whole, mut parts) = (String::new(), String::new());
            fold_into(&text, &mut whole);
            let mut length = 0;
            for (piece, folded_len) in pieces(&text) {
                fold_into(piece, &mut parts);
                length += folded_len;
            }
            prop_assert_eq!(&whole, &parts);
            prop_assert_eq!(length, parts.len());
        }
    }
}
