//! Shared by the tests of the protocol: the sample as a catalog, a server, and messages to send.
//!
//! The requirements of the standard are tested in: `server::tests` (messages, head fields, the handshake, sessions,
//! batches, 2026-07-28), `dispatch::tests` (resources, prompts, completion), `tools::tests` (tools, schemas, refusals)
//! and `tests/it/mcp.rs` (sockets, CORS, stdio). The official suites and SDKs run in continuous integration.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::*;
use crate::dataset;
use crate::model::Review;
use crate::snapshot::Snapshot;
use crate::snapshot::tests::settings;

/// The embedded sample.
pub(super) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| catalog_of(|_| {}))
}

/// The sample, with each review changed by `change`.
pub(super) fn catalog_of(mut change: impl FnMut(&mut Review)) -> Catalog {
    let mut dataset = dataset::sample();
    for review in &mut dataset.reviews {
        change(review);
    }
    Catalog::new(Arc::new(Snapshot::build(dataset, &settings())))
}

/// A server with one further origin and one further host.
pub(super) fn server() -> Server {
    Server::new(McpSettings {
        base_url: "https://reviews.example".into(),
        allowed_origins: vec!["https://app.example".into()],
        allowed_hosts: vec!["reviewd:8080".into()],
        body_bytes_max: 1 << 20,
    })
}

/// The head of a POST with no field except the media type.
pub(super) fn head() -> Head<'static> {
    Head {
        content_type: SingleField::One(b"application/json"),
        method: b"POST",
        ..Head::default()
    }
}

/// The same head with other fields, named as in [`Head`].
pub(super) fn with(fields: &[(&str, &'static str)]) -> Head<'static> {
    let mut head = head();
    for (name, value) in fields {
        match *name {
            "method" => head.method = value.as_bytes(),
            "origin" => head.origin = field(value),
            "host" => head.host = field(value),
            "content_type" => head.content_type = field(value),
            "protocol_version" => head.protocol_version = field(value),
            "session" => head.session = field(value),
            "mcp_method" => head.mcp_method = field(value),
            "mcp_name" => head.mcp_name = field(value),
            other => panic!("no field {other}"),
        }
    }
    head
}

/// A head field: `-` for none, `+` for two.
pub(super) fn field(text: &'static str) -> SingleField<'static> {
    match text {
        "-" => SingleField::Absent,
        "+" => SingleField::Repeated,
        text => SingleField::One(text.as_bytes()),
    }
}

/// The reply to a request, whatever its origin and host.
pub(super) fn handle(server: &Server, head: &Head<'_>, body: &[u8]) -> McpReply {
    match server.check_origin(head) {
        Ok(origin) => server.handle(catalog(), head, origin, body),
        Err(reply) => reply,
    }
}

/// The status and the parsed body of the response to `body`; `null` if there is no body.
pub(super) fn post(head: &Head<'_>, body: impl AsRef<[u8]>) -> (u16, Value) {
    let reply = handle(&server(), head, body.as_ref());
    if reply.body.is_empty() {
        return (reply.status, Value::Null);
    }
    let body = serde_json::from_slice(&reply.body).expect("the body is JSON");
    (reply.status, body)
}

/// The code of an error, 0 if there is none.
pub(super) fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or(0)
}

/// A request with the id 1.
pub(super) fn request(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// The response to a request of the handshake era.
pub(super) fn ask(method: &str, params: Value) -> Value {
    let (status, answer) = post(&head(), request(method, params));
    assert_eq!((status, &answer["id"]), (200, &json!(1)), "{answer}");
    answer
}

/// The result of calling a tool.
pub(super) fn call(tool: &str, arguments: Value) -> Value {
    ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
}

/// The `structuredContent` of calling a tool.
pub(super) fn answer(tool: &str, arguments: Value) -> Value {
    call(tool, arguments)["structuredContent"].take()
}

/// `_meta` of a stateless request.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
