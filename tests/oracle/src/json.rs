//! The reference implementation of `wire::json` is serde_json: what we write it must read back, and it writes the same bytes.

use reviewd::wire::json::{Array, Object, push_escaped, push_string, push_u64};

/// Checks strings, nested JSON text, keys and numbers made of `data`.
///
/// # Panics
/// If serde_json reads or writes something else.
pub fn check_json(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut string = Vec::new();
    push_string(&mut string, &text);
    assert_eq!(
        Some(&string),
        serde_json::to_vec(text.as_ref()).ok().as_ref()
    );
    assert_eq!(parse(&string), serde_json::Value::from(text.as_ref()));

    let mut nested = vec![b'"'];
    push_escaped(&mut nested, &string);
    nested.push(b'"');
    assert_eq!(
        parse(&nested).as_str().map(str::as_bytes),
        Some(string.as_slice())
    );

    let number = data
        .iter()
        .take(8)
        .fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let mut digits = Vec::new();
    push_u64(&mut digits, number);
    assert_eq!(digits, number.to_string().into_bytes());
    check_document(&text, number);
}

/// An object with `text` as key and value, and an array within it.
fn check_document(text: &str, number: u64) {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object
        .string("first", text)
        .opt_string("none", None)
        .u64("number", number)
        .bool("bool", number.is_multiple_of(2));
    let mut array = Array::begin(object.key(&format!("key {text}")));
    array.string(text).u64(number);
    Object::begin(array.item()).end();
    array.end();
    object.strings("strings", text.split(' '));
    object.end();

    let mut reference = serde_json::json!({
        "first": text,
        "none": null,
        "number": number,
        "bool": number.is_multiple_of(2),
        "strings": text.split(' ').collect::<Vec<_>>(),
    });
    reference[format!("key {text}")] = serde_json::json!([text, number, {}]);
    assert_eq!(parse(&out), reference);
}

fn parse(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("what is written is JSON")
}
