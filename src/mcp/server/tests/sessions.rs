//! The era of sessions, 2024-11-05 to 2025-11-25: the handshake, session ids, batches.

use serde_json::{Value, json};

use super::{PING, code};
use crate::mcp::tests::{catalog, head, post, server};
use crate::mcp::{Field, Head, Server};

fn initialize(version: &str) -> Vec<u8> {
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        .to_string()
        .into_bytes()
}

#[test]
fn initialize_settles_on_a_revision_and_hands_out_a_session() {
    for (asked, settled) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        // The version header is not looked at here: the suite sends it already.
        let head = Head {
            protocol_version: Field::One(b"2026-07-28"),
            ..head()
        };
        let reply = server().handle(catalog(), &head, &initialize(asked));
        let answer: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(
            (reply.status, &answer["result"]["protocolVersion"]),
            (200, &json!(settled))
        );
        assert!(
            answer["result"]["instructions"]
                .as_str()
                .is_some_and(|text| text.len() < 2_048)
        );
        assert!(answer["result"].get("resultType").is_none());
        assert!(reply.session.is_some());
    }
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}"#;
    let reply = server().handle(catalog(), &head(), body);
    assert!(reply.session.is_none());
    assert_eq!(post(&head(), body).1["error"]["code"], -32_602);
}

#[test]
fn sessions_are_optional_and_end_only_by_delete() {
    let server = server();
    let begin = |server: &Server, head: &Head<'_>| {
        let reply = server.handle(catalog(), head, &initialize("2025-06-18"));
        reply.session.expect("a session")
    };
    let session = begin(&server, &head());
    let bytes = session.as_str().as_bytes();
    let with = |session| Head { session, ..head() };
    let status = |session| server.handle(catalog(), &with(session), PING).status;
    assert_eq!(status(Field::Absent), 200);
    assert_eq!(status(Field::One(bytes)), 200);
    assert_eq!(status(Field::One(b"unknown")), 404);
    assert_eq!(status(Field::One(b"")), 404);
    assert_eq!(status(Field::Repeated), 404);
    // Another process, with another state directory, and at another time.
    let other = crate::mcp::tests::server();
    assert_eq!(
        other
            .handle(catalog(), &with(Field::One(bytes)), PING)
            .status,
        200
    );
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = server.handle(catalog(), &with(Field::One(b"unknown")), notification);
    assert_eq!(answer.status, 404);
    // A client that begins anew may still send its old id.
    begin(&server, &with(Field::One(b"unknown")));
    let delete = |session| {
        let head = Head {
            session,
            method: b"DELETE",
            ..Head::default()
        };
        server.handle(catalog(), &head, b"").status
    };
    assert_eq!(delete(Field::Absent), 400);
    assert_eq!(delete(Field::One(b"unknown")), 404);
    assert_eq!(delete(Field::One(bytes)), 204);
    assert_eq!(delete(Field::One(bytes)), 404);
    assert_eq!(status(Field::One(bytes)), 404);
}

#[test]
fn version_headers_that_are_not_served_get_400() {
    for (version, status) in [
        ("2024-11-05", 200),
        ("2025-03-26", 200),
        ("2025-06-18", 200),
        ("2025-11-25", 200),
        ("1999-01-01", 400),
        ("2025-06-19", 400),
        ("2026-07-27", 400),
        ("2026-7-28", 400),
        ("2026-07-28x", 400),
        ("draft-2027", 400),
        ("latest", 400),
        ("", 400),
    ] {
        let head = Head {
            protocol_version: Field::One(version.as_bytes()),
            ..head()
        };
        let (actual, answer) = post(&head, PING);
        assert_eq!(
            (actual, code(&answer)),
            (status, if status == 400 { -32_600 } else { 0 }),
            "{version}"
        );
    }
    assert_eq!(
        post(
            &Head {
                protocol_version: Field::Repeated,
                ..head()
            },
            PING
        )
        .0,
        400
    );
}

#[test]
fn notifications_and_responses_get_202_without_a_body() {
    for body in [
        br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.as_slice(),
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        br#"{"jsonrpc":"2.0","method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}"#,
    ] {
        assert_eq!(post(&head(), body), (202, Value::Null));
    }
    let stateless = |version: &'static str| Head {
        protocol_version: Field::One(version.as_bytes()),
        ..head()
    };
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    assert_eq!(
        post(&stateless("2026-07-28"), notification),
        (202, Value::Null)
    );
    assert_eq!(
        post(&stateless("2027-01-01"), notification).1["error"]["code"],
        -32_022
    );
    let response = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(post(&stateless("2026-07-28"), response).0, 400);
    assert_eq!(post(&stateless("1999-01-01"), notification).0, 400);
}

#[test]
fn batches_are_for_2025_03_26_alone() {
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "nothing"},
        5,
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
    ]);
    let body = batch.to_string().into_bytes();
    let version = |version: &'static str| Head {
        protocol_version: Field::One(version.as_bytes()),
        ..head()
    };
    for head in [version("2025-03-26"), head()] {
        let (status, answers) = post(&head, &body);
        assert_eq!(status, 200);
        let seen: Vec<(Value, i64)> = answers
            .as_array()
            .expect("an array")
            .iter()
            .map(|answer| (answer["id"].clone(), code(answer)))
            .collect();
        let expected = [
            (json!(1), 0),
            (json!("b"), -32_601),
            (Value::Null, -32_600),
            (json!(3), -32_600),
        ];
        assert_eq!(seen, expected);
    }
    for later in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let (status, answer) = post(&version(later), &body);
        assert_eq!((status, code(&answer)), (400, -32_600), "{later}");
    }
    let quiet = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]).to_string();
    assert_eq!(post(&head(), quiet.as_bytes()), (202, Value::Null));
    assert_eq!(post(&head(), b"[]").0, 400);
    let many = |count: usize| {
        json!(vec![
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
            count
        ])
    };
    assert_eq!(post(&head(), many(32).to_string().as_bytes()).0, 200);
    assert_eq!(post(&head(), many(33).to_string().as_bytes()).0, 400);
}

#[test]
fn the_session_tells_the_revision_where_the_header_does_not() {
    let server = server();
    let token = server
        .handle(catalog(), &head(), &initialize("2025-06-18"))
        .session;
    let token = token.expect("a session");
    let head = Head {
        session: Field::One(token.as_str().as_bytes()),
        ..head()
    };
    assert_eq!(server.handle(catalog(), &head, b"[1]").status, 400);
}

#[test]
fn answers_to_a_batch_end_at_a_megabyte() {
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "reviews://dataset"}});
    let (status, answers) = post(&head(), json!(vec![read; 32]).to_string().as_bytes());
    let answers = answers.as_array().expect("an array");
    assert_eq!((status, answers.len()), (200, 32));
    let refused = answers
        .iter()
        .filter(|answer| code(answer) == -32_600)
        .count();
    assert!((1..31).contains(&refused), "{refused}");
}
