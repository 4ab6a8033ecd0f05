//! Examples made from the data that is served, so that each can be tried as it stands.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::model::Row;
use crate::model::insights::Insights;
use crate::pages::mentioned;
use crate::pages::text::{people, services};
use crate::search::cursor::Cursor;
use crate::search::envelope::{push_search_head, push_since_head, push_tail};
use crate::search::query::{Buffers, parse_query};
use crate::search::run;
use crate::snapshot::Snapshot;

/// Each placeholder of the template with its value; `None` if the data has none. Parsing the insights takes some 50 ms at
/// 100,000 reviews.
pub(super) fn examples(
    snapshot: &Snapshot,
    insights: Option<&Insights>,
    json_ld: &[u8],
) -> HashMap<&'static str, Option<Value>> {
    let newest = (!snapshot.is_empty()).then(|| snapshot.review(Row(0)));
    let review = newest.map(<[u8]>::to_vec).and_then(parsed);
    let known = |key: &str| review.as_ref().and_then(|review| review[key].as_str());
    let id = known("id").unwrap_or("01J00000000000000000000000");
    let day = snapshot.updated_at.date().to_string();
    let date = known("date").unwrap_or(&day);
    let aspects = mentioned(insights).into_iter();
    let aspects: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
    let search = search(snapshot);
    let content = json!([{"type": "text", "text": String::from_utf8_lossy(&search)}]);
    let search = parsed(search);
    let result = json!({"content": content, "structuredContent": search});
    let call = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let derived = snapshot.insights().and_then(|one| sample(&one.body));
    let service = services(snapshot).next().map(|(id, _)| id);
    let text = |value: &str| Some(Value::from(value));
    let hub = json!({"store": "postgres", "usable": true, "delivering": true, "paused": false});
    let ready = json!({
        "ready": true,
        "version": snapshot.version(),
        "updated_at": snapshot.updated_at.to_string(),
        "review_count": snapshot.len(),
        "hub": hub,
        "reasons": [],
    });
    HashMap::from([
        ("{id}", text(id)),
        ("{date}", text(date)),
        ("{service}", service.and_then(text)),
        ("{person}", people(snapshot).next().and_then(text)),
        ("{aspect}", aspects.first().copied().and_then(text)),
        ("{aspects}", (!aspects.is_empty()).then(|| json!(aspects))),
        ("{reviews}", reviews(snapshot)),
        ("{since}", parsed(since(snapshot))),
        ("{review}", review.clone()),
        ("{insights}", derived),
        ("{feed_json}", sample(&snapshot.feed_json.body)),
        ("{linked_data}", sample(json_ld)),
        ("{ready}", Some(ready)),
        ("{call}", Some(call)),
        ("{search}", search),
    ])
}

fn parsed(json: Vec<u8>) -> Option<Value> {
    serde_json::from_slice(&json).ok()
}

/// `/reviews.json` with its first review alone; the others are not looked at, as they may take gigabytes.
fn reviews(snapshot: &Snapshot) -> Option<Value> {
    const LIST: &[u8] = b"\"reviews\":[";
    let body = &snapshot.reviews.body;
    if snapshot.is_empty() {
        return parsed(body.to_vec());
    }
    // Texts before the list cannot hold its key, as their quotation marks are escaped.
    let head = memchr::memmem::find(body, LIST)? + LIST.len();
    let mut document = sample(&[&body[..head], b"]}"].concat())?;
    document["reviews"] = json!([parsed(snapshot.review(Row(0)).to_vec())?]);
    Some(document)
}

/// The response to the example's own query.
fn search(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    let mut buffers = Buffers::default();
    // The parameters of the table's example; a test parses them.
    let Ok(query) = parse_query(b"min_rating=4&limit=5", &mut buffers) else {
        return out;
    };
    let page = run::run(&snapshot.index, &query, &mut run::Scratch::default());
    let cursor = page.next.as_ref().map(Cursor::render).unwrap_or_default();
    push_search_head(&mut out, page.matched, page.rows.len(), cursor.as_bytes());
    if let Some(first) = page.rows.iter().next() {
        out.extend_from_slice(snapshot.review(*first));
    }
    push_tail(&mut out, &[]);
    out
}

fn since(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    let newest = (!snapshot.is_empty()).then(|| snapshot.review(Row(0)));
    push_since_head(&mut out, u32::from(newest.is_some()));
    out.extend_from_slice(newest.unwrap_or_default());
    push_tail(&mut out, &[]);
    out
}

/// Items of a list that are kept: two are enough to see that it is a list.
const ITEMS_MAX: usize = 2;

/// Members of an object that are kept: more than any object has that is not a table by id.
const MEMBERS_MAX: usize = 24;

/// Returns `document` with at most 2 items of each array and 24 members of each object, or `None` if it is not JSON.
/// One pass; what is left out is skipped without being stored.
fn sample(document: &[u8]) -> Option<Value> {
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
