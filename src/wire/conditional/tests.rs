use super::*;

const ETAG: &str = "\"0123456789abcdef0123456789abcdef\"";

/// Sun, 06 Nov 1994 08:49:37 GMT
const CHANGED: i64 = 784_111_777;

fn verdict(etag: &str, if_none_match: &[&str], if_modified_since: &[&str]) -> Verdict {
    let validators = Validators {
        etag,
        last_modified: Some(Timestamp::from_unix(CHANGED)),
    };
    evaluate(
        validators,
        if_none_match.iter().map(|value| value.as_bytes()),
        if_modified_since.iter().map(|value| value.as_bytes()),
    )
}

#[test]
fn lists_of_tags_match_weakly() {
    use Verdict::*;
    for (fields, expected) in [
        (&["\"a\""][..], NotModified),
        (&["W/\"a\""], NotModified),
        (&["\"b\""], Serve),
        (&["\"A\""], Serve),
        (&["\"b\", \"a\""], NotModified),
        (&[" \t, ,\"b\" ,\t W/\"a\" , "], NotModified),
        (&["\"b\"", "\"a\""], NotModified),
        (&["\"b,\\\"", "\"a\""], NotModified),
        (&["\"x, \"a\""], Serve),
        (&["*"], NotModified),
        (&[" * "], NotModified),
        (&[",*,"], NotModified),
        (&["*, \"b\""], Serve),
        (&["*, \"a\""], NotModified),
        (&["*", "*"], Serve),
        (&["*, b"], Serve),
        (&["b", "*"], Serve),
        (&["", "*"], NotModified),
        (&[""], Serve),
        (&["w/\"a\""], Serve),
        (&["W/ \"a\""], Serve),
        (&["\"a"], Serve),
        (&["\"a\"x"], Serve),
        (&["\"a\" \"a\""], Serve),
        (&["b, \"a\""], Serve),
        (&["\"a\", b"], NotModified),
        (&["b", "\"a\""], NotModified),
        (&["\"a\u{7f}\""], Serve),
    ] {
        assert_eq!(verdict("\"a\"", fields, &[]), expected, "{fields:?}");
    }
}

#[test]
fn tags_of_other_codings_do_not_match() {
    let bare = &ETAG[1..ETAG.len() - 1];
    for suffix in ["-gz", "-br", "-zst", "-", " "] {
        let field = format!("\"{bare}{suffix}\"");
        assert_eq!(verdict(ETAG, &[&field], &[]), Verdict::Serve, "{field}");
        assert_eq!(verdict(&field, &[ETAG], &[]), Verdict::Serve, "{field}");
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
    use Verdict::*;
    for (date, expected) in [
        ("Sun, 06 Nov 1994 08:49:36 GMT", Serve),
        ("Sun, 06 Nov 1994 08:49:37 GMT", NotModified),
        ("Sun, 06 Nov 1994 08:49:38 GMT", NotModified),
        ("Sunday, 06-Nov-94 08:49:37 GMT", NotModified),
        ("Sun Nov  6 08:49:37 1994", NotModified),
        ("Fri, 31 Dec 9999 23:59:59 GMT", NotModified),
        ("Mon, 06 Nov 1994 08:49:37 GMT", Serve),
        ("Sun, 06 Nov 1994 08:49:37 +0000", Serve),
        ("784111777", Serve),
        ("", Serve),
    ] {
        assert_eq!(verdict(ETAG, &[], &[date]), expected, "{date}");
    }
}

#[test]
fn a_date_counts_alone_and_only_without_tags() {
    let (old, new) = (
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    );
    assert_eq!(verdict(ETAG, &[], &[]), Verdict::Serve);
    assert_eq!(verdict(ETAG, &[], &[new, new]), Verdict::Serve);
    assert_eq!(verdict(ETAG, &["\"b\""], &[new]), Verdict::Serve);
    assert_eq!(verdict(ETAG, &[ETAG], &[old]), Verdict::NotModified);
    assert_eq!(verdict(ETAG, &["not a tag"], &[new]), Verdict::Serve);
    assert_eq!(verdict(ETAG, &[""], &[new]), Verdict::Serve);
}

#[test]
fn conditions_on_dates_are_not_read_where_there_is_no_date() {
    let validators = Validators {
        etag: "\"a\"",
        last_modified: None,
    };
    let far: &[u8] = b"Fri, 31 Dec 9999 23:59:59 GMT";
    let early: &[u8] = b"Thu, 01 Jan 1970 00:00:00 GMT";
    assert_eq!(evaluate(validators, [], [far]), Verdict::Serve);
    assert!(holds(validators, [], [early]));
    let ours: &[u8] = b"\"a\"";
    assert_eq!(evaluate(validators, [ours], [far]), Verdict::NotModified);
}
