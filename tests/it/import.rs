//! `reviewd import`: exports into a folder that is then checked, served and searched.

mod bounds;
mod folder;
mod forget;
mod forms;
mod remarks;
mod runs;
mod sources;

use std::path::{Path, PathBuf};
use std::process::Output;

use reviewd::import::new_file;
use reviewd::wire::date::Timestamp;
use serde_json::Value;

use crate::support::program::run;

/// An export that was written for these tests.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import");
    path.join(name).to_str().expect("a path of text").to_owned()
}

/// Runs an import into `folder` with further arguments, and returns its report as JSON.
pub(crate) fn import(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = raw(folder, &[arguments, &["--format", "json"]].concat());
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), report)
}

/// Makes a folder without reviews, unless it has a file of them.
fn make(folder: &Path) {
    let path = folder.join("reviews.json");
    if !path.exists() {
        std::fs::create_dir_all(folder).expect("a folder");
        let site = "https://weiss.example/";
        let text = new_file("Weiß", "LegalService", site, Timestamp::from_unix(0));
        std::fs::write(path, text).expect("the file can be written");
    }
}

/// Runs an import into `folder` with further arguments.
pub(crate) fn raw(folder: &Path, arguments: &[&str]) -> Output {
    make(folder);
    let into = ["--into", folder.to_str().expect("a path of text")];
    run(&[&["import"], arguments, &into].concat())
}

/// Imports sources into a new folder without an error, and returns it with the report and the reviews.
fn imported(arguments: &[&str]) -> (tempfile::TempDir, Value, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, report) = import(folder.path(), arguments);
    assert_eq!(status, Some(0), "{report}");
    let found = reviews(folder.path());
    (folder, report, found)
}

/// The values of these keys.
fn values(object: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|key| object[*key].clone()).collect()
}

/// Asserts how an import into `folder` ends, and that it says `text`.
fn says(folder: &Path, arguments: &[&str], status: i32, text: impl AsRef<str>) {
    let output = raw(folder, arguments);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(text.as_ref()), "{said}");
}

/// The reviews of a folder, newest first.
pub(crate) fn reviews(folder: &Path) -> Vec<Value> {
    let text = std::fs::read(folder.join("reviews.json")).expect("there is a file");
    let file: Value = serde_json::from_slice(&text).expect("it is JSON");
    file["reviews"].as_array().expect("a list").clone()
}

/// A file in `folder` with these contents.
pub(crate) fn file(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, contents).expect("the file can be written");
    path.to_str().expect("a path of text").to_owned()
}

/// What a report says went wrong, one line each.
fn reasons(report: &Value) -> Vec<String> {
    let refused = report["refused"].as_array().expect("a list");
    let reason = |one: &Value| one["reason"].as_str().unwrap_or_default().to_owned();
    let line = |one: &Value| format!("{}: {}", one["line"], reason(one));
    refused.iter().map(line).collect()
}
