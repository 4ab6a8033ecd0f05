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
    assert_eq!(decoded(b"a+b%2Bc"), Ok("a b+c".to_owned()));
    let mut out = String::new();
    assert_eq!(decode_path(b"a+b%2Bc", &mut out), Ok(()));
    assert_eq!(out, "a+b+c");
}

#[test]
fn escapes_are_decoded_in_either_case() {
    assert_eq!(decoded(b"%c3%A9"), Ok("é".to_owned()));
    assert_eq!(decoded(b"%00"), Ok("\0".to_owned()));
    assert_eq!(decoded(b"%25%32%35"), Ok("%25".to_owned()));
}

#[test]
fn broken_escapes_are_errors_that_name_the_place() {
    for (raw, at) in [
        ("%", 0),
        ("ab%", 2),
        ("%4", 0),
        ("%g0", 0),
        ("%0g", 0),
        ("%%41", 0),
        ("%41%", 3),
        ("%+1", 0),
    ] {
        assert_eq!(
            decoded(raw.as_bytes()),
            Err(FormError::BrokenEscape { at }),
            "{raw}"
        );
    }
}

#[test]
fn invalid_utf8_is_an_error() {
    for raw in [
        "%ff",
        "%c3",
        "%c3%28",
        "%ed%a0%80",
        "%f4%90%80%80",
        "%c0%80",
        "a%80b",
        "%e2%82",
    ] {
        assert_eq!(decoded(raw.as_bytes()), Err(FormError::NotUtf8), "{raw}");
    }
    assert_eq!(decoded(b"caf\xe9"), Err(FormError::NotUtf8));
}

#[test]
fn character_may_be_spread_over_raw_bytes_and_escapes() {
    assert_eq!(decoded(b"\xc3%A9%C3\xa9"), Ok("éé".to_owned()));
}

#[test]
fn decoding_appends_and_takes_back_on_error() {
    let mut out = "kept ".to_owned();
    assert_eq!(decode_into(b"more", &mut out), Ok(()));
    let raw = "z".repeat(200) + "%";
    assert_eq!(
        decode_into(raw.as_bytes(), &mut out),
        Err(FormError::BrokenEscape { at: 200 })
    );
    assert_eq!(out, "kept more");
}

#[test]
fn decoding_within_capacity_keeps_the_buffer() {
    let raw = "%C3%A9+abc".repeat(30);
    let mut out = String::with_capacity(raw.len());
    let (place, capacity) = (out.as_ptr(), out.capacity());
    assert_eq!(decode_into(raw.as_bytes(), &mut out), Ok(()));
    assert_eq!((out.as_ptr(), out.capacity()), (place, capacity));
}
