//! The form in which texts and needles are compared: the one of `wire::fold`, shared with the names of the dataset,
//! and the way back to the text as it was written.

use std::ops::Range;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

pub use crate::wire::fold::fold_into;

/// Returns the smallest parts of `text` whose foldings cover the bytes `folded`, ascending and apart, of the folding of
/// all of it.
///
/// For marking what a search has found: computed when it is asked for, in one pass over the text, so that an index
/// keeps no offsets. Where several characters fold to one, as a letter and its accent do, all of them are in the part.
#[must_use]
pub fn unfold_ranges(text: &str, folded: &[Range<usize>]) -> Vec<Range<usize>> {
    if text.is_ascii() {
        // Folding ASCII changes no length.
        let held = |at: usize| at.min(text.len());
        return folded
            .iter()
            .map(|range| held(range.start)..held(range.end))
            .collect();
    }
    let mut found = Vec::with_capacity(folded.len());
    let mut wanted = folded.iter();
    let mut next = wanted.next();
    let mut start = None;
    let (mut at, mut folded_at) = (0, 0);
    for (piece, folded_len) in pieces(text) {
        let (end, folded_end) = (at + piece.len(), folded_at + folded_len);
        while let Some(range) = next {
            if start.is_none() && folded_end > range.start {
                start = Some(at);
            }
            if folded_end < range.end {
                break;
            }
            found.push(start.take().unwrap_or(end)..end);
            next = wanted.next();
        }
        if next.is_none() {
            return found;
        }
        (at, folded_at) = (end, folded_end);
    }
    found.extend(next.map(|_| start.unwrap_or(at)..at));
    found.extend(wanted.map(|_| at..at));
    found
}

/// Returns where the folded `needle` stands in `text` as it was written: the first `count_max` places, apart.
#[must_use]
pub fn find_folded(text: &str, needle: &str, count_max: usize) -> Vec<Range<usize>> {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    let places = memchr::memmem::find_iter(folded.as_bytes(), needle.as_bytes());
    let ranges: Vec<_> = places
        .take(count_max)
        .map(|start| start..start + needle.len())
        .collect();
    if ranges.is_empty() {
        return ranges;
    }
    unfold_ranges(text, &ranges)
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
        let range = find_folded(text, needle, 1).into_iter().next()?;
        Some(&text[range])
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
        for text in ["abc", "äbc"] {
            let (second, end) = (text.find('b').expect("it is there"), text.len());
            let ranges = unfold_ranges(text, &[second..second, 9..9]);
            assert_eq!(ranges, [second..second, end..end], "{text}");
        }
        assert_eq!(unfold_ranges("", &[0..0, 0..0]), [0..0, 0..0]);
    }

    #[test]
    fn every_place_is_found_up_to_the_count() {
        for text in ["one ONE on One", "öne ONE on One — é"] {
            let found = |max: usize| -> Vec<&str> {
                let ranges = find_folded(text, "on", max);
                ranges.into_iter().map(|range| &text[range]).collect()
            };
            assert_eq!(
                found(9),
                if text.is_ascii() {
                    vec!["on", "ON", "on", "On"]
                } else {
                    vec!["ON", "on", "On"]
                }
            );
            assert_eq!(found(2).len(), 2);
            assert_eq!(found(0).len(), 0);
        }
        let pile = "\u{1112}\u{1161}\u{11ab} cafe\u{301}s CAFÉS";
        let ranges = find_folded(pile, "fés", 9);
        let parts: Vec<&str> = ranges.into_iter().map(|range| &pile[range]).collect();
        assert_eq!(parts, ["fe\u{301}s", "FÉS"]);
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
