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
fn the_sample_ends_without_warnings_as_its_own_are_silenced_with_a_reason() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let output = check(&[text(&sample), "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(lines(&output).ends_with("6 unverified, 0 warnings\n"));
}

#[test]
fn warnings_end_with_0_unless_strict_and_are_silenced_by_name() {
    let directory = copy(|reviews| reviews);
    let directory = text(directory.path());
    let output = check(&[directory]);
    let warning = "not verified and so not published [unverified]";
    assert!(lines(&output).contains(warning), "{output:?}");
    for (arguments, status) in [
        (&[][..], 0),
        (&["--strict"], 65),
        (&["--strict", "--allow", "money"], 65),
        (&["--strict", "--allow", "money,unverified"], 0),
        (&["--allow", "mony"], 64),
    ] {
        let output = check(&[&[directory], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            status != 64 || message.contains("unverified"),
            "the rules are named: {message}"
        );
    }
    let output = check(&[directory, "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    assert_eq!(value["warnings"][0]["code"], "unverified");
    assert_eq!(value["warnings"][1]["code"], "money");
    let missing = check(&[&format!("{directory}/none")]);
    assert_eq!(missing.status.code(), Some(66));
    assert_eq!(missing.stdout, b"");
}

#[test]
fn an_error_of_a_value_names_its_line_and_column() {
    let directory = copy(|reviews| {
        let wrong = reviews.replacen("\"rating\": 5", "\"rating\": 7", 1);
        wrong.replacen("\"url\": \"https:", "\"url\": \"", 1)
    });
    let path = directory.path().join("reviews.json");
    let reviews = std::fs::read_to_string(&path).unwrap();
    let line = |part: &str| 1 + reviews[..reviews.find(part).unwrap()].matches('\n').count();
    let output = check(&[text(directory.path())]);
    assert_eq!(output.status.code(), Some(65));
    let found = lines(&output);
    for (part, message) in [
        ("\"url\": \"//", "business.url: "),
        (
            "\"rating\": 7",
            "].rating: 7 is not a whole number from 1 to 5\n",
        ),
    ] {
        let place = format!("error: reviews.json: line {}, column ", line(part));
        let is_it = |line: &str| line.starts_with(&place) && format!("{line}\n").contains(message);
        assert!(found.lines().any(is_it), "{place}: {found}");
    }
    let output = check(&[text(directory.path()), "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    assert_eq!(value["error_count"], 2, "{value}");
    assert_eq!(value["errors"][1]["line"], line("\"rating\": 7"), "{value}");
    // A file that is no JSON has one position, that of the parser.
    std::fs::write(&path, &reviews[..reviews.len() - 3]).unwrap();
    assert!(lines(&check(&[text(directory.path())])).contains("ends too early"));
    // An empty one has none, and no key is missing.
    std::fs::write(&path, "").unwrap();
    let output = check(&[text(directory.path()), "--format", "json"]);
    let expected = serde_json::json!({"file": "reviews.json", "place": "", "line": null, "column": null,
        "message": "is empty", "value": null});
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    assert_eq!(value["errors"][0], expected);
}
