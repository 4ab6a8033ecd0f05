//! `reviewd check`: what it prints and the status it ends with.

use std::path::Path;
use std::process::{Command, Output};

fn check(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reviewd"));
    command
        .env_clear()
        .arg("check")
        .args(arguments)
        .output()
        .unwrap()
}

fn lines(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A copy of the sample whose `reviews.json` went through `change`.
fn copy(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    // Without the sample's own check.json, so that its warnings are heard.
    let directory = tempfile::tempdir().unwrap();
    for name in ["taxonomy.json", "editorial.json"] {
        std::fs::copy(sample.join(name), directory.path().join(name)).unwrap();
    }
    let reviews = std::fs::read_to_string(sample.join("reviews.json")).unwrap();
    std::fs::write(directory.path().join("reviews.json"), change(reviews)).unwrap();
    directory
}

#[test]
fn a_valid_folder_ends_with_0_and_prints_its_warnings() {
    let directory = copy(|reviews| reviews);
    let output = check(&[text(directory.path())]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        lines(&output).contains("not verified and so not published [unverified]"),
        "{output:?}"
    );
}

#[test]
fn the_sample_ends_without_warnings_as_its_own_are_silenced_with_a_reason() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let output = check(&[text(&sample), "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(lines(&output).ends_with("6 unverified, no warnings\n"));
}

#[test]
fn a_rule_is_silenced_by_its_name_and_json_carries_it() {
    let directory = copy(|reviews| reviews);
    let output = check(&[text(directory.path()), "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    let codes = value["warnings"].as_array().unwrap().iter();
    let codes: Vec<&str> = codes
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["unverified", "money"]);
    let output = check(&[
        text(directory.path()),
        "--strict",
        "--allow",
        "money,unverified",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = check(&[text(directory.path()), "--strict", "--allow", "money"]);
    assert_eq!(output.status.code(), Some(65));
    let output = check(&[text(directory.path()), "--allow", "mony"]);
    assert_eq!(output.status.code(), Some(64));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("unverified"),
        "the rules are named: {message}"
    );
}

#[test]
fn strict_ends_with_65_on_warnings() {
    let directory = copy(|reviews| reviews);
    assert_eq!(
        check(&[text(directory.path()), "--strict"]).status.code(),
        Some(65)
    );
}

#[test]
fn a_refused_folder_ends_with_65_and_names_the_place() {
    let directory = copy(|reviews| reviews.replacen("\"rating\": 5", "\"rating\": 7", 1));
    let output = check(&[text(directory.path())]);
    assert_eq!(output.status.code(), Some(65));
    assert!(
        lines(&output).contains(".rating: 7 is not from 1 to 5"),
        "{output:?}"
    );
}

#[test]
fn a_half_written_file_ends_with_65_and_says_so() {
    let directory = copy(|reviews| reviews[..reviews.len() / 2].to_owned());
    let output = check(&[text(directory.path()), "--format", "json"]);
    assert_eq!(output.status.code(), Some(65));
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    let errors = value["errors"].as_array().unwrap();
    let message = errors.last().unwrap()["message"].as_str().unwrap();
    assert!(message.starts_with("ends too early"), "{message}");
}

#[test]
fn a_folder_that_is_not_there_ends_with_66() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("none");
    let output = check(&[text(&missing)]);
    assert_eq!(output.status.code(), Some(66));
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_file_over_the_size_limit_ends_with_65() {
    let directory = copy(|reviews| reviews);
    let output = check(&[text(directory.path()), "--data-file-bytes", "1KiB"]);
    assert_eq!(output.status.code(), Some(65));
}
