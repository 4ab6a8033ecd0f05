//! Line and column of a value, found by its path once there is a problem to report; reading keeps no positions.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::problem::{Position, Problems, Subject};

/// Adds the positions of the problems of one file: of the value, or of the nearest object or array around it where
/// the value is missing. A file that is no JSON has none.
///
/// Cost: one pass over the file for each level of each path that was not met before.
pub(super) fn locate(subject: Subject, bytes: &[u8], problems: &mut Problems) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut values = Values {
        text,
        known: HashMap::new(),
    };
    for problem in problems.of_file_mut(subject.file) {
        problem.position = values.position(&problem.place);
    }
}

/// The values of a file by their paths, as far as they were asked for.
struct Values<'t> {
    text: &'t str,
    known: HashMap<String, Members<'t>>,
}

/// What an object or an array holds.
enum Members<'t> {
    Object(BTreeMap<String, &'t RawValue>),
    List(Vec<&'t RawValue>),
    None,
}

impl<'t> Values<'t> {
    fn position(&mut self, place: &str) -> Option<Position> {
        let mut found: Option<&'t RawValue> = None;
        let mut path = String::new();
        for step in steps(place) {
            let text = found.map_or(self.text, RawValue::get);
            let members = self
                .known
                .entry(path.clone())
                .or_insert_with(|| Members::of(text));
            let Some(value) = members.get(step) else {
                break;
            };
            found = Some(value);
            path.push('.');
            path.push_str(step);
        }
        // A raw value is a slice of the text.
        let offset = found?.get().as_ptr().addr() - self.text.as_ptr().addr();
        let before = &self.text.as_bytes()[..offset];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |feed| feed + 1);
        Some(Position {
            line: 1 + memchr::memchr_iter(b'\n', before).count() as u64,
            column: 1 + (offset - line_start) as u64,
        })
    }
}

impl<'t> Members<'t> {
    fn of(text: &'t str) -> Members<'t> {
        let members = match text.trim_start().as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map(Members::Object),
            Some(b'[') => serde_json::from_str(text).map(Members::List),
            _ => return Members::None,
        };
        members.unwrap_or(Members::None)
    }

    fn get(&self, step: &str) -> Option<&'t RawValue> {
        match self {
            Members::Object(members) => members.get(step).copied(),
            Members::List(entries) => entries.get(step.parse::<usize>().ok()?).copied(),
            Members::None => None,
        }
    }
}

/// The keys and numbers of a path such as `reviews[12].rating`; a key in quotation marks is found nowhere, so that the
/// object around it is what is named.
fn steps(place: &str) -> impl Iterator<Item = &str> {
    let steps = place.split(['.', '[']).filter(|step| !step.is_empty());
    steps.map(|step| step.strip_suffix(']').unwrap_or(step))
}
