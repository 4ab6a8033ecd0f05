//! `/mcp` over a socket: what lies between the protocol's core and a client, and the same server over stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Connection, Response, Server, program, send};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn post(server: &Server, fields: &[(&str, &str)], body: &Value) -> Response {
    let fields = [&[JSON][..], fields].concat();
    send(
        server.address(),
        "POST",
        "/mcp",
        &fields,
        body.to_string().as_bytes(),
    )
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params})
}

#[test]
fn a_session_begins_serves_and_ends() {
    let server = Server::start();
    let begun = post(&server, &[], &initialize());
    assert_eq!(begun.status, 200);
    assert_eq!(begun.field("content-type"), Some("application/json"));
    assert_eq!(begun.field("cache-control"), Some("no-store"));
    assert!(begun.field("etag").is_none() && begun.field("access-control-allow-origin").is_none());
    let session = begun.field("mcp-session-id").expect("a session").to_owned();
    let fields = [
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "2025-06-18"),
    ];
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = post(&server, &fields, &initialized);
    assert_eq!((accepted.status, accepted.body.len()), (202, 0));
    let search = json!({"name": "search_reviews", "arguments": {"rating": 5, "limit": 3}});
    let found = post(&server, &fields, &request("tools/call", search)).json();
    let found = &found["result"]["structuredContent"];
    let rest = server.get("/api/reviews/search?rating=5&limit=3").json();
    assert_eq!(found["matched"], rest["matched"]);
    assert_eq!(found["reviews"][2]["text"], rest["reviews"][2]["text"]);
    let ended = send(server.address(), "DELETE", "/mcp", &fields, b"");
    assert_eq!((ended.status, ended.body.len()), (204, 0));
    assert_eq!(
        post(&server, &fields, &request("ping", json!({}))).status,
        404
    );
    assert_eq!(post(&server, &[], &request("ping", json!({}))).status, 200);
}

#[test]
fn a_name_is_allowed_by_its_flag_and_the_refusal_says_so() {
    let ping = request("ping", json!({}));
    let host = ("Host", "reviewd:8080");
    let refused = post(&Server::start(), &[host], &ping);
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["code"]), (403, &json!(-32_600)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("\"reviewd:8080\" is not a name") && message.contains("--allow-host"));
    let allowing =
        Server::start_with(|config| config.mcp.allowed_hosts = vec!["reviewd".to_owned()]);
    assert_eq!(post(&allowing, &[host], &ping).status, 200);
    let origin = ("Origin", "http://reviewd:8080");
    assert_eq!(post(&allowing, &[host, origin], &ping).status, 403);
}

#[test]
fn fields_of_the_head_reach_the_protocol() {
    let server = Server::start();
    let ping = request("ping", json!({}));
    let version = ("MCP-Protocol-Version", "2025-06-18");
    for (fields, status) in [
        (&[("Content-Encoding", "gzip")][..], 415),
        (&[("Content-Encoding", "identity")], 200),
        (&[version], 200),
        (&[version, version], 400),
    ] {
        assert_eq!(post(&server, fields, &ping).status, status, "{fields:?}");
    }
    let event = post(&server, &[("Accept", "text/event-stream")], &ping);
    assert_eq!(event.field("content-type"), Some("text/event-stream"));
    let text = event.text();
    assert!(text.starts_with("event: message\ndata: {") && text.ends_with("}\n\n"));
    for method in ["GET", "PUT"] {
        let refused = send(server.address(), method, "/mcp", &[], b"");
        let allowed = Some("POST, DELETE, OPTIONS");
        assert_eq!((refused.status, refused.field("allow")), (405, allowed));
        assert_eq!(refused.field("content-type"), Some("application/json"));
        assert_eq!(refused.json()["error"]["code"], -32_601);
    }
}

