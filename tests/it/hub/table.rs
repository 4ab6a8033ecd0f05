//! The requirements table in the documentation is complete, and names only existing tests.

use std::collections::BTreeSet;
use std::path::Path;

/// The number of the last requirement, and those that are not taken up according to the documentation.
const LAST: u32 = 67;
const NOT_TAKEN_UP: [u32; 5] = [7, 11, 12, 33, 34];

#[test]
fn every_requirement_has_a_row_whose_tests_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    for folder in ["src/hub", "tests/it/hub"] {
        collect(&root.join(folder), &mut sources);
    }
    let table = std::fs::read_to_string(root.join("docs/design/hub.md")).unwrap();
    let mut numbers: BTreeSet<u32> = NOT_TAKEN_UP.into();
    for row in table.lines().filter(|line| line.starts_with("| H")) {
        let mut parts = row.split('`');
        let words = parts.next().unwrap().split('(').next().unwrap();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric());
        numbers.extend(words.filter_map(|word| word.strip_prefix('H')?.parse::<u32>().ok()));
        let names: Vec<&str> = parts.step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let test = format!("#[test]\nfn {name}()");
            assert!(sources.contains(&test), "no test {name}");
        }
    }
    assert_eq!(numbers, (1..=LAST).collect());
}

/// Appends all files, with each line trimmed.
fn collect(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            sources.extend([line.trim(), "\n"]);
        }
    }
}
