//! The table of requirements in the documentation names tests that exist.

use std::path::Path;

#[test]
fn every_test_that_the_table_of_requirements_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("src/websub/mod.rs")).unwrap();
    let mut sources = String::new();
    for folder in ["src/websub", "src/delivery", "tests/it/hub"] {
        collect(&root.join(folder), &mut sources);
    }
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("//! | H"))
        .collect();
    assert!(rows.len() > 20);
    for row in rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            assert!(sources.contains(&format!("fn {name}()")), "no test {name}");
        }
    }
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
