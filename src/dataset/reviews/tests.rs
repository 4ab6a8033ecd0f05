//! Files are read in pieces: the result does not depend on the size of the pieces.

use proptest::prelude::*;

use super::*;
use crate::dataset::tests::{NOW, REVIEW, reviews_file};
use crate::model::Taxonomy;

/// Reads the reviews of `text` with this many threads; returns them, or the problems.
fn read(text: &str, threads: usize, piece_bytes: usize) -> Result<Vec<Review>, Vec<String>> {
    let options = Options {
        matcher: &Matcher::new(&Taxonomy::default()).expect("an empty taxonomy"),
        now: Timestamp::from_unix(NOW),
        threads: NonZeroUsize::new(threads).expect("threads"),
        piece_bytes,
    };
    let (check, mut problems) = (Check::new(REVIEWS), Problems::default());
    let file = decode(text.as_bytes(), options, &check);
    let reviews = file.map(|file| file.reviews).unwrap_or_default();
    by_id(&reviews, &check);
    let lines = |problems: Problems| problems.kept.iter().map(ToString::to_string).collect();
    match check.finish(text.as_bytes(), &mut problems) {
        true => Ok(reviews),
        false => Err(lines(problems)),
    }
}

/// Asserts that `text` gives the same result in one piece and in many; tells whether it is accepted.
fn agree(text: &str, threads: usize, piece_bytes: usize) -> bool {
    let whole = read(text, 1, 1 << 30);
    assert_eq!(whole, read(text, threads, piece_bytes), "{text}");
    assert_ne!(whole, Err(Vec::new()));
    whole.is_ok()
}

fn entries(count: usize) -> Vec<String> {
    let entry = |at: usize| {
        let entry = REVIEW.replace("r1", &format!("r{at}"));
        match at % 7 {
            0 => entry.replace("\"verified\":true", "\"verified\":false"),
            1 => entry.replace("Good", r#"\"},{\"id\":\"x\\u00e9"#),
            _ => entry,
        }
    };
    (0..count).map(entry).collect()
}

#[test]
fn any_number_of_pieces_and_threads_gives_the_same() {
    for count in [0, 1, 2, 50, 500] {
        let text = reviews_file(&entries(count).join(" ,\r\n\t"));
        for (threads, piece_bytes) in [(1, 1_000), (2, 300), (3, 1), (8, 5_000)] {
            assert!(agree(&text, threads, piece_bytes), "{count} {threads}");
        }
        assert_eq!(read(&text, 2, 300).map(|all| all.len()), Ok(count));
    }
    let text = reviews_file(&entries(50).join(","));
    let (head, reviews) = text.split_once(",\"reviews\":").expect("the last key");
    let reviews = reviews.strip_suffix('}').expect("an object");
    let turned = format!("{{\"reviews\":{reviews},{}", &head[1..]) + "}";
    assert!(agree(&turned, 3, 100), "the reviews come first");
}

#[test]
fn what_is_refused_in_pieces_has_the_same_problems() {
    let changed = |at: usize, part: &str, replacement: &str| {
        let mut all = entries(20);
        all[at] = all[at].replacen(part, replacement, 1);
        reviews_file(&all.join(","))
    };
    let twice = reviews_file(&entries(20).join(","))
        .replace("{\"business\"", "{\"reviews\":[],\"business\"");
    let same_id = "reviews[14].id: \"r7\" is also the id of reviews[7]";
    let too_large = "reviews[7]: is not readable JSON: number out of range";
    let half = "reviews[7]: is not readable JSON: unexpected end of hex escape";
    let no_end = "is not readable JSON: expected `,` or `}`";
    for (text, problem) in [
        (changed(14, "\"r14\"", "\"r7\""), same_id),
        (changed(7, ":5,", ":1e999,"), too_large),
        (changed(7, "Good", "\\ud800"), half),
        (changed(7, "}", "]"), no_end),
        (twice, "reviews: is given twice"),
    ] {
        for (threads, piece_bytes) in [(1, 1), (2, 1_000), (5, 100)] {
            assert!(!agree(&text, threads, piece_bytes), "{problem}");
        }
        let problems = read(&text, 2, 1_000).expect_err("refused");
        assert!(problems[0].contains(problem), "{problems:?}");
    }
}

proptest! {
    #[test]
    fn a_damaged_file_gives_the_same_in_pieces_and_is_accepted_only_if_it_is_json(
        at in any::<prop::sample::Index>(),
        byte in "[\\[\\]{},:\"\\\\ 0-9a-z]",
        threads in 1..4_usize,
        piece_bytes in 1..2_000_usize,
    ) {
        let mut text = reviews_file(&entries(12).join(","));
        let at = at.index(text.len());
        text.replace_range(at..=at, &byte);
        let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        let is_accepted = agree(&text, threads, piece_bytes);
        prop_assert!(is_json || !is_accepted, "{}", text);
    }
}
