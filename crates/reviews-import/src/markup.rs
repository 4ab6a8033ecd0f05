//! Reviews in XML and web pages: WordPress exports, Google's product reviews, other XML with elements of reviews, and the
//! linked data (JSON-LD) of a saved page. Elements become the same objects as JSON.

use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;
use serde_json::{Map, Value};

use super::json::looks_like_review;
use super::record::{Mapping, ReadError};

/// Largest nesting depth of elements; a deeper document is refused.
const DEPTH_MAX: usize = 64;

/// Largest number of reviews in a document.
const REVIEWS_MAX: usize = 1_000_000;

/// An object and the line on which it begins.
#[derive(Clone, Debug)]
pub(super) struct MarkedUp {
    pub(super) line: u64,
    pub(super) value: Value,
}

/// An element that is being read.
struct Open {
    name: String,
    line: u64,
    members: Map<String, Value>,
    text: String,
}

/// Whether a text is a web page rather than XML.
pub(super) fn is_page(text: &str) -> bool {
    let head: String = text
        .trim_start()
        .chars()
        .take(200)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    !head.starts_with("<?xml") && (head.contains("<!doctype html") || head.contains("<html"))
}

/// Finds the reviews in the linked data of a web page.
pub(super) fn read_page(text: &str) -> Result<Vec<MarkedUp>, ReadError> {
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"(?is)<script[^>]*application/ld\+json[^>]*>(.*?)</script>"#;
        Regex::new(pattern).expect("the pattern is valid")
    });
    let mut found = Vec::new();
    for script in SCRIPT
        .captures_iter(text)
        .filter_map(|script| script.get(1))
    {
        let line = 1 + text[..script.start()].matches('\n').count() as u64;
        let data = script
            .as_str()
            .trim()
            .trim_start_matches("<![CDATA[")
            .trim_end_matches("]]>");
        if let Ok(value) = serde_json::from_str::<Value>(data) {
            collect_reviews(&value, line, DEPTH_MAX, &mut found);
        }
    }
    if found.is_empty() {
        return Err(ReadError::whole(
            "is a web page without reviews in its linked data (JSON-LD): export the reviews as a table or as JSON",
        ));
    }
    Ok(found)
}

/// Adds all objects of the type Review.
fn collect_reviews(value: &Value, line: u64, depth: usize, found: &mut Vec<MarkedUp>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    if is_schema_review(value) {
        let value = value.clone();
        return found.push(MarkedUp { line, value });
    }
    let inner: Vec<&Value> = match value {
        Value::Array(values) => values.iter().collect(),
        Value::Object(object) => object.values().collect(),
        _ => return,
    };
    for value in inner {
        collect_reviews(value, line, depth, found);
    }
}

fn is_schema_review(value: &Value) -> bool {
    match &value["@type"] {
        Value::Array(names) => names.iter().any(is_review_type),
        name => is_review_type(name),
    }
}

fn is_review_type(name: &Value) -> bool {
    let name = name
        .as_str()
        .unwrap_or_default()
        .rsplit(['/', ':'])
        .next()
        .unwrap_or_default();
    ["Review", "UserReview", "EmployerReview"].contains(&name)
}

/// Finds the reviews in an XML document.
pub(super) fn read_xml(text: &str, mapping: &Mapping) -> Result<Vec<MarkedUp>, ReadError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut stack: Vec<Open> = Vec::new();
    let mut found = Vec::new();
    let mut lines = Lines::default();
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let line = lines.at(text, at.min(text.len()));
        let event = reader
            .read_event()
            .map_err(|error| ReadError::at(line, format!("is not valid XML: {error}")))?;
        match event {
            Event::Start(start) => {
                if stack.len() >= DEPTH_MAX {
                    return Err(ReadError::at(
                        line,
                        format!("has elements more than {DEPTH_MAX} deep"),
                    ));
                }
                stack.push(Open::new(&start, line));
            }
            Event::Empty(start) => {
                let open = Open::new(&start, line);
                close(open, &mut stack, mapping, &mut found);
            }
            Event::End(_) => {
                if let Some(open) = stack.pop() {
                    close(open, &mut stack, mapping, &mut found);
                }
            }
            Event::Text(part) => push_text(&mut stack, &part),
            Event::CData(part) => push_text(&mut stack, &part),
            Event::GeneralRef(reference) => {
                // The text is decoded like HTML, once, here.
                push_text(
                    &mut stack,
                    &html_escape::decode_html_entities(&format!("&{};", &*reference)),
                );
            }
            Event::Eof => break,
            _ => {}
        }
        if found.len() > REVIEWS_MAX {
            return Err(ReadError::whole(format!(
                "has more than {REVIEWS_MAX} reviews"
            )));
        }
    }
    if let Some(open) = stack.last() {
        return Err(ReadError::at(
            open.line,
            format!("<{}> is never closed", open.name),
        ));
    }
    if found.is_empty() {
        return Err(ReadError::whole(
            "is XML without reviews: export them as a table or as JSON",
        ));
    }
    Ok(found)
}