#[test]
fn pages_get_cors_for_their_own_origin_and_403_for_others() {
    let server = Server::start_with(|config| {
        config.mcp.allowed_origins = vec!["https://app.example".to_owned()];
    });
    let origin = ("Origin", "https://app.example");
    let answer = post(&server, &[origin], &initialize());
    assert_eq!(
        answer.field("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(
        answer.field("access-control-expose-headers"),
        Some("Mcp-Session-Id, RateLimit, RateLimit-Policy, Retry-After")
    );
    assert_eq!(answer.field("vary"), Some("Origin"));
    let asks = [origin, ("Access-Control-Request-Method", "POST")];
    let preflight = send(server.address(), "OPTIONS", "/mcp", &asks, b"");
    assert_eq!(preflight.status, 204);
    assert_eq!(
        preflight.field("access-control-allow-methods"),
        Some("POST, DELETE, OPTIONS")
    );
    let allowed = preflight.field("access-control-allow-headers");
    let expected = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, \
        Mcp-Name, Last-Event-ID";
    assert_eq!(allowed, Some(expected));
    for foreign in ["https://evil.example", "null"] {
        let refused = post(&server, &[("Origin", foreign)], &initialize());
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (403, &json!(-32_600))
        );
        assert!(refused.field("access-control-allow-origin").is_none());
    }
}

#[test]
fn a_message_over_the_limit_is_413_that_the_client_gets_to_read() {
    let server = Server::start_with(|config| config.limits.mcp_body_bytes = 4_096);
    let sized = |bytes: usize| {
        let mut body = request("ping", json!({})).to_string().into_bytes();
        body.resize(bytes, b' ');
        let mut connection = Connection::open(server.address());
        connection.request("POST", "/mcp", &[JSON], &body);
        connection.response("POST")
    };
    assert_eq!(sized(4_096).status, 200);
    for bytes in [4_097, 1 << 20] {
        let refused = sized(bytes);
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (413, &json!(-32_600)),
            "{bytes}"
        );
    }
}

/// serde_json parses the string behind a key of its own again, and strings in it, without a bound for all their levels.
#[test]
fn json_in_strings_is_not_parsed_however_deep() {
    let server = Server::start();
    let mut body = "[]".to_owned();
    for _ in 0..300 {
        let text = format!("{}{body}{}", "[".repeat(100), "]".repeat(100));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        body = format!(r#"{{"$serde_json::private::RawValue":"{text}"}}"#);
        if body.len() > 900_000 {
            break;
        }
    }
    let message = format!(r#"{{"jsonrpc":"2.0","id":{body},"id":{body},"method":"ping"}}"#);
    for message in [&body, &message[..message.len().min(1 << 20)]] {
        let response = send(
            server.address(),
            "POST",
            "/mcp",
            &[JSON],
            message.as_bytes(),
        );
        assert_eq!(response.status, 400);
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn the_card_and_the_catalog_are_documents_like_others() {
    let server = Server::start();
    let get = |path, fields: &[(&str, &str)]| crate::support::get(server.address(), path, fields);
    for (path, media_type) in [
        ("/mcp/server-card", "application/mcp-server-card+json"),
        (
            "/.well-known/ai-catalog.json",
            "application/ai-catalog+json",
        ),
    ] {
        let document = get(path, &[]);
        assert_eq!(
            (document.status, document.field("content-type")),
            (200, Some(media_type))
        );
        let again = get(path, &[("If-None-Match", document.etag())]);
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
    let card = get("/mcp/server-card", &[]).json();
    assert_eq!(
        card["remotes"][0]["url"],
        format!("http://{}/mcp", server.address())
    );
}

/// What `reviewd mcp` with these arguments answers to these lines.
fn over_stdio(arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut child = program::command()
        .arg("mcp")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_same_server_answers_over_stdio_here_and_at_a_distance() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let server = Server::start_on(data.as_ref());
    let address = format!("http://{}/mcp", server.address());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let lines = [
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(
            "tools/call",
            json!({"name": "search_reviews", "arguments": {"limit": 2}}),
        ),
        request("resources/read", json!({"uri": "reviews://nothing é"})),
        request("tools/call", json!({"name": "get_faq", "_meta": meta})),
        request(
            "resources/read",
            json!({"uri": "reviews://nothing é", "_meta": meta}),
        ),
    ];
    let base_url = address.trim_end_matches("/mcp");
    let local = over_stdio(&["--data", data, "--base-url", base_url], &lines);
    let remote = over_stdio(&["--url", &address], &lines);
    assert_eq!(local.len(), 5);
    assert_eq!(local[1]["result"]["structuredContent"]["returned"], 2);
    assert_eq!(local[2]["error"]["code"], -32_002);
    assert_eq!(local[3]["result"]["resultType"], "complete");
    assert_eq!(local[4]["error"]["code"], -32_602);
    assert_eq!(local, remote);
}

#[test]
fn a_server_that_is_not_there_is_an_error_for_each_request() {
    let line = request("ping", json!({}));
    let answers = over_stdio(&["--url", "http://127.0.0.1:1"], &[line]);
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&json!(2), &json!(-32_603))
    );
}

#[test]
fn what_the_server_refuses_over_http_is_an_error_for_each_request_over_stdio() {
    let limited = Server::start_with(|config| {
        config.limits.mcp_body_bytes = 4_096;
        config.limits.rates.mcp = 3;
    });
    let address = format!("http://{}", limited.address());
    let large = request("ping", json!({"padding": "x".repeat(5_000)}));
    let ping = request("ping", json!({}));
    let quiet = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    // The rate is used up by three messages, and the next would have to wait for 20 seconds more than once.
    let batch = json!([ping, quiet, ping]);
    let answers = over_stdio(&["--url", &address], &[large, batch, quiet.clone()]);
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&json!(2), &json!(-32_600))
    );
    let ids: Vec<&Value> = answers[1]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| &answer["id"])
        .collect();
    assert_eq!((ids, answers.len()), (vec![&json!(2); 2], 2));
}

