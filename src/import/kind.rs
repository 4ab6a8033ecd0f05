//! What wrote a source, found from its first bytes.

use serde_json::Value;

use super::columns::normal;
use super::stream::LISTS;
use crate::dataset::REQUIRED_KEYS;

/// What wrote a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A table with a header.
    Csv,
    /// Google Business Profile: answers of its API, or files of a Takeout export.
    Google,
    /// JSON objects, one a line or in an array.
    JsonLines,
    /// schema.org nodes, in a document of their own or in a saved page.
    JsonLd,
    /// Another reviewd's `/reviews.json`, or its file.
    Reviewd,
    /// The table that Trustpilot exports.
    Trustpilot,
}

impl Kind {
    /// The kind as people read it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Csv => "CSV",
            Kind::Google => "Google Business Profile",
            Kind::JsonLines => "JSON",
            Kind::JsonLd => "schema.org JSON-LD",
            Kind::Reviewd => "reviewd",
            Kind::Trustpilot => "Trustpilot CSV",
        }
    }

    /// Where the reviews of such a source were left, unless it or the operator says it.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Kind::Google => "google",
            Kind::Trustpilot => "trustpilot",
            Kind::Csv | Kind::JsonLines | Kind::JsonLd | Kind::Reviewd => "import",
        }
    }

    /// Whether columns can have any names, and dates be numbers in any order.
    pub(crate) fn is_of_any_make(self) -> bool {
        matches!(self, Kind::Csv | Kind::Trustpilot | Kind::JsonLines)
    }

    /// Finds the kind from the beginning of the text.
    pub(crate) fn detect(head: &str) -> Kind {
        let text = head.trim_start();
        if text.starts_with('<') {
            return Kind::JsonLd;
        }
        if text.starts_with(['{', '[']) {
            // A whole object on the first line is the first of many, or all there is: then its own keys say what it is.
            let first = serde_json::from_str(text.lines().next().unwrap_or_default());
            return first.map_or_else(|_| json(text), |first| of_value(&first));
        }
        let header = head.lines().find(|line| !line.trim().is_empty());
        let header = normal(header.unwrap_or_default());
        if header.contains("reviewstars") && header.contains("reviewcreated") {
            Kind::Trustpilot
        } else {
            Kind::Csv
        }
    }
}

/// Why a source cannot be read whatever its kind, if it is no text: the files that people have in place of an export.
pub(crate) fn foreign(head: &str) -> Option<&'static str> {
    let beginnings = [
        (
            "PK\u{3}\u{4}",
            "is a workbook or an archive: save the sheet as CSV, or unpack it",
        ),
        ("\u{1f}", "is compressed: unpack it"),
        ("%PDF-", "is a PDF: export the reviews in another form"),
    ];
    let found = beginnings
        .iter()
        .find(|(beginning, _)| head.starts_with(beginning));
    let zero = "holds zero bytes, as no text does: if it is one, name its --encoding";
    found
        .map(|(_, why)| *why)
        .or(head.contains('\0').then_some(zero))
}

/// The key of what a reviewd publishes and nobody else.
const REVIEWD_DOCUMENT: &str = "aggregate_rating";

/// Keys that one kind alone has.
const KEYS: [(&str, Kind); 6] = [
    ("@context", Kind::JsonLd),
    ("@type", Kind::JsonLd),
    ("@graph", Kind::JsonLd),
    ("starRating", Kind::Google),
    ("reviewReply", Kind::Google),
    ("locationReviews", Kind::Google),
];

/// Tells the kinds of JSON apart by the keys of an object, or of the first review that it holds.
fn of_value(value: &Value) -> Kind {
    if let Some(first) = value.as_array().and_then(|list| list.first()) {
        return of_value(first);
    }
    let has = |key: &str| value.get(key).is_some();
    if let Some((_, kind)) = KEYS.iter().find(|(key, _)| has(key)) {
        return *kind;
    }
    if has(REVIEWD_DOCUMENT) || REQUIRED_KEYS.iter().copied().all(has) {
        return Kind::Reviewd;
    }
    let mut inner = LISTS.iter().chain(&["review"]);
    let inner = inner.find_map(|key| value.get(*key).filter(|inner| !inner.is_string()));
    inner.map_or(Kind::JsonLines, of_value)
}

