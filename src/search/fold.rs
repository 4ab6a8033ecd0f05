//! Case and accent folding of texts and needles (`substring_index::fold`, also used for names of the dataset), and the
//! mapping of matches back to the original text.

use std::ops::Range;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

use super::filter::Term;
use crate::wire::text::truncate;
use substring_index::fold::is_ignored;
pub use substring_index::fold::{fold, fold_into};

/// Returns the ranges of `terms` in the first `bytes_max` bytes of the original `text`: the first `count_max` matches
/// of each, ascending; overlapping ranges are merged. A term that ends beyond `bytes_max` is not found.
///
/// The index stores no offsets: the text is folded here, and, if it is not ASCII, once more up to the last match;
/// 131,072 bytes of Cyrillic letters take some milliseconds. If several characters fold to one, such as a letter and
/// its accent, the range contains all of them, as far as they lie within `bytes_max`.
pub fn find_folded(
    text: &str,
    terms: &[Term<'_>],
    bytes_max: usize,
    count_max: usize,
) -> Vec<Range<usize>> {
    let text = truncate(text, bytes_max);
    let folded = fold(text);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for term in terms {
        let starts = memchr::memmem::find_iter(folded.as_bytes(), term.text.as_bytes());
        let starts = starts.filter(|at| term.fits_at(folded.as_bytes(), *at));
        let starts = starts.take(count_max);
        ranges.extend(starts.map(|start| start..start + term.text.len()));
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    if text.is_ascii() {
        // Folding ASCII changes no length.
        return ranges;
    }
    let mut cursor = PieceCursor::new(pieces(text));
    for range in &mut ranges {
        let first = cursor.piece_at(range.start);
        let last = cursor.piece_at(range.end - 1);
        *range = first.start..last.end;
    }
    ranges
}

/// Finds the pieces of a text by positions in the folded text, which must ascend.
struct PieceCursor<P> {
    /// The pieces that follow.
    rest: P,
    /// The byte range in the original text of the piece that was read last.
    piece: Range<usize>,
    /// Where this piece ends in the folded text.
    folded_end: usize,
}

impl<'t, P: Iterator<Item = (&'t str, usize)>> PieceCursor<P> {
    fn new(pieces: P) -> PieceCursor<P> {
        PieceCursor {
            rest: pieces,
            piece: 0..0,
            folded_end: 0,
        }
    }

    /// Returns the byte range in the original text of the piece whose folded form contains the byte `folded_at`.
    fn piece_at(&mut self, folded_at: usize) -> Range<usize> {
        while self.folded_end <= folded_at
            && let Some((piece, folded_len)) = self.rest.next()
        {
            let start = self.piece.end;
            self.piece = start..start + piece.len();
            self.folded_end += folded_len;
        }
        self.piece.clone()
    }
}

/// Splits `text` into pieces that can be folded separately, each with the length of its folded form.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    let mut folded = String::new();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // An ASCII character before another one is a piece, and its folded form is one byte, too.
        if let [first, second, ..] = rest.as_bytes()
            && first.is_ascii()
            && second.is_ascii()
        {
            let (piece, next) = rest.split_at(1);
            rest = next;
            return Some((piece, 1));
        }
        let mut after = rest.char_indices().skip(1);
        let end = after.find(|(_, next)| begins_piece(*next));
        let (piece, next) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = next;
        folded.clear();
        fold_into(piece, &mut folded);
        Some((piece, folded.len()))
    })
}

/// Tells whether `character` is a normalization boundary: it neither reorders nor composes with characters before it
/// (UAX #15, NFC). Those that folding drops are none, because marks after them belong to the letter before them.
fn begins_piece(character: char) -> bool {
    // The first combining mark of Unicode; most texts in Latin script need no lookup.
    if character < '\u{300}' {
        return character != '\u{ad}';
    }
    CanonicalCombiningClassMapBorrowed::new().get_u8(character) == 0
        && !composes_back(character)
        && !is_ignored(character)
}

