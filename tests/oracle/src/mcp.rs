//! Properties of every MCP response, for any request; the tests of `mcp` check which status and code it has.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::lines;
use super::service::{sample, settings, snapshot_settings};
use reviewd::mcp::{Catalog, Field, Form, Head, Reply, Server};
use reviewd::snapshot::Snapshot;

/// Checks the answer to a request, as JSON and as an event: the first lines of `data` are method, Origin, Host,
/// Content-Type, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method and Mcp-Name (`-` if absent, `+` if repeated), and an
/// ignored line; the rest is the body.
///
/// # Panics
/// If an answer is not one that JSON-RPC allows.
pub fn check_mcp(data: &[u8]) {
    let mut fields: Vec<&[u8]> = lines(data).take(9).collect();
    let used: usize = fields.iter().map(|field| field.len() + 1).sum();
    let body = data.get(used..).unwrap_or_default();
    fields.resize(9, b"-");
    let field = |at: usize| match fields[at] {
        b"-" => Field::Absent,
        b"+" => Field::Repeated,
        value => Field::One(value.trim_ascii()),
    };
    let mut head = Head {
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
    check_reply(&head, body, &reply);
    head.form = Form::Event;
    let event = answer(&head, body);
    if event.content_type == Some("text/event-stream") && reply.session.is_none() {
        let framed = [b"event: message\ndata: ", &reply.body[..], b"\n\n"].concat();
        assert!(!reply.body.contains(&b'\n') && event.body == framed);
    }
}

fn answer(head: &Head<'_>, body: &[u8]) -> Reply {
    let (server, catalog) = &*SERVED;
    match server.check_origin(head) {
        Ok(origin) => server.handle(catalog, head, origin, body),
        Err(reply) => reply,
    }
}

/// The server, and the sample that it serves.
static SERVED: LazyLock<(Server, Catalog)> = LazyLock::new(|| {
    let snapshot = Snapshot::build(sample(), &snapshot_settings());
    let catalog = Catalog::new(Arc::new(snapshot));
    (Server::new(settings().mcp), catalog)
});

/// Checks that each response has a result or an error, and, if the body is JSON, the id of a request or null.
fn check_reply(head: &Head<'_>, body: &[u8], reply: &Reply) {
    if reply.body.is_empty() {
        return assert!(matches!(reply.status, 202 | 204), "{head:?}");
    }
    let value: Value = serde_json::from_slice(&reply.body).expect("every body is JSON");
    let sent = serde_json::from_slice::<Value>(body);
    let is_json = sent.is_ok();
    let sent = sent.unwrap_or_default();
    let requests = sent.as_array().cloned().unwrap_or_else(|| vec![sent]);
    let ids = requests.iter().map(|request| request["id"].to_string());
    let ids: BTreeSet<String> = ids.collect();
    for answer in value.as_array().unwrap_or(&vec![value.clone()]) {
        assert_eq!(answer["jsonrpc"], "2.0");
        let has = |key: &str| answer.get(key).is_some();
        assert!(has("result") != has("error"), "{answer}");
        let is_named = answer["id"].is_null() || ids.contains(&answer["id"].to_string());
        assert!(!is_json || is_named, "{answer}");
    }
}
