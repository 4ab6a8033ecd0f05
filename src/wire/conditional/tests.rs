use super::*;

const ETAG: &str = "\"0123456789abcdef0123456789abcdef\"";

/// Sun, 06 Nov 1994 08:49:37 GMT
const CHANGED: i64 = 784_111_777;

fn not_modified(etag: &str, if_none_match: &[&str], if_modified_since: &[&str]) -> bool {
    let validators = Validators {
        etag,
        last_modified: Some(Timestamp::from_unix(CHANGED)),
    };
    is_not_modified(
        validators,
        if_none_match.iter().map(|value| value.as_bytes()),
        if_modified_since.iter().map(|value| value.as_bytes()),
    )
}

#[test]
fn lists_of_tags_match_weakly() {
    for (fields, expected) in [
        (&["\"a\""][..], true),
        (&["W/\"a\""], true),
        (&["\"b\""], false),
        (&["\"A\""], false),
        (&["\"b\", \"a\""], true),
        (&[" \t, ,\"b\" ,\t W/\"a\" , "], true),
        (&["\"b\"", "\"a\""], true),
        (&["\"b,\\\"", "\"a\""], true),
        (&["\"x, \"a\""], false),
        (&["*"], true),
        (&[" * "], true),
        (&[",*,"], true),
        (&["*, \"b\""], false),
        (&["*, \"a\""], true),
        (&["*", "*"], false),
        (&["*, b"], false),
        (&["b", "*"], false),
        (&["", "*"], true),
        (&[""], false),
        (&["w/\"a\""], false),
        (&["W/ \"a\""], false),
        (&["\"a"], false),
        (&["\"a\"x"], false),
        (&["\"a\" \"a\""], false),
        (&["b, \"a\""], false),
        (&["\"a\", b"], true),
        (&["b", "\"a\""], true),
        (&["\"a\u{7f}\""], false),
    ] {
        assert_eq!(not_modified("\"a\"", fields, &[]), expected, "{fields:?}");
    }
}

#[test]
fn tags_of_other_codings_do_not_match() {
    let bare = &ETAG[1..ETAG.len() - 1];
    for suffix in ["-gz", "-br", "-zst", "-", " "] {
        let field = format!("\"{bare}{suffix}\"");
        assert!(!not_modified(ETAG, &[&field], &[]), "{field}");
        assert!(!not_modified(&field, &[ETAG], &[]), "{field}");
    }
}

fn holding(if_match: &[&str], if_unmodified_since: &[&str]) -> bool {
    let validators = Validators {
        etag: "\"a\"",
        last_modified: Some(Timestamp::from_unix(CHANGED)),
    };
    holds(
        validators,
        if_match.iter().map(|value| value.as_bytes()),
        if_unmodified_since.iter().map(|value| value.as_bytes()),
    )
}

#[test]
fn if_match_compares_strongly() {
    for (fields, expected) in [
        (&["\"a\""][..], true),
        (&["\"b\", \"a\""], true),
        (&["\"b\"", "\"a\""], true),
        (&["*"], true),
        (&["W/\"a\""], false),
        (&["W/\"a\", \"a\""], true),
        (&["\"b\""], false),
        (&["*, \"b\""], false),
        (&["a"], false),
        (&[""], false),
    ] {
        assert_eq!(holding(fields, &[]), expected, "{fields:?}");
    }
}

#[test]
fn if_unmodified_since_counts_only_without_if_match() {
    let (before, at) = (
        "Sun, 06 Nov 1994 08:49:36 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT",
    );
    assert!(holding(&[], &[]));
    assert!(holding(&[], &[at]));
    assert!(!holding(&[], &[before]));
    assert!(holding(&[], &["yesterday"]));
    assert!(holding(&[], &[before, before]));
    assert!(holding(&["\"a\""], &[before]));
    assert!(!holding(&["\"b\""], &[at]));
}

#[test]
fn dates_compare_by_the_second() {
    for (date, expected) in [
        ("Sun, 06 Nov 1994 08:49:36 GMT", false),
        ("Sun, 06 Nov 1994 08:49:37 GMT", true),
        ("Sun, 06 Nov 1994 08:49:38 GMT", true),
        ("Sunday, 06-Nov-94 08:49:37 GMT", true),
        ("Sun Nov  6 08:49:37 1994", true),
        ("Fri, 31 Dec 9999 23:59:59 GMT", true),
        ("Mon, 06 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06 Nov 1994 08:49:37 +0000", false),
        ("784111777", false),
        ("", false),
    ] {
        assert_eq!(not_modified(ETAG, &[], &[date]), expected, "{date}");
    }
}

#[test]
fn a_date_counts_alone_and_only_without_tags() {
    let (old, new) = (
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    );
    assert!(!not_modified(ETAG, &[], &[]));
    assert!(!not_modified(ETAG, &[], &[new, new]));
    assert!(!not_modified(ETAG, &["\"b\""], &[new]));
    assert!(not_modified(ETAG, &[ETAG], &[old]));
    assert!(!not_modified(ETAG, &["not a tag"], &[new]));
    assert!(!not_modified(ETAG, &[""], &[new]));
}

#[test]
fn conditions_on_dates_are_not_read_where_there_is_no_date() {
    let validators = Validators {
        etag: "\"a\"",
        last_modified: None,
    };
    let far: &[u8] = b"Fri, 31 Dec 9999 23:59:59 GMT";
    let early: &[u8] = b"Thu, 01 Jan 1970 00:00:00 GMT";
    assert!(!is_not_modified(validators, [], [far]));
    assert!(holds(validators, [], [early]));
    let ours: &[u8] = b"\"a\"";
    assert!(is_not_modified(validators, [ours], [far]));
}
