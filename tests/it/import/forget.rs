//! Reviews that were removed: they do not come back, mirrors are told, and the reason stays with the operator.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{file, import, reviews, says, values};
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
    // At first its source has no ids.
    let table = "author,rating,date,text\nAnn,5,2024-03-04,Good.\nBob,1,2024-03-05,Bad.\n";
    let source = file(folder.path(), "a.csv", table);
    import(folder.path(), &[&source, "--verified"]);
    let id = reviews(folder.path())[0]["id"].as_str().unwrap().to_owned();
    let (status, text) = forget(folder.path(), &[&id, "--reason", "asked by Bob"]);
    assert_eq!(status, Some(0), "{text}");
    let done = format!("{id}: removed, and on the ignore list\n");
    assert!(text.contains(&done), "{text}");
    // The previous file would hold the review still.
    assert!(!folder.path().join("reviews.json.bak").exists());
    let entry = &list(folder.path())["ignored"][0];
    assert_eq!(
        values(entry, &["id", "reason"]),
        json!([id, "asked by Bob"])
    );
    let (_, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(
        values(&report, &["written", "missing_count"]),
        json!([false, 0])
    );
    let counts = values(&report["sources"][0], &["added", "ignored"]);
    assert_eq!(counts, json!([0, 1]));
    let end = "1 on the ignore list and not added\n";
    says(folder.path(), &[&source], 0, end);
    let with_ids = file(folder.path(), "b.csv", TABLE);
    import(folder.path(), &[&with_ids, "--verified"]);
    let authors = reviews(folder.path()).into_iter();
    assert!(
        authors
            .map(|review| review["author"].clone())
            .all(|author| author != "Bob")
    );
}

#[test]
fn forgetting_is_listed_once_and_needs_a_reason() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    for (arguments, status, text) in [
        (&["r00001"][..], 64, "--reason"),
        (&["r00001", "--reason", " "], 64, "--reason"),
        (&["no id", "--reason", "x"], 64, "no id"),
        (
            &["r00001", "r00001", "gone", "--reason", "x"],
            0,
            "gone: not in the folder; on the ignore list now",
        ),
        (
            &["gone", "r00000", "--reason", "x"],
            0,
            "gone: was on the ignore list\n",
        ),
    ] {
        let (ended, said) = forget(folder.path(), arguments);
        assert_eq!(ended, Some(status), "{said}");
        assert!(said.contains(text), "{said}");
    }
    let listed = list(folder.path());
    let entries = listed["ignored"].as_array().unwrap().iter();
    let ids: Vec<&Value> = entries.map(|entry| &entry["id"]).collect();
    assert_eq!(ids, ["r00001", "gone", "r00000"]);
    assert_eq!(reviews(folder.path()).len(), 1);
}

