//! Examples made from the data that is served, so that each can be tried as it stands.

use serde_json::{Value, json};

use super::json_sample::sample;
use crate::model::Row;
use crate::pages::insights::Insights;
use crate::pages::text::{people, services};
use crate::search::cursor::Cursor;
use crate::search::envelope::{push_search_head, push_since_head, push_tail};
use crate::search::query::{Buffers, parse_query};
use crate::search::run;
use crate::snapshot::Snapshot;
use crate::wire::json::Object;

/// The values of the template's placeholders.
pub(super) struct Examples {
    /// Each placeholder with its value; `None` if the data has none.
    values: [(&'static str, Option<Value>); 15],
}

impl Examples {
    /// Makes all examples; parsing the insights takes some 50 ms at 100,000 reviews.
    pub(super) fn new(
        snapshot: &Snapshot,
        insights: Option<&Insights>,
        json_ld: &[u8],
    ) -> Examples {
        let newest = (!snapshot.is_empty()).then(|| snapshot.review(Row(0)));
        let (id, date) = newest.and_then(id_and_date).unwrap_or_else(|| {
            let day = snapshot.updated_at.date().to_string();
            ("01J00000000000000000000000".to_owned(), day)
        });
        let aspects = insights.into_iter().flat_map(|insights| &insights.aspects);
        let aspects: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
        let search = search(snapshot);
        let derived = snapshot.insights();
        let text = |value: &str| Some(Value::from(value));
        Examples {
            values: [
                ("{id}", text(&id)),
                ("{date}", text(&date)),
                (
                    "{service}",
                    services(snapshot).next().and_then(|(id, _)| text(id)),
                ),
                ("{person}", people(snapshot).next().and_then(text)),
                ("{aspect}", aspects.first().copied().and_then(text)),
                ("{aspects}", (!aspects.is_empty()).then(|| json!(aspects))),
                ("{reviews}", reviews(snapshot)),
                ("{since}", parsed(since(snapshot))),
                ("{review}", newest.map(<[u8]>::to_vec).and_then(parsed)),
                (
                    "{insights}",
                    derived.and_then(|document| sample(&document.body)),
                ),
                ("{feed_json}", sample(&snapshot.feed_json.body)),
                ("{linked_data}", sample(json_ld)),
                ("{ready}", parsed(ready(snapshot))),
                ("{call}", Some(call(&search))),
                ("{search}", parsed(search)),
            ],
        }
    }

    /// Returns the value of `placeholder`, or `None` if it is not a placeholder.
    pub(super) fn get(&self, placeholder: &str) -> Option<Option<&Value>> {
        let mut values = self.values.iter();
        let found = values.find(|(name, _)| *name == placeholder);
        found.map(|(_, value)| value.as_ref())
    }
}

fn parsed(json: Vec<u8>) -> Option<Value> {
    serde_json::from_slice(&json).ok()
}

fn id_and_date(review: &[u8]) -> Option<(String, String)> {
    let review: serde_json::Value = serde_json::from_slice(review).ok()?;
    let text = |key: &str| Some(review.get(key)?.as_str()?.to_owned());
    Some((text("id")?, text("date")?))
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

fn ready(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object
        .bool("ready", true)
        .string("version", snapshot.version())
        .string("updated_at", &snapshot.updated_at.to_string())
        .u64("review_count", u64::from(snapshot.len()))
        .raw(
            "hub",
            br#"{"store":"postgres","usable":true,"delivering":true,"paused":false}"#,
        )
        .raw("reasons", b"[]");
    object.end();
    out
}

/// The response to a call of the search tool.
fn call(search: &[u8]) -> Value {
    let text = String::from_utf8_lossy(search);
    let structured: Value = serde_json::from_slice(search).unwrap_or_default();
    let result =
        json!({"content": [{"type": "text", "text": text}], "structuredContent": structured});
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}
