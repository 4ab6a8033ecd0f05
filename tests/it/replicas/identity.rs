//! Replicas with the same files answer every documented address with the same bytes, tags and dates.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Program, Response, get, send, wait_until};

const BASE_URL: &str = "https://reviews.example";

/// Copies the sample business into a directory of its own, so that the files have other times.
fn copy_of_the_sample() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    for entry in fs::read_dir(sample).unwrap() {
        let path = entry.unwrap().path();
        fs::write(
            folder.path().join(path.file_name().unwrap()),
            fs::read(&path).unwrap(),
        )
        .unwrap();
    }
    folder
}

fn start(data: &Path, arguments: &[&str]) -> Program {
    let data = data.to_str().unwrap();
    let common = ["--data", data, "--base-url", BASE_URL, "--no-hub"];
    Program::serve(&[&common[..], arguments].concat())
}

/// The addresses that `/openapi.json` describes, their parameters filled with the examples.
fn targets(description: &Value) -> Vec<String> {
    let mut targets = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        if item.get("get").is_none() {
            continue;
        }
        let mut target = path.clone();
        let own = item["parameters"].as_array().into_iter().flatten();
        for parameter in own {
            let (name, example) = (&parameter["name"], &parameter["example"]);
            target = target.replace(
                &format!("{{{}}}", name.as_str().unwrap()),
                example.as_str().unwrap(),
            );
        }
        targets.push(target);
    }
    for more in [
        "/api/reviews/search?min_rating=4&query=the&limit=7",
        "/api/reviews/search?rating=9",
        "/?query=the&rating=5",
        "/api/reviews/since/2024-01-01",
        "/api/reviews/since/2024-02-30",
        "/nothing/here",
    ] {
        targets.push(more.to_owned());
    }
    targets
}

/// Everything of a reply but the time at which it was made.
fn lasting(response: Response) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut fields = response.fields;
    fields.retain(|(name, _)| name != "date");
    (response.status, fields, response.body)
}

#[test]
fn three_replicas_answer_every_documented_address_with_the_same_bytes_tags_and_dates() {
    let folders = [
        copy_of_the_sample(),
        copy_of_the_sample(),
        copy_of_the_sample(),
    ];
    let threads = ["1", "2", "4"];
    let replicas: Vec<Program> = folders
        .iter()
        .zip(threads)
        .map(|(folder, threads)| start(folder.path(), &["--threads", threads]))
        .collect();
    let description = get(replicas[0].address(), "/openapi.json", &[]).json();
    let targets = targets(&description);
    assert!(targets.len() > 25, "{targets:?}");
    for coding in ["identity", "gzip", "br"] {
        let fields = [("Accept-Encoding", coding), ("Host", "reviews.example")];
        for target in &targets {
            let ask = |replica: &Program| lasting(get(replica.address(), target, &fields));
            // Compressed variants are made in the background, by each in its own time.
            wait_until(&format!("{coding} {target} is the same everywhere"), || {
                let first = ask(&replicas[0]);
                replicas[1..].iter().all(|replica| ask(replica) == first)
            });
            let (status, fields, _) = ask(&replicas[0]);
            let has = |name: &str| fields.iter().any(|(field, _)| field == name);
            let is_state = target.ends_with("z");
            assert_eq!(
                status == 200 && !is_state,
                has("etag"),
                "{target} {fields:?}"
            );
            assert!(!has("etag") || has("last-modified"), "{target}");
        }
    }
    // The variants have been made by now, so that the comparison above was one of them.
    let fields = [("Accept-Encoding", "br")];
    let compressed = get(replicas[2].address(), "/reviews.json", &fields);
    assert_eq!(compressed.field("content-encoding"), Some("br"));
    // One replica's tag is the other's, by each method.
    let tag = compressed.etag().to_owned();
    let fields = [("Accept-Encoding", "br"), ("If-None-Match", tag.as_str())];
    for replica in &replicas {
        let held = send(replica.address(), "GET", "/reviews.json", &fields, b"");
        assert_eq!(held.status, 304);
    }
}

#[test]
fn any_replica_answers_any_session() {
    let folder = copy_of_the_sample();
    let replicas = [start(folder.path(), &[]), start(folder.path(), &[])];
    let post = |program: &Program, session: Option<&str>, body: Value| {
        let session = session.map(|session| ("Mcp-Session-Id", session));
        let fields = [
            ("Content-Type", "application/json"),
            ("Host", "reviews.example"),
        ];
        let fields: Vec<_> = fields.into_iter().chain(session).collect();
        send(
            program.address(),
            "POST",
            "/mcp",
            &fields,
            body.to_string().as_bytes(),
        )
    };
    let begin = |program: &Program| {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let begun = post(
            program,
            None,
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        );
        begun.field("mcp-session-id").expect("a session").to_owned()
    };
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    for minting in &replicas {
        let session = begin(minting);
        for asked in &replicas {
            assert_eq!(post(asked, Some(&session), list.clone()).status, 200);
        }
    }
}
