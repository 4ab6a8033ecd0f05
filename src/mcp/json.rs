//! Strict parser of the clients' JSON (RFC 8259) into serde_json's values.
//!
//! Duplicate keys in an object are rejected: a gateway that uses the first one and a server that uses the last one
//! would disagree about which tool is called. The number of values is limited, so that a message of one megabyte cannot
//! use hundreds of megabytes of memory. serde_json's own `Value` does neither; with the crate's feature `raw_value` it
//! also parses the string of one private key as JSON, so nesting in strings would be unlimited.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Largest number of values in a message, counting each member and item; more are refused.
const VALUES_MAX: u32 = 16_384;

/// Why a text is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not JSON, not UTF-8, or nested more than 127 levels deep; with line and column.
    Syntax(String),
    /// JSON, but with a duplicate key in an object, or with too many values.
    Refused(String),
}

/// Parses exactly one JSON value, with white space around it. Members keep their order.
///
/// # Errors
/// [`JsonError`]; serde_json limits nesting to 127 levels.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    parse_whole(text).map_err(|error| {
        // serde_json calls an error of the visitor below one of data.
        if error.is_data() {
            JsonError::Refused(error.to_string())
        } else {
            JsonError::Syntax(error.to_string())
        }
    })
}

fn parse_whole(text: &[u8]) -> serde_json::Result<Value> {
    let values = Cell::new(0);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict { values: &values }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value and counts it.
#[derive(Clone, Copy)]
struct Strict<'c> {
    values: &'c Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        let values = self.values.get() + 1;
        if values > VALUES_MAX {
            return Err(D::Error::custom(format_args!(
                "more than {VALUES_MAX} values"
            )));
        }
        self.values.set(values);
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if members.contains_key(&key) {
                let key = crate::wire::text::cut(&key);
                return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
            }
            members.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(JsonError::Refused(reason)) => reason,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn values_are_what_serde_json_reads() {
        let text =
            r#" {"b":[1,-2,0.5,null,true,false,"x\n\u00e9"],"a":{"":18446744073709551615}} "#;
        let value = parse(text.as_bytes()).expect("JSON");
        assert_eq!(value, serde_json::from_str::<Value>(text).expect("JSON"));
        assert_eq!(value.to_string().replace("é", "\\u00e9"), text.trim());
    }

    #[test]
    fn duplicate_keys_are_rejected_also_if_escaped() {
        assert!(refusal(r#"{"a":1,"a":2}"#).contains("duplicate key \"a\""));
        assert!(refusal(r#"{"x":[{"a":1,"\u0061":2}]}"#).contains("duplicate key"));
        let long = "k".repeat(100);
        assert!(refusal(&format!(r#"{{"{long}":1,"{long}":2}}"#)).len() < 130);
        assert!(parse(br#"{"a":{"a":1},"b":{"a":2}}"#).is_ok());
    }

    #[test]
    fn values_are_counted_to_their_limit() {
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(parse(list(16_383).as_bytes()).is_ok());
        assert!(refusal(&list(16_384)).contains("more than 16384 values"));
    }

    #[test]
    fn nesting_is_bounded_and_what_follows_a_value_is_an_error() {
        let nested = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
        assert!(parse(&nested(127)).is_ok());
        for text in [&nested(128)[..], b"1 2", b"{}x", b"", b"\xff", b"1e999"] {
            assert!(matches!(parse(text), Err(JsonError::Syntax(_))));
        }
        let private = br#"{"$serde_json::private::RawValue":"[[1]]"}"#;
        let value = parse(private).expect("JSON");
        assert!(value["$serde_json::private::RawValue"].is_string());
    }
}
