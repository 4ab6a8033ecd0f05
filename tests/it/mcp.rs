//! `/mcp` over HTTP, and the same server over stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Fields, Response, Server, program, service};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data");

fn post(server: &Server, fields: Fields<'_>, body: &Value) -> Response {
    server.post_mcp(fields, &body.to_string())
}

pub(crate) fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params})
}

fn ping() -> Value {
    request("ping", json!({}))
}

/// A message that gets no response.
fn notification() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A call of a tool.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The same request without a session (revision 2026-07-28).
fn stateless(mut request: Value) -> Value {
    request["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request
}

#[test]
fn a_session_begins_serves_and_ends() {
    let server = service();
    let begun = post(server, &[], &initialize());
    assert_eq!(begun.status, 200);
    assert_eq!(begun.field("content-type"), Some("application/json"));
    assert_eq!(begun.field("cache-control"), Some("no-store"));
    assert!(begun.field("etag").is_none());
    assert!(begun.field("access-control-allow-origin").is_none());
    let session = begun.field("mcp-session-id").expect("a session");
    let fields = [
        ("Mcp-Session-Id", session),
        ("MCP-Protocol-Version", "2025-06-18"),
    ];
    let accepted = post(server, &fields, &notification());
    assert_eq!((accepted.status, accepted.body.len()), (202, 0));
    let search = call("search_reviews", &json!({"rating": 5, "limit": 3}));
    let found = post(server, &fields, &search).json()["result"]["structuredContent"].take();
    let rest = server.get("/api/reviews/search?rating=5&limit=3").json();
    assert_eq!(found["matched"], rest["matched"]);
    assert_eq!(found["reviews"][2]["text"], rest["reviews"][2]["text"]);
    let ended = server.send("DELETE", "/mcp", &fields);
    assert_eq!((ended.status, ended.body.len()), (204, 0));
    assert_eq!(post(server, &fields, &ping()).status, 404);
    assert_eq!(post(server, &[], &ping()).status, 200);
}

#[test]
fn hosts_and_origins_are_allowed_by_flags_that_the_error_names() {
    let server = Server::start_with(|config| {
        config.mcp_hosts = vec!["reviewd".to_owned()];
        config.mcp_origins = vec!["https://app.example".to_owned()];
    });
    let [host, origin] = [("Host", "reviewd:8080"), ("Origin", "https://app.example")];
    let refused = post(service(), &[host], &ping());
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["code"]), (403, &json!(-32_600)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("\"reviewd:8080\" is not a name"));
    assert!(message.contains("--allow-host"));
    let answer = post(&server, &[host, origin], &ping());
    let allowed = answer.field("access-control-allow-origin");
    assert_eq!((answer.status, allowed), (200, Some(origin.1)));
    assert_eq!(answer.field("vary"), Some("Origin"));
    for foreign in ["http://reviewd:8080", "https://evil.example", "null"] {
        let refused = post(&server, &[host, ("Origin", foreign)], &ping());
        let allowed = refused.field("access-control-allow-origin");
        assert_eq!((refused.status, allowed), (403, None), "{foreign}");
    }
}

#[test]
fn header_fields_reach_the_protocol() {
    let version = ("MCP-Protocol-Version", "2025-06-18");
    let statuses = [1, 2].map(|times| post(service(), &vec![version; times], &ping()).status);
    assert_eq!(statuses, [200, 400]);
    let event = post(service(), &[("Accept", "text/event-stream")], &ping());
    assert_eq!(event.field("content-type"), Some("text/event-stream"));
    let text = event.text();
    assert!(text.starts_with("event: message\ndata: {"));
    assert!(text.ends_with("}\n\n"));
}