/// Tells whether `character` has combining class 0 and still composes with the one before, or decomposes into such a
/// character or a mark first: Korean vowels and final consonants, vowel signs of Indic scripts. `icu_normalizer` has no
/// such property; a test compares the list with its decompositions of all characters.
fn composes_back(character: char) -> bool {
    matches!(character,
        '\u{9be}' | '\u{9d7}' | '\u{b3e}' | '\u{b56}' | '\u{b57}' | '\u{bbe}' | '\u{bd7}' | '\u{cc2}'
            | '\u{cd5}' | '\u{cd6}' | '\u{d3e}' | '\u{d57}' | '\u{dcf}' | '\u{ddf}' | '\u{f73}' | '\u{f75}'
            | '\u{f81}' | '\u{102e}' | '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}' | '\u{1b35}'
            | '\u{11127}' | '\u{1133e}' | '\u{11357}' | '\u{113b8}' | '\u{113bb}' | '\u{113c2}' | '\u{113c5}'
            | '\u{113c7}'..='\u{113c9}' | '\u{114b0}' | '\u{114ba}' | '\u{114bd}' | '\u{115af}' | '\u{11930}'
            | '\u{1611e}'..='\u{16129}' | '\u{16d67}' | '\u{16d68}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_normalizer::properties::{
        CanonicalCompositionBorrowed, CanonicalDecompositionBorrowed, Decomposed,
    };
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Returns the part of `text` that matches the folded `needle` first.
    fn found<'t>(text: &'t str, needle: &str) -> Option<&'t str> {
        let range = find_folded(text, &[Term::anywhere(needle)], usize::MAX, 1)
            .into_iter()
            .next()?;
        Some(&text[range])
    }

    #[test]
    fn matches_are_ranges_of_the_original_text() {
        assert_eq!(found("The ATTORNEY was", "attorney"), Some("ATTORNEY"));
        assert_eq!(found("un cafe\u{301} bon", "cafe"), Some("cafe\u{301}"));
        assert_eq!(found("un cafe\u{301} bon", "e"), Some("e\u{301}"));
        assert_eq!(found("ΟΔΥΣΣΕΥΣ!", "σσευσ"), Some("ΣΣΕΥΣ"));
        assert_eq!(found("Ⱥⱥ Ⱥb", "b"), Some("b"));
        assert_eq!(found("\u{1112}\u{1161}\u{11ab}국", "국"), Some("국"));
        assert_eq!(found("a\u{301}\u{323}b", "b"), Some("b"));
        assert_eq!(found("Couldn\u{2019}t do", "n't"), Some("n\u{2019}t"));
        assert_eq!(found("Gro\u{df}e", "os"), Some("o\u{df}"));
        assert_eq!(
            found("the pro\u{ad}bate.", "probate"),
            Some("pro\u{ad}bate")
        );
        assert_eq!(
            found("x \u{ff26}\u{ff45}\u{ff45}", "fee"),
            Some("\u{ff26}\u{ff45}\u{ff45}")
        );
        assert_eq!(found("it\u{b4}s", "it's"), Some("it\u{b4}s"));
    }

    #[test]
    fn matches_stop_at_the_count_and_at_the_byte_limit() {
        let found = |text: &str, needle: &str, bytes_max, count_max| -> Vec<String> {
            let ranges = find_folded(text, &[Term::anywhere(needle)], bytes_max, count_max);
            ranges
                .into_iter()
                .map(|range| text[range].to_owned())
                .collect()
        };
        let text = "öne ONE on One — é";
        assert_eq!(found(text, "on", usize::MAX, 9), ["ön", "ON", "on", "On"]);
        assert_eq!(found(text, "on", usize::MAX, 2).len(), 2);
        let pile = "\u{1112}\u{1161}\u{11ab} cafe\u{301}s CAFÉS";
        assert_eq!(found(pile, "fes", usize::MAX, 9), ["fe\u{301}s", "FÉS"]);
        for text in ["one two two", "öne two two"] {
            for (less, count) in [(0, 2), (1, 1), (text.len(), 0)] {
                assert_eq!(found(text, "two", text.len() - less, 9).len(), count);
            }
        }
        // An accent beyond the limit is not part of the match.
        for (bytes_max, marked) in [(3, None), (4, Some("cafe")), (6, Some("cafe\u{301}"))] {
            let ranges = found("cafe\u{301}", "cafe", bytes_max, 9);
            assert_eq!(ranges.first().map(|range| &**range), marked);
        }
    }

    #[test]
    fn every_character_that_composes_backwards_is_known() {
        let decompositions = CanonicalDecompositionBorrowed::new();
        let compositions = CanonicalCompositionBorrowed::new();
        let classes = CanonicalCombiningClassMapBorrowed::new();
        let mut melting = BTreeSet::new();
        let mut begins = |character: char| -> char {
            match decompositions.decompose(character) {
                Decomposed::Default => character,
                Decomposed::Singleton(other) => other,
                Decomposed::Expansion(first, second) => {
                    if compositions.compose(first, second).is_some() {
                        melting.insert(second);
                    }
                    first
                }
            }
        };
        let all: Vec<(char, char)> = ('\0'..=char::MAX)
            .map(|character| (character, begins(character)))
            .collect();
        let first = |mut character: char| {
            while let Ok(at) = all.binary_search_by_key(&character, |(known, _)| *known) {
                if all[at].1 == character {
                    break;
                }
                character = all[at].1;
            }
            character
        };
        let unlike: Vec<char> = all
            .iter()
            .map(|(character, _)| *character)
            .filter(|character| classes.get_u8(*character) == 0)
            .filter(|character| {
                let first = first(*character);
                let looks_back = classes.get_u8(first) != 0 || melting.contains(&first);
                looks_back != composes_back(*character)
            })
            .collect();
        assert_eq!(unlike, Vec::<char>::new());
    }

    proptest! {
        #[test]
        fn pieces_fold_separately_as_they_do_together(
            text in "[a-zA-Z øŁ\u{2019}\u{a0}ßẞİıΣςK\u{300}\u{301}\u{323}\u{327}\u{345}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가é日\u{9c7}\u{9be}\u{9d7}👩\u{200d}🏽`´\u{ad}ａ＜\u{338}\u{64e}\u{654}اάеё\u{308}]{0,24}",
        ) {
            let mut whole = String::new();
            let mut parts = String::new();
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