#[test]
fn mirrors_read_ids_and_days_of_what_was_removed_and_never_the_reason() {
    let folder = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (before, tag) = since(&serve(folder.path()), "2020-01-01");
    assert_eq!(before.get("removed"), None);
    folder.write(
        "ignored.json",
        r#"{"ignored":[{"id":"r00001","date":"2025-03-01","reason":"a secret"},
            {"id":"older","date":"2024-02-29","reason":"a secret"}]}"#,
    );
    let server = serve(folder.path());
    let removed = |id: &str, date: &str| json!({"id": id, "date": date});
    let newest = removed("r00001", "2025-03-01");
    let all = json!([newest, removed("older", "2024-02-29")]);
    for (date, expected) in [
        ("2020-01-01", Some(&all)),
        ("2024-03-01", Some(&json!([newest]))),
        ("2025-03-02", None),
    ] {
        assert_eq!(since(&server, date).0.get("removed"), expected, "{date}");
    }
    // What is on the list is not published even while the file still has it.
    let (document, with) = since(&server, "2019-01-01");
    assert_eq!(document["matched"], 2);
    assert_ne!(with, tag);
    // A replica with the same files agrees.
    assert_eq!(since(&serve(folder.path()), "2019-01-01").1, with);
    for target in ["/reviews.json", "/api/reviews/since/2019-01-01", "/"] {
        let reply = get(server.address(), target, &[]);
        let body = String::from_utf8_lossy(&reply.body);
        assert!(!body.contains("a secret"), "{target}");
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
    let entry = |id: &str, date: &str| format!(r#"{{"id":"{id}","date":"{date}","reason":"x"}}"#);
    let one = entry("a", "2026-01-01");
    for (entries, problem) in [
        (
            entry("a b", "2026-01-01"),
            "ignored[0].id: \"a b\" is not an id",
        ),
        (entry("a", "2026-02-30"), "ignored[0].date: "),
        (
            one.replace("reason", "why"),
            "ignored[0].reason: is missing",
        ),
    ] {
        folder.write("ignored.json", &format!(r#"{{"ignored":[{entries}]}}"#));
        let output = run(&["check", folder.path().to_str().unwrap()]);
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(65), "{entries}");
        assert!(found.contains(problem), "{entries}: {found}");
    }
}

#[test]
fn pruning_removes_reviews_that_a_complete_source_no_longer_has() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source, "--source", "google"]);
    let other = "id,author,rating,date,text\n9,Zoe,5,2024-01-01,Old.\n";
    let other = file(folder.path(), "b.csv", other);
    import(folder.path(), &[&other, "--source", "yelp"]);
    let short = TABLE.replace("2,Bob,1,2024-03-05,Bad.\n", "");
    let short = file(folder.path(), "c.csv", short);
    let dry = [&short, "--source", "google", "--prune", "--dry-run"];
    let end = "1 not in the source any more and removed, such as ";
    says(folder.path(), &dry, 0, end);
    assert_eq!(reviews(folder.path()).len(), 4);
    let (_, report) = import(folder.path(), &dry[..4]);
    let counts = values(&report, &["pruned_count", "review_count", "written"]);
    assert_eq!(counts, json!([1, 3, true]), "{report}");
    let left = reviews(folder.path());
    let authors: Vec<&Value> = left.iter().map(|review| &review["author"]).collect();
    assert_eq!(authors, ["Cy", "Ann", "Zoe"]);
}

#[test]
fn pruning_refuses_sources_that_may_not_be_complete() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source]);
    let unknown = ",Ann,9,2024-03-04,Good.\n3,Cy,3,2024-03-06,Fair.\n";
    for (rows, why) in [
        ("", "a source holds no review"),
        (unknown, "1 of the refused records have no id"),
    ] {
        let table = format!("id,author,rating,date,text\n{rows}");
        let broken = file(folder.path(), "b.csv", table);
        says(folder.path(), &[&broken, "--prune"], 65, why);
        assert_eq!(reviews(folder.path()).len(), 3);
    }
    // A refused record that names its review says that the source still has it.
    let refused = TABLE
        .replace("Ann,5,", "Ann,9,")
        .replace("2,Bob,1,2024-03-05,Bad.\n", "");
    let refused = file(folder.path(), "b.csv", refused);
    let (_, report) = import(folder.path(), &[&refused, "--prune"]);
    assert_eq!(report["pruned_count"], 1, "{report}");
    assert_eq!(reviews(folder.path()).len(), 2);
}

#[test]
fn a_review_that_an_answer_rests_on_is_not_removed() {
    let folder = DataDir::with_reviews(2, "2026-01-01T00:00:00Z");
    folder.write(
        "editorial.json",
        r#"{"summary":null,"pull_quote":null,"faq":[{"question":"Q","answer":"A","review_ids":["r00001"]}]}"#,
    );
    let (status, text) = forget(folder.path(), &["r00001", "--reason", "x"]);
    assert_eq!(status, Some(65), "{text}");
    assert!(
        text.contains("faq[0].review_ids[0]: \"r00001\" is not"),
        "{text}"
    );
    assert_eq!(reviews(folder.path()).len(), 2);
    assert!(!folder.path().join("ignored.json").exists());
}
