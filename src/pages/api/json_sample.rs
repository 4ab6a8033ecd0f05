//! A shortened copy of a JSON document, as an example of it: lists and tables keep their first entries.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Items of a list that are kept: two are enough to see that it is a list.
const ITEMS_MAX: usize = 2;

/// Members of an object that are kept: more than any object has that is not a table by id.
const MEMBERS_MAX: usize = 24;

/// Returns `document` with at most 2 items of each array and 24 members of each object, or `None` if it is not JSON.
/// One pass; what is left out is skipped without being stored.
pub(super) fn sample(document: &[u8]) -> Option<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let value = Sample.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

struct Sample;

impl<'de> DeserializeSeed<'de> for Sample {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sample {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < ITEMS_MAX {
            match list.next_element_seed(Sample)? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while members.len() < MEMBERS_MAX {
            match table.next_key::<String>()? {
                Some(key) => members.insert(key, table.next_value_seed(Sample)?),
                None => return Ok(members.into()),
            };
        }
        while table.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_two_items_at_every_depth() {
        for (document, expected) in [
            ("[1,2,3]", "[1,2]"),
            (" [ ] ", "[]"),
            (
                r#"{"a":[{"b":[true,false,null]},{},{}],"c":"x,]\"\\"}"#,
                r#"{"a":[{"b":[true,false]},{}],"c":"x,]\"\\"}"#,
            ),
            ("-1.5", "-1.5"),
            ("[-1,null]", "[-1,null]"),
        ] {
            let sampled = sample(document.as_bytes()).map(|value| value.to_string());
            assert_eq!(sampled.as_deref(), Some(expected), "{document}");
        }
    }

    #[test]
    fn tables_keep_twenty_four_members() {
        for (given, kept) in [(24, 24), (25, 24)] {
            let table: Map<String, Value> = (0..given)
                .map(|key| (key.to_string(), Value::Null))
                .collect();
            let sampled = sample(Value::from(table).to_string().as_bytes());
            let members = sampled.and_then(|value| value.as_object().map(Map::len));
            assert_eq!(members, Some(kept));
        }
    }

    #[test]
    fn documents_that_break_off_have_no_sample() {
        for document in [
            "", "[", "[1,", "{\"a\"", "{\"a\":", "\"a", "{\"a\":1", "1 2",
        ] {
            assert_eq!(sample(document.as_bytes()), None, "{document}");
        }
    }
}