#[test]
fn a_rate_that_is_used_up_is_waited_for_or_told_with_the_id() {
    // One message a second after the first sixty, and one a minute after the first.
    for (rate, messages, is_refused) in [(60, 61, false), (1, 2, true)] {
        let limited = Server::start_with(|config| config.limits.rates.mcp = rate);
        let address = format!("http://{}", limited.address());
        let answers = over_stdio(
            &["--url", &address],
            &vec![request("ping", json!({})); messages],
        );
        let last = &answers[messages - 1];
        assert_eq!(
            (&last["id"], last["error"].is_object()),
            (&json!(2), is_refused),
            "{last}"
        );
    }
}

#[test]
fn stdio_takes_both_eras_and_batches_and_reads_changed_data_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reviews.json");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json");
    let mut data: Value = serde_json::from_slice(&std::fs::read(sample).unwrap()).unwrap();
    let mut write = |reviews: usize| {
        data["reviews"].as_array_mut().unwrap().truncate(reviews);
        std::fs::write(&file, data.to_string()).unwrap();
    };
    write(7);
    let mut child = program::command()
        .args(["mcp", "--data", folder.path().to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |message: &Value| -> Value {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let stateless = ask(&request(
        "tools/call",
        json!({"name": "get_business", "_meta": meta}),
    ));
    assert_eq!(stateless["result"]["resultType"], "complete");
    let count = json!({"name": "search_reviews", "arguments": {"limit": 1}});
    let count = request("tools/call", count);
    let matched = |answer: &Value| answer["result"]["structuredContent"]["matched"].clone();
    assert_eq!(matched(&ask(&count)), 7);
    let quiet = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let both = ask(&json!([count, quiet, request("ping", json!({}))]));
    assert_eq!(
        (matched(&both[0]), both.as_array().map(Vec::len)),
        (json!(7), Some(2))
    );
    std::fs::write(&file, "{").unwrap();
    assert_eq!(matched(&ask(&count)), 7);
    write(4);
    assert_eq!(matched(&ask(&count)), 4);
    assert_eq!(
        ask(&initialize())["result"]["protocolVersion"],
        "2025-06-18"
    );
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Asks one question over the socket, and returns the answer or the lines of its error.
fn answered(server: &Server, tool: &str, arguments: &Value) -> Result<Value, String> {
    let call = request("tools/call", json!({"name": tool, "arguments": arguments}));
    let mut result = post(server, &[], &call).json()["result"].take();
    match result["isError"] == true {
        true => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
        false => Ok(result["structuredContent"].take()),
    }
}

/// How many reviews the same search finds over REST.
fn matched_by_rest(server: &Server, arguments: &Value) -> Value {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments.as_object().unwrap() {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        query.append_pair(name, &text);
    }
    let found = server.get(&format!("/api/reviews/search?{}", query.finish()));
    found.json()["matched"].clone()
}

#[test]
fn questions_are_answered_in_one_call_or_get_a_hint() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let server = Server::start_on(data.as_ref());
    let search = |arguments: &Value| answered(&server, "search_reviews", arguments).unwrap();
    // What a person or a model asks for, and a part of a text that has to be found.
    for (arguments, part) in [
        (
            json!({"words": "missed deadline"}),
            "They missed a filing deadline",
        ),
        (json!({"words": "couldn’t"}), "couldn't"),
        (json!({"words": "espanol"}), "español"),
        (json!({"mentions_technician": "Okafor"}), "Adaeze"),
        (json!({"aspect": "fees", "polarity": "negative"}), ""),
        (
            json!({"words": "green card", "min_rating": 4}),
            "green card",
        ),
        (json!({"words": "(terrible) parking?"}), "Terrible parking"),
        (
            json!({"words": "\"phone at 9\" adoption"}),
            "adoption papers",
        ),
        (
            json!({"words": "deadline -lawyer", "max_rating": 2}),
            "deadline",
        ),
        (
            json!({"mentions_technician": "o’dowd", "max_rating": 3}),
            "O'Dowd",
        ),
        (json!({"has_reply": true, "max_rating": 1}), ""),
        (
            json!({"query": "the", "mentions_service": "Probate", "sort": "oldest"}),
            "",
        ),
    ] {
        let page = search(&arguments);
        let reviews = page["reviews"].as_array().unwrap().iter();
        let mut texts = reviews.map(|review| review["text"].as_str().unwrap());
        assert!(texts.any(|text| text.contains(part)), "{arguments}: {page}");
        assert!(page.get("hint").is_none());
        assert_eq!(
            page["matched"],
            matched_by_rest(&server, &arguments),
            "{arguments}"
        );
    }
    // No review has all of these words: those with the rarest word are listed, and the answer says so.
    for (arguments, words) in [
        (json!({"words": "rude staff"}), "rude"),
        (json!({"query": "fees billing"}), "billing"),
        (json!({"words": "wheelchair accessible"}), "wheelchair"),
        (json!({"words": "how are the fees there xyz"}), "fees"),
    ] {
        let page = search(&arguments);
        assert_eq!(
            (&page["matched"], &page["next_cursor"]),
            (&json!(0), &Value::Null)
        );
        let [hint, closest] = [&page["hint"], &page["closest"]["words"]];
        assert!(hint.as_str().unwrap().contains("no review fits all of it"));
        assert!(closest.as_str().unwrap().contains(words), "{page}");
        let listed = page["reviews"].as_array().unwrap();
        let found = page["closest"]["matched"].as_u64().unwrap();
        assert_eq!(listed.len() as u64, found.min(20));
        let text = |review: &Value| review["text"].as_str().unwrap().to_lowercase();
        assert!(listed.iter().all(|review| text(review).contains(words)));
    }
    // What is excluded stays excluded, and other filters stay.
    let count = |arguments| search(&arguments)["closest"]["matched"].as_u64().unwrap();
    let all = count(json!({"words": "invoice xyzzy"}));
    let without = count(json!({"words": "invoice xyzzy -voicemails"}));
    let low = count(json!({"words": "invoice xyzzy", "max_rating": 2}));
    assert!(without < all && low < all, "{all} {without} {low}");
    let page = search(&json!({"words": "xyzzy plugh"}));
    assert!(page.get("closest").is_none() && page["hint"].as_str().unwrap().contains("xyzzy"));
    for (tool, arguments, nearest) in [
        (
            "search_reviews",
            json!({"mentions_service": "family law"}),
            "",
        ),
        (
            "search_reviews",
            json!({"mentions_technician": "Okafar"}),
            "Okafor",
        ),
        ("get_technician", json!({"name": "Reyes"}), "Marisol Reyes"),
    ] {
        let lines = answered(&server, tool, &arguments).unwrap_err();
        assert!(lines.contains(nearest), "{lines}");
    }
}
