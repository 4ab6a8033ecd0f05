//! Examples made from the data that is served, so that each can be tried as it stands.

use super::abridge::abridged;
use super::operation::{Body, Document, Entry, Operation, Place, Value};
use crate::model::Row;
use crate::pages::insights::Insights;
use crate::pages::text::{people, push_encoded, services};
use crate::search::cursor::Cursor;
use crate::search::envelope::{push_search_head, push_since_head, push_tail};
use crate::search::query::{Buffers, parse_query};
use crate::search::run;
use crate::snapshot::Snapshot;
use crate::wire::json::{Object, push_escaped};

/// What examples are made of.
#[derive(Debug)]
pub(in crate::pages) struct Examples {
    pub(in crate::pages) base_url: String,
    id: String,
    date: String,
    service: Option<String>,
    person: Option<String>,
    /// Ids of the subjects, the most mentioned first.
    pub(super) aspects: Vec<String>,
    reviews: Option<Vec<u8>>,
    search: Vec<u8>,
    since: Vec<u8>,
    review: Option<Vec<u8>>,
    insights: Option<Vec<u8>>,
    feed_json: Option<Vec<u8>>,
    linked_data: Option<Vec<u8>>,
    ready: Vec<u8>,
    call: Vec<u8>,
}

impl Examples {
    /// Makes them; reads the insights once more, 15 ms of them at 100,000 reviews.
    pub(in crate::pages) fn new(
        snapshot: &Snapshot,
        insights: Option<&Insights>,
        json_ld: &[u8],
    ) -> Examples {
        let newest = (!snapshot.is_empty()).then(|| snapshot.review(Row(0)));
        let (id, date) = newest.and_then(id_and_date).unwrap_or_else(|| {
            let day = snapshot.updated_at.date().to_string();
            ("01J00000000000000000000000".to_owned(), day)
        });
        let search = search(snapshot);
        Examples {
            base_url: snapshot.base_url.clone(),
            service: services(snapshot).next().map(|(id, _)| id.to_owned()),
            person: people(snapshot).next().map(str::to_owned),
            aspects: insights
                .into_iter()
                .flat_map(|insights| &insights.aspects)
                .map(|aspect| aspect.id.clone())
                .collect(),
            reviews: reviews(snapshot),
            since: since(snapshot),
            review: newest.map(<[u8]>::to_vec),
            insights: snapshot
                .insights()
                .and_then(|document| abridged(&document.body)),
            feed_json: abridged(&snapshot.feed_json.body),
            linked_data: abridged(json_ld),
            ready: ready(snapshot),
            call: call(&search),
            search,
            id,
            date,
        }
    }

    /// Returns a value of a parameter.
    pub(in crate::pages) fn value(&self, value: Value) -> Option<&str> {
        match value {
            Value::None => None,
            Value::Fixed(text) => Some(text),
            Value::Id => Some(&self.id),
            Value::Date => Some(&self.date),
            Value::Service => self.service.as_deref(),
            Value::Person => self.person.as_deref(),
            Value::Aspect => self.aspects.first().map(String::as_str),
        }
    }

    /// Returns a body, JSON.
    pub(super) fn document(&self, document: Document) -> Option<&[u8]> {
        match document {
            Document::None => None,
            Document::Fixed(json) => Some(json.as_bytes()),
            Document::Reviews => self.reviews.as_deref(),
            Document::Search => Some(&self.search),
            Document::Since => Some(&self.since),
            Document::Review => self.review.as_deref(),
            Document::Insights => self.insights.as_deref(),
            Document::FeedJson => self.feed_json.as_deref(),
            Document::LinkedData => self.linked_data.as_deref(),
            Document::Ready => Some(&self.ready),
            Document::Call => Some(&self.call),
        }
    }

    /// Returns path and query of the example of an operation.
    pub(in crate::pages) fn target(&self, entry: &Entry, operation: &Operation) -> String {
        let mut target = entry.parent.to_owned();
        match entry.has_parameter() {
            false => target.push_str(entry.last),
            true => {
                let in_path = operation
                    .parameters
                    .iter()
                    .filter(|parameter| parameter.place == Place::Path);
                for parameter in in_path {
                    push_encoded(
                        &mut target,
                        self.value(parameter.example).unwrap_or_default(),
                    );
                }
            }
        }
        let shown = operation
            .parameters
            .iter()
            .filter(|parameter| parameter.place == Place::Query && parameter.is_shown);
        for (place, parameter) in shown.enumerate() {
            target.push(if place == 0 { '?' } else { '&' });
            target.push_str(parameter.name);
            target.push('=');
            push_encoded(
                &mut target,
                self.value(parameter.example).unwrap_or_default(),
            );
        }
        target
    }

    /// Returns the fields of the hub's form, filled in.
    pub(in crate::pages) fn form(&self) -> [(&'static str, String); 4] {
        [
            ("hub.mode", "subscribe".to_owned()),
            ("hub.topic", format!("{}/api/feed.json", self.base_url)),
            (
                "hub.callback",
                "https://subscriber.example/reviews".to_owned(),
            ),
            ("hub.secret", "change-me".to_owned()),
        ]
    }

    /// Returns the first message of a body, if it has messages.
    pub(in crate::pages) fn message(operation: &Operation) -> Option<&'static str> {
        match operation.body {
            Body::Messages(messages) => messages.first().map(|(_, json)| *json),
            Body::None | Body::Form => None,
        }
    }
}

fn id_and_date(review: &[u8]) -> Option<(String, String)> {
    let review: serde_json::Value = serde_json::from_slice(review).ok()?;
    let text = |key: &str| Some(review.get(key)?.as_str()?.to_owned());
    Some((text("id")?, text("date")?))
}

/// The document up to its first review, without looking at the others: it may have megabytes.
fn reviews(snapshot: &Snapshot) -> Option<Vec<u8>> {
    const LIST: &[u8] = b"\"reviews\":[";
    let body = &snapshot.reviews.body;
    if snapshot.is_empty() {
        return Some(body.to_vec());
    }
    let first = snapshot.review(Row(0));
    // Texts before the list cannot hold its key, as their quotation marks are escaped.
    let head = memchr::memmem::find(body, LIST)? + LIST.len();
    let mut out = abridged_head(&body[..head])?;
    out.extend_from_slice(first);
    out.extend_from_slice(b"]}");
    Some(out)
}

/// The head of the document, which ends within its last list, with the lists before it cut.
fn abridged_head(head: &[u8]) -> Option<Vec<u8>> {
    let closed = [head, b"]}"].concat();
    let mut out = abridged(&closed)?;
    out.truncate(out.len().checked_sub(2)?);
    Some(out)
}

/// What the example's own query finds.
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

/// What a call of the search tool is answered with.
fn call(search: &[u8]) -> Vec<u8> {
    let mut out =
        br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""#.to_vec();
    push_escaped(&mut out, search);
    out.extend_from_slice(b"\"}],\"structuredContent\":");
    out.extend_from_slice(search);
    out.extend_from_slice(b"}}");
    out
}
