//! Tells a client what a name in its request was taken for, where that is not the name or id itself: `aspect=rude` may find
//! the reviews of *empathy*, because "rude" is one of its phrases.

use super::filter::Filter;
use super::index::Index;
use super::names::ResolvedName;
use super::work::Work;
use crate::dataset::names::SpellingKind;
use crate::wire::json::{Array, Object};

/// A name in a request, and what it was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedParameter<'i> {
    /// The parameter or argument that had the name.
    pub parameter: &'static str,
    /// The entry.
    pub resolved: ResolvedName<'i>,
}

/// Returns what the names of `filter` were taken for: at most one for a technician, a service and an aspect. A name or id as
/// it is published says so itself, and is left out.
pub fn resolved_names<'i>(index: &'i Index, filter: &Filter<'_>) -> Vec<ResolvedParameter<'i>> {
    let mut names = Vec::new();
    for (parameter, name) in filter.names() {
        if let Some(Ok(resolved)) = index.resolve(parameter, name, &mut Work::new(0)) {
            names.extend(ResolvedParameter::told(parameter.name(), resolved));
        }
    }
    names
}

impl<'i> ResolvedParameter<'i> {
    /// Returns what is told about a name; `None` if it is the name or id itself.
    pub fn told(
        parameter: &'static str,
        resolved: ResolvedName<'i>,
    ) -> Option<ResolvedParameter<'i>> {
        if resolved.kind == SpellingKind::Name {
            return None;
        }
        Some(ResolvedParameter {
            parameter,
            resolved,
        })
    }
}

/// Adds the optional key `resolved_names` to the end of the JSON object `out`, if there are `names`.
pub fn add_resolved_names(out: &mut Vec<u8>, names: &[ResolvedParameter<'_>]) {
    if names.is_empty() {
        return;
    }
    out.pop();
    push_resolved_names(out, names);
    out.push(b'}');
}

/// Appends a comma and the key `resolved_names` to the members of a JSON object, if there are `names`.
pub fn push_resolved_names(out: &mut Vec<u8>, names: &[ResolvedParameter<'_>]) {
    if names.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"resolved_names\":");
    let mut array = Array::begin(out);
    for ResolvedParameter {
        parameter,
        resolved,
    } in names
    {
        let mut object = Object::begin(array.item());
        object
            .string("parameter", parameter)
            .string("name", resolved.name)
            .string("by", resolved.kind.as_str())
            .string("spelling", resolved.spelling);
        object.end();
    }
    array.end();
}
