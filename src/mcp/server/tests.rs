//! Each case of the edge matrix: what is sent, and the status and code that come back.

use serde_json::{Value, json};

use crate::mcp::tests::{NOW, catalog, head, meta, now, post, server};
use crate::mcp::{Field, Form, Head};
use crate::wire::date::Timestamp;

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or(0)
}

fn initialize(version: &str) -> Vec<u8> {
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        .to_string()
        .into_bytes()
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
    let reply = server().handle(catalog(), &head, PING, now());
    assert_eq!(reply.content_type, Some("text/event-stream"));
    let expected = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    assert_eq!(reply.body, expected.as_bytes());
    let refused = server().handle(catalog(), &head, b"{", now());
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
            ..Head::bare(method.as_bytes())
        };
        assert_eq!(
            server().handle(catalog(), &head, b"", now()).status,
            403,
            "{method}"
        );
    }
}

#[test]
fn other_methods_get_405_in_json_and_options_204() {
    for method in ["GET", "HEAD", "PUT", "PATCH", "TRACE", "post"] {
        let reply = server().handle(catalog(), &Head::bare(method.as_bytes()), b"", now());
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
    let reply = server().handle(catalog(), &Head::bare(b"OPTIONS"), b"", now());
    assert_eq!(
        (reply.status, reply.is_preflight, reply.body.is_empty()),
        (204, true, true)
    );
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
        let reply = server().handle(catalog(), &head, &initialize(asked), now());
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
    let reply = server().handle(catalog(), &head(), body, now());
    assert!(reply.session.is_none());
    assert_eq!(post(&head(), body).1["error"]["code"], -32_602);
}

#[test]
fn sessions_are_optional_verified_ended_and_expire() {
    let server = server();
    let token = server
        .handle(catalog(), &head(), &initialize("2025-06-18"), now())
        .session;
    let token = token.expect("a session");
    let bytes = token.as_str().as_bytes();
    let with = |session| Head { session, ..head() };
    let status = |session, at: i64| {
        server
            .handle(catalog(), &with(session), PING, Timestamp::from_unix(at))
            .status
    };
    assert_eq!(status(Field::Absent, NOW), 200);
    assert_eq!(status(Field::One(bytes), NOW), 200);
    assert_eq!(status(Field::One(bytes), NOW + 86_400), 200);
    assert_eq!(status(Field::One(bytes), NOW + 86_401), 404);
    assert_eq!(status(Field::One(b"unknown"), NOW), 404);
    assert_eq!(status(Field::One(b""), NOW), 404);
    assert_eq!(status(Field::Repeated, NOW), 404);
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = server.handle(
        catalog(),
        &with(Field::One(b"unknown")),
        notification,
        now(),
    );
    assert_eq!(answer.status, 404);
    // A client that begins anew may still send its old id.
    let again = server.handle(
        catalog(),
        &with(Field::One(b"unknown")),
        &initialize("2025-06-18"),
        now(),
    );
    assert!(again.status == 200 && again.session.is_some());
    let delete = |session| {
        let head = Head {
            session,
            ..Head::bare(b"DELETE")
        };
        server.handle(catalog(), &head, b"", now()).status
    };
    assert_eq!(delete(Field::Absent), 400);
    assert_eq!(delete(Field::One(b"unknown")), 404);
    assert_eq!(delete(Field::One(bytes)), 204);
    assert_eq!(delete(Field::One(bytes)), 404);
    assert_eq!(status(Field::One(bytes), NOW), 404);
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
            (Value::Null, -32_600),
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
        .handle(catalog(), &head(), &initialize("2025-06-18"), now())
        .session;
    let token = token.expect("a session");
    let head = Head {
        session: Field::One(token.as_str().as_bytes()),
        ..head()
    };
    assert_eq!(server.handle(catalog(), &head, b"[1]", now()).status, 400);
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

fn stateless(method: &str, params: Value, change: impl FnOnce(&mut Head<'_>)) -> (u16, Value) {
    let name = params["name"]
        .as_str()
        .or(params["uri"].as_str())
        .unwrap_or("")
        .to_owned();
    let mut params = params;
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let mut head = Head {
        protocol_version: Field::One(b"2026-07-28"),
        mcp_method: Field::One(method.as_bytes()),
        ..head()
    };
    if !name.is_empty() {
        head.mcp_name = Field::One(name.as_bytes());
    }
    change(&mut head);
    post(&head, body.as_bytes())
}

#[test]
fn stateless_results_say_that_they_are_complete_and_how_long_they_last() {
    let (status, answer) = stateless("server/discover", json!({}), |_| {});
    let result = &answer["result"];
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    let versions = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ];
    assert_eq!(result["supportedVersions"], json!(versions));
    assert_eq!(result["protocolVersion"], "2026-07-28");
    assert!(result["instructions"].is_string() && result["serverInfo"]["name"].is_string());
    for (method, params, is_cacheable) in [
        ("server/discover", json!({}), true),
        ("tools/list", json!({}), true),
        ("prompts/list", json!({}), true),
        ("resources/list", json!({}), true),
        ("resources/templates/list", json!({}), true),
        ("resources/read", json!({"uri": "reviews://business"}), true),
        ("tools/call", json!({"name": "get_business"}), false),
        ("prompts/get", json!({"name": "summarize_reviews"}), false),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "y", "value": ""}}),
            false,
        ),
    ] {
        let (status, answer) = stateless(method, params, |_| {});
        let result = &answer["result"];
        assert_eq!(
            (status, &result["resultType"]),
            (200, &json!("complete")),
            "{method}"
        );
        assert_eq!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "reviewd"
        );
        assert_eq!(
            result["ttlMs"].is_u64() && result["cacheScope"] == "public",
            is_cacheable,
            "{method}"
        );
    }
}

