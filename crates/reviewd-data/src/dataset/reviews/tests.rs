//! Entries are read one by one, on any number of threads, with the same result.

use super::*;
use crate::dataset::chunks::CHUNK_ROWS;
use crate::dataset::tests::{NOW, REVIEW, reviews_file};
use crate::model::Taxonomy;

/// Reads the reviews of `text` with this many threads; returns them, or the problems.
fn read(text: &str, threads: usize) -> Result<Vec<Review>, Vec<String>> {
    let options = ReviewsOptions {
        taxonomy: &Taxonomy::default(),
        now: Timestamp::from_unix(NOW),
        threads: NonZeroUsize::new(threads).expect("threads"),
    };
    let file_problems = FileProblems::new(REVIEWS);
    let mut problems = Problems::default();
    let file = decode(text.as_bytes(), options, &file_problems);
    let reviews = file.map(|file| file.reviews).unwrap_or_default();
    by_id(&reviews, &file_problems);
    if file_problems.finish(text.as_bytes(), &mut problems) {
        Ok(reviews)
    } else {
        Err(problems.listed.iter().map(ToString::to_string).collect())
    }
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
fn any_number_of_threads_gives_the_same() {
    for count in [0, 1, 2, 2 * CHUNK_ROWS + 1] {
        let text = reviews_file(&entries(count).join(" ,\r\n\t"));
        let all = read(&text, 1);
        assert_eq!(all.as_ref().map(Vec::len), Ok(count));
        assert!(read(&text, 3) == all, "{count}");
    }
    let text = reviews_file(&entries(50).join(","));
    let (head, reviews) = text.split_once(",\"reviews\":").expect("the last key");
    let reviews = reviews.strip_suffix('}').expect("an object");
    let turned = format!("{{\"reviews\":{reviews},{}", &head[1..]) + "}";
    assert_eq!(read(&turned, 3), read(&text, 1), "the reviews come first");
}

#[test]
fn an_invalid_entry_is_named_by_its_number() {
    let changed = |at: usize, part: &str, replacement: &str| {
        let mut all = entries(20);
        all[at] = all[at].replacen(part, replacement, 1);
        reviews_file(&all.join(","))
    };
    let twice = reviews_file(&entries(20).join(","))
        .replace("{\"business\"", "{\"reviews\":[],\"business\"");
    let deep = "[".repeat(128) + &"]".repeat(128);
    let unreadable = "reviews[7]: is not readable JSON: ";
    for (text, problem) in [
        (
            changed(14, "\"r14\"", "\"r7\""),
            "reviews[14].id: \"r7\" is also the id of reviews[7]",
        ),
        (
            changed(7, ":5,", ":1e999,"),
            &format!("{unreadable}number out of range"),
        ),
        (
            changed(7, "Good", "\\ud800"),
            &format!("{unreadable}unexpected end of hex escape"),
        ),
        (
            changed(7, ":5,", &format!(":{deep},")),
            &format!("{unreadable}recursion limit exceeded"),
        ),
        (
            changed(7, "}", "]"),
            "is not readable JSON: expected `,` or `}`",
        ),
        (twice, "reviews: is given twice"),
    ] {
        let problems = read(&text, 1).expect_err("refused");
        assert!(problems[0].contains(problem), "{problems:?}");
    }
    // An entry that cannot be parsed hides no problem of the others.
    let mut all = entries(2_000);
    for (at, value) in [(7, ":1e999,"), (9, ":7,"), (1_500, ":1e999,")] {
        all[at] = all[at].replacen(":5,", value, 1);
    }
    let problems = read(&reviews_file(&all.join(",")), 2).expect_err("refused");
    for at in [7, 9, 1_500] {
        let is_it = |line: &String| line.contains(&format!("reviews[{at}]"));
        assert!(problems.iter().any(is_it), "{at}: {problems:?}");
    }
}
