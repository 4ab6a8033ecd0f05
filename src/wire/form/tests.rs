use super::*;

fn list(raw: &str) -> Vec<(&str, &str)> {
    let text = |bytes| std::str::from_utf8(bytes).expect("ASCII input");
    pairs(raw.as_bytes())
        .map(|pair| (text(pair.name), text(pair.value)))
        .collect()
}

fn decoded(raw: &[u8]) -> Result<String, FormError> {
    let mut out = String::new();
    decode_into(raw, &mut out).map(|()| out)
}

#[test]
fn pairs_split_at_ampersand_and_first_equals() {
    assert_eq!(list(""), []);
    assert_eq!(list("a=1&b=2"), [("a", "1"), ("b", "2")]);
    assert_eq!(list("a=1=2"), [("a", "1=2")]);
    assert_eq!(list("a&b="), [("a", ""), ("b", "")]);
    assert_eq!(list("=1"), [("", "1")]);
    assert_eq!(list("&&a=1&&"), [("a", "1")]);
    assert_eq!(list("="), [("", "")]);
}

#[test]
fn plus_is_a_space_in_forms_and_a_plus_in_paths() {
    for (raw, text) in [
        (&b"a+b%2Bc"[..], "a b+c"),
        (b"%c3%A9", "é"),
        (b"\xc3%A9%C3\xa9", "éé"),
        (b"%00", "\0"),
        (b"%25%32%35", "%25"),
    ] {
        assert_eq!(decoded(raw), Ok(text.to_owned()));
    }
    let mut out = String::new();
    assert_eq!(decode_path(b"a+b%2Bc", &mut out), Ok(()));
    assert_eq!(out, "a+b+c");
}

#[test]
fn broken_escapes_are_errors_that_name_the_place_and_so_is_what_is_no_text() {
    for (raw, at) in [
        ("%", 0),
        ("ab%", 2),
        ("%4", 0),
        ("%g0", 0),
        ("%%41", 0),
        ("%41%", 3),
        ("%+1", 0),
    ] {
        let error = Err(FormError::BrokenEscape { at });
        assert_eq!(decoded(raw.as_bytes()), error, "{raw}");
    }
    for raw in [
        "%ff",
        "%c3",
        "%c3%28",
        "%ed%a0%80",
        "%f4%90%80%80",
        "%c0%80",
        "a%80b",
    ] {
        assert_eq!(decoded(raw.as_bytes()), Err(FormError::NotUtf8), "{raw}");
    }
    assert_eq!(decoded(b"caf\xe9"), Err(FormError::NotUtf8));
}

#[test]
fn decoding_appends_takes_back_on_error_and_keeps_the_buffer() {
    let mut out = String::with_capacity(300);
    out.push_str("kept ");
    let place = out.as_ptr();
    assert_eq!(decode_into(b"m%6fre", &mut out), Ok(()));
    let raw = "z".repeat(200) + "%";
    let error = Err(FormError::BrokenEscape { at: 200 });
    assert_eq!(decode_into(raw.as_bytes(), &mut out), error);
    assert_eq!((out.as_str(), out.as_ptr()), ("kept more", place));
}
