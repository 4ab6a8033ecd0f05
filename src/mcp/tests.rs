//! What the tests of the protocol share: the sample as a catalog, a server, and messages to send.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::session::KEY_BYTES;
use super::*;
use crate::dataset::{self, Files};
use crate::search::index::IndexOptions;
use crate::snapshot::{self, Snapshot};
use crate::wire::date::Timestamp;

/// Long after every date of the sample, and a time for sessions.
pub(super) const NOW: i64 = 1_900_000_000;

pub(super) fn now() -> Timestamp {
    Timestamp::from_unix(NOW)
}

/// The embedded sample.
pub(super) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| catalog_of(dataset::embedded()))
}

/// The directory that `REVIEWD_CORPUS` names, if it does.
pub(super) fn corpus() -> Option<&'static Catalog> {
    static CATALOG: OnceLock<Option<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(read_corpus).as_ref()
}

fn read_corpus() -> Option<Catalog> {
    let directory = std::env::var_os("REVIEWD_CORPUS")?;
    let read = |name: &str| std::fs::read(Path::new(&directory).join(name)).ok();
    Some(catalog_of(Files {
        reviews: read("reviews.json")?,
        taxonomy: read("taxonomy.json"),
        editorial: read("editorial.json"),
        insights: read("insights.json"),
        ..Files::default()
    }))
}

pub(super) fn catalog_of(files: Files) -> Catalog {
    let dataset = dataset::decode(files, now()).expect("valid files").dataset;
    let settings = snapshot::Settings {
        base_url: "https://reviews.example".into(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
        },
        mentions_min: crate::insights::MENTIONS_MIN,
    };
    Catalog::new(Arc::new(Snapshot::build(dataset, &settings)), false)
}

pub(super) fn server() -> Server {
    Server::new(Settings {
        base_url: "https://reviews.example".into(),
        allowed_origins: vec!["https://app.example".into()],
        session_key: Key::new([7; KEY_BYTES]),
        body_bytes_max: 1 << 20,
    })
}

/// A POST as a client sends it, with nothing but its media type.
pub(super) fn head() -> Head<'static> {
    Head {
        content_type: Field::One(b"application/json"),
        ..Head::bare(b"POST")
    }
}

/// The status and the parsed body of the answer to `body`; `null` where there is no body.
pub(super) fn post(head: &Head<'_>, body: &[u8]) -> (u16, Value) {
    let reply = server().handle(catalog(), head, body, now());
    let body = match reply.body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&reply.body).expect("the body is JSON"),
    };
    (reply.status, body)
}

/// The result of a request of the handshake era.
pub(super) fn result(catalog: &Catalog, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = request.to_string();
    let reply = server().handle(catalog, &head(), body.as_bytes(), now());
    let mut answer: Value = serde_json::from_slice(&reply.body).expect("the body is JSON");
    assert_eq!((reply.status, &answer["id"]), (200, &json!(1)), "{answer}");
    answer["result"].take()
}

/// The result of calling a tool.
pub(super) fn call(catalog: &Catalog, tool: &str, arguments: Value) -> Value {
    result(
        catalog,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// `_meta` of a stateless request.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
