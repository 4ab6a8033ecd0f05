//! What is sent, and the status and code that come back: messages, head fields, stdio.

mod sessions;
mod stateless;

use serde_json::{Value, json};

use crate::mcp::protocol::Revision;
use crate::mcp::tests::{catalog, head, meta, post, server};
use crate::mcp::{Field, Form, Head};

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or(0)
}

#[test]
fn bodies_that_are_no_message_get_400_and_their_code() {
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    let wide = format!("[{}0]", "0,".repeat(20_000));
    for body in [
        &b""[..],
        b"{",
        b"not json",
        b"\xef\xbb\xbf{}",
        b"\xff",
        &deep,
    ] {
        let (status, answer) = post(&head(), body);
        assert_eq!((status, code(&answer)), (400, -32_700), "{answer}");
        assert!(answer.get("id").is_none());
    }
    for body in ["{}", "1", "null", "\"ping\"", &wide] {
        let (status, answer) = post(&head(), body.as_bytes());
        assert_eq!((status, code(&answer)), (400, -32_600), "{answer}");
        assert!(answer.get("id").is_none());
    }
    let long_id = format!("\"{}\"", "x".repeat(513));
    let ids = [
        "null",
        "1.5",
        "1e3",
        "true",
        "[]",
        "{}",
        "99999999999999999999",
        "1,\"id\":2",
        &long_id,
    ];
    let without_id = ids.map(|id| format!(r#""jsonrpc":"2.0","id":{id},"method":"ping""#));
    let with_id = [
        r#""jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list""#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1,"x":2}"#,
        r#""jsonrpc":"1.0","id":7,"method":"ping""#,
        r#""jsonrpc":2.0,"id":7,"method":"ping""#,
        r#""id":7,"method":"ping""#,
        r#""jsonrpc":"2.0","id":7,"method":7"#,
        r#""jsonrpc":"2.0","id":7"#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":"x""#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":[]"#,
    ];
    let seven = json!(7);
    let without_id = without_id.iter().map(|members| (&**members, None));
    let with_id = with_id.into_iter().map(|members| (members, Some(&seven)));
    // Errors name the request wherever its id could be read, and have no id at all elsewhere.
    for (members, id) in without_id.chain(with_id) {
        let (status, answer) = post(&head(), format!("{{{members}}}").as_bytes());
        let expected = if members.ends_with("[]") {
            -32_602
        } else {
            -32_600
        };
        assert_eq!(
            (status, code(&answer), answer.get("id")),
            (400, expected, id),
            "{members}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
    }
}

#[test]
fn errors_of_the_head_name_the_request_where_it_was_read() {
    let field = |text: &'static str| Field::One(text.as_bytes());
    for (refused, status, id) in [
        (
            Head {
                protocol_version: field("1999-01-01"),
                ..head()
            },
            400,
            Some(&json!(1)),
        ),
        (
            Head {
                session: field("unknown"),
                ..head()
            },
            404,
            Some(&json!(1)),
        ),
        (
            Head {
                protocol_version: field("2026-07-28"),
                ..head()
            },
            400,
            Some(&json!(1)),
        ),
        (
            Head {
                content_type: Field::Absent,
                ..head()
            },
            415,
            None,
        ),
        (
            Head {
                content_type: Field::Repeated,
                ..head()
            },
            415,
            None,
        ),
        (
            Head {
                content_type: field("text/plain"),
                ..head()
            },
            415,
            None,
        ),
        (
            Head {
                content_type: field("application/json-rpc"),
                ..head()
            },
            415,
            None,
        ),
        (
            Head {
                host: field("evil.example"),
                ..head()
            },
            403,
            None,
        ),
        (
            Head {
                origin: field("https://evil.example"),
                ..head()
            },
            403,
            None,
        ),
    ] {
        let (found, answer) = post(&refused, PING);
        assert_eq!((found, answer.get("id")), (status, id), "{refused:?}");
        assert!(code(&answer) < 0);
    }
    for value in ["Application/JSON; charset=utf-8", "application/json;"] {
        assert_eq!(
            post(
                &Head {
                    content_type: field(value),
                    ..head()
                },
                PING
            )
            .0,
            200
        );
    }
}

#[test]
fn ids_come_back_as_they_were() {
    for id in [
        json!(0),
        json!(-5),
        json!(u64::MAX),
        json!(""),
        json!("a\"b\u{1}😀"),
        json!("x".repeat(512)),
    ] {
        let body =
            json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": null}).to_string();
        let expected = json!({"jsonrpc": "2.0", "id": id, "result": {}});
        assert_eq!(post(&head(), body.as_bytes()), (200, expected));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "nothing"}).to_string();
        assert_eq!(post(&head(), body.as_bytes()).1["id"], id);
    }
}

#[test]
fn a_body_over_the_limit_is_413_and_one_at_the_limit_is_read() {
    let padded = |bytes: usize| {
        let mut body = PING.to_vec();
        body.resize(bytes, b' ');
        post(&head(), &body)
    };
    assert_eq!(padded(1 << 20).0, 200);
    let (status, answer) = padded((1 << 20) + 1);
    assert_eq!((status, code(&answer)), (413, -32_600));
}

#[test]
fn a_client_that_accepts_only_events_gets_one_event() {
    let head = Head {
        form: Form::Event,
        ..head()
    };
    let reply = server().handle(catalog(), &head, PING);
    assert_eq!(reply.content_type, Some("text/event-stream"));
    let expected = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    assert_eq!(reply.body, expected.as_bytes());
    let refused = server().handle(catalog(), &head, b"{");
    assert_eq!(
        (refused.status, refused.content_type),
        (400, Some("application/json"))
    );
}

#[test]
fn other_methods_get_405_in_json_options_204_and_foreign_pages_403() {
    let reply = |method: &'static str, origin| {
        let head = Head {
            method: method.as_bytes(),
            origin,
            ..Head::default()
        };
        server().handle(catalog(), &head, b"")
    };
    for method in ["GET", "HEAD", "PUT", "PATCH", "TRACE", "post"] {
        let reply = reply(method, Field::Absent);
        assert_eq!(
            (reply.status, reply.allow),
            (405, Some("POST, DELETE, OPTIONS")),
            "{method}"
        );
        let answer: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(
            (code(&answer), reply.content_type),
            (-32_601, Some("application/json"))
        );
    }
    let preflight = reply("OPTIONS", Field::Absent);
    assert_eq!(
        (
            preflight.status,
            preflight.is_preflight,
            preflight.body.is_empty()
        ),
        (204, true, true)
    );
    for method in ["GET", "DELETE", "OPTIONS"] {
        assert_eq!(
            reply(method, Field::One(b"https://evil.example")).status,
            403,
            "{method}"
        );
    }
}

