//! serde_json is the reference implementation of `wire::json`: the output must be equal byte by byte.

use reviewd::wire::json::{push_escaped, push_string};
use serde_json::json;

/// Checks `data`, as text, as a string and as a string in a string.
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
}
