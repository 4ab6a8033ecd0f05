//! `reviewd forget`, the ignore list and pruning: removed reviews stay removed, and mirrors see ids but no reasons.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Folder, values};
use crate::support::Server;
use crate::support::dataset::DataDir;
use crate::support::program::run;

const TABLE: &str = "id,author,rating,date,text\n\
    1,Ann,5,2024-03-04,Good.\n2,Bob,1,2024-03-05,Bad.\n3,Cy,3,2024-03-06,Fair.\n";

/// The table without its second review.
fn shorter() -> String {
    TABLE.replace("2,Bob,1,2024-03-05,Bad.\n", "")
}

/// Runs `reviewd forget` with these arguments, asserts its status, and returns its output.
fn forget(folder: &Path, arguments: &[&str], status: i32) -> String {
    let data = ["--data", folder.to_str().unwrap()];
    run(&[&["forget"], arguments, &data].concat()).with(status)
}

/// The entries of the ignore list.
fn ignored(folder: &Path) -> Vec<Value> {
    let text = fs::read(folder.join("ignored.json")).unwrap();
    let mut list: Value = serde_json::from_slice(&text).unwrap();
    serde_json::from_value(list["ignored"].take()).unwrap()
}

#[test]
fn a_review_that_was_removed_is_not_added_again() {
    let folder = Folder::new();
    // The first source has no ids.
    let table = "author,rating,date,text\nAnn,5,2024-03-04,Good.\nBob,1,2024-03-05,Bad.\n";
    let source = folder.file("a.csv", table);
    folder.import(&[&source, "--verified"]);
    let id = folder.reviews()[0]["id"].as_str().unwrap().to_owned();
    let text = forget(folder.path(), &[&id, "--reason", "asked by Bob"], 0);
    let done = format!("{id}: removed, and on the ignore list\n");
    assert!(text.contains(&done), "{text}");
    // The backup is deleted, because it would still contain the review.
    assert!(!folder.path().join("reviews.json.bak").exists());
    let entry = values(&ignored(folder.path())[0], &["id", "reason"]);
    assert_eq!(entry, json!([id, "asked by Bob"]));
    let report = folder.import(&[&source, "--verified"]);
    let found = values(&report, &["written", "missing_count"]);
    assert_eq!(found, json!([false, 0]));
    let counts = values(&report["sources"][0], &["added", "ignored"]);
    assert_eq!(counts, json!([0, 1]));
    folder.says(&[&source], 0, "1 on the ignore list and not added\n");
    folder.import(&[&folder.file("b.csv", TABLE), "--verified"]);
    assert!(!folder.each("author").contains(&json!("Bob")));
}

#[test]
fn forgotten_ids_are_listed_once_and_need_a_reason() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let unknown = "no review has the id gone; nothing was changed";
    let known = "r00001: was on the ignore list\n";
    for (arguments, status, text) in [
        (&["r00001"][..], 64, "--reason"),
        (&["r00001", "--reason", " "], 64, "--reason"),
        (&["no id", "--reason", "x"], 64, "no id"),
        (&["r00001", "gone", "--reason", "x"], 66, unknown),
        (&["r00001", "r00001", "--reason", "x"], 0, "r00001: removed"),
        (&["r00001", "r00000", "--reason", "x"], 0, known),
    ] {
        let said = forget(folder.path(), arguments, status);
        assert!(said.contains(text), "{said}");
    }
    let listed = ignored(folder.path());
    let ids: Vec<&Value> = listed.iter().map(|entry| &entry["id"]).collect();
    assert_eq!(ids, ["r00001", "r00000"]);
}

