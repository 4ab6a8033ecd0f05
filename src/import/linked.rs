//! schema.org `Review` nodes of a JSON-LD document, or of the scripts of a saved page that hold some.

use std::io::Read;

use serde_json::Value;

use super::LINKED_BYTES_MAX;
use super::element::{ElementReader, Nodes, put};
use super::json::{failed, reason};
use super::record::{Field, Found, Refusal, Sink};
use super::source::{ImportSource, ReadError};

/// Nodes of one document, at most; a page that a person saved has fewer.
const NODES_MAX: usize = 1_000_000;

/// The keys of a review's words.
const BODIES: [&str; 3] = ["reviewBody", "description", "text"];

/// Reads a document or a page, whole.
///
/// # Errors
/// When it is too large, holds no review, or `sink` wants no more.
pub(super) fn read(source: &ImportSource<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut bytes = Vec::new();
    let read = source
        .text()?
        .take(LINKED_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    // What was read before an error is there, so its lines can be counted.
    read.map_err(|error| ReadError::of(error, 1 + feeds(&bytes)))?;
    if bytes.len() as u64 > LINKED_BYTES_MAX {
        return Err(ReadError::whole(format!(
            "is larger than {LINKED_BYTES_MAX} bytes, the most for schema.org: split it"
        )));
    }
    // The source is UTF-8 by now.
    let text = String::from_utf8_lossy(&bytes);
    if !text.trim_start().starts_with('<') {
        // One document, or one a line.
        let values = serde_json::Deserializer::from_str(&text).into_iter();
        let values: Result<Vec<Value>, _> = values.collect();
        let value = Value::Array(values.map_err(|error| failed(error, 0))?);
        return match document(source, &value, 1, &text, sink)? {
            0 => Err(ReadError::whole("holds no schema.org Review")),
            _ => Ok(()),
        };
    }
    let scripts = scripts(&text);
    let mut reviews = 0;
    for (line, script) in &scripts {
        match serde_json::from_str(script) {
            Ok(value) => reviews += document(source, &value, *line, script, sink)?,
            Err(error) => {
                // One broken script of a page does not make the others wrong.
                let at = line + (error.line() as u64).saturating_sub(1);
                let reason = format!("this script is not JSON: {} at line {at}", reason(&error));
                let line = *line;
                sink(Err(Refusal { line, reason })).map_err(ReadError::whole)?;
            }
        }
    }
    match (scripts.len(), reviews) {
        (0, _) => Err(ReadError::whole(
            "holds no application/ld+json script; microdata is not read",
        )),
        (_, 0) => Err(ReadError::whole(
            "holds no schema.org Review in its scripts",
        )),
        _ => Ok(()),
    }
}

/// The lines on which the word "Review" stands as a value: those of the nodes, in their order.
///
/// A tree of values has no lines, and counting the types in the text is exact wherever each node states its type once.
fn lines(text: &str) -> Vec<u64> {
    let mut lines = Vec::new();
    for (number, line) in (0..).zip(text.lines()) {
        for (at, kind) in line.match_indices("Review\"") {
            let is_key = line[at + kind.len()..].trim_start().starts_with(':');
            if line[..at].ends_with(['"', '/', ':']) && !is_key {
                lines.push(number);
            }
        }
    }
    lines
}

/// Hands on the reviews of one document, and returns how many there are.
fn document(
    source: &ImportSource<'_>,
    value: &Value,
    first_line: u64,
    text: &str,
    sink: &mut Sink<'_>,
) -> Result<usize, ReadError> {
    let mut all = Vec::new();
    collect(value, &mut all);
    if all.len() > NODES_MAX {
        return Err(ReadError::at(
            first_line,
            format!("holds more than {NODES_MAX} nodes"),
        ));
    }
    // Others refer to a node that says more than its name.
    let mut nodes = Nodes::new();
    for node in &all {
        let says_more = node.as_object().is_some_and(|object| object.len() > 1);
        if let Some(id) = node["@id"].as_str().filter(|_| says_more) {
            nodes.entry(id).or_insert(*node);
        }
    }
    let reader = ElementReader {
        format: source.format(),
        mapping: &source.options.mapping,
        nodes: Some(&nodes),
    };
    let reviews: Vec<&Value> = all.into_iter().filter(|node| is_review(node)).collect();
    // Where types are stated in another way than once for each node, the script's own line has to do.
    let mut lines = lines(text);
    if lines.len() != reviews.len() {
        lines = vec![0; reviews.len()];
    }
    for (review, line) in reviews.iter().zip(lines) {
        sink(found(&reader, review, first_line + line)).map_err(ReadError::whole)?;
    }
    Ok(reviews.len())
}

/// Reads a review.
fn found<'v>(reader: &ElementReader<'_, 'v>, node: &'v Value, line: u64) -> Found {
    let mut record = reader.read(node, line)?;
    let own = node.get("@id").filter(|id| is_absolute(id));
    if let Some(id) = own.or_else(|| identifier(reader, node)) {
        put(&mut record, Field::Id, id);
    }
    // Of several names the first will do; of several texts none is the whole.
    let body = BODIES.iter().find_map(|key| node.get(*key)?.as_array());
    if body.is_some_and(|all| all.len() > 1) {
        record.refuse(Field::Text, "an array");
    }
    Ok(record)
}

