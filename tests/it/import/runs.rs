//! What a run is told and shows: standard input, dry runs, the business, reviews without ids.

use std::fs::File;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::{file, import, raw, reviews};
use crate::support::program::{Program, command, run};

const TABLE: &str = "id,name,stars,date,text\n1,Ann,5,2024-03-04,Good.\n2,Bob,2,2024-03-05,Slow.\n";

/// Imports standard input into `folder`.
fn piped(folder: &std::path::Path, bytes: &[u8], arguments: &[&str]) -> Output {
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
fn standard_input_may_have_the_size_of_a_data_file_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    // The result needs more than the source, so a source that has the size alone is read and then refused.
    for (limit, message) in [
        (TABLE.len(), "reviews.json would be larger than"),
        (
            TABLE.len() - 1,
            "-: is larger than 73 bytes (--data-file-bytes)",
        ),
    ] {
        let limit = limit.to_string();
        let output = piped(
            folder.path(),
            TABLE.as_bytes(),
            &["--data-file-bytes", &limit],
        );
        assert_eq!(output.status.code(), Some(65));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(message), "{error}");
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
        ★★☆☆☆ 2024-03-02 Ann 2, import\n    Word 2\n    reply: Thanks 2.\n\n";
    assert!(text.contains(expected), "{text}");
    let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
    assert_eq!(report["sample"].as_array().unwrap().len(), 3);
    assert_eq!(report["sample"][0]["text"], "Word 4");
    let (_, report) = import(folder.path(), &[&source]);
    assert_eq!(report["sample"], json!([]));
}

#[test]
fn placeholders_are_neither_served_nor_pass_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    import(folder.path(), &[&source, "--verified"]);
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        directory,
        "--no-hub",
    ];
    for command in [&["check", directory][..], &serve] {
        let output = run(command);
        assert_eq!(output.status.code(), Some(65), "{output:?}");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        for key in ["name", "url"] {
            let why = format!(
                "business.{key}: is the placeholder of an import: write the {key} of the business there, or import again with --business-{key}"
            );
            assert!(text.contains(&why), "{text}");
        }
    }
    // The same import again, and nothing but the business changes.
    let name = "Weiß & Söhne \"Recht\"";
    let url = "https://weiss.example/";
    let named = [&source, "--business-name", name, "--business-url", url];
    let (status, report) = import(folder.path(), &named);
    assert_eq!(
        (status, &report["written"]),
        (Some(0), &json!(true)),
        "{report}"
    );
    let text = std::fs::read(folder.path().join("reviews.json")).unwrap();
    assert_eq!(report["byte_count"], text.len());
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(written["business"]["name"], name);
    assert_eq!(run(&["check", directory]).status.code(), Some(0));
    drop(Program::serve(&["--data", directory]));
    // What the operator has written stays.
    let (_, report) = import(folder.path(), &[&source, "--business-name", "Other"]);
    assert_eq!(report["written"], json!(false), "{report}");
}

#[test]
fn a_terminal_is_asked_for_the_business_until_the_answers_fit() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.csv", TABLE);
    let answers = file(
        folder.path(),
        "answers",
        "Weiß & Söhne\nno address\nhttps://weiss.example/\n",
    );
    let line = format!(
        "{} import {source} --into {}",
        env!("CARGO_BIN_EXE_reviewd"),
        folder.path().display()
    );
    // A terminal of its own.
    let mut terminal = std::process::Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]);
    terminal.stdin(Stdio::from(File::open(answers).unwrap()));
    let output = terminal.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let again = "Its website (https://…): must be an http or https address";
    assert!(
        shown.contains("Name of the business: ") && shown.contains(again),
        "{shown}"
    );
    let text = std::fs::read(folder.path().join("reviews.json")).unwrap();
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(written["business"]["name"], "Weiß & Söhne");
    assert_eq!(written["business"]["url"], "https://weiss.example/");
}
