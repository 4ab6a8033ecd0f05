//! Completion: suggests values for an argument of a prompt or a resource template.

use serde_json::{Value, json};

use super::catalog::{Catalog, Named};
use super::jsonrpc::{Call, RpcError};
use crate::model::Row;
use crate::search::fold::fold;

/// Largest number of values in a result, set by the protocol.
const VALUES_MAX: usize = 100;

/// Reviews whose ids are compared; limits the cost of a completion for large datasets.
const IDS_COMPARED_MAX: u32 = 10_000;

/// Returns the result of `completion/complete`: at most 100 values.
///
/// An entry is suggested if one of its names, or a word of its main names, begins with the value, ignoring case. For
/// arguments without suggestions, and for unknown prompts and templates, the list is empty.
pub(super) fn complete(catalog: &Catalog, call: &Call<'_>) -> Result<Value, RpcError> {
    let key = match text_of(call, "ref", "type") {
        Some("ref/prompt") => "name",
        Some("ref/resource") => "uri",
        _ => {
            let message = "params.ref.type must be ref/prompt or ref/resource";
            return Err(RpcError::params(message));
        }
    };
    let Some(target) = text_of(call, "ref", key) else {
        let message = format!("params.ref.{key} must be a string");
        return Err(RpcError::params(message));
    };
    let name = text_of(call, "argument", "name");
    let value = text_of(call, "argument", "value");
    let Some((name, value)) = name.zip(value) else {
        let message = "params.argument must have a name and a value, both strings";
        return Err(RpcError::params(message));
    };
    let Suggestions { values, total } = match (target, name) {
        ("summarize_reviews", "service") | ("compare_services", "first" | "second") => {
            suggest_names(&catalog.services, value)
        }
        ("summarize_reviews", "technician") => suggest_names(&catalog.technicians, value),
        ("summarize_reviews", "aspect") => suggest_names(&catalog.aspects, value),
        ("draft_reply", "review_id") | ("reviews://review/{id}", "id") => {
            suggest_ids(catalog, value)
        }
        _ => Suggestions::default(),
    };
    let has_more = total > values.len();
    Ok(json!({"completion": {"values": values, "total": total, "hasMore": has_more}}))
}

/// The values that begin as the client has written.
#[derive(Default)]
struct Suggestions<'c> {
    /// The first [`VALUES_MAX`] of them.
    values: Vec<&'c str>,
    /// The number of all.
    total: usize,
}

/// Returns the text `key` of `object`, which is one of the parameters.
fn text_of<'v>(call: &'v Call<'_>, object: &str, key: &str) -> Option<&'v str> {
    call.param(object)?.get(key)?.as_str()
}

/// Suggests the entries with a name that begins with `value`.
fn suggest_names<'c>(entries: &'c [Named], value: &str) -> Suggestions<'c> {
    let folded = fold(value);
    let matching = entries.iter().filter(|entry| has_name(entry, &folded));
    first_of(matching.map(|entry| entry.name.as_str()))
}

/// Tells whether a name of the entry begins with `folded`. Of its first two names, a later word may also do so. Of others
/// it may not: "prob" does not match "title problem".
fn has_name(entry: &Named, folded: &str) -> bool {
    if entry.folded.iter().any(|name| name.starts_with(folded)) {
        return true;
    }
    let main_names = entry.folded.iter().take(2);
    let mut words = main_names.flat_map(|name| name.split(' '));
    words.any(|word| word.starts_with(folded))
}

/// Suggests the ids that begin with `value`, newest first; only the newest 10,000 reviews are compared and counted.
fn suggest_ids<'c>(catalog: &'c Catalog, value: &str) -> Suggestions<'c> {
    let index = &catalog.snapshot.index;
    let newest = 0..index.len().min(IDS_COMPARED_MAX);
    let ids = newest.map(|row| index.id(Row(row)));
    first_of(ids.filter(|id| id.starts_with(value)))
}

fn first_of<'c>(all: impl Iterator<Item = &'c str>) -> Suggestions<'c> {
    let mut suggestions = Suggestions::default();
    for value in all {
        if suggestions.values.len() < VALUES_MAX {
            suggestions.values.push(value);
        }
        suggestions.total += 1;
    }
    suggestions
}
