//! JSON that clients send, as borrowed values with bounds (RFC 8259).
//!
//! serde_json does the syntax; what is ours are the bounds, that keys keep their order, and that an object with
//! the same key twice is refused: a gateway that reads the first and a server that reads the last would disagree
//! about which tool is called.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde_core::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::wire::json::{Array, Object, push_string};

/// A JSON value; strings borrow the input unless they hold escapes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number from 0 to 2^64 - 1.
    Unsigned(u64),
    /// A whole number from -2^63 to -1.
    Negative(i64),
    /// Any other number, to the nearest double: never compared, only written out and judged digit by digit.
    Float(f64),
    /// A string.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object, its members in the order of the input, each key once.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Returns the member `key` of an object; `None` for anything that is not an object too.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        let members = self.as_object()?;
        members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns what a message quotes of the value: scalars as they are written, others by their kind.
    #[must_use]
    pub fn quote(&self) -> Cow<'_, str> {
        match self {
            Value::Null => "null".into(),
            Value::Bool(true) => "true".into(),
            Value::Bool(false) => "false".into(),
            Value::Unsigned(number) => number.to_string().into(),
            Value::Negative(number) => number.to_string().into(),
            Value::Float(number) => number.to_string().into(),
            Value::String(text) => Cow::Borrowed(text),
            Value::Array(_) => "an array".into(),
            Value::Object(_) => "an object".into(),
        }
    }
}

/// Bounds of a text; a value over one of them is refused as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most values in all, each member and item counted.
    pub values_max: u32,
    /// Most members of one object: they are compared pairwise.
    pub members_max: usize,
    /// Keys whose values are checked for syntax and then dropped.
    pub skipped: &'static [&'static str],
}

/// The bounds of a message from a client.
pub const MESSAGE: Bounds = Bounds {
    values_max: 16_384,
    members_max: 128,
    skipped: &[],
};

/// Appends a value as JSON, without white space.
pub(crate) fn push_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::String(text) => push_string(out, text),
        Value::Array(items) => {
            let mut array = Array::begin(out);
            for item in items {
                push_value(array.item(), item);
            }
            array.end();
        }
        Value::Object(members) => {
            let mut object = Object::begin(out);
            for (key, member) in members {
                push_value(object.key(key), member);
            }
            object.end();
        }
        scalar => out.extend_from_slice(scalar.quote().as_bytes()),
    }
}

/// Why a text is refused; the client is the culprit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not JSON, not UTF-8, or nested more than 127 levels deep; with line and column.
    Syntax(String),
    /// JSON, but with a key twice in one object, or over a bound.
    Refused(String),
}

/// Parses exactly one JSON value, with white space around it.
///
/// # Errors
/// `Syntax` and `Refused` as they say; nesting is bounded by serde_json at 127 levels, which costs no memory.
pub fn parse<'a>(text: &'a [u8], bounds: &Bounds) -> Result<Value<'a>, JsonError> {
    let seed = Seed {
        bounds,
        values: &Cell::new(0),
    };
    let mut reader = serde_json::Deserializer::from_slice(text);
    seed.deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| {
            if error.is_data() {
                JsonError::Refused(error.to_string())
            } else {
                JsonError::Syntax(error.to_string())
            }
        })
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonError::Syntax(reason) | JsonError::Refused(reason) => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for JsonError {}

#[derive(Clone, Copy)]
struct Seed<'b> {
    bounds: &'b Bounds,
    values: &'b Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: serde_core::Deserializer<'de>>(
        self,
        reader: D,
    ) -> Result<Value<'de>, D::Error> {
        let values = self.values.get() + 1;
        if values > self.bounds.values_max {
            let most = self.bounds.values_max;
            return Err(D::Error::custom(format_args!("more than {most} values")));
        }
        self.values.set(values);
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Negative(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'de>, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            if members.len() == self.bounds.members_max {
                let most = self.bounds.members_max;
                return Err(A::Error::custom(format_args!(
                    "an object with more than {most} members"
                )));
            }
            if members.iter().any(|(other, _)| *other == key) {
                let key = crate::search::issue::cut(&key);
                return Err(A::Error::custom(format_args!("the key {key:?} twice")));
            }
            if self.bounds.skipped.contains(&&*key) {
                entries.next_value::<IgnoredAny>()?;
            } else {
                members.push((key, entries.next_value_seed(self)?));
            }
        }
        Ok(Value::Object(members))
    }
}

