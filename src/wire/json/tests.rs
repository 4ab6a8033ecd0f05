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
fn json_text_inside_a_json_string_reads_back() {
    let inner = written(|out| push_string(out, "say \"hi\"\n\u{1}"));
    let outer = written(|out| {
        out.push(b'"');
        push_escaped(out, inner.as_bytes());
        out.push(b'"');
    });
    assert_eq!(
        serde_json::from_str::<String>(&outer).expect("valid JSON"),
        inner
    );
}

#[test]
fn every_byte_is_escaped_alike_at_every_place_of_a_word() {
    for byte in 0..=u8::MAX {
        let mut alone = Vec::new();
        push_escaped(&mut alone, &[byte]);
        let must_be = byte < b' ' || byte == b'"' || byte == b'\\';
        assert_eq!(alone.len() > 1, must_be, "{byte}");
        for (before, after) in (0..17).flat_map(|n| [(n, 0), (n, 16 - n)]) {
            let text = [vec![b'a'; before], vec![byte], vec![0xff; after]].concat();
            let mut out = Vec::new();
            push_escaped(&mut out, &text);
            let expected = [vec![b'a'; before], alone.clone(), vec![0xff; after]].concat();
            assert_eq!(out, expected, "{byte} after {before} and before {after}");
        }
    }
    // Neighbours: a mark must not spill into the byte after it.
    let pairs = (0..=u8::MAX).flat_map(|first| (0..=u8::MAX).map(move |second| [first, second]));
    for pair in pairs {
        let mut expected = Vec::new();
        push_escaped(&mut expected, &pair[..1]);
        push_escaped(&mut expected, &pair[1..]);
        let mut out = Vec::new();
        push_escaped(&mut out, &pair.repeat(4));
        assert_eq!(out, expected.repeat(4), "{pair:?}");
    }
}

#[test]
fn long_texts_are_escaped_as_short_ones() {
    for length in [BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 40_000] {
        let text: Vec<u8> = (0..length).map(|at| b"ab\"c\n\\d\x01e"[at % 9]).collect();
        let (mut whole, mut pieces) = (b"before".to_vec(), b"before".to_vec());
        push_escaped(&mut whole, &text);
        text.iter()
            .for_each(|byte| push_escaped(&mut pieces, &[*byte]));
        assert_eq!(whole, pieces, "{length}");
    }
}

#[test]
fn numbers_at_their_bounds() {
    assert_eq!(written(|out| push_u64(out, 0)), "0");
    assert_eq!(written(|out| push_u64(out, 10)), "10");
    assert_eq!(written(|out| push_u64(out, u64::MAX)), u64::MAX.to_string());
}

#[test]
fn empty_object_and_array() {
    assert_eq!(written(|out| Object::begin(out).end()), "{}");
    assert_eq!(written(|out| Array::begin(out).end()), "[]");
    assert_eq!(written(|out| push_strings(out, [])), "[]");
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
            .null("i")
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
