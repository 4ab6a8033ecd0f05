//! Reviews that were removed: they do not come back, mirrors are told, and the reason stays with the operator.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{file, import, raw, reviews};
use crate::support::dataset::DataDir;
use crate::support::program::run;
use crate::support::{Server, get};
use reviewd::server::DataSource;

const TABLE: &str = "id,author,rating,date,text\n\
    1,Ann,5,2024-03-04,Good.\n2,Bob,1,2024-03-05,Bad.\n3,Cy,3,2024-03-06,Fair.\n";

fn forget(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let data = ["--data", folder.to_str().unwrap()];
    let output = run(&[&["forget"], arguments, &data].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn list(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("ignored.json")).unwrap()).unwrap()
}

fn since(server: &Server, date: &str) -> (Value, String) {
    let reply = get(server.address(), &format!("/api/reviews/since/{date}"), &[]);
    let tag = reply.etag().to_owned();
    (serde_json::from_slice(&reply.body).unwrap(), tag)
}

fn serve(data: &Path) -> Server {
    Server::start_with(|config| config.data = DataSource::Directory(data.to_owned()))
}

#[test]
fn a_review_that_was_removed_is_not_added_again() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source, "--verified"]);
    let id = reviews(folder.path())[1]["id"].as_str().unwrap().to_owned();
    let (status, text) = forget(folder.path(), &[&id, "--reason", "asked by Bob"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains(&format!("{id}: removed, and on the ignore list\n")),
        "{text}"
    );
    assert_eq!(reviews(folder.path()).len(), 2);
    // The previous file would hold the review still.
    assert!(!folder.path().join("reviews.json.bak").exists());
    let entry = &list(folder.path())["ignored"][0];
    assert_eq!(
        (&entry["id"], &entry["reason"]),
        (&json!(id), &json!("asked by Bob"))
    );
    let (status, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(
        (status, &report["written"]),
        (Some(0), &json!(false)),
        "{report}"
    );
    let counts = &report["sources"][0];
    assert_eq!(
        (&counts["added"], &counts["ignored"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(report["missing_count"], 0);
    let output = raw(folder.path(), &[&source]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("1 record is on the ignore list and not added\n"),
        "{text}"
    );
}

#[test]
fn forgetting_is_listed_once_and_needs_a_reason() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (status, text) = forget(folder.path(), &["r00001"]);
    assert_eq!(status, Some(64), "{text}");
    assert_eq!(
        forget(folder.path(), &["r00001", "--reason", " "]).0,
        Some(64)
    );
    assert_eq!(
        forget(folder.path(), &["no id", "--reason", "x"]).0,
        Some(64)
    );
    assert!(!folder.path().join("ignored.json").exists());
    let (status, text) = forget(
        folder.path(),
        &["r00001", "r00001", "gone", "--reason", "x"],
    );
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("gone: not in the folder; on the ignore list now"),
        "{text}"
    );
    let (status, text) = forget(folder.path(), &["gone", "r00000", "--reason", "y"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("gone: was on the ignore list\n"), "{text}");
    let ids: Vec<Value> = list(folder.path())["ignored"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].clone())
        .collect();
    assert_eq!(ids, ["r00001", "gone", "r00000"]);
    assert_eq!(reviews(folder.path()).len(), 1);
}

#[test]
fn a_review_that_an_answer_rests_on_is_not_removed() {
    let folder = DataDir::with_reviews(2, "2026-01-01T00:00:00Z");
    folder.write(
        "editorial.json",
        r#"{"summary":null,"pull_quote":null,"faq":[{"question":"Q","answer":"A","review_ids":["r00001"]}]}"#,
    );
    let before = fs::read(folder.path().join("reviews.json")).unwrap();
    let (status, text) = forget(folder.path(), &["r00001", "--reason", "x"]);
    assert_eq!(status, Some(65), "{text}");
    assert!(
        text.contains("faq[0].review_ids[0]: \"r00001\" is not the id of a review"),
        "{text}"
    );
    assert_eq!(
        fs::read(folder.path().join("reviews.json")).unwrap(),
        before
    );
    assert!(!folder.path().join("ignored.json").exists());
}

#[test]
fn without_reviews_there_is_nothing_to_forget() {
    let folder = DataDir::empty();
    assert_eq!(forget(folder.path(), &["r1", "--reason", "x"]).0, Some(66));
}

#[test]
fn mirrors_read_ids_and_days_of_what_was_removed_and_never_the_reason() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let plain = serve(folder.path());
    let (before, tag) = since(&plain, "2020-01-01");
    assert_eq!(before.get("removed"), None);
    folder.write(
        "ignored.json",
        r#"{"ignored":[{"id":"r00001","date":"2025-03-01","reason":"a secret"},
            {"id":"older","date":"2024-02-29","reason":"a secret"},
            {"id":"newer","date":"2025-03-01","reason":"a secret"}]}"#,
    );
    let server = serve(folder.path());
    let (document, with) = since(&server, "2020-01-01");
    let removed = |id: &str, date: &str| json!({"id": id, "date": date});
    let newest = [
        removed("r00001", "2025-03-01"),
        removed("newer", "2025-03-01"),
    ];
    let all = [&newest[..], &[removed("older", "2024-02-29")]].concat();
    assert_eq!(document["removed"], json!(all));
    assert_ne!(with, tag);
    let (document, _) = since(&server, "2024-03-01");
    assert_eq!(document["removed"], json!(newest));
    let (document, _) = since(&server, "2025-03-02");
    assert_eq!(document.get("removed"), None);
    // What is on the list is not published even while the file still has it.
    let (document, _) = since(&server, "2019-01-01");
    assert_eq!(document["matched"], 2);
    assert_eq!(
        get(server.address(), "/api/reviews/r00001", &[]).status,
        404
    );
    // A replica with the same files agrees.
    assert_eq!(since(&serve(folder.path()), "2020-01-01").1, with);
    for target in [
        "/reviews.json",
        "/api/reviews/since/2019-01-01",
        "/insights.json",
        "/",
    ] {
        let reply = get(server.address(), target, &[]);
        assert!(
            !String::from_utf8_lossy(&reply.body).contains("a secret"),
            "{target}"
        );
    }
    let check = run(&["check", folder.path().to_str().unwrap()]);
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(
        text.contains("1 on the list of ignored.json and so not published"),
        "{text}"
    );
}

