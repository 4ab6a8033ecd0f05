//! Results of tools: one JSON object of bounded size, both as `structuredContent` and in a text block, because some
//! clients forward only one of the two.

use serde_json::Value;

use super::clean::clean;
use crate::search::issue::Issues;
use crate::wire::json::{push_escaped, push_string};

/// The error message while the insights are not ready.
pub(super) const NOT_READY: &str =
    "the insights are still being derived from the reviews: retry in a few seconds";

/// Largest number of issues in a refusal; the remaining ones are only counted.
const REFUSAL_LINES_MAX: usize = 20;

/// Bytes reserved for what stands around the two copies, so that the buffer of a message is allocated once.
const RESULT_BYTES: usize = 512;

/// Largest size in bytes of each copy of a result's JSON: clients truncate or drop longer results.
pub(super) const ANSWER_BYTES_MAX: usize = 49_000;

/// The JSON of a result or a part of it, cleaned, in its two copies.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultJson {
    plain: Vec<u8>,
    /// Escaped for the text block.
    escaped: Vec<u8>,
}

impl ResultJson {
    /// Cleans `json`, and makes its second copy.
    pub(super) fn of(json: &[u8]) -> ResultJson {
        let json = clean(json);
        let mut escaped = Vec::new();
        push_escaped(&mut escaped, &json);
        ResultJson {
            plain: json.into_owned(),
            escaped,
        }
    }

    /// Appends `json`, which begins and ends between tokens.
    pub(super) fn push(&mut self, json: &[u8]) {
        let json = clean(json);
        self.plain.extend_from_slice(&json);
        push_escaped(&mut self.escaped, &json);
    }

    /// Appends a part that has both copies already.
    pub(super) fn push_part(&mut self, part: &ResultJson) {
        self.plain.extend_from_slice(&part.plain);
        self.escaped.extend_from_slice(&part.escaped);
    }

    /// Returns the JSON itself.
    pub(super) fn json(&self) -> &[u8] {
        &self.plain
    }

    /// Returns the number of bytes of the JSON itself.
    pub(super) fn len(&self) -> usize {
        self.plain.len()
    }

    /// Releases memory that further parts would take.
    pub(super) fn shrink_to_fit(&mut self) {
        self.plain.shrink_to_fit();
        self.escaped.shrink_to_fit();
    }

    /// Appends the result with both copies, up to its closing brace.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.plain.len() + self.escaped.len() + RESULT_BYTES);
        out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
        out.extend_from_slice(&self.escaped);
        out.extend_from_slice(b"\"}],\"structuredContent\":");
        out.extend_from_slice(&self.plain);
    }
}

/// Appends a result with the issues of the arguments, one per line, at most twenty.
pub(super) fn push_refusal(out: &mut Vec<u8>, issues: &Issues) {
    let mut all = issues.iter();
    let lines = all.by_ref().take(REFUSAL_LINES_MAX);
    let mut lines: Vec<String> = lines.map(ToString::to_string).collect();
    let more = all.count();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    push_error(out, &lines.join("\n"));
}

/// Appends an error result with a message for the model, up to its closing brace.
pub(super) fn push_error(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
    push_string(out, text);
    out.extend_from_slice(b"}],\"isError\":true");
}

/// Returns `value` as the JSON of a result, of at most [`ANSWER_BYTES_MAX`] bytes.
///
/// If it is too long, the ends of its lists are removed first, then the ends of its texts, and the member
/// `"shortened": true` is added. The most important entries of a list come first.
pub(super) fn fit(value: Value) -> ResultJson {
    ResultJson::of(&fit_within(value, ANSWER_BYTES_MAX))
}

/// Returns the object `value` with further `members` as JSON of at most [`ANSWER_BYTES_MAX`] bytes. A comma stands before
/// each of the members; they are complete, and `value` gets the room that they leave.
pub(super) fn fit_with(value: Value, members: &ResultJson) -> ResultJson {
    let room = ANSWER_BYTES_MAX.saturating_sub(members.len());
    let mut json = fit_within(value, room);
    json.pop();
    let mut json = ResultJson::of(&json);
    json.push_part(members);
    json.push(b"}");
    json
}

/// Adds a member to the end of the object `json`.
pub(super) fn add_member(json: &mut Vec<u8>, key: &str, value: &[u8]) {
    json.pop();
    json.push(b',');
    push_string(json, key);
    json.push(b':');
    json.extend_from_slice(value);
    json.push(b'}');
}

/// Adds a member with a text to the end of the object `json`.
pub(super) fn add_text(json: &mut Vec<u8>, key: &str, text: &str) {
    let mut value = Vec::with_capacity(text.len() + 2);
    push_string(&mut value, text);
    add_member(json, key, &value);
}

/// Returns `value` as JSON of at most `bytes_max` bytes, as [`fit`] does.
pub(super) fn fit_within(mut value: Value, bytes_max: usize) -> Vec<u8> {
    let mut json = value.to_string();
    for items_max in [120, 60, 25, 10, 5, 2, 0] {
        if json.len() <= bytes_max {
            break;
        }
        shorten(&mut value, items_max, 80 * items_max + 40);
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
