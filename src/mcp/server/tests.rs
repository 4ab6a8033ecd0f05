//! Status and code of responses to requests: messages, head fields, both eras, batches, stdio.

use serde_json::{Value, json};

use crate::mcp::Server;
use crate::mcp::protocol::Revision;
use crate::mcp::tests::{catalog, code, handle, head, meta, post, request, server, with};

fn ping() -> String {
    request("ping", json!({}))
}

#[test]
fn bodies_that_are_no_message_get_400_and_their_code() {
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    let wide = format!("[{}0]", "0,".repeat(20_000));
    let broken = [
        &b""[..],
        b"{",
        b"not json",
        b"\xef\xbb\xbf{}",
        b"\xff",
        &deep,
    ];
    let others = ["{}", "1", "null", "\"ping\"", &wide].map(str::as_bytes);
    let broken = broken.into_iter().map(|body| (body, -32_700));
    for (body, expected) in broken.chain(others.map(|body| (body, -32_600))) {
        let (status, answer) = post(&head(), body);
        assert_eq!((status, code(&answer)), (400, expected), "{answer}");
        assert!(answer.get("id").is_none());
    }
    // An error has the id of its request if that could be read, and otherwise no id.
    let long_id = format!("\"{}\"", "x".repeat(513));
    let too_large = "99999999999999999999";
    let ids = ["null", "1.5", "1e3", "true", "[]", "{}", too_large];
    let ids = ids.into_iter().chain(["1,\"id\":2", &*long_id]);
    let without_id = ids.map(|id| {
        let members = format!(r#""jsonrpc":"2.0","id":{id},"method":"ping""#);
        (members, None)
    });
    let with_id = [
        r#""jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list""#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1,"x":2}"#,
        r#""jsonrpc":"1.0","id":7,"method":"ping""#,
        r#""id":7,"method":"ping""#,
        r#""jsonrpc":"2.0","id":7,"method":7"#,
        r#""jsonrpc":"2.0","id":7"#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":"x""#,
        r#""jsonrpc":"2.0","id":7,"method":"ping","params":[]"#,
    ];
    let seven = json!(7);
    let with_id = with_id.map(|members| (members.to_owned(), Some(&seven)));
    for (members, id) in without_id.chain(with_id) {
        let (status, answer) = post(&head(), format!("{{{members}}}"));
        let are_wrong_params = members.ends_with("[]");
        let expected = if are_wrong_params { -32_602 } else { -32_600 };
        assert_eq!((status, code(&answer)), (400, expected), "{members}");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_eq!(answer.get("id"), id, "{members}");
    }
}

#[test]
fn ids_come_back_as_they_were() {
    let longest = "x".repeat(512);
    let texts = ["", "a\"b\u{1}😀", &longest].map(Value::from);
    for id in [json!(0), json!(-5), json!(u64::MAX)]
        .into_iter()
        .chain(texts)
    {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": null});
        let expected = json!({"jsonrpc": "2.0", "id": id, "result": {}});
        assert_eq!(post(&head(), body.to_string()), (200, expected));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "nothing"});
        assert_eq!(post(&head(), body.to_string()).1["id"], id);
    }
}

#[test]
fn fields_of_the_head_are_checked_before_a_request_is_answered() {
    for (name, value, status) in [
        ("content_type", "-", 415),
        ("content_type", "+", 415),
        ("content_type", "text/plain", 415),
        ("content_type", "application/json-rpc", 415),
        ("content_type", "Application/JSON; charset=utf-8", 200),
        ("host", "evil.example", 403),
        ("origin", "https://evil.example", 403),
        ("session", "unknown", 404),
        ("protocol_version", "2026-07-28", 400),
        ("protocol_version", "2024-11-05", 200),
        ("protocol_version", "2025-03-26", 200),
        ("protocol_version", "2025-06-18", 200),
        ("protocol_version", "2025-11-25", 200),
        ("protocol_version", "2025-06-19", 400),
        ("protocol_version", "2026-07-27", 400),
        ("protocol_version", "2026-7-28", 400),
        ("protocol_version", "2026-07-28x", 400),
        ("protocol_version", "latest", 400),
        ("protocol_version", "", 400),
        ("protocol_version", "+", 400),
    ] {
        let (found, answer) = post(&with(&[(name, value)]), ping());
        assert_eq!(found, status, "{name}: {value}");
        // With other statuses the message was not read.
        let was_read = [200, 400, 404].contains(&status);
        assert_eq!(answer.get("id").is_some(), was_read, "{name}: {value}");
        assert_eq!(code(&answer) < 0, status != 200);
    }
}

