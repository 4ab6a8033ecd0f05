//! Results of tools: one JSON object of bounded size, both as `structuredContent` and in a text block, because some
//! clients forward only one of the two.

use serde_json::Value;

use super::clean::clean;
use crate::search::issue::Issues;
use crate::wire::json::{push_escaped, push_string};

/// The error message while the insights are not ready.
pub(super) const NOT_READY: &str =
    "the insights are still being derived from the reviews: retry in a few seconds";

/// Largest number of issues that a refusal lists; it says how many more there are.
const ISSUES_LISTED_MAX: usize = 20;

/// Bytes that are reserved for the rest of a message beside the two copies, so that its buffer is allocated once.
const RESULT_BYTES: usize = 512;

/// Largest size in bytes of each copy of a result's JSON, except that of a single whole review (`get_review`, `fetch`):
/// clients truncate or drop longer results.
pub(super) const ANSWER_BYTES_MAX: usize = 49_000;

/// Largest number of items of a list, for each attempt to shorten a value that is too long.
const SHORTENED_ITEMS: [usize; 7] = [120, 60, 25, 10, 5, 2, 0];

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

    /// Cleans and appends `json`, which begins and ends between tokens, so that no character is cut.
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

    /// Releases the memory that is reserved for further parts.
    pub(super) fn shrink_to_fit(&mut self) {
        self.plain.shrink_to_fit();
        self.escaped.shrink_to_fit();
    }

    /// Appends the result of a tool with both copies, up to its closing brace.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.plain.len() + self.escaped.len() + RESULT_BYTES);
        out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
        out.extend_from_slice(&self.escaped);
        out.extend_from_slice(b"\"}],\"structuredContent\":");
        out.extend_from_slice(&self.plain);
    }
}

/// Appends an error result with the issues of the arguments, one per line, at most twenty.
pub(super) fn push_refusal(out: &mut Vec<u8>, issues: &Issues) {
    let mut lines = Vec::new();
    for issue in issues.iter().take(ISSUES_LISTED_MAX) {
        lines.push(issue.to_string());
    }
    let more = issues.iter().len() - lines.len();
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

/// Returns the object `value` with further `members` as JSON of at most [`ANSWER_BYTES_MAX`] bytes. Each member begins
/// with a comma. The members stay complete; `value` is shortened to the room that they leave.
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
    for items_max in SHORTENED_ITEMS {
        if json.len() <= bytes_max {
            break;
        }
        let chars_max = 80 * items_max + 40;
        shorten(&mut value, items_max, chars_max);
        value["shortened"] = Value::Bool(true);
        json = value.to_string();
    }
    json.into_bytes()
}

/// Cuts every list in `value` after `items_max` items, and every text after `chars_max` characters.
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
