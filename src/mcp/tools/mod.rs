//! The tools: what a model may call, and how their results are written.
//!
//! A result is the same JSON twice, as `structuredContent` and inside a text block, because some clients forward
//! only the one and some only the other.

mod arguments;
pub(super) mod insights;
mod lookup;
mod search;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::catalog::Catalog;
use super::jsonrpc::{Call, RpcError};
use crate::search::issue::Issues;
use crate::wire::json::{push_escaped, push_string};
use crate::wire::text::cut;
use arguments::Arguments;

/// The members of `arguments`.
pub(crate) type Members = Map<String, Value>;

/// Appends the result of `tools/call`, up to its closing brace.
///
/// # Errors
/// Invalid parameters for an unknown tool, a missing name, or arguments that are no object. A value that a tool
/// cannot use is a result with `isError`, which the model gets to read.
pub(crate) fn call(catalog: &Catalog, call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let Some(name) = call.text("name") else {
        return Err(RpcError::params("params.name must be the name of a tool"));
    };
    let none = Members::new();
    let members = match call.param("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(members)) => members,
        Some(_) => return Err(RpcError::params("params.arguments must be an object")),
    };
    if OF_INSIGHTS.contains(&name) && catalog.snapshot.insights().is_none() {
        push_error(out, PENDING);
        return Ok(());
    }
    let mut whole = |tool: fn(&Catalog, &Members) -> Result<Vec<u8>, Issues>| {
        tool(catalog, members).map(|json| push_result(out, &json))
    };
    let outcome = match name {
        "search_reviews" => search::search_reviews(catalog, members, out),
        "list_reviews_since" => search::list_reviews_since(catalog, members, out),
        "search" => whole(search::search),
        "fetch" => whole(lookup::fetch),
        "get_review" => whole(lookup::get_review),
        "get_technician" => whole(lookup::get_technician),
        "get_service" => whole(lookup::get_service),
        "get_insights" => whole(insights::get_insights),
        "get_aspect_sentiment" => whole(insights::get_aspect_sentiment),
        _ => match catalog.fixed_result(name) {
            Some(result) => Arguments::new(members, &[])
                .finish()
                .map(|()| out.extend_from_slice(result)),
            None => {
                let message = format!("there is no tool {:?} here", cut(name));
                return Err(RpcError::params(message));
            }
        },
    };
    if let Err(issues) = outcome {
        push_refusal(out, &issues);
    }
    Ok(())
}

/// Appends a result that holds `json`, one object, in both copies.
pub(crate) fn push_result(out: &mut Vec<u8>, json: &[u8]) {
    // Quotes and backslashes are about an eighth of our JSON, and each gets a backslash in the text copy.
    out.reserve(2 * json.len() + json.len() / 6 + 256);
    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
    push_escaped(out, json);
    out.extend_from_slice(b"\"}],\"structuredContent\":");
    out.extend_from_slice(json);
}

/// Appends a result that says what was wrong with the arguments: one line for each, at most twenty.
fn push_refusal(out: &mut Vec<u8>, issues: &Issues) {
    let mut lines: Vec<String> = issues
        .iter()
        .take(REFUSAL_LINES_MAX)
        .map(ToString::to_string)
        .collect();
    let more = issues.iter().count().saturating_sub(REFUSAL_LINES_MAX);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    push_error(out, &lines.join("\n"));
}

/// Appends a result that tells the model what went wrong, up to its closing brace.
fn push_error(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
    push_string(out, text);
    out.extend_from_slice(b"}],\"isError\":true");
}

/// Returns `value` as JSON of at most [`ANSWER_BYTES_MAX`] bytes.
///
/// What is too long loses the ends of its lists first, then of its texts, and gets the member
/// `"shortened": true`. The order of a list says what matters, so the front is what stays.
pub(crate) fn fit(mut value: Value) -> Vec<u8> {
    let mut json = value.to_string();
    for (items_max, chars_max) in FIT_STEPS {
        if json.len() <= ANSWER_BYTES_MAX {
            break;
        }
        shorten(&mut value, items_max, chars_max);
        value["shortened"] = Value::Bool(true);
        json = value.to_string();
    }
    json.into_bytes()
}

fn shorten(value: &mut Value, items_max: usize, chars_max: usize) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(chars_max) {
                text.truncate(end);
            }
        }
        Value::Array(items) => {
            items.truncate(items_max);
            for item in items {
                shorten(item, items_max, chars_max);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                shorten(member, items_max, chars_max);
            }
        }
        _ => {}
    }
}

/// Items of a list and characters of a text that are kept, step by step until it fits.
const FIT_STEPS: [(usize, usize); 7] = [
    (120, usize::MAX),
    (60, usize::MAX),
    (25, 2_000),
    (10, 1_000),
    (5, 300),
    (2, 100),
    (0, 40),
];

/// The tools that answer from the insights.
const OF_INSIGHTS: &[&str] = &["get_insights", "get_aspect_sentiment", "get_faq"];

/// What those answer while there are none.
const PENDING: &str =
    "the insights are still being derived from the reviews: ask again in a few seconds";

/// Lines of a refusal; what is wrong after them is only counted.
const REFUSAL_LINES_MAX: usize = 20;

/// Most bytes of an answer's JSON, each copy by itself: clients cut or set aside what is longer.
pub(crate) const ANSWER_BYTES_MAX: usize = 49_000;
