//! The reference implementation of `wire::json` is serde_json: what we write it must read back, and it writes the same bytes.

use reviewd::wire::json::{Array, Object, push_escaped, push_string, push_u64};
use serde_json::{Value, json};

/// Checks strings, nested JSON text, and a document with keys, strings and numbers made of `data`.
///
/// # Panics
/// If serde_json reads or writes something else.
pub fn check_json(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let mut string = Vec::new();
    push_string(&mut string, text);
    assert_eq!(string, json!(text).to_string().as_bytes());
    assert_eq!(parse(&string), text);

    let mut nested = vec![b'"'];
    push_escaped(&mut nested, &string);
    nested.push(b'"');
    assert_eq!(parse(&nested), str::from_utf8(&string).expect("JSON"));

    let digits = data.iter().take(8);
    let number = digits.fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let key = format!("key {text}");
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.string("first", text).opt_string("none", None);
    object.u64("number", number);
    let mut array = Array::begin(object.key(&key));
    push_string(array.item(), text);
    push_u64(array.item(), number);
    Object::begin(array.item()).end();
    array.end();
    object.strings("strings", text.split(' '));
    object.end();
    let strings: Vec<&str> = text.split(' ').collect();
    let expected = json!({
        "first": text, "none": null, "number": number, key: [text, number, {}], "strings": strings,
    });
    assert_eq!(str::from_utf8(&out), Ok(&*expected.to_string()));
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("what is written is JSON")
}
