//! The reference implementation of the protocol's front: JSON by serde_json's own values, and the ladder of checks written out once more.

mod ladder;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use self::ladder::reference;
use super::lines;
use reviewd::dataset;
use reviewd::mcp::json::{self, JsonError};
use reviewd::mcp::{Catalog, Field, Form, Head, Reply, Server, Settings};
use reviewd::search::index::IndexOptions;
use reviewd::snapshot::{self, Snapshot};
use reviewd::wire::date::Timestamp;

/// Checks the answer to `data` as the body of a POST without any header but its media type.
///
/// # Panics
/// If reader and reference differ, or if an answer is not one that JSON-RPC allows.
pub fn check_jsonrpc(data: &[u8]) {
    check_values(data);
    let head = Head {
        content_type: Field::One(b"application/json"),
        method: b"POST",
        ..Head::default()
    };
    let reply = answer(&head, data);
    assert_eq!((reply.status, code(&reply)), reference(&head, data));
    check_shape(&reply, data);
    check_events(head, data, &reply);
}

/// Checks the ladder: the first nine lines of `data` are method, Origin, Host, Content-Type, MCP-Protocol-Version,
/// Mcp-Session-Id, Mcp-Method and Mcp-Name (`-` for none, `+` for two) and an unused one; the rest is the body.
///
/// # Panics
/// If status or code are not those of the reference.
pub fn check_mcp_head(data: &[u8]) {
    let mut fields: Vec<&[u8]> = lines(data).take(9).collect();
    let used: usize = fields.iter().map(|field| field.len() + 1).sum();
    let body = data.get(used..).unwrap_or_default();
    fields.resize(9, b"-");
    let field = |at: usize| match fields[at] {
        b"-" => Field::Absent,
        b"+" => Field::Repeated,
        value => Field::One(value.trim_ascii()),
    };
    let head = Head {
        method: fields[0],
        origin: field(1),
        host: field(2),
        form: Form::Json,
        content_type: field(3),
        protocol_version: field(4),
        session: field(5),
        mcp_method: field(6),
        mcp_name: field(7),
    };
    let reply = answer(&head, body);
    assert_eq!(
        (reply.status, code(&reply)),
        reference(&head, body),
        "{head:?}"
    );
    check_shape(&reply, body);
}

fn answer(head: &Head<'_>, body: &[u8]) -> Reply {
    static SERVED: OnceLock<(Server, Catalog)> = OnceLock::new();
    let (server, catalog) = SERVED.get_or_init(served);
    server.handle(catalog, head, body)
}

fn served() -> (Server, Catalog) {
    let now = Timestamp::from_unix(1_900_000_000);
    let decoded = dataset::decode(dataset::embedded(), now).expect("the sample is valid");
    let settings = snapshot::Settings {
        base_url: "https://reviews.example".into(),
        index: IndexOptions {
            memory_bytes: 1 << 20,
            threads: NonZeroUsize::MIN,
        },
        mentions_min: reviewd::insights::MENTIONS_MIN,
    };
    let server = Server::new(Settings {
        base_url: "https://reviews.example".into(),
        allowed_origins: Vec::new(),
        allowed_hosts: Vec::new(),
        body_bytes_max: 1 << 20,
    });
    let snapshot = Snapshot::build(decoded.dataset, &settings);
    (server, Catalog::new(Arc::new(snapshot)))
}

/// The code of an error, 0 where the answer is none, or a list.
fn code(reply: &Reply) -> i64 {
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    value["error"]["code"].as_i64().unwrap_or(0)
}

/// Our reader and serde_json's agree on what is JSON and what it says; what only ours refuses has a key twice or
/// is over a bound.
fn check_values(data: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(data);
    match (json::parse(data), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Ok(ours), Err(error)) => panic!("{ours:?} is not JSON: {error}"),
        (Err(JsonError::Syntax(reason)), Ok(theirs)) => panic!("{theirs} is JSON: {reason}"),
        (Err(JsonError::Refused(reason)), Ok(theirs)) => {
            let is_over = values(&theirs) > 16_384;
            assert!(
                is_over || colons(data) > members(&theirs),
                "{theirs}: {reason}"
            );
        }
        (Err(_), Err(_)) => {}
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(entries) => entries.values().collect(),
        _ => Vec::new(),
    }
}

fn values(value: &Value) -> usize {
    1 + children(value).into_iter().map(values).sum::<usize>()
}

fn members(value: &Value) -> usize {
    let own = value.as_object().map_or(0, serde_json::Map::len);
    own + children(value).into_iter().map(members).sum::<usize>()
}

/// Colons outside strings: the members of a text that is JSON, repeated keys counted each time.
fn colons(data: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in data {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// One answer for each request, each with its id and either a result or an error. Where the body is no JSON, an error
/// may name whatever id stands in it.
fn check_shape(reply: &Reply, body: &[u8]) {
    if reply.body.is_empty() {
        assert!(matches!(reply.status, 202 | 204), "{}", reply.status);
        return;
    }
    let value: Value = serde_json::from_slice(&reply.body).expect("every body is JSON");
    let answers: Vec<&Value> = match &value {
        Value::Array(answers) => answers.iter().collect(),
        single => vec![single],
    };
    let sent = serde_json::from_slice::<Value>(body);
    let is_json = sent.is_ok();
    let sent = sent.unwrap_or_default();
    let requests = sent.as_array().cloned().unwrap_or_else(|| vec![sent]);
    let ids: BTreeSet<String> = requests
        .iter()
        .map(|request| request["id"].to_string())
        .collect();
    for answer in answers {
        assert_eq!(answer["jsonrpc"], "2.0");
        let has = |key: &str| answer.get(key).is_some();
        assert!(has("result") != has("error"), "{answer}");
        assert!(
            !is_json || answer["id"].is_null() || ids.contains(&answer["id"].to_string()),
            "{answer}"
        );
    }
}

/// A client that reads events gets the same JSON in one.
fn check_events(head: Head<'_>, data: &[u8], json: &Reply) {
    let reply = answer(
        &Head {
            form: Form::Event,
            ..head
        },
        data,
    );
    if reply.content_type == Some("text/event-stream") && json.session.is_none() {
        let text = String::from_utf8(reply.body).expect("events are UTF-8");
        let data = text
            .strip_prefix("event: message\ndata: ")
            .expect("one event");
        let data = data.strip_suffix("\n\n").expect("an end");
        assert!(!data.contains('\n') && data.as_bytes() == json.body);
    }
}
