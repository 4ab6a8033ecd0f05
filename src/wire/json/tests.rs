//! What is written reads back, and texts of any kind are escaped.

use super::*;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("the writer keeps UTF-8")
}

#[test]
fn strings_escape_what_must_be_and_nothing_else() {
    let text = "a\"b\\c/\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}é\u{2028}😀";
    let expected = "\"a\\\"b\\\\c/\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}é\u{2028}😀\"";
    assert_eq!(written(|out| push_string(out, text)), expected);
    assert_eq!(written(|out| push_string(out, "")), "\"\"");
}

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
        // Neighbours: a mark must not spill into the byte after it.
        for second in 0..=u8::MAX {
            let mut out = Vec::new();
            push_escaped(&mut out, &[byte, second].repeat(4));
            assert_eq!(out, [alone(byte), alone(second)].concat().repeat(4));
        }
    }
}

#[test]
fn numbers_at_their_bounds() {
    assert_eq!(written(|out| push_u64(out, 0)), "0");
    assert_eq!(written(|out| push_u64(out, 10)), "10");
    assert_eq!(written(|out| push_u64(out, u64::MAX)), u64::MAX.to_string());
}

#[test]
fn every_kind_of_member_and_item() {
    let text = written(|out| {
        let mut object = Object::begin(out);
        object
            .string("a", "\"")
            .opt_string("b", None)
            .opt_string("c", Some("d"))
            .u64("e", 1);
        object
            .bool("g", true)
            .bool("h", false)
            .raw("i", b"null")
            .raw("j", b"{}")
            .strings("k", ["l", "m"]);
        let mut array = Array::begin(object.key("n\""));
        array.string("o").u64(2).raw(b"null");
        Object::begin(array.item()).end();
        array.end();
        object.end();
    });
    let expected = concat!(
        r#"{"a":"\"","b":null,"c":"d","e":1,"g":true,"h":false,"i":null,"j":{},"k":["l","m"],"#,
        r#""n\"":["o",2,null,{}]}"#
    );
    assert_eq!(text, expected);
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
