//! schema.org `Review` nodes of a JSON-LD document, or of the scripts of a saved page that hold some.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::LINKED_BYTES_MAX;
use super::element::{ElementReader, Nodes, plain};
use super::json::{failed, reason};
use super::read::{ReadError, Reading};
use super::record::{Field, Found, Sink};

/// Nodes of one document: more are no page that a person saved.
const NODES_MAX: usize = 1_000_000;

/// The keys of a review's words.
const BODIES: [&str; 3] = ["reviewBody", "description", "text"];

/// Reads a document or a page, whole.
///
/// # Errors
/// When it is too large, holds no review, or `sink` wants no more.
pub(super) fn read(
    source: impl BufRead,
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut bytes = Vec::new();
    let read = source.take(LINKED_BYTES_MAX + 1).read_to_end(&mut bytes);
    // What was read before an error is there, so its lines can be counted.
    read.map_err(|error| {
        let feeds = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        ReadError::of(error, 1 + feeds)
    })?;
    if bytes.len() as u64 > LINKED_BYTES_MAX {
        return Err(ReadError::at(
            0,
            format!("is larger than {LINKED_BYTES_MAX} bytes, the most for schema.org: split it"),
        ));
    }
    // The source is UTF-8 by now.
    let text = String::from_utf8_lossy(&bytes);
    if !text.trim_start().starts_with('<') {
        // One document, or one a line.
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text)
            .into_iter()
            .collect();
        let value = Value::Array(values.map_err(|error| failed(error, 0))?);
        let reviews = document(&value, 1, &lines(&text), reading, sink)?;
        return ended(reviews, "no schema.org Review");
    }
    let scripts = scripts(&text);
    if scripts.is_empty() {
        return ended(0, "no application/ld+json script; microdata is not read");
    }
    let mut reviews = 0;
    for (line, script) in scripts {
        match serde_json::from_str(script) {
            Ok(value) => reviews += document(&value, line, &lines(script), reading, sink)?,
            Err(error) => {
                // One broken script of a page does not make the others wrong.
                let at = line + (error.line() as u64).saturating_sub(1);
                let reason = format!("this script is not JSON: {} at line {at}", reason(&error));
                sink(Found::Refused { line, reason }).map_err(ReadError::Full)?;
            }
        }
    }
    ended(reviews, "no schema.org Review in its scripts")
}

fn ended(reviews: u64, nothing: &str) -> Result<(), ReadError> {
    match reviews {
        0 => Err(ReadError::at(0, format!("holds {nothing}"))),
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
            let before = &line[..at];
            if before.ends_with(['"', '/', ':'])
                && !line[at + kind.len()..].trim_start().starts_with(':')
            {
                lines.push(number);
            }
        }
    }
    lines
}

/// Hands on the reviews of one document, and returns how many there are.
fn document(
    value: &Value,
    first_line: u64,
    lines: &[u64],
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<u64, ReadError> {
    let mut all = Vec::new();
    collect(value, &mut all);
    if all.len() > NODES_MAX {
        let message = format!("holds more than {NODES_MAX} nodes");
        return Err(ReadError::at(first_line, message));
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
        format: reading.format,
        mapping: &reading.mapping,
        nodes: Some(&nodes),
    };
    let reviews: Vec<&Value> = all.into_iter().filter(|node| is_review(node)).collect();
    // Where types are stated in another way than once for each node, the script's own line has to do.
    let exact = lines.len() == reviews.len();
    for (at, review) in reviews.iter().enumerate() {
        let offset = lines.get(at).filter(|_| exact).copied().unwrap_or_default();
        let line = first_line + offset;
        sink(found(&reader, review, line)).map_err(ReadError::Full)?;
    }
    Ok(reviews.len() as u64)
}

/// Reads a review.
fn found<'v>(reader: &ElementReader<'_, 'v>, node: &'v Value, line: u64) -> Found {
    let mut record = match reader.record(node, line) {
        Ok(record) => record,
        Err(reason) => return Found::Refused { line, reason },
    };
    let own = node.get("@id");
    let own = own.filter(|id| id.as_str().is_some_and(is_absolute));
    match own.or_else(|| identifier(reader, node)).map(plain) {
        Some(Ok(id)) => record.set(Field::Id, id),
        Some(Err(what)) => record.refuse(Field::Id, what),
        None => {}
    }
    // Of several names the first will do; of several texts none is the whole.
    let body = BODIES.iter().find_map(|key| node.get(*key));
    if body
        .and_then(Value::as_array)
        .is_some_and(|all| all.len() > 1)
    {
        record.refuse(Field::Text, "an array");
    }
    Found::Record(record)
}

/// What `identifier` says: a text, or the value of a `PropertyValue`, whose name is that of the property.
fn identifier<'v>(reader: &ElementReader<'_, 'v>, node: &'v Value) -> Option<&'v Value> {
    let value = reader.key(node, "identifier")?;
    if !value.is_object() {
        return Some(value);
    }
    let keys = ["value", "@value", "url"];
    let stated = keys.iter().find_map(|key| reader.key(value, key));
    stated.or_else(|| {
        value
            .get("@id")
            .filter(|id| id.as_str().is_some_and(is_absolute))
    })
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
        let name = kind.as_str().unwrap_or_default();
        let name = name.rsplit(['/', ':', '#']).next().unwrap_or_default();
        matches!(name, "Review" | "UserReview")
    };
    match &node["@type"] {
        Value::Array(kinds) => kinds.iter().any(named),
        kind => named(kind),
    }
}

/// Whether a node's name means the same node on every page: neither "#review1", nor "/reviews/1", nor "_:b0".
fn is_absolute(id: &str) -> bool {
    let Some((scheme, rest)) = id.trim().split_once(':') else {
        return false;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(fits)
        && !rest.is_empty()
}

/// The scripts of `page` that hold JSON-LD, each with the line on which it begins.
fn scripts(page: &str) -> Vec<(u64, &str)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (page, 1);
    while let Some(script) = find(rest, "<script") {
        let Some(open) = rest[script..].find('>').map(|end| script + end + 1) else {
            break;
        };
        let content = open..find(&rest[open..], "</script").map_or(rest.len(), |end| open + end);
        line += feeds(&rest[..open]);
        let attributes = rest[script..open].to_ascii_lowercase();
        if attributes.contains("application/ld+json") {
            found.push((line, unwrapped(&rest[content.clone()])));
        }
        line += feeds(&rest[content.clone()]);
        rest = &rest[content.end..];
    }
    found
}

/// Takes the comments away that old pages put around scripts.
fn unwrapped(script: &str) -> &str {
    let wrappings = [
        ("<!--", "-->"),
        ("//<![CDATA[", "//]]>"),
        ("/*<![CDATA[*/", "/*]]>*/"),
    ];
    let script = script.trim();
    let inner = wrappings
        .iter()
        .find_map(|(open, close)| script.strip_prefix(open)?.strip_suffix(close));
    inner.unwrap_or(script)
}

fn feeds(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Finds ASCII letters in any case.
fn find(text: &str, what: &str) -> Option<usize> {
    let (first, what) = (what.as_bytes().first()?, what.as_bytes());
    let bytes = text.as_bytes();
    memchr::memchr_iter(*first, bytes).find(|at| {
        let candidate = bytes.get(*at..at + what.len());
        candidate.is_some_and(|candidate| candidate.eq_ignore_ascii_case(what))
    })
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
