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
    assert!(lines(&output).ends_with("unverified: 6, warnings: 0\n"));
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
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let business = r#"{"name":"A","type":"LegalService","description":"","url":"a.example","telephone":"","email":"","address":{"street_address":"","locality":"","region":"","postal_code":"","country":""},"geo":null,"opening_hours":[],"service_areas":[],"services":[],"technicians":[],"same_as":[]}"#;
    let review = |id: &str, rating: &str| {
        format!(
            "    {{\n      \"id\": \"{id}\", \"author\": \"é\", \"author_avatar_url\": null,\n      \"rating\": {rating},\n      \"date\": \"2026-01-02\", \"text\": \"\\n\", \"source\": \"google\", \"source_url\": null, \"owner_reply\": null, \"verified\": true\n    }}"
        )
    };
    let reviews = format!(
        "{{\n  \"business\": {business},\n  \"disclaimer\": null,\n  \"updated_at\": \"2026-01-03T00:00:00Z\",\n  \"reviews\": [\n{},\n{}\n  ]\n}}\n",
        review("a", "5"),
        review("b", "7, \"extra\": [1,\n2]"),
    );
    write("reviews.json", &reviews);
    write(
        "editorial.json",
        "{\"summary\":null,\"pull_quote\":null,\n\"faq\":[{\"question\":\"Q\",\n \"answer\":\"A\"}]}",
    );
    let output = check(&[text(directory.path())]);
    assert_eq!(output.status.code(), Some(65));
    let found = lines(&output);
    for line in [
        "error: reviews.json: line 2, column 72: business.url: \"a.example\" is not an absolute http or https URL",
        "error: reviews.json: line 13, column 17: reviews[1].rating: 7 is not from 1 to 5",
        "error: reviews.json: line 13, column 29: reviews[1].extra: is not a known key",
        // What is missing is told with the object that lacks it.
        "error: editorial.json: line 2, column 8: faq[0].review_ids: is missing",
    ] {
        assert!(found.contains(&format!("{line}\n")), "{line}: {found}");
    }
    let output = check(&[text(directory.path()), "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&lines(&output)).unwrap();
    let error = &value["errors"][1];
    assert_eq!(
        (&error["line"], &error["column"]),
        (&13.into(), &17.into()),
        "{value}"
    );
    // A file that is no JSON has one position, that of the parser.
    write("reviews.json", &reviews[..reviews.len() - 3]);
    let found = lines(&check(&[text(directory.path())]));
    assert!(!found.contains("business.url: line"), "{found}");
    assert!(found.contains("ends too early"), "{found}");
}
