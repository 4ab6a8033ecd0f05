//! Each bound on both sides.

use super::*;

#[test]
fn bounds_hold_on_the_inner_side() {
    assert_eq!(accepts(r#""rating":5"#, r#""rating":1"#).rating.stars(), 1);
    assert_eq!(
        accepts(r#""rating":5"#, r#""rating":5.0"#).rating.stars(),
        5
    );
    assert_eq!(accepts(r#""text":"Good""#, r#""text":null"#).text, "");
    assert_eq!(
        accepts(
            r#""owner_reply":{"text":"Thanks","date":"2026-01-03"}"#,
            r#""owner_reply":null"#
        )
        .owner_reply,
        None
    );
    let name = "x".repeat(1_024);
    assert_eq!(
        accepts(r#""author":"Bo""#, &format!(r#""author":"{name}""#)).author,
        name
    );
    let text = "x".repeat(65_536);
    assert_eq!(
        accepts(r#""text":"Good""#, &format!(r#""text":"{text}""#)).text,
        text
    );
    let longer = format!(r#""text":"{text}x""#);
    assert!(review_problems(r#""text":"Good""#, &longer).ends_with("is longer than 65536 bytes"));
    let url = format!("https://a.example/{}", "x".repeat(2_030));
    accepts(r#""source_url":null"#, &format!(r#""source_url":"{url}""#));
    let longer = format!(r#""source_url":"{url}x""#);
    assert!(
        review_problems(r#""source_url":null"#, &longer).ends_with("is longer than 2048 bytes")
    );
}

#[test]
fn an_id_has_at_most_64_characters() {
    let with_id = |id: &str| {
        let mut files = files(reviews_file(&REVIEW.replace("r1", id)));
        files.editorial = None;
        outcome(files)
    };
    assert!(with_id(&"i".repeat(64)).is_ok());
    assert!(with_id(&"i".repeat(65)).is_err());
}

#[test]
fn a_hundred_problems_are_kept_and_all_are_counted() {
    let bad = |count| vec!["1"; count].join(",");
    let mut some = files(reviews_file(&bad(100)));
    some.editorial = None;
    let problems = decode(some, Timestamp::from_unix(NOW))
        .map(|_| ())
        .expect_err("refused");
    assert_eq!((problems.kept().len(), problems.total()), (100, 100));
    assert!(!problems.to_string().contains("more"));
    let mut more = files(reviews_file(&bad(101)));
    more.editorial = None;
    let problems = decode(more, Timestamp::from_unix(NOW))
        .map(|_| ())
        .expect_err("refused");
    assert_eq!((problems.kept().len(), problems.total()), (100, 101));
    assert!(problems.to_string().ends_with("\nand 1 more (101 in all)"));
}

#[test]
fn a_list_has_at_most_10000_entries() {
    let with = |count: usize| {
        let mentions = vec!["\"Ann Lee\""; count].join(",");
        outcome(files(reviews_file(
            &REVIEW.replace("\"Ann Lee\"", &mentions),
        )))
    };
    assert!(with(10_000).is_ok());
    let expected =
        "reviews.json: reviews[0].mentioned_technicians: holds 10001 entries, more than 10000";
    assert_eq!(with(10_001).map(|_| ()), Err(expected.to_owned()));
}

#[test]
fn the_size_of_a_file_is_bounded() {
    let size = |bytes_max| {
        let mut problems = Problems::default();
        let file = FileSpec {
            name: "f",
            bytes_max,
        };
        json::read(file, b"{}", &mut problems, |_| ());
        problems.to_string()
    };
    assert_eq!(size(2), "");
    assert_eq!(size(1), "f: is larger than 1 bytes");
}

#[test]
fn updated_at_may_be_this_very_second() {
    let text = reviews_file(REVIEW).replace("2026-11-18T00:00:00Z", "2026-11-18T11:06:40Z");
    assert_eq!(
        outcome(files(text)).map(|decoded| decoded.dataset.updated_at.unix()),
        Ok(NOW)
    );
}

#[test]
fn the_later_of_updated_at_and_the_modification_time_dates_the_content() {
    let given = reviews_file(REVIEW);
    let without = given.replace(r#""updated_at":"2026-11-18T00:00:00Z","#, "");
    assert_ne!(given, without);
    let date_of = |text: &str, modified: Option<i64>| {
        let files = Files {
            modified: modified.map(Timestamp::from_unix),
            ..files(text)
        };
        outcome(files).map(|decoded| decoded.dataset.updated_at.unix())
    };
    let updated_at = NOW - 11 * 3_600 - 6 * 60 - 40;
    for (text, modified, expected) in [
        (&given, None, updated_at),
        (&given, Some(updated_at - 1), updated_at),
        (&given, Some(updated_at + 1), updated_at + 1),
        (&given, Some(NOW), NOW),
        // A modification time in the future counts as now.
        (&given, Some(NOW + 1), NOW),
        (&without, Some(5), 5),
        (&without, None, 0),
    ] {
        assert_eq!(date_of(text, modified), Ok(expected), "{modified:?}");
    }
}

#[test]
fn arrays_and_objects_within_each_other_are_bounded_as_serde_json_bounds_them() {
    for depth in [126, 127, 128, 129] {
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        let mut problems = Problems::default();
        let file = FileSpec {
            name: "f",
            bytes_max: 1_000,
        };
        let read = json::read(file, nested.as_bytes(), &mut problems, |item| {
            item.anything()
        });
        let expected = serde_json::from_str::<serde_json::Value>(&nested).is_ok();
        assert_eq!(read.is_some(), expected, "{depth}: {problems}");
    }
}
