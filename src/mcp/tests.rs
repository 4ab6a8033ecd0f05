//! What the tests of the protocol share: the sample as a catalog, a server, and messages to send.
//!
//! What the standard asks for is tested here: messages, head fields, statuses and stdio in `server::tests`, the handshake,
//! sessions and batches in its `sessions`, 2026-07-28 in its `stateless`; resources, prompts and completion in
//! `dispatch::tests`; tools, their schemas and refusals in `tools::tests`; the order of all checks by the oracle's
//! `check_mcp_head`; sockets and CORS in `tests/it/mcp.rs`. The official suites and SDKs run in continuous integration.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::*;
use crate::dataset::{self, Files};
use crate::search::index::IndexOptions;
use crate::snapshot::{self, Snapshot};
use crate::wire::date::Timestamp;

/// Long after every date of the sample.
const NOW_UNIX: i64 = 1_900_000_000;

/// The embedded sample.
pub(super) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| catalog_of(dataset::embedded()))
}

pub(super) fn catalog_of(files: Files) -> Catalog {
    let dataset = dataset::decode(files, Timestamp::from_unix(NOW_UNIX))
        .expect("valid files")
        .dataset;
    let settings = snapshot::Settings {
        base_url: "https://reviews.example".into(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
        },
        mentions_min: crate::insights::MENTIONS_MIN,
    };
    Catalog::new(Arc::new(Snapshot::build(dataset, &settings)))
}

pub(super) fn server() -> Server {
    Server::new(Settings {
        base_url: "https://reviews.example".into(),
        allowed_origins: vec!["https://app.example".into()],
        allowed_hosts: vec!["reviewd:8080".into()],
        body_bytes_max: 1 << 20,
    })
}

/// A POST as a client sends it, with nothing but its media type.
pub(super) fn head() -> Head<'static> {
    Head {
        content_type: Field::One(b"application/json"),
        method: b"POST",
        ..Head::default()
    }
}

/// The status and the parsed body of the answer to `body`; `null` where there is no body.
pub(super) fn post(head: &Head<'_>, body: &[u8]) -> (u16, Value) {
    let reply = server().handle(catalog(), head, body);
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
    let reply = server().handle(catalog, &head(), body.as_bytes());
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
