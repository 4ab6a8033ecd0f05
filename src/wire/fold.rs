//! The form in which texts and needles are compared.

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::ComposingNormalizerBorrowed;

/// Appends `text` to `out` in the form in which texts are compared: NFC, then Unicode simple case folding of each code point.
///
/// Runs of ASCII take a short way, which is three times as fast on English texts with a few accents, typographic
/// quotes and emoji; nothing is allocated where `out` has room.
pub fn fold_into(text: &str, out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let run = rest.bytes().position(|byte| !byte.is_ascii());
        // The last letter of a run may melt into the mark that follows; no other, as no ASCII melts into what is before.
        let plain = run.map_or(rest.len(), |end| end.saturating_sub(1));
        let (ascii, after) = rest.split_at(plain);
        let start = out.len();
        out.push_str(ascii);
        out[start..].make_ascii_lowercase();
        let letter = usize::from(run.is_some_and(|end| end > 0));
        let marks = after.bytes().skip(letter);
        let end = marks.take_while(|byte| !byte.is_ascii()).count() + letter;
        let (piece, next) = after.split_at(end.min(after.len()));
        fold_piece(piece, out);
        rest = next;
    }
}

/// Folds any text, code point by code point.
fn fold_piece(text: &str, out: &mut String) {
    if text.is_empty() {
        return;
    }
    let mapper = CaseMapperBorrowed::new();
    let composer = ComposingNormalizerBorrowed::new_nfc();
    out.extend(
        composer
            .normalize_iter(text.chars())
            .map(|character| mapper.simple_fold(character)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(text: &str) -> (String, String) {
        let (mut runs, mut whole) = ("before".to_owned(), "before".to_owned());
        fold_into(text, &mut runs);
        fold_piece(text, &mut whole);
        (runs, whole)
    }

    #[test]
    fn letters_melt_with_the_marks_that_follow() {
        for (text, folded) in [
            ("", "before"),
            ("Cafe\u{301} E\u{301}", "beforecafé é"),
            ("\u{301}A", "before\u{301}a"),
            ("don\u{2019}T", "beforedon\u{2019}t"),
            ("K\u{212a}", "beforekk"),
        ] {
            let (runs, whole) = both(text);
            assert_eq!(runs, folded);
            assert_eq!(runs, whole);
        }
    }

    proptest! {
        #[test]
        fn folding_by_runs_equals_folding_as_a_whole(
            text in "[a-dX-Z <>=\u{338}ßİıΣςK\u{300}-\u{303}\u{323}\u{327}\u{345}\u{1100}\u{1161}\u{11a8}é日\u{9c7}\u{9be}👩\u{200d}🏽]{0,24}",
        ) {
            let (runs, whole) = both(&text);
            prop_assert_eq!(runs, whole);
        }

        #[test]
        fn folding_by_runs_equals_folding_as_a_whole_for_any_text(text in "\\PC{0,32}") {
            let (runs, whole) = both(&text);
            prop_assert_eq!(runs, whole);
        }
    }
}
