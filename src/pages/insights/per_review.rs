//! Which reviews mention which aspect, read from `per_review` without keeping the rest of it: at 100,000 reviews it is
//! most of the document.

use std::collections::HashMap;
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::model::Row;
use crate::snapshot::Snapshot;

/// Reads the whole table, and adds each review to the aspects that it mentions.
pub(super) struct ByAspect<'p> {
    pub(super) snapshot: &'p Snapshot,
    pub(super) reviews: &'p mut HashMap<String, Vec<Row>>,
}

impl<'de> DeserializeSeed<'de> for ByAspect<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ByAspect<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(id) = map.next_key::<String>()? {
            let aspects = map.next_value_seed(Aspects)?;
            let Some(row) = self.snapshot.index.row_of_id(&id) else {
                continue;
            };
            for aspect in aspects.iter().filter_map(Value::as_str) {
                match self.reviews.get_mut(aspect) {
                    Some(rows) => rows.push(row),
                    None => {
                        self.reviews.insert(aspect.to_owned(), vec![row]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads one review's aspects.
struct Aspects;

impl<'de> DeserializeSeed<'de> for Aspects {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Aspects {
    type Value = Vec<Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Value>, A::Error> {
        let mut aspects = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "aspects" {
                aspects = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(aspects)
    }
}
