//! Tests of each limit: the largest accepted value, and the next one.

use super::*;

#[test]
fn limits_of_a_review_hold_on_both_sides() {
    for (part, inner, outer) in [
        (":5", ":1", ":0"),
        (":5", ":5.0", ":5.1"),
        ("Bo", &x(1_024), &x(1_025)),
        ("Good", &x(65_536), &x(65_537)),
        (
            r#""source_url":null"#,
            &source_url(2_048),
            &source_url(2_049),
        ),
    ] {
        accepts(part, inner);
        let problems = review_problems(part, outer);
        assert_eq!(problems.lines().count(), 1, "{problems}");
    }
    assert_eq!(accepts(r#""text":"Good""#, r#""text":null"#).text, "");
    for (count, is_id) in [(64, true), (65, false)] {
        let mut files = files(reviews_file(&REVIEW.replace("r1", &x(count))));
        files.editorial = None;
        assert_eq!(outcome(files).is_ok(), is_id);
    }
}

fn x(count: usize) -> String {
    "x".repeat(count)
}

/// Returns the key with a URL of this many bytes.
fn source_url(bytes: usize) -> String {
    format!(r#""source_url":"https://a.example/{}""#, x(bytes - 18))
}

#[test]
fn a_hundred_problems_are_listed_and_all_are_counted() {
    for (count, end) in [(100, "an object"), (101, "\nand 1 more (101 in all)")] {
        let mut bad = files(reviews_file(&vec!["1"; count as usize].join(",")));
        bad.editorial = None;
        let problems = decode(bad, Timestamp::from_unix(NOW)).expect_err("refused");
        assert_eq!((problems.listed.len(), problems.total), (100, count));
        assert!(problems.to_string().ends_with(end), "{problems}");
    }
}

#[test]
fn lists_have_at_most_10000_entries_and_media_32() {
    accepts(r#"["wills"]"#, &media(32));
    assert_eq!(
        review_problems(r#"["wills"]"#, &media(33)),
        ".media: has 33 entries, more than 32"
    );
    assert!(outcome_of_mentions(10_000).is_ok());
    let expected =
        "reviews.json: reviews[0].mentioned_technicians: has 10001 entries, more than 10000";
    let refused = outcome_of_mentions(10_001).map(|_| ());
    assert_eq!(refused, Err(expected.to_owned()));
}

/// Returns the services of a review, and the keys after them, of which `media` has this many entries.
fn media(count: usize) -> String {
    let entry = r#"{"url":"https://a.example/a","alt":"","type":"video/mp4"}"#;
    let entries = vec![entry; count].join(",");
    let language = "abcdefgh-abcdefgh-abcdefgh-12345678";
    format!(r#"["wills"],"language":"{language}","media":[{entries}]"#)
}

/// Decodes a review that mentions this many people.
fn outcome_of_mentions(count: usize) -> Result<Decoded, String> {
    let mentions = vec!["\"Ann Lee\""; count].join(",");
    let review = REVIEW.replace("\"Ann Lee\"", &mentions);
    outcome(files(reviews_file(&review)))
}

#[test]
fn the_size_of_a_file_is_bounded() {
    for (bytes_max, expected) in [(2, ""), (1, "f: has 2 bytes, more than 1")] {
        let mut problems = Problems::default();
        let file = FileSpec::new("f", bytes_max);
        json::read_file(file, &Some(b"{}"), &mut problems, |_| ());
        assert_eq!(problems.to_string(), expected);
    }
}

#[test]
fn the_date_of_a_dataset_is_the_later_of_updated_at_and_the_modification_time() {
    let dated = reviews_file(REVIEW);
    let without = dated.replace(r#""updated_at":"2026-11-18T00:00:00Z","#, "");
    assert_ne!(dated, without);
    let updated_at = NOW - 11 * 3_600 - 6 * 60 - 40;
    for (text, modified, expected) in [
        (&dated, None, updated_at),
        (&dated, Some(updated_at - 1), updated_at),
        (&dated, Some(updated_at + 1), updated_at + 1),
        (&dated, Some(NOW), NOW),
        // A modification time in the future counts as now.
        (&dated, Some(NOW + 1), NOW),
        (&without, Some(5), 5),
        (&without, None, 0),
    ] {
        let files = Files {
            modified: modified.map(Timestamp::from_unix),
            ..files(text.as_str())
        };
        let date = outcome(files).map(|decoded| decoded.dataset.updated_at.unix());
        assert_eq!(date, Ok(expected), "{modified:?}");
    }
}

#[test]
fn nesting_is_at_most_127_deep() {
    for (depth, is_read) in [(127, true), (128, false)] {
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        let file = FileSpec::new("f", 1_000);
        let read = json::read_file(file, &Some(&nested), &mut Problems::default(), |_| ());
        assert_eq!(read.is_some(), is_read, "{depth}");
        let reference = serde_json::from_str::<serde_json::Value>(&nested);
        assert_eq!(reference.is_ok(), is_read, "{depth}");
    }
}
