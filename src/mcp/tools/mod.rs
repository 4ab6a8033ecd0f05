//! The tools: what a model may call, and how their results are written.
//!
//! A result is the same JSON twice, as `structuredContent` and inside a text block, because some clients forward
//! only the one and some only the other. Both copies come from bytes that were rendered before.

mod arguments;
mod lookup;
mod search;

#[cfg(test)]
mod tests;

use super::catalog::Catalog;
use super::dispatch::Ending;
use super::fixtures::{self, Answered};
use super::json::Value;
use super::jsonrpc::{Call, RpcError};
use super::protocol::Era;
use crate::search::issue::{Issues, cut};
use crate::wire::json::{push_escaped, push_string};
use arguments::Arguments;

pub(super) use lookup::push_ratings;

/// Appends the result of `tools/call`, up to its closing brace.
///
/// # Errors
/// Invalid parameters for an unknown tool, a missing name, or arguments that are no object. A value that a tool
/// cannot use is a result with `isError`, which the model gets to read.
pub(crate) fn call(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Ending, RpcError> {
    let Some(name) = call.param("name").and_then(Value::as_str) else {
        return Err(RpcError::params("params.name must be the name of a tool"));
    };
    let members = match call.param("arguments") {
        None | Some(Value::Null) => &[],
        Some(Value::Object(members)) => &members[..],
        Some(_) => return Err(RpcError::params("params.arguments must be an object")),
    };
    if OF_INSIGHTS.contains(&name) && catalog.snapshot.insights().is_none() {
        push_error(out, PENDING);
        return Ok(Ending::Plain);
    }
    let outcome = match name {
        "search_reviews" => search::search_reviews(catalog, members, out),
        "list_reviews_since" => search::list_reviews_since(catalog, members, out),
        "get_review" => lookup::get_review(catalog, members, out),
        "get_aspect_sentiment" => lookup::get_aspect_sentiment(catalog, members, out),
        "get_technician" => lookup::get_technician(catalog, members, out),
        "get_service" => lookup::get_service(catalog, members, out),
        _ => match catalog.fixed_result(name) {
            Some(result) => Arguments::new(members, &[])
                .finish()
                .map(|()| out.extend_from_slice(result)),
            None => return fixture(catalog, era, name, call, out),
        },
    };
    if let Err(issues) = outcome {
        push_refusal(out, &issues);
    }
    Ok(Ending::Plain)
}

/// Answers a tool that is not one of ours: a fixture, where they are offered, or none at all.
fn fixture(
    catalog: &Catalog,
    era: Era,
    name: &str,
    call: &Call<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Ending, RpcError> {
    let start = out.len();
    let answered = match catalog.has_fixtures {
        true => fixtures::call(name, call, out),
        false => None,
    };
    match (answered, era) {
        (Some(Answered::Complete), _) => Ok(Ending::Plain),
        (Some(Answered::InputRequired), Era::Stateless) => Ok(Ending::InputRequired),
        (Some(Answered::InputRequired), Era::Handshake) | (None, _) => {
            out.truncate(start);
            let message = format!("there is no tool {:?} here", cut(name));
            Err(RpcError::params(message))
        }
    }
}

/// Appends a result that holds `json`, one object, in both copies.
pub(crate) fn push_result(out: &mut Vec<u8>, json: &[u8]) {
    out.reserve(result_bytes(json.len()));
    out.extend_from_slice(RESULT_HEAD);
    push_escaped(out, json);
    out.extend_from_slice(RESULT_MIDDLE);
    out.extend_from_slice(json);
}

/// Room for a result that holds `json` bytes of JSON in both copies, and for what the answer ends with.
fn result_bytes(json: usize) -> usize {
    // Quotes and backslashes are about an eighth of our JSON, and each gets a backslash in the text copy.
    2 * json + json / 6 + 256
}

/// Before the text copy, between both copies, and nothing after the second.
const RESULT_HEAD: &[u8] = b"{\"content\":[{\"type\":\"text\",\"text\":\"";
const RESULT_MIDDLE: &[u8] = b"\"}],\"structuredContent\":";

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

/// The tools that answer from the insights.
const OF_INSIGHTS: &[&str] = &["get_insights", "get_aspect_sentiment", "get_faq"];

/// What those answer while there are none.
const PENDING: &str =
    "the insights are still being derived from the reviews: ask again in a few seconds";

/// Lines of a refusal; what is wrong after them is only counted.
const REFUSAL_LINES_MAX: usize = 20;

/// Most bytes of an answer's JSON, each copy by itself: clients cut or set aside what is longer.
pub(crate) const ANSWER_BYTES_MAX: usize = 49_000;