/// serde_json parses the string after its private `RawValue` key again, and strings in it, with no limit of the depth.
#[test]
fn json_in_strings_is_not_parsed_however_deep() {
    let mut body = "[]".to_owned();
    while body.len() < 900_000 {
        let text = format!("{}{body}{}", "[".repeat(100), "]".repeat(100));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        body = format!(r#"{{"$serde_json::private::RawValue":"{text}"}}"#);
    }
    let message = format!(r#"{{"jsonrpc":"2.0","id":{body},"id":{body},"method":"ping"}}"#);
    for message in [&body, &message[..message.len().min(1 << 20)]] {
        assert_eq!(service().post_mcp(&[], message).status, 400);
    }
    assert_eq!(service().get("/healthz").status, 200);
}

/// Starts `reviewd mcp` with these arguments.
fn stdio(arguments: &[&str]) -> Child {
    let mut command = program::command();
    command.arg("mcp").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Returns the responses of `reviewd mcp` with these arguments to these lines.
fn over_stdio(arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut child = stdio(arguments);
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.lines().map(serde_json::from_str);
    answers.collect::<Result<_, _>>().expect("lines of JSON")
}

#[test]
fn stdio_answers_from_local_data_in_both_eras() {
    let unknown = request("resources/read", json!({"uri": "reviews://nothing é"}));
    let lines = [
        initialize(),
        notification(),
        call("search_reviews", &json!({"limit": 2})),
        unknown.clone(),
        stateless(request("tools/call", json!({"name": "get_faq"}))),
        stateless(unknown),
    ];
    let local = over_stdio(&["--data", DATA], &lines);
    assert_eq!(local.len(), 5);
    assert_eq!(local[1]["result"]["structuredContent"]["returned"], 2);
    assert_eq!(local[2]["error"]["code"], -32_002);
    assert_eq!(local[3]["result"]["resultType"], "complete");
    assert_eq!(local[4]["error"]["code"], -32_602);
}

#[test]
fn stdio_answers_line_by_line_and_reads_changed_data_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reviews.json");
    let sample = std::fs::read(format!("{DATA}/reviews.json")).unwrap();
    let mut data: Value = serde_json::from_slice(&sample).unwrap();
    let mut write = |reviews: usize| {
        data["reviews"].as_array_mut().unwrap().truncate(reviews);
        std::fs::write(&file, data.to_string()).unwrap();
    };
    write(7);
    let mut child = stdio(&["--data", folder.path().to_str().unwrap()]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |message: &Value| -> Value {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let count = call("search_reviews", &json!({"limit": 1}));
    let matched = |answer: &Value| answer["result"]["structuredContent"]["matched"].clone();
    assert_eq!(matched(&ask(&count)), 7);
    let both = ask(&json!([count, notification(), ping()]));
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    std::fs::write(&file, "{").unwrap();
    assert_eq!(matched(&ask(&count)), 7);
    write(4);
    assert_eq!(matched(&ask(&count)), 4);
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Calls a tool over HTTP, and returns its result or the text of its error.
fn answered(tool: &str, arguments: &Value) -> Result<Value, String> {
    let mut result = post(service(), &[], &call(tool, arguments)).json()["result"].take();
    match result["isError"] == true {
        true => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
        false => Ok(result["structuredContent"].take()),
    }
}

fn search(arguments: &Value) -> Value {
    answered("search_reviews", arguments).unwrap()
}

/// Tells whether the hint of a page contains `part`.
fn hints(page: &Value, part: &str) -> bool {
    page["hint"].as_str().unwrap().contains(part)
}

#[test]
fn a_tool_says_what_a_name_was_taken_for() {
    for (tool, arguments, name) in [
        ("get_aspect_sentiment", json!({"aspect": "rude"}), "empathy"),
        ("get_service", json!({"service": "executor"}), "probate"),
        (
            "search_reviews",
            json!({"mentions_service": "executor"}),
            "probate",
        ),
        (
            "get_technician",
            json!({"name": "Dr. Okafor"}),
            "Adaeze Okafor",
        ),
    ] {
        let answer = answered(tool, &arguments).expect("a name that is listed");
        assert_eq!(answer["resolved_names"][0]["name"], name, "{tool}");
    }
}

/// Typical searches of people and models, each with a part of a text that has to be found.
#[test]
fn questions_are_answered_in_one_call() {
    for (query, part) in [
        ("words=missed deadline", "missed a filing deadline"),
        ("words=couldn’t", "couldn't"),
        ("words=espanol", "español"),
        ("mentions_technician=Okafor", "Adaeze"),
        ("aspect=fees&polarity=negative", ""),
        ("words=green card&min_rating=4", "green card"),
        ("words=(terrible) parking?", "Terrible parking"),
        ("words=\"phone at 9\" adoption", "adoption papers"),
        ("words=deadline -lawyer&max_rating=2", "deadline"),
        ("mentions_technician=o’dowd&max_rating=3", "O'Dowd"),
        ("mentions_technician=Attorney Raghunathan", ""),
        ("mentions_technician=Ms. Priya Raghunathan", ""),
        ("mentions_technician=Dr. Okafor", ""),
        ("has_reply=true&max_rating=1", ""),
        ("query=the&mentions_service=Probate&sort=oldest", ""),
    ] {
        // Numbers and `true` are passed as JSON values, everything else as text.
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let arguments: serde_json::Map<String, Value> = pairs
            .map(|(name, text)| (name.to_owned(), value(text)))
            .collect();
        let page = search(&arguments.into());
        let mut reviews = page["reviews"].as_array().unwrap().iter();
        let found = reviews.any(|review| review["text"].as_str().unwrap().contains(part));
        assert!(found, "{query}: {page}");
        assert!(page.get("hint").is_none(), "{query}: {page}");
        // The same search finds as many over REST.
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let escaped = escaped.replace("%26", "&").replace("%3d", "=");
        let rest = service()
            .get(&format!("/api/reviews/search?{escaped}"))
            .json();
        assert_eq!(page["matched"], rest["matched"], "{query}");
    }
    let lines = |tool, arguments| answered(tool, &arguments).unwrap_err();
    lines("search_reviews", json!({"mentions_service": "family law"}));
    let like_okafar = lines("search_reviews", json!({"mentions_technician": "Okafar"}));
    assert!(like_okafar.contains("Okafor"), "{like_okafar}");
    let of_reyes = lines("get_technician", json!({"name": "Reyes"}));
    assert!(of_reyes.contains("Marisol Reyes"), "{of_reyes}");
    let counsel = lines("get_technician", json!({"name": "Counsel Raghunatan"}));
    let similar = "similar names: Priya Raghunathan";
    assert!(counsel.contains(similar), "{counsel}");
    let like_nobody = lines("get_technician", json!({"name": "Zzyzx"}));
    assert!(like_nobody.contains("known people: "), "{like_nobody}");
}

/// If no review has all of the words, those that have some of them are listed, and the result says so.
#[test]
fn a_search_that_finds_nothing_lists_the_reviews_that_fit_best() {
    for (arguments, word) in [
        (json!({"words": "rude staff"}), "rude"),
        (json!({"query": "fees billing"}), "fee"),
        (json!({"words": "wheelchair accessible"}), "wheelchair"),
        (json!({"words": "how are the fees there xyz"}), "fee"),
        (json!({"words": "Is parking easy?"}), "parking"),
        (json!({"words": "rude staff", "sort": "oldest"}), "rude"),
    ] {
        let page = search(&arguments);
        assert_eq!(page["matched"], 0, "{arguments}");
        assert_eq!(page["next_cursor"], Value::Null);
        assert!(hints(&page, "no review matches all of it"), "{page}");
        let listed = page["reviews"].as_array().unwrap();
        let ranked = page["ranked"].as_u64().unwrap();
        assert_eq!(listed.len() as u64, ranked.min(20));
        let best = listed[0]["text"].as_str().unwrap().to_lowercase();
        assert!(best.contains(word), "{best}");
    }
    // Excluded words and other filters still apply.
    let count = |arguments| search(&arguments)["ranked"].as_u64().unwrap();
    let all = count(json!({"words": "invoice xyzzy"}));
    let without = count(json!({"words": "invoice xyzzy -voicemails"}));
    assert!(without < all, "{without} of {all}");
    let low = count(json!({"words": "invoice xyzzy", "max_rating": 2}));
    assert!(low < all, "{low} of {all}");
    for (words, negation) in [
        ("would not recommend zzz", "not"),
        ("they didn't recommend zzz", "didn't"),
    ] {
        let page = search(&json!({"words": words}));
        let told = format!("\"{negation}\" was not searched for");
        assert!(hints(&page, &told), "{page}");
    }
    // A negation that is searched for is not named.
    let page = search(&json!({"words": "nobody recommend zzz"}));
    assert!(!hints(&page, "was not searched for"), "{page}");
    let page = search(&json!({"words": "missed deadlines zzz"}));
    assert!(hints(&page, "\"deadlines\" alone"), "{page}");
    let found = answered("search", &json!({"query": "fees xyzzy"})).unwrap();
    let title = found["results"][0]["title"].as_str().unwrap();
    assert!(title.ends_with("(not all words)"), "{title}");
    // No review has all the function words.
    let found = answered("search", &json!({"query": "how are the fees"})).unwrap();
    let title = found["results"][0]["title"].as_str().unwrap();
    assert!(title.contains(": fees"), "{title}");
    assert!(!title.contains("not all words"), "{title}");
    // Words that overlap or are repeated count once.
    let found = answered("search", &json!({"query": "how were the fees fees fee"})).unwrap();
    let title = found["results"][0]["title"].as_str().unwrap();
    assert!(!title.contains("not all words"), "{title}");
    let page = search(&json!({"words": "xyzzy plugh"}));
    assert_eq!(page["ranked"], 0);
    assert!(hints(&page, "xyzzy"), "{page}");
}

/// The order by relevance also finds forms of words, and the other orders stay exact.
#[test]
fn words_are_ranked_unless_an_order_is_asked_for() {
    let ranked = search(&json!({"words": "fees", "limit": 100}));
    let newest = search(&json!({"words": "fees", "limit": 100, "sort": "newest"}));
    assert_eq!(ranked["matched"], newest["matched"]);
    assert_eq!(newest.get("ranked"), None);
    assert!(
        ranked["ranked"].as_u64() >= ranked["matched"].as_u64(),
        "{ranked}"
    );
    let rest = service()
        .get("/api/reviews/search?words=fees&limit=100&sort=relevance")
        .json();
    for key in ["matched", "ranked", "returned", "next_cursor"] {
        assert_eq!(rest[key], ranked[key], "{key}");
    }
    let ids = |page: &Value| -> Vec<Value> {
        let reviews = page["reviews"].as_array().unwrap().iter();
        reviews.map(|review| review["id"].clone()).collect()
    };
    assert_eq!(ids(&rest), ids(&ranked));
}

/// Each question lists a review that answers it before one with a word that only looks alike.
#[test]
fn a_word_that_only_looks_alike_does_not_come_first() {
    for (words, answer, other) in [
        (
            "won the case",
            "We won our case.",
            "They won't take the case.",
        ),
        (
            "show up",
            "The plumber did not show up.",
            "A new shower in one day, up the stairs.",
        ),
        (
            "didn't show up",
            "He never turned up.",
            "James showed us the drain.",
        ),
        (
            "didn't show up",
            "Missed the appointment twice.",
            "They showed us everything.",
        ),
    ] {
        let data = DataDir::empty();
        let reviews = reviews_json(4, "2026-11-01T00:00:00Z")
            .replace("Review number 0 of this practice.", answer)
            .replace("Review number 3 of this practice.", other)
            .replace("\"verified\":true", "\"verified\":true,\"language\":\"en\"");
        data.write("reviews.json", &reviews);
        let server = Server::start_on(data.path());
        let message = call("search_reviews", &json!({"words": words})).to_string();
        let page = server.post_mcp(&[], &message).json();
        let listed = &page["result"]["structuredContent"]["reviews"];
        assert_eq!(listed[0]["text"], answer, "{words}: {page}");
    }
}
