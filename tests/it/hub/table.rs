//! The table of requirements in the documentation leaves none out, and names tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

/// MAYs that the hub does not take up, as the documentation says.
const NOT_TAKEN_UP: [u32; 5] = [7, 11, 12, 33, 34];

/// How many requirements there are.
const LAST: u32 = 67;

#[test]
fn every_test_that_the_table_of_requirements_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    for folder in ["src/hub", "tests/it/hub"] {
        collect(&root.join(folder), &mut sources);
    }
    let lines: Vec<&str> = sources.lines().map(str::trim).collect();
    for row in rows() {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let is_test = lines
                .windows(2)
                .any(|pair| pair[0] == "#[test]" && pair[1].starts_with(&format!("fn {name}()")));
            assert!(is_test, "no test {name}");
        }
    }
}

#[test]
fn every_requirement_is_in_the_table_or_among_those_not_taken_up() {
    let mut numbers: BTreeSet<u32> = NOT_TAKEN_UP.into();
    for row in rows() {
        let requirement = row.split(['(', '`']).next().unwrap();
        let words = requirement.split(|c: char| !c.is_ascii_alphanumeric());
        numbers.extend(words.filter_map(|word| word.strip_prefix('H')?.parse::<u32>().ok()));
    }
    let all: BTreeSet<u32> = (1..=LAST).collect();
    let lacking: Vec<&u32> = all.difference(&numbers).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    assert_eq!(numbers.len(), all.len());
}

/// The lines of the table.
fn rows() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("docs/design/hub.md")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| H"));
    rows.map(str::to_owned).collect()
}

fn collect(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else {
            sources.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
