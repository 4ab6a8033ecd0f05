//! Line and column of a value, found by its path once there is a problem to report; reading keeps no positions.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::problem::{Position, Problems};

/// Adds the positions of the problems of one file: of the value, or of the nearest object or array around it where
/// the value is missing. A file that is no JSON has none.
///
/// Cost: one pass over the file for each level of each path that was not met before.
pub(super) fn locate(bytes: &[u8], problems: &mut Problems) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut known = HashMap::new();
    for problem in problems.kept_mut() {
        if let Some(value) = find(text, &problem.path, &mut known) {
            // A raw value is a slice of the text.
            let offset = value.as_ptr().addr() - text.as_ptr().addr();
            problem.position = Some(Position::of(bytes, offset));
        }
    }
}

/// What an object or an array holds, by key or number.
type Members<'t> = BTreeMap<String, &'t str>;

/// Returns the text of the innermost value on `path` such as `reviews[12].rating`; `known` has the members of those that
/// were looked into, by their paths. A key in quotation marks is found nowhere, so that the object around it is named.
fn find<'t>(
    text: &'t str,
    path: &str,
    known: &mut HashMap<String, Members<'t>>,
) -> Option<&'t str> {
    let mut found = None;
    let mut prefix = String::new();
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        let step = step.strip_suffix(']').unwrap_or(step);
        let around = found.unwrap_or(text);
        let members = known
            .entry(prefix.clone())
            .or_insert_with(|| members(around));
        let Some(value) = members.get(step) else {
            break;
        };
        found = Some(*value);
        prefix.push('.');
        prefix.push_str(step);
    }
    found
}

fn members(text: &str) -> Members<'_> {
    if let Ok(object) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        return object
            .into_iter()
            .map(|(key, value)| (key, value.get()))
            .collect();
    }
    let list: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    let entries = list.into_iter().enumerate();
    entries
        .map(|(at, value)| (at.to_string(), value.get()))
        .collect()
}
