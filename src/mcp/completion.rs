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
/// An entry is suggested if any of its names begins with the value, ignoring case. Arguments without suggestions, and
/// unknown prompts and templates, get an empty list.
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
    let (values, total) = match (target, name) {
        ("summarize_reviews", "service") | ("compare_services", "first" | "second") => {
            names(&catalog.services, value)
        }
        ("summarize_reviews", "technician") => names(&catalog.technicians, value),
        ("summarize_reviews", "aspect") => names(&catalog.aspects, value),
        ("draft_reply", "review_id") | ("reviews://review/{id}", "id") => ids(catalog, value),
        _ => (Vec::new(), 0),
    };
    let has_more = total > values.len();
    Ok(json!({"completion": {"values": values, "total": total, "hasMore": has_more}}))
}

/// Returns the text of a member of an object among the parameters.
fn text_of<'v>(call: &'v Call<'_>, object: &str, key: &str) -> Option<&'v str> {
    call.param(object)?.get(key)?.as_str()
}

fn names<'c>(entries: &'c [Named], value: &str) -> (Vec<&'c str>, usize) {
    let folded = fold(value);
    // The first two names match at any word, others only at their beginning: "prob" does not match "title problem".
    let begins = |(at, name): (usize, &String)| {
        name.starts_with(&folded) || at < 2 && name.split(' ').any(|word| word.starts_with(&folded))
    };
    let matching = entries
        .iter()
        .filter(|entry| entry.folded.iter().enumerate().any(begins));
    first(matching.map(|entry| entry.name.as_str()))
}

/// Ids that begin with the value, newest first; only the newest 10,000 reviews are compared.
fn ids<'c>(catalog: &'c Catalog, value: &str) -> (Vec<&'c str>, usize) {
    let index = &catalog.snapshot.index;
    let newest = 0..index.len().min(IDS_COMPARED_MAX);
    let ids = newest.map(|row| index.id(Row(row)));
    first(ids.filter(|id| id.starts_with(value)))
}

/// Returns the first values, and the total number.
fn first<'c>(mut all: impl Iterator<Item = &'c str>) -> (Vec<&'c str>, usize) {
    let values: Vec<&str> = all.by_ref().take(VALUES_MAX).collect();
    let total = values.len() + all.count();
    (values, total)
}
