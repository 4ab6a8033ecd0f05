//! Which format a source has, found from its beginning.

use serde_json::Value;

use super::columns::normal;
use super::formats::{Form, SourceFormat, formats};
use super::json::LISTS;
use crate::dataset::{KEYS, KEYS_REQUIRED};

/// Finds the format of a JSON document or of a page; `None` for anything else, which is a table.
pub(super) fn of_text(head: &str) -> Option<&'static SourceFormat> {
    let text = head.trim_start();
    if text.starts_with('<') {
        return named("jsonld");
    }
    if !text.starts_with(['{', '[']) {
        return None;
    }
    // A whole object on the first line is the first of many, or all there is: then its own keys say what it is.
    let first = serde_json::from_str(text.lines().next().unwrap_or_default());
    named(first.map_or_else(|_| of_document(text), |first| of_value(&first)))
}

/// Finds the format of a table by the names of its columns.
pub(super) fn of_columns(names: &[String]) -> &'static SourceFormat {
    let names: Vec<String> = names.iter().map(|name| normal(name)).collect();
    let is_there = |mark: &str| {
        mark.split('|')
            .any(|name| names.iter().any(|column| column == name))
    };
    let mut marked = formats()
        .iter()
        .filter(|format| format.form == Form::Table && !format.marks.is_empty());
    let found = marked.find(|format| format.marks.split_whitespace().all(is_there));
    found.unwrap_or(&formats()[0])
}

/// The format that `--from` calls so.
pub fn named(flag: &str) -> Option<&'static SourceFormat> {
    formats().iter().find(|format| format.flag == flag)
}

/// Why a source cannot be read whatever its format: files that are often taken for an export.
pub(super) fn foreign(head: &str) -> Option<&'static str> {
    let is_map = || {
        ["\"features\"", "\"geometry\""]
            .iter()
            .all(|key| head.contains(key))
    };
    if head.starts_with('\u{1f}') {
        Some("is compressed: unpack it")
    } else if head.starts_with("%PDF-") {
        Some("is a PDF: export the reviews in another form")
    } else if head.contains('\0') {
        Some("holds zero bytes, as no text does: if it is one, name its --encoding")
    } else if head.trim_start().starts_with('{') && is_map() {
        Some(
            "is Google Maps' list of the reviews that you wrote about others: in Takeout choose \
             \"Google Business Profile\" instead, signed in as the owner of the place",
        )
    } else {
        None
    }
}

/// The key of what a reviewd publishes and nothing else has.
const REVIEWD_DOCUMENT: &str = "aggregate_rating";

/// The marks of formats of JSON, each with the flag of its format.
fn marks() -> impl Iterator<Item = (&'static str, &'static str)> {
    let formats = formats().iter().filter(|format| format.form != Form::Table);
    formats.flat_map(|format| {
        format
            .marks
            .split_whitespace()
            .map(|mark| (mark, format.flag.as_str()))
    })
}

/// Tells the formats of JSON apart by the keys of an object, or of the first review that it holds.
fn of_value(value: &Value) -> &'static str {
    if let Some(first) = value.as_array().and_then(|list| list.first()) {
        return of_value(first);
    }
    let has = |key: &str| value.get(key).is_some();
    if let Some((_, flag)) = marks().find(|(mark, _)| has(mark)) {
        return flag;
    }
    if has(REVIEWD_DOCUMENT) || KEYS[..KEYS_REQUIRED].iter().copied().all(has) {
        return "reviewd";
    }
    let mut inner = LISTS.iter().chain(&["review"]);
    let inner = inner.find_map(|key| value.get(*key).filter(|inner| !inner.is_string()));
    inner.map_or("jsonl", of_value)
}

/// Tells them apart by the beginning of a document of many lines: the first of the keys that only one of them has.
fn of_document(text: &str) -> &'static str {
    let find = |key: &str| text.find(&format!("\"{key}\""));
    let all: Option<Vec<usize>> = KEYS[..KEYS_REQUIRED].iter().map(|key| find(key)).collect();
    let ours = find(REVIEWD_DOCUMENT).or(all.and_then(|all| all.into_iter().max()));
    let found = marks().map(|(mark, flag)| (find(mark), flag));
    let found = found.chain([(ours, "reviewd")]);
    let first = found.filter_map(|(at, flag)| Some((at?, flag))).min();
    first.map_or("jsonl", |(_, flag)| flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_export_is_known_by_its_beginning() {
        for (head, why) in [
            ("\u{1f}\u{2039}\u{8}", "is compressed"),
            ("\u{1f}\u{fffd}", "is compressed"),
            ("%PDF-1.4", "is a PDF"),
            ("a\0b", "holds zero bytes"),
            (
                "{\"type\":\"FeatureCollection\",\"features\":[{\"geometry\":{}}]}",
                "is Google Maps' list",
            ),
        ] {
            let found = foreign(head).unwrap_or_default();
            assert!(found.starts_with(why), "{head:?}: {found}");
        }
        for head in ["PK,Stars\n", "", "{\"features\":[]}"] {
            assert_eq!(foreign(head), None, "{head}");
        }
    }

    #[test]
    fn documents_are_known_by_the_keys_of_their_first_review() {
        let flag = |head: &str| of_text(head).map(|format| format.flag.as_str());
        let ours = r#"{"id":"a","author":"Ann","author_avatar_url":null,"rating":5,"date":"2024-03-04","text":"","source":"google","source_url":null,"owner_reply":null,"verified":true}"#;
        let short = ours.replace("\"verified\":true", "\"seen\":true");
        for (first, expected) in [
            ("Name,Stars,Date", None),
            (" <!doctype html><html>", Some("jsonld")),
            (ours, Some("reviewd")),
            (&short, Some("jsonl")),
            (&format!("{{\"data\":[{ours}]}}"), Some("reviewd")),
            ("{\"business\":{},\"aggregate_rating\":{}}", Some("reviewd")),
            ("{\"starRating\":\"FIVE\"}", Some("google")),
            ("{\"locationReviews\":[]}", Some("google")),
            ("{\"review\":{\"starRating\":\"FIVE\"}}", Some("google")),
            ("{\"review\":\"Good.\",\"stars\":5}", Some("jsonl")),
            (
                "{\"data\":[{\"recommendation_type\":\"positive\"}]}",
                Some("facebook"),
            ),
            ("{\"@context\":\"https://schema.org\"}", Some("jsonld")),
            ("[{\"@type\":\"Review\"}]", Some("jsonld")),
            // Another's keys further in, or in later lines, say nothing.
            (
                "{\"stars\":5,\"author\":{\"@type\":\"Person\"}}",
                Some("jsonl"),
            ),
            ("{\"stars\":5}\n{\"starRating\":\"ONE\"}", Some("jsonl")),
            ("[\n{\"stars\":5,\"owner_reply\":null}\n]", Some("jsonl")),
        ] {
            assert_eq!(
                flag(&format!("{first}\n{{\"stars\":5}}\n")),
                expected,
                "{first}"
            );
            assert_eq!(flag(first), expected, "{first}");
            if expected == Some("reviewd") {
                let document = first.replace('{', "{\n");
                assert_eq!(flag(&document), expected, "{document}");
            }
        }
    }
}
