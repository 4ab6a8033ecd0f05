//! schema.org `Review` nodes of a JSON-LD document, or of a saved page that holds some.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde_json::Value;

use super::LINKED_BYTES_MAX;
use super::lines::put;
use super::page::scripts;
use super::read::{ReadError, Shape};
use super::record::{Field, Found, Record, Sink};
use super::stream::{failed, reason};

/// Nodes of one document: more are no page that a person saved.
const NODES_MAX: usize = 1_000_000;

/// The keys of a review's words.
const BODIES: [&str; 3] = ["reviewBody", "description", "text"];

/// Reads a document or a page, whole.
pub(super) fn read(source: impl BufRead, sink: &mut Sink<'_>) -> Result<Shape, ReadError> {
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
        let reviews = document(&value, 1, &lines(&text), sink)?;
        return ended(reviews, "no schema.org Review");
    }
    let scripts = scripts(&text);
    if scripts.is_empty() {
        return ended(0, "no application/ld+json script; microdata is not read");
    }
    let mut reviews = 0;
    for (line, script) in scripts {
        match serde_json::from_str(script) {
            Ok(value) => reviews += document(&value, line, &lines(script), sink)?,
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

fn ended(reviews: u64, nothing: &str) -> Result<Shape, ReadError> {
    match reviews {
        0 => Err(ReadError::at(0, format!("holds {nothing}"))),
        _ => Ok(Shape::default()),
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
    sink: &mut Sink<'_>,
) -> Result<u64, ReadError> {
    let mut nodes = Vec::new();
    collect(value, &mut nodes);
    if nodes.len() > NODES_MAX {
        return Err(ReadError::at(
            first_line,
            format!("holds more than {NODES_MAX} nodes"),
        ));
    }
    let reviews: Vec<&Value> = nodes
        .iter()
        .copied()
        .filter(|node| is_review(node))
        .collect();
    // Where types are stated in another way than once for each node, the script's own line has to do.
    let exact = lines.len() == reviews.len();
    let graph = Graph::of(&nodes);
    for (at, review) in reviews.iter().enumerate() {
        let offset = lines.get(at).filter(|_| exact).copied().unwrap_or_default();
        let record = record(review, &graph, first_line + offset);
        sink(Found::Record(record)).map_err(ReadError::Full)?;
    }
    Ok(reviews.len() as u64)
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

/// The nodes that others refer to by `@id`.
struct Graph<'v>(HashMap<&'v str, &'v Value>);

impl<'v> Graph<'v> {
    fn of(nodes: &[&'v Value]) -> Graph<'v> {
        let mut known = HashMap::new();
        for node in nodes {
            let says_more = node.as_object().is_some_and(|object| object.len() > 1);
            if let Some(id) = node["@id"].as_str().filter(|_| says_more) {
                known.entry(id).or_insert(*node);
            }
        }
        Graph(known)
    }

    /// The first of `keys` that the node has; of a list the first, of a reference the node that it means.
    fn value(&self, node: &'v Value, keys: &[&str]) -> Option<&'v Value> {
        let value = keys.iter().find_map(|key| node.get(*key))?;
        let value = match value {
            Value::Array(values) => values.first()?,
            value => value,
        };
        let reference = value["@id"]
            .as_str()
            .filter(|_| value.as_object().is_some_and(|object| object.len() == 1));
        match reference {
            Some(id) => self.0.get(id).copied(),
            None => Some(value),
        }
    }

    /// The text of the first of `keys` that the node has; of a node its name, of a typed value the value.
    fn text(&self, node: &'v Value, keys: &[&str]) -> Option<&'v Value> {
        let value = self.value(node, keys)?;
        let inner = ["@value", "name", "url", "contentUrl", "@id"];
        let inner = value.is_object().then(|| self.value(value, &inner));
        Some(inner.flatten().unwrap_or(value))
    }

    /// What `identifier` says: a text, or the value of a `PropertyValue`, whose name is that of the property.
    fn identifier(&self, node: &'v Value) -> Option<&'v Value> {
        let value = self.value(node, &["identifier"])?;
        if !value.is_object() {
            return Some(value);
        }
        let stated = self.value(value, &["value", "@value", "url"]);
        stated.or_else(|| {
            value
                .get("@id")
                .filter(|id| id.as_str().is_some_and(is_absolute))
        })
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

/// Makes a record of a node.
fn record<'v>(node: &'v Value, graph: &Graph<'v>, line: u64) -> Record {
    let mut record = Record::at(line);
    let rating = graph.value(node, &["reviewRating", "rating"]);
    let (stars, best) = match rating {
        Some(rating) if rating.is_object() => (
            graph.text(rating, &["ratingValue"]),
            graph.text(rating, &["bestRating"]),
        ),
        Some(rating) => (Some(rating), None),
        None => (graph.text(node, &["ratingValue"]), None),
    };
    let own = node.get("@id");
    let own = own.filter(|id| id.as_str().is_some_and(is_absolute));
    let id = own.or_else(|| graph.identifier(node));
    let author = graph.value(node, &["author", "creator"]);
    let fields = [
        (Field::Id, id),
        (Field::Author, graph.text(node, &["author", "creator"])),
        (
            Field::Avatar,
            author.and_then(|author| graph.text(author, &["image"])),
        ),
        (Field::Rating, stars),
        (Field::Best, best),
        (
            Field::Date,
            graph.text(node, &["datePublished", "dateCreated", "uploadDate"]),
        ),
        (Field::Updated, graph.text(node, &["dateModified"])),
        (Field::Text, graph.text(node, &BODIES)),
        (Field::Title, graph.text(node, &["headline", "name"])),
        (Field::Source, graph.text(node, &["publisher", "provider"])),
        (Field::SourceUrl, graph.text(node, &["url"])),
    ];
    for (field, value) in fields {
        // An organisation without a name says no more than one that is left out.
        let value = value.filter(|value| field != Field::Source || !value.is_object());
        if let Some(value) = value {
            put(&mut record, field, value);
        }
    }
    // Of several names the first will do; of several texts none is the whole.
    let body = BODIES.iter().find_map(|key| node.get(*key));
    if body
        .and_then(Value::as_array)
        .is_some_and(|all| all.len() > 1)
    {
        record.refuse(Field::Text, "an array");
    }
    record
}