#[test]
fn mirrors_read_ids_and_dates_of_removed_reviews_but_no_reasons() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let since = |server: &Server, date: &str| server.get(&format!("/api/reviews/since/{date}"));
    let before = since(&Server::start_on(folder.path()), "2019-01-01");
    assert_eq!(before.json().get("removed"), None);
    folder.write(
        "ignored.json",
        r#"{"ignored":[{"id":"r00001","date":"2025-03-01","reason":"a secret"},
            {"id":"older","date":"2024-02-29","reason":"a secret"}]}"#,
    );
    let server = Server::start_on(folder.path());
    let newest = json!({"id": "r00001", "date": "2025-03-01"});
    let all = json!([newest, {"id": "older", "date": "2024-02-29"}]);
    for (date, expected) in [
        ("2020-01-01", Some(&all)),
        ("2024-03-01", Some(&json!([newest]))),
        ("2025-03-02", None),
    ] {
        let document = since(&server, date).json();
        assert_eq!(document.get("removed"), expected, "{date}");
    }
    // A review on the ignore list is not published, even if reviews.json still contains it.
    let with = since(&server, "2019-01-01");
    assert_eq!(with.json()["matched"], 2);
    assert_ne!(with.etag(), before.etag());
    for target in ["/reviews.json", "/api/reviews/since/2019-01-01", "/"] {
        assert!(!server.get(target).text().contains("a secret"), "{target}");
    }
    let text = run(&["check", folder.path().to_str().unwrap()]).with(0);
    let told = "1 on the list of ignored.json and so not published";
    assert!(text.contains(told), "{text}");
}

#[test]
fn the_list_is_checked_like_the_other_files() {
    let folder = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    for (id, date, reason, problem) in [
        ("a b", "2026-01-01", "reason", "id: \"a b\" is not an id"),
        ("a", "2026-02-30", "reason", "date: "),
        ("a", "2026-01-01", "why", "reason: is missing"),
    ] {
        let problem = format!("ignored[0].{problem}");
        let entry = json!({"id": id, "date": date, reason: "x"});
        let list = json!({"ignored": [entry]});
        folder.write("ignored.json", &list.to_string());
        let found = run(&["check", folder.path().to_str().unwrap()]).with(65);
        assert!(found.contains(&problem), "{list}: {found}");
    }
}

#[test]
fn pruning_removes_reviews_that_a_complete_source_no_longer_has() {
    let folder = Folder::new();
    let source = folder.file("a.csv", TABLE);
    folder.import(&[&source, "--source", "google"]);
    let other = "id,author,rating,date,text\n9,Zoe,5,2024-01-01,Old.\n";
    folder.import(&[&folder.file("b.csv", other), "--source", "yelp"]);
    let short = folder.file("c.csv", shorter());
    let dry = [&short, "--source", "google", "--prune", "--dry-run"];
    let end = "1 no longer in the source and removed, such as ";
    folder.says(&dry, 0, end);
    assert_eq!(folder.reviews().len(), 4);
    let report = folder.import(&dry[..4]);
    let counts = values(&report, &["pruned_count", "review_count", "written"]);
    assert_eq!(counts, json!([1, 3, true]), "{report}");
    assert_eq!(folder.each("author"), ["Cy", "Ann", "Zoe"]);
}

#[test]
fn pruning_refuses_sources_that_may_not_be_complete() {
    let folder = Folder::new();
    folder.import(&[&folder.file("a.csv", TABLE)]);
    let unknown = ",Ann,9,2024-03-04,Good.\n3,Cy,3,2024-03-06,Fair.\n";
    for (rows, why) in [
        ("", "a source contains no review"),
        (unknown, "1 of the rejected records have no id"),
    ] {
        let table = format!("id,author,rating,date,text\n{rows}");
        folder.says(&[&folder.file("b.csv", table), "--prune"], 65, why);
        assert_eq!(folder.reviews().len(), 3);
    }
    // A refused record with an id shows that the source still has the review.
    let refused = shorter().replace("Ann,5,", "Ann,9,");
    let report = folder.import(&[&folder.file("b.csv", refused), "--prune"]);
    assert_eq!(report["pruned_count"], 1, "{report}");
    assert_eq!(folder.reviews().len(), 2);
}

#[test]
fn a_review_cited_by_an_faq_answer_is_not_removed() {
    let folder = DataDir::with_reviews(2, "2026-01-01T00:00:00Z");
    let editorial = r#"{"summary":null,"pull_quote":null,"faq":[{"question":"Q","answer":"A","review_ids":["r00001"]}]}"#;
    folder.write("editorial.json", editorial);
    let text = forget(folder.path(), &["r00001", "--reason", "x"], 65);
    let why = "faq[0].review_ids[0]: \"r00001\" is not";
    assert!(text.contains(why), "{text}");
    let file = fs::read_to_string(folder.path().join("reviews.json")).unwrap();
    assert!(file.contains("r00001"));
    assert!(!folder.path().join("ignored.json").exists());
}
