//! The requirements table in the documentation is complete, and names only existing tests.

use std::collections::BTreeSet;

use crate::support::files_below;

/// The number of the last requirement, and those that are not taken up according to the documentation.
const LAST: u32 = 67;
const NOT_TAKEN_UP: [u32; 5] = [7, 11, 12, 33, 34];

#[test]
fn every_requirement_has_a_row_whose_tests_exist() {
    let sources = ["crates/websub-hub/src", "tests/it/hub"]
        .map(files_below)
        .concat();
    let has = |code: &str| sources.iter().any(|(_, text)| text.contains(code));
    let table = include_str!("../../../docs/design/hub.md");
    let mut numbers: BTreeSet<u32> = NOT_TAKEN_UP.into();
    for row in table.lines().filter(|line| line.starts_with("| H")) {
        let mut parts = row.split('`');
        let words = parts
            .next()
            .unwrap()
            .split('(')
            .next()
            .unwrap()
            .split(|c: char| !c.is_ascii_alphanumeric());
        numbers.extend(words.filter_map(|word| word.strip_prefix('H')?.parse::<u32>().ok()));
        let names: Vec<&str> = parts.step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let is_test = |indent| has(&format!("#[test]\n{indent}fn {name}()"));
            assert!(is_test("") || is_test("    "), "no test {name}");
        }
    }
    assert_eq!(numbers, (1..=LAST).collect());
}
