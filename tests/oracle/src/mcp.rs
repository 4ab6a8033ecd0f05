//! Properties of every MCP response, for any request; the tests of `mcp` check which status and code it has.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem;
use serde_json::Value;

use super::lines;
use super::service::{sample, settings, snapshot};
use reviewd::mcp::{Catalog, Head, McpReply, ReplyFormat, Server, SingleField};

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
        b"-" => SingleField::Absent,
        b"+" => SingleField::Repeated,
        value => SingleField::One(value.trim_ascii()),
    };
    let mut head = Head {
        method: fields[0],
        origin: field(1),
        host: field(2),
        form: ReplyFormat::Json,
        content_type: field(3),
        protocol_version: field(4),
        session: field(5),
        mcp_method: field(6),
        mcp_name: field(7),
    };
    let reply = answer(&head, body);
    check_reply(&head, body, &reply);
    head.form = ReplyFormat::Event;
    let event = answer(&head, body);
    if event.content_type == Some("text/event-stream") && reply.session.is_none() {
        let framed = [b"event: message\ndata: ", &reply.body[..], b"\n\n"].concat();
        assert!(!reply.body.contains(&b'\n'));
        assert_eq!(event.body, framed);
    }
}

fn answer(head: &Head<'_>, body: &[u8]) -> McpReply {
    let (server, catalog) = &*SERVED;
    match server.check_origin(head) {
        Ok(origin) => server.handle(catalog, head, origin, body),
        Err(reply) => reply,
    }
}

/// The server, and the sample that it serves.
static SERVED: LazyLock<(Server, Catalog)> = LazyLock::new(|| {
    let catalog = Catalog::new(snapshot(sample()));
    (Server::new(settings().mcp), catalog)
});

/// Checks that each message that expects a response has one, with a result or an error, and, if the body is JSON, with
/// the id of a message or null.
fn check_reply(head: &Head<'_>, body: &[u8], reply: &McpReply) {
    let sent = serde_json::from_slice::<Value>(body);
    let is_json = sent.is_ok();
    // serde_json gives a key of its own, which may be escaped, a meaning that it does not have for the server.
    let is_plain = ["serde_json", "\\u"].map(|text| memmem::find(body, text.as_bytes()));
    let is_counted = is_json && is_plain == [None; 2];
    let sent = sent.unwrap_or_default();
    let is_batch = sent.is_array();
    let messages = sent.as_array().cloned().unwrap_or_else(|| vec![sent]);
    let expecting = messages
        .iter()
        .filter(|message| is_counted && expects_response(message));
    let expecting = expecting.count();
    if reply.body.is_empty() {
        let is_complete = reply.status == 204 || (reply.status == 202 && expecting == 0);
        return assert!(is_complete, "{head:?}");
    }
    let value: Value = serde_json::from_slice(&reply.body).expect("every body is JSON");
    let counts = expecting..=messages.len();
    match &value {
        _ if !is_counted => {}
        Value::Array(answers) => {
            assert!(is_batch, "{value}");
            assert!(counts.contains(&answers.len()), "{value}");
        }
        _ => assert!(!is_batch || reply.status >= 400, "{value}"),
    }
    let ids: BTreeSet<String> = messages.iter().map(|one| one["id"].to_string()).collect();
    for answer in value.as_array().unwrap_or(&vec![value.clone()]) {
        assert_eq!(answer["jsonrpc"], "2.0");
        let has = |key: &str| answer.get(key).is_some();
        assert!(has("result") != has("error"), "{answer}");
        let is_named = answer["id"].is_null() || ids.contains(&answer["id"].to_string());
        assert!(!is_json || is_named, "{answer}");
    }
}

/// Tells whether a message expects a response: everything except a valid notification or response.
fn expects_response(message: &Value) -> bool {
    let has = |key: &str| message.get(key).is_some();
    let id = &message["id"];
    let is_notification = !has("id")
        && message["method"].is_string()
        && (message["params"].is_null() || message["params"].is_object());
    let is_response = (!has("id") || id.is_string() || id.is_i64() || id.is_u64())
        && !has("method")
        && (has("result") || has("error"));
    message["jsonrpc"] != "2.0" || !(is_notification || is_response)
}
