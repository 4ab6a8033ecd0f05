//! `reviewd check`: its output and exit status.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::dataset::DataDir;
use crate::support::program::run;

/// Runs the command, asserts its exit status, and returns its output.
#[track_caller]
fn check(arguments: &[&str], status: i32) -> String {
    run(&[&["check"], arguments].concat()).with(status)
}

/// A copy of the sample with `reviews.json` changed by `change`, and without the sample's check.json, which suppresses
/// warnings.
fn copy(change: impl Fn(String) -> String) -> (DataDir, String) {
    let data = DataDir::sample();
    std::fs::remove_file(data.path().join("check.json")).unwrap();
    let reviews = std::fs::read_to_string(data.path().join("reviews.json")).unwrap();
    data.write("reviews.json", &change(reviews));
    let path = data.path().to_str().unwrap().to_owned();
    (data, path)
}

#[test]
fn the_sample_has_no_warnings_because_its_check_json_suppresses_them() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let printed = check(&[sample, "--strict"], 0);
    assert!(printed.ends_with("6 unverified, 0 warnings\n"), "{printed}");
}

#[test]
fn warnings_exit_0_unless_strict_and_are_suppressed_by_name() {
    let (_directory, path) = copy(|reviews| reviews);
    let missing = format!("{path}/none");
    let both = "money,unverified";
    for (arguments, status, part) in [
        (&[&*path][..], 0, "so not published [unverified]"),
        (&[&path, "--strict"], 65, "[unverified]"),
        (&[&path, "--strict", "--allow", "money"], 65, "[unverified]"),
        (&[&path, "--strict", "--allow", both], 0, "0 warnings"),
        // The message names the rules.
        (&[&path, "--allow", "mony"], 64, "unverified"),
        (&[&missing], 66, "reviews.json"),
    ] {
        let printed = check(arguments, status);
        assert!(printed.contains(part), "{arguments:?}: {printed}");
    }
    let value = run(&["check", &path, "--format", "json"]).json(0);
    let codes = [0, 1].map(|number| value["warnings"][number]["code"].clone());
    assert_eq!(codes, ["unverified", "money"]);
}

#[test]
fn an_error_of_a_value_names_its_line_and_column() {
    let (_directory, path) = copy(|reviews| {
        let wrong = reviews.replacen("\"rating\": 5", "\"rating\": 7", 1);
        wrong.replacen("\"url\": \"https:", "\"url\": \"", 1)
    });
    let file = Path::new(&path).join("reviews.json");
    let reviews = std::fs::read_to_string(&file).unwrap();
    let found = check(&[&path], 65);
    let rating = "].rating: 7 is not a whole number from 1 to 5";
    for (part, message) in [
        ("\"url\": \"//", "business.url: "),
        ("\"rating\": 7", rating),
    ] {
        let number = line_of(part, &reviews);
        let start = format!("error: reviews.json: line {number}, column ");
        let mut lines = found.lines();
        let is_reported = lines.any(|line| line.starts_with(&start) && line.contains(message));
        assert!(is_reported, "{start}: {found}");
    }
    let value = run(&["check", &path, "--format", "json"]).json(65);
    assert_eq!(value["error_count"], 2, "{value}");
    let line = line_of("\"rating\": 7", &reviews);
    assert_eq!(value["errors"][1]["line"], line, "{value}");
}

/// The number of the line of `text` that `part` is first in.
fn line_of(part: &str, text: &str) -> usize {
    let (before, _) = text.split_once(part).unwrap();
    1 + before.matches('\n').count()
}

#[test]
fn a_file_that_is_not_json_has_one_error_at_the_parsers_position() {
    let (_directory, path) = copy(|reviews| reviews[..reviews.len() - 3].to_owned());
    assert!(check(&[&path], 65).contains("is truncated"));
}

#[test]
fn the_error_of_an_empty_file_has_no_position() {
    let (_directory, path) = copy(|_| String::new());
    let found = run(&["check", &path, "--format", "json"]).json(65);
    // Nor is any key missing.
    let expected = json!({"file": "reviews.json", "place": "", "line": null, "column": null,
        "message": "is empty", "value": null});
    assert_eq!(found["errors"][0], expected);
}

#[test]
fn characters_that_are_not_seen_are_named_with_review_and_field() {
    let (data, path) = copy(|reviews| {
        let mut file: Value = serde_json::from_str(&reviews).unwrap();
        let reviews = file["reviews"].as_array_mut().unwrap();
        for review in reviews.iter_mut() {
            review["verified"] = json!(true);
        }
        reviews[0]["text"] = json!("good\u{7} \u{e0041}\u{e0042} service");
        reviews[0]["author"] = json!("\u{202e}evil");
        let reply = json!({"text": "thank\u{2066} you\u{9f}", "date": "2026-01-02"});
        reviews[1]["owner_reply"] = reply;
        reviews[2]["text"] = json!("a tab\tand a line\nare seen, \u{201c}quotes\u{201d} too");
        file.to_string()
    });
    let file = std::fs::read_to_string(data.path().join("reviews.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let ids = [0, 1].map(|at| file["reviews"][at]["id"].as_str().unwrap());
    let printed = check(&[&path], 0);
    let warnings = printed
        .lines()
        .filter(|line| line.ends_with("[hidden_characters]"));
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{printed}");
    for part in [
        "2 with characters that are not seen",
        &format!("{} author: U+202E; text: U+0007 U+E0041 U+E0042", ids[0]),
        &format!("{} owner_reply.text: U+009F U+2066", ids[1]),
    ] {
        assert!(warnings[0].contains(part), "{part}: {printed}");
    }
    let allowed = check(&[&path, "--allow", "hidden_characters"], 0);
    assert!(!allowed.contains("hidden_characters"), "{allowed}");
}
