//! Standard input as a source, and dry runs.

use std::fs::File;
use std::process::Stdio;

use serde_json::json;

use super::{Folder, fixture};
use crate::support::program::{Ended, command};

#[test]
fn standard_input_is_a_source_of_any_format() {
    for name in ["trustpilot.csv", "workbook.xlsx"] {
        let folder = Folder::new();
        let mut command = command();
        command.args(["import", "-", "--into", folder.text()]);
        let source = File::open(fixture(name)).unwrap();
        let printed = Ended::of(command.stdin(Stdio::from(source))).with(0);
        assert!(printed.starts_with("standard input: "));
        assert!(!folder.reviews().is_empty());
    }
}

#[test]
fn a_dry_run_shows_the_newest_the_oldest_and_each_oddity_as_they_would_be_published() {
    let folder = Folder::new();
    let mut table = "id,name,stars,date,text,reply,verified\n".to_owned();
    for day in 1..=4 {
        let text = format!("\"<b>Word</b> {day}\",Thanks {day}.");
        table += &format!("{day},Ann {day},{day},2024-03-0{day},{text},yes\n");
    }
    table += "5,Eve,5,2024-03-05,Not verified.,,no\n";
    let source = folder.file("a.csv", table);
    let expected = "as they would be published:\n  the newest:\n  \
        ★★★★★ 2024-03-05 Eve, import (not published: not verified, or hidden at its source)\n    Not verified.\n  \
        the oldest:\n  ★☆☆☆☆ 2024-03-01 Ann 1, import\n    Word 1\n    reply: Thanks 1.\n  \
        with a reply:\n  ★★★★☆ 2024-03-04 Ann 4, import\n    Word 4\n    reply: Thanks 4.\n";
    folder.says(&[&source, "--dry-run"], 0, expected);
    let report = folder.import(&[&source, "--dry-run"]);
    assert_eq!(report["sample"].as_array().unwrap().len(), 3);
    assert_eq!(report["sample"][2]["review"]["text"], "Word 4");
    assert_eq!(folder.import(&[&source])["sample"], json!([]));
}
