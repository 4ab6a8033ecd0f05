//! Escapes at every position of a word, and numbers; `check_json` of the oracle covers the rest.

use super::*;

#[test]
fn every_byte_is_escaped_alike_at_every_place_of_a_word() {
    for byte in 0..=u8::MAX {
        for count in 0..17 {
            let before = vec![b'a'; count];
            let after = vec![0xff; 16 - count];
            let mut out = Vec::new();
            push_escaped(&mut out, &[&before[..], &[byte], &after].concat());
            let expected = [&before[..], &escaped_alone(byte), &after].concat();
            assert_eq!(out, expected, "{byte} after {count}");
        }
        // A mark for one byte must not carry over to the next byte.
        for second in 0..=u8::MAX {
            let mut out = Vec::new();
            push_escaped(&mut out, &[byte, second].repeat(4));
            let pair = [escaped_alone(byte), escaped_alone(second)].concat();
            assert_eq!(out, pair.repeat(4));
        }
    }
}

/// Returns the escaped form of one byte, after a check that it is escaped only if it must be.
fn escaped_alone(byte: u8) -> Vec<u8> {
    let mut out = Vec::new();
    push_escaped(&mut out, &[byte]);
    let must_be = byte < b' ' || byte == b'"' || byte == b'\\';
    assert_eq!(out.len() > 1, must_be, "{byte}");
    out
}

#[test]
fn numbers_are_quoted_as_short_decimals() {
    use serde_json::json;
    for (value, text) in [
        (json!(5.0), "5"),
        (json!(4.5), "4.5"),
        (json!(-7), "-7"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(1e21), "1000000000000000000000"),
        (json!(null), "null"),
        (json!([1]), "an array"),
        (json!("x"), "x"),
    ] {
        assert_eq!(value_text(&value), text);
    }
}

#[test]
fn a_string_is_escaped_between_quotation_marks() {
    let mut out = b"before ".to_vec();
    push_string(&mut out, "a\"b\\c/\u{1f600}");
    let expected = "before \"a\\\"b\\\\c/\u{1f600}\"";
    assert_eq!(String::from_utf8(out).as_deref(), Ok(expected));
}
