//! Finds names that two types share. It reads the sources of our crates and the tests beside them, but not `tests/it`, the
//! benches and the fuzz targets.

use std::collections::BTreeMap;

use super::source::sources_with_tests;

#[test]
fn a_type_name_stands_for_one_type() {
    let mut faults = Vec::new();
    for (name, locations) in types_by_name() {
        if locations.len() > 1 {
            faults.push(format!(
                "{}: `{name}` stands for several types",
                locations.join(", ")
            ));
        }
    }
    super::report(faults);
}

/// The locations of all types, by name.
fn types_by_name() -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources_with_tests() {
        for (line, name) in source.types() {
            let location = format!("{}:{line}", source.path);
            types.entry(name).or_default().push(location);
        }
    }
    types
}
