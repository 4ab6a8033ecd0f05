//! The rules of RFC 9110 §13 by example; `check_conditional` of the oracle compares random fields with a reference.

use super::*;

/// Content of the tag `"a"` that last changed at [`SAME`].
fn current() -> Validators<'static> {
    Validators {
        etag: b"\"a\"",
        last_modified: Some(Timestamp::from_unix(86_400)),
    }
}

const BEFORE: &str = "Thu, 01 Jan 1970 23:59:59 GMT";
const SAME: &str = "Fri, 02 Jan 1970 00:00:00 GMT";
const AFTER: &str = "Fri, 02 Jan 1970 00:00:01 GMT";

/// Fields with tags, whether one matches strongly, and whether one matches weakly.
const TAGS: &[(&[&str], bool, bool)] = &[
    (&["\"a\""], true, true),
    (&["\"b\""], false, false),
    (&["W/\"a\""], false, true),
    (&["w/\"a\""], false, false),
    (&["\"b\", \"a\""], true, true),
    (&["\"b\"", "\"a\""], true, true),
    (&[", \t\"a\","], true, true),
    (&["\"a\", b"], true, true),
    (&["b, \"a\""], false, false),
    (&["\"a\"b"], false, false),
    (&["\"a"], false, false),
    (&["\"a \", \"a\""], false, false),
    (&["*"], true, true),
    (&[" *\t"], true, true),
    (&["*, \"b\""], false, false),
    (&["*", "*"], false, false),
    (&["*, b"], false, false),
    (&["*", "b"], false, false),
    (&["*b"], false, false),
    (&[""], false, false),
];

fn bytes<'a>(fields: &'a [&str]) -> impl Iterator<Item = &'a [u8]> {
    fields.iter().map(|field| field.as_bytes())
}

#[test]
fn tags_decide_and_then_no_date_is_read() {
    for (fields, is_strong_match, is_weak_match) in TAGS {
        for dates in [&[][..], &[BEFORE], &[AFTER]] {
            let found = holds(current(), bytes(fields), bytes(dates));
            assert_eq!(found, *is_strong_match, "{fields:?} {dates:?}");
            let found = is_not_modified(current(), bytes(fields), bytes(dates));
            assert_eq!(found, *is_weak_match, "{fields:?} {dates:?}");
        }
    }
}

#[test]
fn without_tags_a_single_valid_date_decides() {
    for (dates, expected) in [
        (&[BEFORE][..], Some(false)),
        (&[SAME], Some(true)),
        (&[AFTER], Some(true)),
        (&[], None),
        (&["soon"], None),
        (&[BEFORE, BEFORE], None),
        (&[AFTER, AFTER], None),
    ] {
        let found = holds(current(), [], bytes(dates));
        assert_eq!(found, expected.unwrap_or(true), "{dates:?}");
        let found = is_not_modified(current(), [], bytes(dates));
        assert_eq!(found, expected.unwrap_or(false), "{dates:?}");
    }
}

#[test]
fn conditions_on_dates_are_not_read_where_there_is_no_date() {
    let validators = Validators {
        etag: b"\"a\"",
        last_modified: None,
    };
    let far: &[u8] = b"Fri, 31 Dec 9999 23:59:59 GMT";
    let early: &[u8] = b"Thu, 01 Jan 1970 00:00:00 GMT";
    assert!(!is_not_modified(validators, [], [far]));
    assert!(holds(validators, [], [early]));
    let ours: &[u8] = b"\"a\"";
    assert!(is_not_modified(validators, [ours], [far]));
}