/// Tells them apart by the beginning of a document of many lines: the first of the keys that only one of them has.
fn json(text: &str) -> Kind {
    let find = |key: &str| text.find(&format!("\"{key}\""));
    let all: Option<Vec<usize>> = REQUIRED_KEYS.iter().map(|key| find(key)).collect();
    let ours = find(REVIEWD_DOCUMENT).or(all.and_then(|all| all.into_iter().max()));
    let found = KEYS
        .iter()
        .map(|(key, kind)| (find(key), *kind))
        .chain([(ours, Kind::Reviewd)])
        .filter_map(|(at, kind)| Some((at?, kind)))
        .min_by_key(|(at, _)| *at);
    found.map_or(Kind::JsonLines, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::{Kind, foreign};

    #[test]
    fn each_kind_is_known_by_its_beginning() {
        for (head, kind) in [
            ("Name,Stars,Date\n", Kind::Csv),
            ("", Kind::Csv),
            (
                "\n\"Review Id\";\"Review Created (UTC)\";\"Review Stars\"\n",
                Kind::Trustpilot,
            ),
            (
                "{\"reviews\":[{\"reviewer\":{},\"starRating\":\"FIVE\"}]}",
                Kind::Google,
            ),
            ("{\"locationReviews\":[]}", Kind::Google),
            (" <!doctype html><html>", Kind::JsonLd),
            ("{\"@context\":\"https://schema.org\"}", Kind::JsonLd),
            ("[{\"@type\":\"Review\"}]", Kind::JsonLd),
            ("{\"business\":{},\"aggregate_rating\":{}}", Kind::Reviewd),
            ("{\"stars\":5}\n{\"stars\":4}\n", Kind::JsonLines),
            ("[{\"stars\":5}]", Kind::JsonLines),
            ("[\n{\"stars\":5,\"owner_reply\":null}\n]", Kind::JsonLines),
        ] {
            assert_eq!(Kind::detect(head), kind, "{head}");
        }
    }

    #[test]
    fn what_is_no_text_is_known_by_its_beginning() {
        for (head, why) in [
            ("PK\u{3}\u{4}\u{14}\0", Some("is a workbook")),
            ("\u{1f}\u{2039}\u{8}", Some("is compressed")),
            ("\u{1f}\u{fffd}", Some("is compressed")),
            ("%PDF-1.4", Some("is a PDF")),
            ("a\0b", Some("holds zero bytes")),
            ("PK,Stars\n", None),
            ("", None),
        ] {
            let found = foreign(head);
            assert_eq!(found.is_some(), why.is_some(), "{head:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .starts_with(why.unwrap_or_default())
            );
        }
    }

    #[test]
    fn json_lines_are_known_by_the_keys_of_the_first_object() {
        let ours = r#"{"id":"a","author":"Ann","author_avatar_url":null,"rating":5,"date":"2024-03-04","text":"","source":"google","source_url":null,"owner_reply":null,"verified":true}"#;
        let short = ours.replace("\"verified\":true", "\"seen\":true");
        for (first, kind) in [
            (ours, Kind::Reviewd),
            (&short, Kind::JsonLines),
            (&format!("{{\"data\":[{ours}]}}"), Kind::Reviewd),
            ("{\"starRating\":\"FIVE\"}", Kind::Google),
            ("{\"review\":{\"starRating\":\"FIVE\"}}", Kind::Google),
            ("{\"review\":\"Good.\",\"stars\":5}", Kind::JsonLines),
            ("{\"@type\":\"Review\"}", Kind::JsonLd),
            // Another's keys further in, or in later lines, say nothing.
            (
                "{\"stars\":5,\"author\":{\"@type\":\"Person\"}}",
                Kind::JsonLines,
            ),
            ("{\"stars\":5}\n{\"starRating\":\"ONE\"}", Kind::JsonLines),
        ] {
            assert_eq!(
                Kind::detect(&format!("{first}\n{{\"stars\":5}}\n")),
                kind,
                "{first}"
            );
            assert_eq!(Kind::detect(first), kind, "{first}");
            let document = first.replace('{', "{\n");
            if kind == Kind::Reviewd {
                assert_eq!(Kind::detect(&document), kind, "{document}");
            }
        }
    }
}
