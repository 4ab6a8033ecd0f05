//! A failed `assert!(a && b)` does not tell which of the two was false, so each fact has an `assert!` of its own.

use std::path::Path;

use super::source::{files_below, read};

const FOLDERS: [&str; 5] = ["src", "crates", "tests", "benches", "examples"];

#[test]
fn one_assert_states_one_fact() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    for file in FOLDERS
        .map(|folder| files_below(&root.join(folder)))
        .concat()
    {
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        for (number, line) in (1..).zip(read(&file).lines()) {
            if joins_facts(line) {
                let path = file.strip_prefix(root).expect("a path below the root");
                faults.push(format!("{}:{number}: two asserts", path.display()));
            }
        }
    }
    super::report(faults);
}

fn joins_facts(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("assert!(") && line.contains(" && ") && !line.contains('|')
}

#[test]
fn joined_facts_are_found() {
    for (line, expected) in [
        ("    assert!(a && b);", true),
        ("assert!(a && b, \"{a}\");", true),
        ("assert!(all.any(|b| b && c));", false),
        ("if a && b {", false),
    ] {
        assert_eq!(joins_facts(line), expected, "{line}");
    }
}
