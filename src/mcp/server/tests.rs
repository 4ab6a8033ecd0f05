//! Each case of the edge matrix: what is sent, and the status and code that come back.

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
    let huge_id = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#,
        "x".repeat(513)
    );
    for (body, expected) in [
        (b"".as_slice(), -32_700),
        (b"{", -32_700),
        (b"not json", -32_700),
        (b"\xef\xbb\xbf{}", -32_700),
        (b"\xff", -32_700),
        (&deep, -32_700),
        (wide.as_bytes(), -32_600),
        (b"{}", -32_600),
        (b"1", -32_600),
        (b"null", -32_600),
        (br#""ping""#, -32_600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32_600),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            -32_600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            -32_600,
        ),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32_600),
        (br#"{"id":1,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32_600),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            -32_600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            -32_602,
        ),
        (huge_id.as_bytes(), -32_600),
    ] {
        let (status, answer) = post(&head(), body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
        assert_eq!((status, code(&answer)), (400, expected), "{shown}");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(
            !answer["id"].is_null() || answer.get("id").is_none(),
            "{shown}"
        );
    }
}

#[test]
fn errors_name_the_request_wherever_its_id_could_be_read() {
    let twice = br#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1,"x":2}}"#;
    let ping = |version: Option<&'static str>, session: Option<&'static str>| {
        let field = |text: Option<&'static str>| {
            text.map_or(Field::Absent, |text| Field::One(text.as_bytes()))
        };
        post(
            &Head {
                protocol_version: field(version),
                session: field(session),
                ..head()
            },
            PING,
        )
    };
    for ((status, answer), expected) in [
        (post(&head(), twice), (400, json!("a"))),
        (
            post(&head(), br#"{"id":7,"method":"ping"}"#),
            (400, json!(7)),
        ),
        (ping(Some("1999-01-01"), None), (400, json!(1))),
        (ping(None, Some("unknown")), (404, json!(1))),
        (ping(Some("2026-07-28"), None), (400, json!(1))),
    ] {
        assert_eq!((status, answer["id"].clone()), expected, "{answer}");
    }
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for answer in [
        post(
            &Head {
                session: Field::One(b"unknown"),
                ..head()
            },
            notification,
        ),
        post(
            &head(),
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        ),
        post(&head(), b"{"),
        post(
            &Head {
                content_type: Field::Absent,
                ..head()
            },
            PING,
        ),
        post(
            &Head {
                host: Field::One(b"evil.example"),
                ..head()
            },
            PING,
        ),
    ] {
        assert!(answer.1["error"].is_object() && answer.1.get("id").is_none());
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
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
        assert_eq!(
            post(&head(), body.as_bytes()),
            (200, json!({"jsonrpc": "2.0", "id": id, "result": {}}))
        );
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
fn media_types_other_than_json_get_415() {
    for value in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let head = Head {
            content_type: Field::One(value.as_bytes()),
            ..head()
        };
        assert_eq!(post(&head, PING).0, 415, "{value}");
    }
    for field in [Field::Absent, Field::Repeated] {
        assert_eq!(
            post(
                &Head {
                    content_type: field,
                    ..head()
                },
                PING
            )
            .0,
            415
        );
    }
    let head = Head {
        content_type: Field::One(b"Application/JSON; charset=utf-8"),
        ..head()
    };
    assert_eq!(post(&head, PING).0, 200);
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
fn foreign_pages_and_hosts_get_403_with_a_json_rpc_error() {
    for (origin, host, status) in [
        (
            Field::Absent,
            Field::One(b"reviews.example".as_slice()),
            200,
        ),
        (
            Field::One(b"https://reviews.example".as_slice()),
            Field::Absent,
            200,
        ),
        (Field::One(b"https://app.example"), Field::Absent, 200),
        (
            Field::One(b"http://localhost:6274"),
            Field::One(b"localhost:8080"),
            200,
        ),
        (Field::One(b"https://evil.example"), Field::Absent, 403),
        (Field::One(b"null"), Field::Absent, 403),
        (Field::Repeated, Field::Absent, 403),
        (Field::Absent, Field::One(b"evil.example"), 403),
    ] {
        let head = Head {
            origin,
            host,
            ..head()
        };
        let (actual, answer) = post(&head, PING);
        assert_eq!(actual, status, "{origin:?} {host:?}");
        assert_eq!(code(&answer), if status == 403 { -32_600 } else { 0 });
    }
    for method in ["GET", "DELETE", "OPTIONS"] {
        let head = Head {
            origin: Field::One(b"https://evil.example"),
            method: method.as_bytes(),
            ..Head::default()
        };
        assert_eq!(
            server().handle(catalog(), &head, b"").status,
            403,
            "{method}"
        );
    }
}

#[test]
fn other_methods_get_405_in_json_and_options_204() {
    for method in ["GET", "HEAD", "PUT", "PATCH", "TRACE", "post"] {
        let reply = server().handle(
            catalog(),
            &Head {
                method: method.as_bytes(),
                ..Head::default()
            },
            b"",
        );
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
    let reply = server().handle(
        catalog(),
        &Head {
            method: b"OPTIONS",
            ..Head::default()
        },
        b"",
    );
    assert_eq!(
        (reply.status, reply.is_preflight, reply.body.is_empty()),
        (204, true, true)
    );
}

#[test]
fn a_line_of_stdio_needs_no_headers_in_either_era() {
    let mut revision = Revision::ASSUMED;
    let mut line = |body: Value| {
        let body = body.to_string();
        let answer = server().answer_line(catalog(), body.as_bytes(), &mut revision);
        answer.map(|answer| serde_json::from_slice::<Value>(&answer).expect("JSON"))
    };
    let answer = line(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
    );
    assert_eq!(
        answer.expect("an answer")["result"]["protocolVersion"],
        "2025-06-18"
    );
    assert_eq!(
        line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        None
    );
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}});
    assert_eq!(
        line(discover).expect("an answer")["result"]["resultType"],
        "complete"
    );
    let incomplete = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}});
    assert_eq!(code(&line(incomplete).expect("an answer")), -32_602);
    let broken = server()
        .answer_line(catalog(), b"{", &mut { Revision::ASSUMED })
        .expect("an answer");
    assert_eq!(
        code(&serde_json::from_slice(&broken).expect("JSON")),
        -32_700
    );
}

#[test]
fn stdio_takes_batches_before_the_handshake_and_after_one_for_2025_03_26() {
    let mut revision = Revision::ASSUMED;
    let mut line = |body: &Value| {
        let body = body.to_string();
        let answer = server().answer_line(catalog(), body.as_bytes(), &mut revision);
        answer.map(|answer| serde_json::from_slice::<Value>(&answer).expect("JSON"))
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let quiet = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let initialize = |version: &str| json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}});
    for (version, has_batches) in [
        ("2025-03-26", true),
        ("2025-06-18", false),
        ("2025-03-26", true),
    ] {
        assert!(line(&initialize(version)).is_some());
        let answer = line(&json!([ping, quiet, ping])).expect("an answer");
        assert_eq!(answer.as_array().map(Vec::len), has_batches.then_some(2));
        assert_eq!(code(&answer), if has_batches { 0 } else { -32_600 });
    }
    assert_eq!(line(&json!([quiet])), None);
    assert_eq!(code(&line(&json!([])).expect("an answer")), -32_600);
}