/// Counts lines up to ascending offsets.
#[derive(Default)]
struct Lines {
    before: usize,
    count: u64,
}

impl Lines {
    fn at(&mut self, text: &str, offset: usize) -> u64 {
        let bytes = &text.as_bytes()[self.before..offset.max(self.before)];
        self.count += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.before = offset.max(self.before);
        self.count + 1
    }
}

impl Open {
    fn new(start: &BytesStart<'_>, line: u64) -> Open {
        let name = start.name().as_ref().to_owned();
        let mut members = Map::new();
        for attribute in start.attributes().flatten() {
            let key = attribute.key.as_ref().to_owned();
            let value = html_escape::decode_html_entities(&attribute.value).into_owned();
            members.insert(key, value.into());
        }
        Open {
            name,
            line,
            members,
            text: String::new(),
        }
    }

    /// The value of the element: its text, or an object with attributes and inner elements.
    fn into_value(mut self) -> Value {
        let text = self.text.trim();
        if self.members.is_empty() {
            return text.into();
        }
        if !text.is_empty() {
            self.members.insert("value".to_owned(), text.into());
        }
        Value::Object(self.members)
    }
}

fn push_text(stack: &mut [Open], text: &str) {
    if let Some(open) = stack.last_mut() {
        open.text.push_str(text);
    }
}

/// Adds a closed element to the reviews if it is one, else to the element around it.
fn close(open: Open, stack: &mut [Open], mapping: &Mapping, found: &mut Vec<MarkedUp>) {
    let line = open.line;
    let name = open.name.clone();
    let value = open.into_value();
    if name.ends_with(":comment") {
        let value = with_meta(value);
        // A comment of a post that is no review has no rating.
        if value.get("rating").is_some() {
            found.push(MarkedUp { line, value });
        }
        return;
    }
    if is_product_review(&value) || looks_like_review(&value, mapping) {
        return found.push(MarkedUp { line, value });
    }
    let Some(parent) = stack.last_mut() else {
        return;
    };
    match parent.members.get_mut(&name) {
        None => {
            parent.members.insert(name, value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
    }
}

/// Google's product reviews: `<ratings><overall min="1" max="5">5</overall></ratings>`.
fn is_product_review(value: &Value) -> bool {
    value.pointer("/ratings/overall").is_some() && value.get("content").is_some()
}

/// Moves the metadata of a WordPress comment, among them the rating, into the comment.
fn with_meta(mut value: Value) -> Value {
    let Value::Object(comment) = &mut value else {
        return value;
    };
    let metas = match comment.remove("wp:commentmeta") {
        Some(Value::Array(metas)) => metas,
        Some(meta) => vec![meta],
        None => Vec::new(),
    };
    for meta in metas {
        let key = meta["wp:meta_key"].as_str();
        if let Some(key @ ("rating" | "verified")) = key {
            comment.insert(key.to_owned(), meta["wp:meta_value"].clone());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_of_a_page_are_found_in_its_linked_data() {
        let page = r#"<!doctype html><html>
            <script type="application/ld+json">{"@context":"https://schema.org","@type":"Bakery","name":"Crumb","review":[
            {"@type":"Review","author":{"@type":"Person","name":"Ann"},"reviewRating":{"ratingValue":5},"reviewBody":"Good."}]}
            </script></html>"#;
        let found = read_page(page).expect("a review");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert_eq!(found[0].value["reviewBody"], "Good.");
        assert!(read_page("<html></html>").is_err());
    }

    #[test]
    fn reviews_of_products_have_their_rating_and_its_scale() {
        let feed = r#"<?xml version="1.0"?><feed><reviews><review><review_id>1</review_id><reviewer><name>Ann &amp; Bo</name>
            </reviewer><review_timestamp>2024-03-01T10:00:00Z</review_timestamp><content>Nice</content>
            <ratings><overall min="1" max="5">4</overall></ratings></review></reviews></feed>"#;
        let found = read_xml(feed, &Mapping::new()).expect("a review");
        assert_eq!(found[0].value["reviewer"]["name"], "Ann & Bo");
        assert_eq!(found[0].value["ratings"]["overall"]["value"], "4");
    }

    #[test]
    fn broken_and_foreign_documents_are_refused() {
        for text in ["<a><b></a>", "<a>", "<a/>", &"<a>".repeat(65)] {
            assert!(read_xml(text, &Mapping::new()).is_err(), "{text}");
        }
    }
}
