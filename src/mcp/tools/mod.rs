//! The tools: what a model may call, and how their results are written.
//!
//! [`TOOLS`] says which code answers each tool; `catalog/tools.json` describes them to clients. A result is the same JSON
//! twice, as `structuredContent` and inside a text block, because some clients forward only the one and some only the
//! other.

mod arguments;
pub(super) mod insights;
mod lookup;
mod search;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Map, Value};

use super::catalog::Catalog;
use super::jsonrpc::{Call, RpcError};
use crate::search::issue::Issues;
use crate::wire::json::{push_escaped, push_string};
use crate::wire::text::cut;
use arguments::Arguments;

/// The members of `arguments`.
pub(crate) type Members = Map<String, Value>;

/// What answers a call of a tool.
enum Answer {
    /// A result that the catalog has ready; the tool takes no arguments.
    Ready(fn(&Catalog) -> &[u8]),
    /// One JSON object.
    Object(fn(&Catalog, &Members) -> Result<Vec<u8>, Issues>),
    /// Appends a whole result.
    Result(fn(&Catalog, &Members, &mut Vec<u8>) -> Result<(), Issues>),
}

/// Every tool in the order of the list: its name, whether it answers from the insights, and what answers it.
const TOOLS: [(&str, bool, Answer); 13] = {
    use Answer::{Object, Ready, Result};
    [
        (
            "get_business",
            false,
            Ready(|catalog| &catalog.ready.business),
        ),
        ("search_reviews", false, Result(search::search_reviews)),
        ("get_review", false, Object(lookup::get_review)),
        (
            "list_reviews_since",
            false,
            Result(search::list_reviews_since),
        ),
        (
            "get_rating_summary",
            false,
            Ready(|catalog| &catalog.ready.ratings),
        ),
        ("get_insights", true, Object(insights::get_insights)),
        (
            "get_aspect_sentiment",
            true,
            Object(insights::get_aspect_sentiment),
        ),
        ("get_technician", false, Object(lookup::get_technician)),
        ("get_service", false, Object(lookup::get_service)),
        (
            "list_services_and_technicians",
            false,
            Ready(|catalog| &catalog.ready.names),
        ),
        ("get_faq", true, Ready(|catalog| &catalog.ready.faq)),
        ("search", false, Object(search::search)),
        ("fetch", false, Object(lookup::fetch)),
    ]
};

/// The names under which calls are counted: those of the tools, and `unknown` for every other.
pub const TOOL_NAMES: [&str; TOOLS.len() + 1] = {
    let mut names = ["unknown"; TOOLS.len() + 1];
    let mut number = 0;
    while number < TOOLS.len() {
        names[number] = TOOLS[number].0;
        number += 1;
    }
    names
};

/// How often each tool was called since the start, refused calls included.
#[derive(Debug, Default)]
pub struct ToolCalls([AtomicU64; TOOL_NAMES.len()]);

impl ToolCalls {
    /// Counts `call`, if it calls a tool.
    pub(super) fn count(&self, call: &Call<'_>) {
        if call.method == "tools/call" {
            let name = call.text("name");
            let known = TOOLS.iter().position(|(tool, ..)| Some(*tool) == name);
            self.0[known.unwrap_or(TOOLS.len())].fetch_add(1, Relaxed);
        }
    }

    /// Returns the counts in the order of [`TOOL_NAMES`].
    #[must_use]
    pub fn totals(&self) -> [u64; TOOL_NAMES.len()] {
        self.0.each_ref().map(|count| count.load(Relaxed))
    }
}

/// Appends the result of `tools/call`, up to its closing brace.
///
/// A tool or an object of arguments that does not exist is an error; a value that a tool cannot use is a result with
/// `isError`, which the model gets to read.
pub(crate) fn call(catalog: &Catalog, call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let Some(name) = call.text("name") else {
        return Err(RpcError::params("params.name must be the name of a tool"));
    };
    let none = Members::new();
    let members = call.arguments()?.unwrap_or(&none);
    let Some((_, needs_insights, answer)) = TOOLS.iter().find(|(tool, ..)| *tool == name) else {
        let message = format!("there is no tool {:?} here", cut(name));
        return Err(RpcError::params(message));
    };
    if *needs_insights && catalog.snapshot.insights().is_none() {
        push_error(out, PENDING);
        return Ok(());
    }
    let answered = match answer {
        Answer::Ready(result) => {
            let nothing = Arguments::new(members, &[]).finish();
            nothing.map(|()| out.extend_from_slice(result(catalog)))
        }
        Answer::Object(tool) => tool(catalog, members).map(|json| push_result(out, &json)),
        Answer::Result(tool) => tool(catalog, members, out),
    };
    if let Err(issues) = answered {
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
    let mut all = issues.iter();
    let lines = all.by_ref().take(REFUSAL_LINES_MAX);
    let mut lines: Vec<String> = lines.map(ToString::to_string).collect();
    let more = all.count();
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
            let each = items.iter_mut();
            each.for_each(|item| shorten(item, items_max, chars_max));
        }
        Value::Object(members) => {
            let each = members.values_mut();
            each.for_each(|member| shorten(member, items_max, chars_max));
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

/// What the tools of the insights answer while there are none.
const PENDING: &str =
    "the insights are still being derived from the reviews: ask again in a few seconds";

/// Lines of a refusal; what is wrong after them is only counted.
const REFUSAL_LINES_MAX: usize = 20;

/// Most bytes of an answer's JSON, each copy by itself: clients cut or set aside what is longer.
pub(crate) const ANSWER_BYTES_MAX: usize = 49_000;
