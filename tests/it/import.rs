//! `reviewd import`: imports exports of platforms into a folder, which is then checked, served and searched.

mod bounds;
mod corrections;
mod folder;
mod forget;
mod forms;
mod media;
mod remarks;
mod runs;
mod sources;

use std::path::Path;

use reviewd::import::new_file;
use reviewd::wire::date::Timestamp;
use serde_json::{Value, json};

use crate::support::program::{Ended, run};

/// Returns the path of an export that was written for these tests.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import");
    path.join(name).to_str().expect("a path of text").to_owned()
}

/// A temporary folder into which reviews are imported.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates the folder of a business without reviews.
    pub(crate) fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        let site = "https://weiss.example/";
        let text = new_file("Weiß", "LegalService", site, Timestamp::from_unix(0));
        folder.file("reviews.json", text);
        folder
    }

    /// Creates a folder and imports into it, which must succeed; returns the report, too.
    fn with(arguments: &[&str]) -> (Folder, Value) {
        let folder = Folder::new();
        let report = folder.import(arguments);
        assert_eq!(report["status"], 0, "{report}");
        (folder, report)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn text(&self) -> &str {
        self.path().to_str().expect("a path of text")
    }

    /// Writes a file with these contents, and returns its path.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, contents).expect("the file can be written");
        path.to_str().expect("a path of text").to_owned()
    }

    /// Runs an import with these arguments.
    fn run(&self, arguments: &[&str]) -> Ended {
        run(&[&["import"], arguments, &["--into", self.text()]].concat())
    }

    /// Runs an import, and returns its report with the exit status in it.
    pub(crate) fn import(&self, arguments: &[&str]) -> Value {
        let ended = self.run(&[arguments, &["--format", "json"]].concat());
        let mut report = serde_json::from_str(&ended.stdout).unwrap_or(json!({}));
        report["status"] = ended.status.into();
        report
    }

    /// Asserts the exit status of an import, and that it prints `text`; returns the whole output.
    fn says(&self, arguments: &[&str], status: i32, text: &str) -> String {
        let said = self.run(arguments).with(status);
        assert!(said.contains(text), "{said}");
        said
    }

    /// The reviews, newest first.
    pub(crate) fn reviews(&self) -> Vec<Value> {
        let text = std::fs::read(self.path().join("reviews.json")).expect("there is a file");
        let mut file: Value = serde_json::from_slice(&text).expect("it is JSON");
        serde_json::from_value(file["reviews"].take()).expect("a list")
    }

    /// The values of `key`, newest first.
    fn each(&self, key: &str) -> Vec<Value> {
        let reviews = self.reviews().into_iter();
        reviews.map(|mut review| review[key].take()).collect()
    }
}

/// Returns the values of these keys.
fn values(object: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|key| object[*key].clone()).collect()
}

/// Returns the entries of a list in a report, each as its line and the value of `key`.
fn lines(report: &Value, list: &str, key: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in report[list].as_array().expect("a list") {
        let text = entry[key].as_str().unwrap_or_default();
        lines.push(format!("{}: {text}", entry["line"]));
    }
    lines
}

/// Returns the reasons of the rejected entries in a report, one line each.
fn reasons(report: &Value) -> Vec<String> {
    lines(report, "rejected", "reason")
}