#[test]
fn the_list_is_checked_like_the_other_files() {
    let folder = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    for (text, problem) in [
        ("[]", "ignored.json: an array is not an object"),
        (
            r#"{"ignored":[{"id":"a b","date":"2026-01-01","reason":"x"}]}"#,
            "ignored[0].id: \"a b\" is not an id",
        ),
        (
            r#"{"ignored":[{"id":"a","date":"2026-02-30","reason":"x"}]}"#,
            "ignored[0].date: ",
        ),
        (
            r#"{"ignored":[{"id":"a","date":"2026-01-01"}]}"#,
            "ignored[0].reason: is missing",
        ),
        (
            r#"{"ignored":[{"id":"a","date":"2026-01-01","reason":"x"},{"id":"a","date":"2026-01-02","reason":"y"}]}"#,
            "ignored: holds a twice",
        ),
    ] {
        folder.write("ignored.json", text);
        let output = run(&["check", folder.path().to_str().unwrap()]);
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(65), "{text}");
        assert!(found.contains(problem), "{text}: {found}");
    }
}

#[test]
fn pruning_removes_what_a_complete_source_has_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source, "--source", "google"]);
    let other = file(
        folder.path(),
        "b.csv",
        "id,author,rating,date,text\n9,Zoe,5,2024-01-01,Old.\n",
    );
    import(folder.path(), &[&other, "--source", "yelp"]);
    let short = file(
        folder.path(),
        "c.csv",
        TABLE.replace("2,Bob,1,2024-03-05,Bad.\n", ""),
    );
    let arguments = [short.as_str(), "--source", "google", "--prune"];
    let (status, report) = import(folder.path(), &[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(
        (&report["pruned_count"], &report["review_count"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(reviews(folder.path()).len(), 4);
    let output = raw(folder.path(), &[&arguments[..], &["--dry-run"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("1 review is not in the source any more and removed: "),
        "{text}"
    );
    let (status, report) = import(folder.path(), &arguments);
    assert_eq!(
        (status, &report["written"]),
        (Some(0), &json!(true)),
        "{report}"
    );
    let authors: Vec<Value> = reviews(folder.path())
        .iter()
        .map(|review| review["author"].clone())
        .collect();
    assert_eq!(authors, ["Cy", "Ann", "Zoe"]);
    // It is not on the ignore list, so it may come back.
    import(folder.path(), &[&source, "--source", "google"]);
    assert_eq!(reviews(folder.path()).len(), 4);
}

#[test]
fn pruning_refuses_sources_that_may_not_be_complete() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source]);
    for (rows, message) in [
        ("", "a source holds no review"),
        (
            ",Ann,9,2024-03-04,Good.\n3,Cy,3,2024-03-06,Fair.\n",
            "1 of the refused records have no id",
        ),
    ] {
        let broken = file(
            folder.path(),
            "b.csv",
            format!("id,author,rating,date,text\n{rows}"),
        );
        let output = raw(folder.path(), &[&broken, "--prune"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(65), "{text}");
        assert!(text.contains(message), "{text}");
        assert_eq!(reviews(folder.path()).len(), 3);
    }
    // A refused record that names its review says that the source still has it.
    let refused = TABLE
        .replace("Ann,5,", "Ann,9,")
        .replace("2,Bob,1,2024-03-05,Bad.\n", "");
    let refused = file(folder.path(), "b.csv", refused);
    let (status, report) = import(folder.path(), &[&refused, "--prune"]);
    assert_eq!(
        (status, &report["pruned_count"]),
        (Some(0), &json!(1)),
        "{report}"
    );
    assert_eq!(reviews(folder.path()).len(), 2);
}

#[test]
fn an_import_into_a_folder_with_only_a_list_heeds_it() {
    let first = tempfile::tempdir().unwrap();
    let source = file(first.path(), "a.csv", TABLE);
    import(first.path(), &[&source]);
    let id = reviews(first.path())[0]["id"].as_str().unwrap().to_owned();
    let folder = DataDir::empty();
    folder.write(
        "ignored.json",
        &format!(r#"{{"ignored":[{{"id":"{id}","date":"2026-01-01","reason":"x"}}]}}"#),
    );
    import(folder.path(), &[&source]);
    assert_eq!(reviews(folder.path()).len(), 2);
}

#[test]
fn a_review_that_was_removed_stays_out_when_its_source_has_ids_by_now() {
    let folder = tempfile::tempdir().unwrap();
    let table = "author,rating,date,text\nAnn,5,2024-03-04,Good.\nBob,1,2024-03-05,Bad.\n";
    let source = file(folder.path(), "a.csv", table);
    import(folder.path(), &[&source, "--verified"]);
    let id = reviews(folder.path())[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        forget(folder.path(), &[&id, "--reason", "asked by Bob"]).0,
        Some(0)
    );
    let source = file(folder.path(), "b.csv", TABLE);
    let renamed = fs::read_to_string(&source).unwrap();
    fs::write(&source, renamed.replace("3,Cy,3,2024-03-06,Fair.\n", "")).unwrap();
    let (_, report) = import(folder.path(), &[&source, "--verified", "--merge-same-text"]);
    let authors: Vec<_> = reviews(folder.path());
    assert!(
        authors.iter().all(|review| review["author"] != "Bob"),
        "{report}"
    );
}
