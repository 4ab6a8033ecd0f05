//! What a run is told and shows: standard input and dry runs.

use std::fs::File;
use std::process::{Output, Stdio};

use serde_json::json;

use super::{file, import, raw, reviews};
use crate::support::program::command;

const TABLE: &str = "id,name,stars,date,text\n1,Ann,5,2024-03-04,Good.\n2,Bob,2,2024-03-05,Slow.\n";

/// Imports standard input into `folder`.
fn piped(folder: &std::path::Path, bytes: &[u8], arguments: &[&str]) -> Output {
    super::make(folder);
    let path = file(folder, "stdin", bytes);
    let mut command = command();
    command.args(["import", "-", "--into", folder.to_str().unwrap()]);
    command
        .args(arguments)
        .stdin(Stdio::from(File::open(path).unwrap()));
    command.output().unwrap()
}

#[test]
fn standard_input_is_a_source_of_any_format() {
    let workbook = std::fs::read(super::fixture("workbook.xlsx")).unwrap();
    for (bytes, count) in [(TABLE.as_bytes(), 2), (&workbook, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let output = piped(folder.path(), bytes, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("standard input: CSV, "));
        assert_eq!(reviews(folder.path()).len(), count);
    }
}

#[test]
fn a_dry_run_shows_three_reviews_as_they_would_be_published() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "id,name,stars,date,text,reply,verified\n".to_owned();
    for day in 1..=4 {
        table.push_str(&format!(
            "{day},Ann {day},{day},2024-03-0{day},\"<b>Word</b> {day}\",Thanks {day}.,yes\n"
        ));
    }
    table.push_str("5,Eve,5,2024-03-05,Not verified.,,no\n");
    let source = file(folder.path(), "a.csv", table);
    let output = raw(folder.path(), &[&source, "--dry-run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "as they would be published:\n  \
        ★★★★☆ 2024-03-04 Ann 4, import\n    Word 4\n    reply: Thanks 4.\n  \
        ★★★☆☆ 2024-03-03 Ann 3, import\n    Word 3\n    reply: Thanks 3.\n  \
        ★★☆☆☆ 2024-03-02 Ann 2, import\n    Word 2\n    reply: Thanks 2.\n";
    assert!(text.contains(expected), "{text}");
    let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
    assert_eq!(report["sample"].as_array().unwrap().len(), 3);
    assert_eq!(report["sample"][0]["text"], "Word 4");
    let (_, report) = import(folder.path(), &[&source]);
    assert_eq!(report["sample"], json!([]));
}
