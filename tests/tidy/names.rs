//! Finds type names that stand for more than one thing: in the whole workspace a name belongs to one type.

use std::collections::BTreeMap;

use super::source::sources;

/// Names that still stand for several types. The list may only become shorter: rename one of the types, and remove the
/// line.
const SEVERAL_TYPES: &[&str] = &[
    "Columns",
    "Counts",
    "Entry",
    "Failure",
    "Field",
    "Form",
    "Found",
    "Guard",
    "Limits",
    "Message",
    "Order",
    "Page",
    "Policy",
    "ReadError",
    "Refusal",
    "Reply",
    "Report",
    "Row",
    "Settings",
    "Shared",
    "Socket",
    "StoredReview",
    "Topic",
    "Words",
];

#[test]
fn a_type_name_stands_for_one_type() {
    let mut faults = Vec::new();
    let types = types_by_name();
    for (name, locations) in &types {
        let is_listed = SEVERAL_TYPES.contains(&name.as_str());
        if locations.len() > 1 && !is_listed {
            faults.push(format!(
                "{}: `{name}` stands for several types",
                locations.join(", ")
            ));
        }
    }
    for name in SEVERAL_TYPES {
        let count = types.get(*name).map_or(0, Vec::len);
        if count < 2 {
            faults.push(format!(
                "tests/tidy/names.rs: `{name}` stands for one type now: remove the line"
            ));
        }
    }
    super::report(faults);
}

/// The locations of all types of product code, by name.
fn types_by_name() -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for (line, name) in source.types() {
            let location = format!("{}:{line}", source.path);
            types.entry(name).or_default().push(location);
        }
    }
    types
}