#[test]
fn stateless_requests_never_touch_sessions() {
    let (status, _) = stateless("tools/list", json!({}), |head| {
        head.session = Field::One(b"unknown")
    });
    assert_eq!(status, 200);
    let version = Field::One(b"2026-07-28".as_slice());
    let delete = Head {
        protocol_version: version,
        ..Head::bare(b"DELETE")
    };
    assert_eq!(server().handle(catalog(), &delete, b"", now()).status, 405);
}

#[test]
fn methods_that_do_not_exist_are_404_in_one_era_and_200_in_the_other() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "nothing",
        "",
    ] {
        let (status, answer) = stateless(method, json!({}), |_| {});
        assert_eq!(
            (status, code(&answer), &answer["id"]),
            (404, -32_601, &json!(7)),
            "{method}"
        );
    }
    for method in [
        "server/discover",
        "logging/setLevel",
        "resources/subscribe",
        "nothing",
        "",
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let (status, answer) = post(&head(), body.as_bytes());
        assert_eq!((status, code(&answer)), (200, -32_601), "{method}");
    }
}

#[test]
fn stateless_headers_must_agree_with_the_body() {
    let refused = |change: fn(&mut Head<'_>)| {
        let (status, answer) = stateless("tools/call", json!({"name": "get_business"}), change);
        assert_eq!(status, 400);
        code(&answer)
    };
    assert_eq!(refused(|head| head.mcp_method = Field::Absent), -32_020);
    assert_eq!(
        refused(|head| head.mcp_method = Field::One(b"tools/list")),
        -32_020
    );
    assert_eq!(refused(|head| head.mcp_method = Field::Repeated), -32_020);
    assert_eq!(refused(|head| head.mcp_name = Field::Absent), -32_020);
    assert_eq!(
        refused(|head| head.mcp_name = Field::One(b"get_faq")),
        -32_020
    );
    assert_eq!(
        refused(|head| head.mcp_name = Field::One(b"=?base64?!?=")),
        -32_020
    );
    assert_eq!(
        refused(|head| head.protocol_version = Field::Absent),
        -32_020
    );
    assert_eq!(
        refused(|head| head.protocol_version = Field::One(b"2025-06-18")),
        -32_020
    );
    let (status, _) = stateless("tools/call", json!({"name": "get_business"}), |head| {
        head.mcp_name = Field::One(b"=?base64?Z2V0X2J1c2luZXNz?=");
    });
    assert_eq!(status, 200);
}

#[test]
fn the_header_alone_makes_a_request_stateless_too() {
    let version = |version: &'static str| Head {
        protocol_version: Field::One(version.as_bytes()),
        ..head()
    };
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for later in ["2026-07-28", "2027-01-01"] {
        let (status, answer) = post(&version(later), list);
        assert_eq!((status, code(&answer)), (400, -32_602), "{later}");
    }
    let mut params = json!({"_meta": meta()});
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string();
    let (status, answer) = post(&version("2027-01-01"), body.as_bytes());
    assert_eq!((status, code(&answer)), (400, -32_022));
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2027-01-01"})
    );
}

#[test]
fn a_line_of_stdio_needs_no_headers_in_either_era() {
    let line = |body: Value| {
        let answer = server().answer_line(catalog(), body.to_string().as_bytes(), now());
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
        .answer_line(catalog(), b"{", now())
        .expect("an answer");
    assert_eq!(
        code(&serde_json::from_slice(&broken).expect("JSON")),
        -32_700
    );
    assert_eq!(code(&line(json!([])).expect("an answer")), -32_600);
}
