//! Several independent servers on the same data give identical responses.

use crate::interface::targets;
use crate::mcp::initialize;
use crate::support::dataset::DataDir;
use crate::support::{BASE_URL, PING, Program, Response, get, post_mcp, wait_until};

/// Requested in addition to the GET operations in `/openapi.json`.
const MORE: [&str; 5] = [
    "/api/reviews/search?min_rating=4&query=the&limit=7",
    "/api/reviews/search?rating=9",
    "/?query=the&rating=5",
    "/api/reviews/since/2024-02-30",
    "/nothing/here",
];

fn replica(data: &DataDir, threads: &str) -> Program {
    let data = data.path().to_str().unwrap();
    let flags = ["--data", data, "--base-url", BASE_URL, "--no-hub"];
    Program::serve(&[&flags[..], &["--threads", threads]].concat())
}

/// A response without its Date.
fn lasting(response: Response) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut fields = response.fields;
    fields.retain(|(name, _)| name != "date");
    (response.status, fields, response.body)
}

#[test]
fn three_replicas_give_the_same_bytes_tags_dates_and_sessions() {
    // The modification times of the files differ between the copies.
    let folders = [(); 3].map(|()| DataDir::sample());
    let replicas = [
        replica(&folders[0], "1"),
        replica(&folders[1], "2"),
        replica(&folders[2], "4"),
    ];
    let targets = [targets(), MORE.map(str::to_owned).to_vec()].concat();
    for coding in ["identity", "gzip", "br"] {
        let fields = [("Accept-Encoding", coding), ("Host", "reviews.example")];
        for target in &targets {
            let ask = |replica: &Program| lasting(get(replica.address(), target, &fields));
            // Each replica compresses its variants in the background, at a different time.
            wait_until(&format!("{coding} {target} is the same everywhere"), || {
                let first = ask(&replicas[0]);
                replicas[1..].iter().all(|replica| ask(replica) == first)
            });
            let (status, fields, _) = ask(&replicas[0]);
            let has = |name: &str| fields.iter().any(|(field, _)| field == name);
            let is_document = status == 200 && !target.ends_with('z');
            let validators = ["etag", "last-modified"].map(has);
            assert_eq!(validators, [is_document; 2], "{target} {fields:?}");
        }
    }
    // The compressed variants exist by now, so the comparison above included them.
    let fields = [("Accept-Encoding", "br")];
    let compressed = get(replicas[2].address(), "/reviews.json", &fields);
    assert_eq!(compressed.field("content-encoding"), Some("br"));
    assert_sessions_are_shared(&replicas);
}

/// Asserts that every replica accepts the sessions of all others.
fn assert_sessions_are_shared(replicas: &[Program]) {
    for minting in replicas {
        let begun = post_mcp(minting.address(), &[], &initialize().to_string());
        let session = begun.field("mcp-session-id").expect("a session");
        for asked in replicas {
            let pinged = post_mcp(asked.address(), &[("Mcp-Session-Id", session)], PING);
            assert_eq!(pinged.status, 200);
        }
    }
}
