//! Escapes at every position of a word, and numbers; `check_json` of the oracle covers the rest.

use super::*;

#[test]
fn every_byte_is_escaped_alike_at_every_place_of_a_word() {
    let alone = |byte: u8| {
        let mut alone = Vec::new();
        push_escaped(&mut alone, &[byte]);
        let must_be = byte < b' ' || byte == b'"' || byte == b'\\';
        assert_eq!(alone.len() > 1, must_be, "{byte}");
        alone
    };
    for byte in 0..=u8::MAX {
        for before in 0..17 {
            let around = [vec![b'a'; before], vec![0xff; 16 - before]];
            let mut out = Vec::new();
            push_escaped(&mut out, &[&around[0][..], &[byte], &around[1]].concat());
            let expected = [&around[0][..], &alone(byte), &around[1]].concat();
            assert_eq!(out, expected, "{byte} after {before}");
        }
        // A mark for one byte must not carry over to the next byte.
        for second in 0..=u8::MAX {
            let mut out = Vec::new();
            push_escaped(&mut out, &[byte, second].repeat(4));
            assert_eq!(out, [alone(byte), alone(second)].concat().repeat(4));
        }
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