/// What `identifier` says: a text, or the value of a `PropertyValue`, whose name is that of the property.
fn identifier<'v>(reader: &ElementReader<'_, 'v>, node: &'v Value) -> Option<&'v Value> {
    let value = reader.key(node, "identifier")?;
    if !value.is_object() {
        return Some(value);
    }
    let mut keys = ["value", "@value", "url"].into_iter();
    let stated = keys.find_map(|key| reader.key(value, key));
    stated.or_else(|| value.get("@id").filter(|id| is_absolute(id)))
}

/// All objects of a document, in its order; the parser's own limit bounds the recursion to 128 levels.
fn collect<'v>(value: &'v Value, nodes: &mut Vec<&'v Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, nodes)),
        Value::Object(object) => {
            nodes.push(value);
            object.values().for_each(|value| collect(value, nodes));
        }
        _ => {}
    }
}

fn is_review(node: &Value) -> bool {
    let named = |kind: &Value| {
        let name = kind
            .as_str()
            .and_then(|name| name.rsplit(['/', ':', '#']).next());
        matches!(name, Some("Review" | "UserReview"))
    };
    match &node["@type"] {
        Value::Array(kinds) => kinds.iter().any(named),
        kind => named(kind),
    }
}

/// Whether a node's name means the same node on every page: neither "#review1", nor "/reviews/1", nor "_:b0".
fn is_absolute(id: &Value) -> bool {
    let Some((scheme, rest)) = id.as_str().and_then(|id| id.trim().split_once(':')) else {
        return false;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(fits)
        && !rest.is_empty()
}

/// The scripts of `page` that hold JSON-LD, each with the line on which it begins.
fn scripts(page: &str) -> Vec<(u64, &str)> {
    // Letters keep their places, so that what is found here is cut out of the page.
    let lower = page.to_ascii_lowercase();
    let find = |what: &str, from: usize| lower[from..].find(what).map(|at| from + at);
    let mut found = Vec::new();
    let (mut at, mut counted, mut line) = (0, 0, 1);
    while let Some(tag) = find("<script", at) {
        let Some(open) = find(">", tag).map(|end| end + 1) else {
            break;
        };
        at = find("</script", open).unwrap_or(page.len());
        if lower[tag..open].contains("application/ld+json") {
            line += feeds(&page.as_bytes()[counted..open]);
            counted = open;
            found.push((line, unwrapped(&page[open..at])));
        }
    }
    found
}

/// Removes the comments that old pages put around scripts.
fn unwrapped(script: &str) -> &str {
    let script = script.trim();
    let inner = [
        ("<!--", "-->"),
        ("//<![CDATA[", "//]]>"),
        ("/*<![CDATA[*/", "/*]]>*/"),
    ]
    .iter()
    .find_map(|(open, close)| script.strip_prefix(open)?.strip_suffix(close));
    inner.unwrap_or(script)
}

fn feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::scripts;

    #[test]
    fn scripts_are_found_with_their_lines() {
        let page = "<html>\n<script>var a = '<b>';\n</script>\n<SCRIPT id=x type='application/ld+json'>\n{\"a\":1}\n</SCRIPT>\n<script type=\"application/ld+json\"><!--{}--></script>\n<script type=\"application/ld+json\">[]";
        assert_eq!(scripts(page), [(4, "{\"a\":1}"), (7, "{}"), (8, "[]")]);
        assert_eq!(scripts("<script"), []);
        assert_eq!(scripts("İ<script>ß"), []);
    }
}
