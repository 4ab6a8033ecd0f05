//! How texts are folded and laid out, and which words are listed.

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a test is its message, in helpers as well"
)]

use substring_index::arena::{Arena, END, RARE, START};
use substring_index::fold::{fold, is_ignored};
use substring_index::words::{WORD_BYTES_MAX, is_of_word, listed_part, words_after_signs};

/// Returns a row with its marks as signs: `|` for the start of a word, `?` for a rare sign.
fn row(arena: &Arena, row: u32) -> String {
    let mut shown = Vec::new();
    for byte in arena.row(row) {
        shown.push(match *byte {
            START => b'|',
            RARE => b'?',
            other => other,
        });
    }
    String::from_utf8(shown).unwrap()
}

#[test]
fn a_row_has_its_text_then_the_words_after_signs() {
    for (text, expected) in [
        ("", ""),
        ("Good", "|good|"),
        ("well-made, (And) fine", "|well-made, (and) fine|made|and|"),
        ("a+b", "|a+b|?|b|"),
        ("x-y+z", "|x-y+z|y|?|z|"),
        ("1.5", "|1.5|5|"),
        ("one\ntwo", "|one\ntwo|two|"),
        ("«ja»", "|\"ja\"|ja|"),
        ("日本", "|日本|"),
        ("日a", "|日a|?|a|"),
    ] {
        let arena = Arena::build([text].into_iter());
        assert_eq!(row(&arena, 0), expected, "{text}");
        assert_eq!(arena.text(0), fold(text).as_bytes(), "{text}");
    }
}

#[test]
fn rows_follow_each_other_and_eight_bytes_follow_the_last() {
    let arena = Arena::build(["ab", "", "c"].into_iter());
    assert_eq!(arena.rows(), 3);
    assert_eq!(arena.starts, [0, 5, 6, 10]);
    assert_eq!(arena.bytes.len(), 10 + 8);
    assert!(arena.bytes[10..].iter().all(|byte| *byte == END));
    assert_eq!(arena.bytes[4..6], [END, END]);
    assert_eq!(arena.text(1), b"");
    assert_eq!(arena.text(2), b"c");
}

#[test]
fn a_word_is_of_letters_digits_and_marks_of_scripts_with_spaces() {
    for character in "aZ09éßжα\u{301}\u{64b}अ한".chars() {
        assert!(is_of_word(character), "{character:?}");
    }
    for character in " -'.\n\u{2019}日あก\u{1000}\u{1780}\u{f900}\u{ff66}\u{20000}👩".chars()
    {
        assert!(!is_of_word(character), "{character:?}");
    }
}

#[test]
fn a_listed_word_has_one_apostrophe_and_at_most_32_bytes() {
    for (text, expected) in [
        ("", ""),
        ("word", "word"),
        ("word and", "word"),
        ("don't", "don't"),
        ("don't'x", "don't"),
        ("rock'n'roll", "rock'n"),
        ("a-b", "a"),
    ] {
        assert_eq!(listed_part(text), expected);
    }
    let longest = "w".repeat(WORD_BYTES_MAX);
    assert_eq!(listed_part(&longest), longest);
    assert_eq!(listed_part(&format!("{longest}w")), longest);
    // A whole character, or none of it.
    let split = format!("{}é", "w".repeat(WORD_BYTES_MAX - 1));
    assert_eq!(listed_part(&split), "w".repeat(WORD_BYTES_MAX - 1));
    let whole = format!("{}éx", "w".repeat(WORD_BYTES_MAX - 2));
    assert_eq!(listed_part(&whole), whole.strip_suffix('x').unwrap());
}

#[test]
fn words_after_signs_are_listed_with_the_sign() {
    let listed = |text| -> Vec<(char, String)> {
        let words = words_after_signs(text);
        words
            .map(|listed| (listed.sign, listed.word.to_owned()))
            .collect()
    };
    assert_eq!(listed("plain words"), []);
    assert_eq!(listed("a-b (c) d"), [('-', "b".into()), ('(', "c".into())]);
    assert_eq!(listed("--x"), [('-', "x".into())]);
    assert_eq!(listed("-x"), [('-', "x".into())]);
}

#[test]
fn characters_without_width_are_ignored() {
    for character in
        "\u{ad}\u{34f}\u{200b}\u{200f}\u{202a}\u{2060}\u{feff}\u{fe0f}\u{64b}\u{670}".chars()
    {
        assert!(is_ignored(character), "{character:?}");
    }
    for character in "a \u{301}\u{2010}\u{653}\u{2070}".chars() {
        assert!(!is_ignored(character), "{character:?}");
    }
}

#[test]
fn full_width_signs_and_typographic_ones_are_ascii() {
    for (text, expected) in [
        ("！～", "!~"),
        ("\u{ff00}\u{ff5f}", "\u{ff00}\u{ff5f}"),
        ("ＡＺ", "az"),
        ("‘’‚‛′ʼ‹›`´", "''''''''''"),
        ("“”„‟″«»", "\"\"\"\"\"\"\""),
        ("‐‑‒–—―−", "-------"),
        ("\u{a0}\u{2000}\u{200a}\u{202f}\u{205f}\u{3000}", "      "),
        ("øǿłđħŧıё", "ooldhtiе"),
        ("×÷", "×÷"),
        ("Ά͵", "α͵"),
    ] {
        assert_eq!(fold(text), expected, "{text}");
    }
}