fn initialize(version: &str) -> String {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    request("initialize", params)
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
        // `initialize` ignores the version header, which the official suite already sends.
        let head = with(&[("protocol_version", "2026-07-28")]);
        let reply = handle(&server(), &head, initialize(asked).as_bytes());
        let answer: Value = serde_json::from_slice(&reply.body).expect("JSON");
        let result = &answer["result"];
        assert_eq!(reply.status, 200);
        assert_eq!(result["protocolVersion"], settled);
        let instructions = result["instructions"].as_str();
        assert!(instructions.is_some_and(|text| text.len() < 2_048));
        assert!(result.get("resultType").is_none());
        assert!(reply.session.is_some());
    }
    let body = request("initialize", json!({"protocolVersion": 5}));
    let reply = handle(&server(), &head(), body.as_bytes());
    assert!(reply.session.is_none());
    assert_eq!(code(&post(&head(), body).1), -32_602);
}

#[test]
fn sessions_are_optional_tell_the_revision_and_end_only_by_delete() {
    let server = server();
    let begun = handle(&server, &head(), initialize("2025-06-18").as_bytes());
    let id: &'static str = begun.session.expect("a session").as_str().to_owned().leak();
    let status = |server: &Server, session, body: &str| {
        let head = with(&[("session", session)]);
        handle(server, &head, body.as_bytes()).status
    };
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for session in ["-", id] {
        assert_eq!(status(&server, session, &ping()), 200, "{session}");
    }
    for session in ["unknown", "", "+"] {
        assert_eq!(status(&server, session, &ping()), 404, "{session}");
    }
    assert_eq!(status(&server, "unknown", notification), 404);
    // A client that starts again may still send its old id.
    assert_eq!(status(&server, "unknown", &initialize("2025-06-18")), 200);
    // 2025-06-18 has no batches.
    assert_eq!(status(&server, id, "[1]"), 400);
    // An id stays valid for another server, such as one after a restart.
    let other = crate::mcp::tests::server();
    assert_eq!(status(&other, id, &ping()), 200);
    for (session, expected) in [("-", 400), ("unknown", 404), (id, 204), (id, 404)] {
        let head = with(&[("method", "DELETE"), ("session", session)]);
        assert_eq!(handle(&server, &head, b"").status, expected, "{session}");
    }
    assert_eq!(status(&server, id, &ping()), 404);
}

#[test]
fn notifications_and_responses_get_202_without_a_body() {
    let notification =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}"#;
    for (version, body, status, expected) in [
        ("-", notification, 202, 0),
        ("-", r#"{"jsonrpc":"2.0","method":"ping"}"#, 202, 0),
        ("-", response, 202, 0),
        ("-", error, 202, 0),
        ("2026-07-28", notification, 202, 0),
        ("2027-01-01", notification, 400, -32_022),
        ("2026-07-28", response, 400, -32_600),
        ("1999-01-01", notification, 400, -32_600),
    ] {
        let (found, answer) = post(&with(&[("protocol_version", version)]), body);
        let found = (found, code(&answer));
        assert_eq!(found, (status, expected), "{version} {body}");
        assert_eq!(answer.is_null(), status == 202);
    }
}

