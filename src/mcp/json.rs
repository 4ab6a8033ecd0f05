//! JSON that clients send (RFC 8259), read strictly into serde_json's values.
//!
//! No object may have a key twice: a gateway that reads the first and a server that reads the last would disagree about
//! which tool is called. The number of values is bounded before any is made, so that a message of one megabyte cannot
//! take hundreds.

use serde_json::Value;

/// Most commas and opening brackets of a message, which are at least as many as its values but for one; more are refused.
const VALUES_MAX: usize = 16_384;

/// Why a text is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not JSON, not UTF-8, or nested more than 127 levels deep; with line and column.
    Syntax(String),
    /// A key twice in one object, or too many values.
    Refused(&'static str),
}

/// Parses exactly one JSON value, with white space around it. Members keep their order.
///
/// # Errors
/// `Syntax` and `Refused` as they say; nesting is bounded by serde_json at 127 levels.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    let (mut in_string, mut is_escaped) = (false, false);
    let (mut values, mut colons) = (0, 0);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    if values >= VALUES_MAX {
        return Err(JsonError::Refused("there are more than 16384 values"));
    }
    let value = serde_json::from_slice(text);
    let value = value.map_err(|error| JsonError::Syntax(error.to_string()))?;
    // A key that comes twice has two colons, and is one member.
    match colons == members(&value) {
        true => Ok(value),
        false => Err(JsonError::Refused("an object has a key twice")),
    }
}

/// Counts the members of all objects in `value`, which is at most 127 levels deep.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(entries) => entries.len() + entries.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_twice_is_refused_also_behind_escapes() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":[{"a":1,"\u0061":2}]}"#,
            r#"{"\":":{"b":1},"\":":2}"#,
        ] {
            let refused = JsonError::Refused("an object has a key twice");
            assert_eq!(parse(text.as_bytes()), Err(refused), "{text}");
        }
        for text in [r#"{"a":{"a":1},"b":{"a":2}}"#, r#" {":\\":":,\":"} "#] {
            let value = serde_json::from_str(text).expect("JSON");
            assert_eq!(parse(text.as_bytes()), Ok(value));
        }
    }

    #[test]
    fn values_and_levels_are_counted_to_their_limits() {
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(parse(list(16_383).as_bytes()).is_ok());
        assert!(matches!(
            parse(list(16_384).as_bytes()),
            Err(JsonError::Refused(_))
        ));
        let nested = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
        assert!(parse(&nested(127)).is_ok());
        for text in [&nested(128)[..], b"1 2", b"{}x", b"", b"\xff", b"1e999"] {
            assert!(matches!(parse(text), Err(JsonError::Syntax(_))));
        }
    }
}
