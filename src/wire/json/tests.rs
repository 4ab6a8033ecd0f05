//! A JSON text in a JSON string, and numbers.

use super::*;

#[test]
fn a_text_is_embedded_without_quotation_marks_of_its_own() {
    let mut out = b"[\"".to_vec();
    push_escaped(&mut out, br#"{"a":"\n\u0001"}"#);
    push_escaped(&mut out, b"\xff\x01\t");
    assert_eq!(
        out,
        "[\"{\\\"a\\\":\\\"\\\\n\\\\u0001\\\"}\u{fffd}\\u0001\\t".as_bytes()
    );
}

#[test]
fn whole_numbers_are_decimals() {
    for value in [0, 9, 10, u64::MAX] {
        let mut out = b"n".to_vec();
        push_u64(&mut out, value);
        assert_eq!(out, format!("n{value}").as_bytes());
    }
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
        assert_eq!(quote(&value), text);
    }
}