#[test]
fn batches_are_for_2025_03_26_alone_and_end_at_32_messages_and_a_megabyte() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let quiet = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let begin = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}});
    let unknown = json!({"jsonrpc": "2.0", "id": "b", "method": "nothing"});
    let batch = json!([quiet, ping, quiet, unknown, 5, begin]).to_string();
    for version in ["2025-03-26", "-"] {
        let (status, answers) = post(&with(&[("protocol_version", version)]), &batch);
        assert_eq!(status, 200);
        let answers = answers.as_array().expect("an array").iter();
        let seen = answers.map(|answer| json!([answer["id"], code(answer)]));
        let expected = json!([[1, 0], ["b", -32_601], [null, -32_600], [3, -32_600]]);
        assert_eq!(seen.collect::<Value>(), expected);
    }
    for later in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let (status, answer) = post(&with(&[("protocol_version", later)]), &batch);
        assert_eq!((status, code(&answer)), (400, -32_600), "{later}");
    }
    let silent = post(&head(), json!([quiet]).to_string());
    assert_eq!(silent, (202, Value::Null));
    for (count, status) in [(0, 400), (32, 200), (33, 400)] {
        let batch = json!(vec![ping.clone(); count]);
        assert_eq!(post(&head(), batch.to_string()).0, status);
    }
    let params = json!({"uri": "reviews://dataset"});
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let (status, answers) = post(&head(), json!(vec![read; 32]).to_string());
    let answers = answers.as_array().expect("an array");
    assert_eq!((status, answers.len()), (200, 32));
    let refused = answers.iter().filter(|answer| code(answer) == -32_600);
    assert!((1..31).contains(&refused.count()));
}

#[test]
fn a_line_of_stdio_is_a_batch_where_the_handshake_allows_it() {
    let mut revision = Revision::ASSUMED;
    let mut line = |body: String| {
        let answer = server().answer_line(catalog(), body.as_bytes(), &mut revision);
        answer.map(|answer| serde_json::from_slice::<Value>(&answer).expect("JSON"))
    };
    let quiet = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for (version, has_batches) in [("-", true), ("2025-06-18", false), ("2025-03-26", true)] {
        if version != "-" {
            let begun = line(initialize(version)).expect("an answer");
            assert_eq!(begun["result"]["protocolVersion"], version);
        }
        let answer = line(format!("[{},{quiet},{}]", ping(), ping())).expect("an answer");
        let responses = answer.as_array().map_or(0, Vec::len);
        let expected = if has_batches { (2, 0) } else { (0, -32_600) };
        assert_eq!((responses, code(&answer)), expected);
    }
    // A handshake that is refused changes nothing.
    let refused = initialize("2025-06-18").replace("2.0", "1.0");
    assert_eq!(code(&line(refused).expect("an answer")), -32_600);
    for silent in [quiet.to_owned(), format!("[{quiet}]")] {
        assert_eq!(line(silent), None);
    }
    let discovered = line(request("server/discover", json!({"_meta": meta()})));
    let discovered = discovered.expect("an answer");
    assert_eq!(discovered["result"]["resultType"], "complete");
    for (body, expected) in [("[]", -32_600), ("\"x\"", -32_600), ("{", -32_700)] {
        assert_eq!(code(&line(body.to_owned()).expect("an answer")), expected);
    }
}

/// Sends a request of 2026-07-28, with `other` in place of one of its fields.
fn stateless(method: &'static str, mut params: Value, other: (&str, &'static str)) -> (u16, Value) {
    let name = params["name"].as_str().or(params["uri"].as_str());
    let name: &'static str = name.unwrap_or("-").to_owned().leak();
    params["_meta"] = meta();
    let version = ("protocol_version", "2026-07-28");
    let head = with(&[version, ("mcp_method", method), ("mcp_name", name), other]);
    post(&head, request(method, params))
}

const AS_IT_IS: (&str, &str) = ("method", "POST");

