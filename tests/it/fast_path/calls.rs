//! Calls of MCP: answered beneath hyper as hyper's own are, and counted and logged alike, whether head and body come
//! together or not.

use std::io::Read;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};

use super::alike::Pair;
use super::{LAST, plain, start_with};

/// A call with its head; `fields` end with line ends.
pub(super) fn call(fields: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: reviews.example\r\nContent-Length: {}\r\n{fields}\r\n{body}",
        body.len()
    )
}

pub(super) const JSON: &str = "Content-Type: application/json\r\n";

pub(super) fn message(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

/// A message of the newest revision, which tells everything about itself.
fn stateless(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message(method, params)
}

pub(super) fn search(arguments: Value) -> Value {
    json!({"name": "search_reviews", "arguments": arguments})
}

/// Calls whose answers hold nothing that differs between two servers.
fn calls() -> Vec<String> {
    let fewest = search(json!({"limit": 1}));
    let most = search(json!({"limit": 100}));
    let newest = |fields: &str| {
        format!("{JSON}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n{fields}")
    };
    let named = newest("Mcp-Name: search_reviews\r\n");
    let bodies = [
        message("ping", json!({})),
        message("tools/list", json!({})),
        message("tools/call", fewest.clone()),
        message("tools/call", most.clone()),
        message("tools/call", search(json!({"query": "will", "limit": 3}))),
        message("tools/call", search(json!({"min_rating": 9}))),
        message("tools/call", json!({"name": "no_such_tool"})),
        message("resources/list", json!({})),
        message("resources/read", json!({"uri": "reviews://nowhere"})),
        message("prompts/list", json!({})),
        message("no/such", json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!([]).to_string(),
        format!(
            "[{}]",
            [
                message("ping", json!({})),
                message("tools/call", most.clone())
            ]
            .join(",")
        ),
        "{".to_owned(),
        "\u{0}".to_owned(),
        String::new(),
    ];
    let mut all: Vec<String> = bodies.iter().map(|body| call(JSON, body)).collect();
    for fields in [
        "Content-Type: text/plain\r\n",
        "",
        "Content-Type: application/json; charset=utf-8\r\nAccept: text/event-stream\r\n",
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        "Content-Type: application/json\r\nMCP-Protocol-Version: 1999-01-01\r\n",
        "Content-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18\r\n",
        "Content-Type: application/json\r\nMcp-Session-Id: nobody's\r\n",
    ] {
        all.push(call(fields, &message("tools/call", fewest.clone())));
    }
    for (fields, body) in [
        (named.as_str(), stateless("tools/call", fewest.clone())),
        (named.as_str(), stateless("tools/call", most)),
        (newest("").as_str(), stateless("tools/call", fewest)),
        (named.as_str(), stateless("tools/list", json!({}))),
    ] {
        all.push(call(fields, &body));
    }
    all
}

#[test]
fn every_call_is_answered_alike() {
    let pair = Pair::start();
    let before = plain(&pair.fast);
    let calls = calls();
    for call in &calls {
        pair.exchange(format!("{call}{LAST}").as_bytes());
    }
    assert_eq!(
        plain(&pair.fast) - before,
        calls.len() as u64,
        "all of them"
    );
}

#[test]
fn calls_that_are_not_plain_are_answered_alike() {
    let pair = Pair::start();
    let body = message("tools/list", json!({}));
    let page = format!("{JSON}Origin: https://reviews.example\r\n");
    let foreign = format!("{JSON}Origin: https://evil.example\r\n");
    let twice = format!("{JSON}Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n");
    let before = plain(&pair.fast);
    for fields in [page, foreign, twice] {
        pair.exchange(format!("{}{LAST}", call(&fields, &body)).as_bytes());
    }
    let call = call(JSON, &body);
    pair.exchange(format!("{}{LAST}", call.replace("reviews.example", "evil.example")).as_bytes());
    pair.exchange(format!("{}{LAST}", call.replace("/mcp", "/mcp?x")).as_bytes());
    pair.exchange(format!("{}{LAST}", call.replace("/mcp", "/reviews.json")).as_bytes());
    pair.exchange(format!("{}{LAST}", call.replace("HTTP/1.1", "HTTP/1.0")).as_bytes());
    assert_eq!(plain(&pair.fast), before, "none of them");
}

#[test]
fn calls_and_reads_in_one_piece_are_answered_in_their_order() {
    let pair = Pair::start();
    let read = "GET /robots.txt HTTP/1.1\r\nHost: reviews.example\r\n\r\n";
    let one = call(JSON, &message("ping", json!({})));
    let two = call(JSON, &message("tools/call", search(json!({"limit": 100}))));
    let bytes = [read, &one, &two, read, &one, LAST].concat();
    let before = plain(&pair.fast);
    let reply = pair.exchange(bytes.as_bytes());
    assert_eq!(plain(&pair.fast) - before, 5);
    assert_eq!(
        String::from_utf8_lossy(&reply)
            .matches("HTTP/1.1 200")
            .count(),
        6
    );
    // Wherever the bytes are cut, what is cut off is not lost.
    for end in [1, read.len() + 1, read.len() + one.len() - 1] {
        let mut connection = pair.fast.connect();
        connection.write(&bytes.as_bytes()[..end]);
        // Whoever asks afterwards has an answer: the first bytes were looked at, or will be with the others.
        assert_eq!(pair.fast.get("/healthz").status, 200);
        connection.write(&bytes.as_bytes()[end..]);
        assert_eq!(super::undated(connection.rest()), reply, "cut at {end}");
    }
}

#[test]
fn a_session_begins_and_goes_on_beneath_hyper() {
    let server = start_with(|_| {});
    let mut connection = server.connect();
    let begin = message(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    );
    connection.write(
        call(JSON, &begin)
            .replace("reviews.example", "127.0.0.1")
            .as_bytes(),
    );
    let reply = connection.response("POST");
    let session = reply.field("mcp-session-id").expect("a session").to_owned();
    for (session, status) in [(session.as_str(), 200), ("forged", 404)] {
        let fields =
            format!("{JSON}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        let list = call(&fields, &message("tools/list", json!({})));
        connection.write(list.replace("reviews.example", "127.0.0.1").as_bytes());
        assert_eq!(connection.response("POST").status, status);
    }
    assert_eq!(plain(&server), 3);
}

#[test]
fn a_rate_of_calls_leaves_them_to_hyper() {
    let server = start_with(|config| config.limits.rates.mcp = 1);
    let mut connection = server.connect();
    let ping = call(JSON, &message("ping", json!({}))).replace("reviews.example", "127.0.0.1");
    for status in [200, 429] {
        connection.write(ping.as_bytes());
        assert_eq!(connection.response("POST").status, status);
    }
    assert_eq!(plain(&server), 0);
}

#[test]
fn head_and_body_may_come_apart_wherever_a_call_is_cut() {
    let server = start_with(|config| config.threads = NonZeroUsize::MIN);
    // The one thread that serves has read the first part once it has answered somebody who came later.
    let mut other = server.connect();
    let ping = call(JSON, &message("ping", json!({}))).replace("reviews.example", "127.0.0.1");
    let head = ping.find("\r\n\r\n").expect("an end") + 4;
    let mut connection = server.connect();
    connection.write(ping.as_bytes());
    let expected = connection.response("POST").body;
    // A single letter might as well be the beginning of HTTP/2, and is hyper's.
    for cut in (2..ping.len()).step_by(7).chain([head - 1, head, head + 1]) {
        // A connection that a busy machine has kept waiting too long is hyper's; then another has its turn.
        let is_answered_here = (0..50).any(|_| {
            let before = plain(&server);
            let mut connection = server.connect();
            connection.write(&ping.as_bytes()[..cut]);
            assert_eq!(other.get("/healthz").status, 200);
            connection.write(&ping.as_bytes()[cut..]);
            assert!(connection.response("POST").body == expected, "{cut}");
            plain(&server) > before
        });
        assert!(is_answered_here, "cut at {cut}");
    }
}

#[test]
fn a_body_that_does_not_come_is_late_as_it_is_for_hyper() {
    let pair = Pair::start_with(|config| config.limits.body_time = Duration::from_millis(100));
    let ping = call(JSON, &message("ping", json!({})));
    let reply = pair.exchange(&ping.as_bytes()[..ping.len() - 1]);
    assert!(reply.starts_with(b"HTTP/1.1 408 "));
    assert_eq!(pair.fast.running().counters().head_timeouts(), 0);
}

#[test]
fn whoever_waits_to_be_told_to_go_on_is_told() {
    let server = start_with(|_| {});
    let mut connection = server.connect();
    let fields = format!("{JSON}Expect: 100-continue\r\n");
    let ping = call(&fields, &message("ping", json!({}))).replace("reviews.example", "127.0.0.1");
    let (head, body) = ping.split_at(ping.find("\r\n\r\n").expect("an end") + 4);
    // The line that asks for it comes in the second part.
    let (first, second) = head.split_at(head.find("Expect").expect("the field"));
    connection.write(first.as_bytes());
    connection.write(second.as_bytes());
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    connection.stream().read_exact(&mut go_on).expect("a reply");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    connection.write(body.as_bytes());
    assert_eq!(connection.response("POST").status, 200);
    assert_eq!(plain(&server), 0);
}
