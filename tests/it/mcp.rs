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
    if result["isError"] == true {
        let error = result["content"][0]["text"].as_str().unwrap();
        return Err(error.to_owned());
    }
    Ok(result["structuredContent"].take())
}

fn search(arguments: &Value) -> Value {
    answered("search_reviews", arguments).unwrap()
}

/// Returns how many reviews a search ranks.
fn count_ranked(arguments: &Value) -> u64 {
    search(arguments)["ranked"].as_u64().unwrap()
}

/// Returns the title of the first result of the tool `search`.
fn first_title(query: &str) -> String {
    let found = answered("search", &json!({"query": query})).unwrap();
    let title = found["results"][0]["title"].as_str().unwrap();
    title.to_owned()
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

/// Returns the arguments that mean the same as this query: numbers and `true` as JSON values, everything else as text.
fn arguments_of(query: &str) -> Value {
    let mut arguments = serde_json::Map::new();
    for pair in query.split('&') {
        let (name, text) = pair.split_once('=').unwrap();
        let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        arguments.insert(name.to_owned(), value);
    }
    arguments.into()
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
        let page = search(&arguments_of(query));
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
}

#[test]
fn the_error_about_an_unknown_name_lists_known_names() {
    for (tool, arguments, part) in [
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
        (
            "get_technician",
            json!({"name": "Counsel Raghunatan"}),
            "similar names: Priya Raghunathan",
        ),
        ("get_technician", json!({"name": "Zzyzx"}), "known people: "),
    ] {
        let error = answered(tool, &arguments).unwrap_err();
        assert!(error.contains(part), "{arguments}: {error}");
    }
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
}

#[test]
fn reviews_that_fit_best_still_fit_the_filters() {
    let all = count_ranked(&json!({"words": "invoice xyzzy"}));
    let without = count_ranked(&json!({"words": "invoice xyzzy -voicemails"}));
    assert!(without < all, "{without} of {all}");
    let low = count_ranked(&json!({"words": "invoice xyzzy", "max_rating": 2}));
    assert!(low < all, "{low} of {all}");
}

#[test]
fn the_hint_names_negations_that_were_not_searched_for() {
    for (words, negation) in [
        ("would not recommend zzz", "not"),
        ("they didn't recommend zzz", "didn't"),
    ] {
        let page = search(&json!({"words": words}));
        let told = format!("\"{negation}\" was not searched for");
        assert!(hints(&page, &told), "{page}");
    }
    // "nobody" is a word of the search.
    let page = search(&json!({"words": "nobody recommend zzz"}));
    assert!(!hints(&page, "was not searched for"), "{page}");
}

#[test]
fn the_hint_names_the_words_to_search_for() {
    let page = search(&json!({"words": "missed deadlines zzz"}));
    assert!(hints(&page, "\"deadlines\" alone"), "{page}");
    let page = search(&json!({"words": "xyzzy plugh"}));
    assert_eq!(page["ranked"], 0);
    assert!(hints(&page, "xyzzy"), "{page}");
}

#[test]
fn titles_say_which_reviews_do_not_have_all_words() {
    let title = first_title("fees xyzzy");
    assert!(title.ends_with("(not all words)"), "{title}");
    // No review has all the function words, which do not count.
    let title = first_title("how are the fees");
    assert!(title.contains(": fees"), "{title}");
    assert!(!title.contains("not all words"), "{title}");
    // Words that overlap or are repeated count once.
    let title = first_title("how were the fees fees fee");
    assert!(!title.contains("not all words"), "{title}");
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
    let rest_reviews = rest["reviews"].as_array().unwrap();
    let reviews = ranked["reviews"].as_array().unwrap();
    assert_eq!(rest_reviews.len(), reviews.len());
    for (over_rest, over_mcp) in rest_reviews.iter().zip(reviews) {
        assert_eq!(over_rest["id"], over_mcp["id"]);
    }
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