#[test]
fn stateless_results_say_that_they_are_complete_and_how_long_they_last() {
    let (status, answer) = stateless("server/discover", json!({}), AS_IT_IS);
    let result = &answer["result"];
    let versions = "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";
    let versions: Vec<&str> = versions.split(' ').collect();
    assert_eq!(status, 200);
    assert_eq!(result["supportedVersions"], json!(versions));
    assert_eq!(result["protocolVersion"], "2026-07-28");
    assert!(result["instructions"].is_string());
    assert!(result["serverInfo"]["name"].is_string());
    let nothing =
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "y", "value": ""}});
    for (method, params, is_cacheable) in [
        ("server/discover", json!({}), true),
        ("tools/list", json!({}), true),
        ("prompts/list", json!({}), true),
        ("resources/list", json!({}), true),
        ("resources/templates/list", json!({}), true),
        ("resources/read", json!({"uri": "reviews://business"}), true),
        ("tools/call", json!({"name": "get_business"}), false),
        ("prompts/get", json!({"name": "summarize_reviews"}), false),
        ("completion/complete", nothing, false),
    ] {
        // Only the handshake era has sessions.
        let (status, answer) = stateless(method, params, ("session", "unknown"));
        let result = &answer["result"];
        assert_eq!(status, 200, "{method}");
        assert_eq!(result["resultType"], "complete", "{method}");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "reviewd");
        let is_kept = result["ttlMs"].is_u64() && result["cacheScope"] == "public";
        assert_eq!(is_kept, is_cacheable, "{method}");
    }
    let delete = with(&[("method", "DELETE"), ("protocol_version", "2026-07-28")]);
    assert_eq!(handle(&server(), &delete, b"").status, 405);
}

#[test]
fn methods_that_do_not_exist_are_404_in_one_era_and_200_in_the_other() {
    for (method, is_of_handshake, is_stateless) in [
        ("initialize", true, false),
        ("ping", true, false),
        ("server/discover", false, true),
        ("logging/setLevel", false, false),
        ("resources/subscribe", false, false),
        ("nothing", false, false),
        ("", false, false),
    ] {
        let (status, answer) = stateless(method, json!({}), AS_IT_IS);
        let expected = if is_stateless { 200 } else { 404 };
        assert_eq!(status, expected, "{method}");
        assert_eq!(code(&answer) == -32_601, !is_stateless, "{method}");
        let (status, answer) = post(&head(), request(method, json!({"protocolVersion": ""})));
        assert_eq!(status, 200, "{method}");
        assert_eq!(code(&answer) == -32_601, !is_of_handshake, "{method}");
    }
}

#[test]
fn stateless_headers_must_agree_with_the_body() {
    let refused = |name, value| {
        let params = json!({"name": "get_business"});
        let (status, answer) = stateless("tools/call", params, (name, value));
        (status, code(&answer))
    };
    let names = "- + get_faq Get_business =?base64?Z2V0X2J1c2luZXNz =?base64?Z2V0X2J1c2luZXNz=?= \
        =?base64?Z2V0X2J1c2luZXN!?= =?base64?Z2V0X2J1c2luZXM?= =?BASE64?Z2V0X2J1c2luZXNz?=";
    for (name, values) in [
        ("mcp_method", "- + tools/list tools/Call"),
        ("protocol_version", "- + 2025-06-18 2026-07-29"),
        ("mcp_name", names),
    ] {
        for value in values.split(' ') {
            assert_eq!(refused(name, value), (400, -32_020), "{name}: {value}");
        }
    }
    for name in ["mcp_method", "mcp_name"] {
        assert_eq!(refused(name, ""), (400, -32_020), "{name}");
    }
    assert_eq!(refused("mcp_name", "=?base64?Z2V0X2J1c2luZXNz?="), (200, 0));
}

#[test]
fn the_header_alone_makes_a_request_stateless_and_its_meta_must_be_whole() {
    let ask = |version, params: Value| {
        let head = with(&[("protocol_version", version)]);
        post(&head, request("tools/list", params))
    };
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    for params in [
        json!({}),
        json!({"_meta": 1}),
        json!({"_meta": {VERSION: "2026-07-28"}}),
        json!({"_meta": {VERSION: 1, CAPABILITIES: {}}}),
        json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: []}}),
    ] {
        for version in ["2026-07-28", "2027-01-01", "9999-99-99"] {
            let (status, answer) = ask(version, params.clone());
            assert_eq!((status, code(&answer)), (400, -32_602), "{params}");
        }
    }
    let later = json!({"_meta": {VERSION: "2027-01-01", CAPABILITIES: {}}});
    let (status, answer) = ask("2027-01-01", later);
    assert_eq!((status, code(&answer)), (400, -32_022));
    let expected = json!({"supported": ["2026-07-28"], "requested": "2027-01-01"});
    assert_eq!(answer["error"]["data"], expected);
}
