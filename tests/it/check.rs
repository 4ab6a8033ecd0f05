//! `reviewd check`: its output and exit status.

use std::path::Path;

use serde_json::json;

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
    let (missing, both) = (format!("{path}/none"), "money,unverified");
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
    let line = |part: &str| 1 + reviews[..reviews.find(part).unwrap()].matches('\n').count();
    let found = check(&[&path], 65);
    let rating = "].rating: 7 is not a whole number from 1 to 5";
    for (part, message) in [
        ("\"url\": \"//", "business.url: "),
        ("\"rating\": 7", rating),
    ] {
        let start = format!("error: reviews.json: line {}, column ", line(part));
        let is_it = |line: &str| line.starts_with(&start) && line.contains(message);
        assert!(found.lines().any(is_it), "{start}: {found}");
    }
    let as_json = || run(&["check", &path, "--format", "json"]).json(65);
    let value = as_json();
    assert_eq!(value["error_count"], 2, "{value}");
    assert_eq!(value["errors"][1]["line"], line("\"rating\": 7"), "{value}");
    // A file that is not JSON has one error, at the parser's position.
    std::fs::write(&file, &reviews[..reviews.len() - 3]).unwrap();
    assert!(check(&[&path], 65).contains("is truncated"));
    // An empty file has no position, but no key is missing.
    std::fs::write(&file, "").unwrap();
    let expected = json!({"file": "reviews.json", "place": "", "line": null, "column": null,
        "message": "is empty", "value": null});
    assert_eq!(as_json()["errors"][0], expected);
}
