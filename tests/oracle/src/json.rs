//! The reference implementation of `wire::json` is serde_json: what we write is what it writes, byte by byte.

use reviewd::wire::json::{Object, push_escaped, push_string};
use serde_json::json;

/// Checks strings, nested JSON text, and an object with keys, strings and numbers made of `data`.
///
/// # Panics
/// If serde_json writes something else.
pub fn check_json(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let mut string = Vec::new();
    push_string(&mut string, text);
    let expected = json!(text).to_string();
    assert_eq!(str::from_utf8(&string), Ok(&*expected));
    let mut nested = Vec::new();
    push_escaped(&mut nested, &string);
    let nested = format!("\"{}\"", str::from_utf8(&nested).expect("UTF-8"));
    assert_eq!(nested, json!(expected).to_string());

    let number = data.iter().take(8);
    let number = number.fold(0, |number, &byte| number << 8 | u64::from(byte));
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.string("first", text).opt_string("none", None);
    object
        .u64("number", number)
        .string(&format!("key {text}"), "");
    object.strings("strings", text.split(' '));
    object.end();
    let strings: Vec<&str> = text.split(' ').collect();
    let expected = json!({
        "first": text, "none": null, "number": number, (format!("key {text}")): "", "strings": strings,
    });
    assert_eq!(str::from_utf8(&out), Ok(&*expected.to_string()));
}