/// Reads a key, borrowed where it holds no escape.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: serde_core::Deserializer<'de>>(
        self,
        reader: D,
    ) -> Result<Cow<'de, str>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> bool {
        matches!(parse(text.as_bytes(), &MESSAGE), Err(JsonError::Refused(_)))
    }

    fn broken(text: &[u8]) -> bool {
        matches!(parse(text, &MESSAGE), Err(JsonError::Syntax(_)))
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let text = br#" {"a":null,"b":[true,1,-1,1.5,"x\n"],"c":{},"\u0064":"\ud83d\ude00"} "#;
        let value = parse(text, &MESSAGE).expect("JSON");
        assert_eq!(value.get("a"), Some(&Value::Null));
        let items = vec![
            Value::Bool(true),
            Value::Unsigned(1),
            Value::Negative(-1),
            Value::Float(1.5),
            Value::String("x\n".into()),
        ];
        assert_eq!(value.get("b"), Some(&Value::Array(items)));
        assert_eq!(value.get("c"), Some(&Value::Object(vec![])));
        assert_eq!(value.get("d").and_then(Value::as_str), Some("😀"));
        assert_eq!(value.get("e"), None);
        assert_eq!(Value::Null.get("a"), None);
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let value = parse(br#""plain""#, &MESSAGE);
        assert!(matches!(value, Ok(Value::String(Cow::Borrowed("plain")))));
    }

    #[test]
    fn what_is_not_json_is_a_syntax_error() {
        for text in [
            b"".as_slice(),
            b" ",
            b"{",
            b"{}x",
            b"{} {}",
            b"[1,]",
            b"{\"a\"}",
            b"'a'",
            b"01",
            b"NaN",
            b"\xef\xbb\xbf{}",
            b"\"\xff\"",
            b"\"\\ud800\"",
            b"\"\n\"",
            b"\0",
        ] {
            assert!(broken(text), "{text:?}");
        }
        let deep = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
        assert!(parse(&deep(127), &MESSAGE).is_ok());
        assert!(broken(&deep(128)) && broken(&deep(10_000)));
    }

    #[test]
    fn a_key_twice_in_one_object_is_refused_and_in_two_is_fine() {
        assert!(refused(r#"{"a":1,"a":1}"#) && refused(r#"{"b":{"a":1,"\u0061":2}}"#));
        assert!(parse(br#"{"a":{"a":1},"b":{"a":1}}"#, &MESSAGE).is_ok());
    }

    #[test]
    fn bounds_hold_on_both_sides() {
        let object = |members: usize| {
            let members: Vec<String> = (0..members).map(|at| format!("\"k{at}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(parse(object(128).as_bytes(), &MESSAGE).is_ok());
        assert!(refused(&object(129)));
        let array = |items: usize| format!("[{}]", vec!["0"; items].join(","));
        assert!(parse(array(16_383).as_bytes(), &MESSAGE).is_ok());
        assert!(refused(&array(16_384)));
    }

    #[test]
    fn skipped_keys_leave_nothing() {
        let bounds = Bounds {
            skipped: &["big"],
            ..MESSAGE
        };
        let value = parse(br#"{"big":[1,{"a":2}],"small":1}"#, &bounds).expect("JSON");
        assert_eq!(
            value,
            Value::Object(vec![("small".into(), Value::Unsigned(1))])
        );
        assert!(parse(br#"{"big":[1,}"#, &bounds).is_err());
    }
}