#[test]
fn a_line_of_stdio_needs_no_headers_and_is_a_batch_where_the_handshake_allows_it() {
    let mut revision = Revision::ASSUMED;
    let mut line = |body: Value| {
        let body = body.to_string();
        let answer = server().answer_line(catalog(), body.as_bytes(), &mut revision);
        answer.map(|answer| serde_json::from_slice::<Value>(&answer).expect("JSON"))
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let quiet = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for (version, has_batches) in [
        ("", true),
        ("2025-03-26", true),
        ("2025-06-18", false),
        ("2025-03-26", true),
    ] {
        if !version.is_empty() {
            let begun = line(
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}}),
            );
            assert_eq!(
                begun.expect("an answer")["result"]["protocolVersion"],
                version
            );
        }
        let answer = line(json!([ping, quiet, ping])).expect("an answer");
        assert_eq!(answer.as_array().map(Vec::len), has_batches.then_some(2));
        assert_eq!(code(&answer), if has_batches { 0 } else { -32_600 });
    }
    assert_eq!((line(quiet.clone()), line(json!([quiet]))), (None, None));
    let stateless = |method: &str, meta: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
    let discovered = line(stateless("server/discover", meta())).expect("an answer");
    assert_eq!(discovered["result"]["resultType"], "complete");
    let incomplete = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    for (body, expected) in [
        (json!([]), -32_600),
        (stateless("tools/list", incomplete), -32_602),
        (json!("x"), -32_600),
    ] {
        assert_eq!(code(&line(body).expect("an answer")), expected);
    }
}
