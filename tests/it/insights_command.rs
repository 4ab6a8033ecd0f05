//! `reviewd insights`: the document, the reasons behind an aspect, and the measurement of the method.

use std::path::Path;

use serde_json::Value;

use crate::support::program::run;
use crate::support::{Program, get};

fn sample() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/data").to_owned()
}

fn cases(folder: &Path, lines: &str) -> String {
    let path = folder.join("cases.jsonl");
    std::fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_document_is_the_one_that_is_served() {
    let output = run(&["insights", &sample()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let program = Program::serve(&["--data", &sample()]);
    let mut served = get(program.address(), "/insights.json", &[]).body;
    served.push(b'\n');
    assert_eq!(output.stdout, served);
}

#[test]
fn an_aspect_is_explained_without_colors_where_there_is_no_terminal() {
    let output = run(&["insights", &sample(), "--explain", "fees"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.contains("\nnegative  ") && text.contains("[fees]"),
        "{text}"
    );
    assert!(!text.contains('\x1b'));
    let output = run(&[
        "insights",
        &sample(),
        "--explain",
        "fees",
        "--color",
        "always",
    ]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("\x1b[1mfees\x1b[0m")
    );
    let output = run(&["insights", &sample(), "--explain", "none"]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn a_measurement_is_one_object_with_these_keys() {
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/polarity/practice.jsonl"
    );
    let figures = |method: &str| -> Value {
        let output = run(&["insights", "--evaluate", fixture, "--method", method]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let order = [
            "\"n\":",
            "\"accuracy\":",
            "\"macro_f1\":",
            "\"negative_precision\":",
            "\"negative_recall\":",
            "\"coverage\":",
            "\"confusion\":",
        ];
        let places: Vec<Option<usize>> = order.iter().map(|key| text.find(key)).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let (own, vader) = (figures("own"), figures("vader"));
    assert_eq!((&own["n"], &vader["n"]), (&345.into(), &345.into()));
    for key in ["accuracy", "negative_recall"] {
        assert!(own[key].as_f64() > vader[key].as_f64(), "{own} {vader}");
    }
    let counted = |row: &Value| -> u64 {
        row.as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_u64)
            .sum()
    };
    let table = own["confusion"].as_object().unwrap();
    assert_eq!(table.values().map(counted).sum::<u64>(), 345);
}

#[test]
fn cases_that_cannot_be_read_end_with_65_and_a_missing_file_with_66() {
    let folder = tempfile::tempdir().unwrap();
    for (lines, reason) in [
        ("{}\n", "line 1: text: not a string"),
        ("\n", "holds no case, so there is nothing to measure"),
    ] {
        let output = run(&["insights", "--evaluate", &cases(folder.path(), lines)]);
        assert_eq!(output.status.code(), Some(65));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(reason), "{message}");
    }
    let missing = folder.path().join("none");
    let output = run(&["insights", "--evaluate", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(66));
}
