//! A review as pages show it: read back from the bytes that the snapshot holds of it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::marks::{Marked, bytes_of_points};
use super::text::{day, link, push_encoded, service_label, verifier};
use crate::model::{Row, platform};
use crate::search::fold::find_folded;
use crate::search::words::Term;
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;

/// One review, ready for a template.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) author: String,
    /// The first letter of the author's name, as a picture.
    pub(super) initial: String,
    pub(super) stars: u64,
    /// `YYYY-MM-DD`.
    pub(super) date: String,
    /// The same for people.
    pub(super) day: String,
    pub(super) text: Marked,
    /// Where it was left, as readers know it.
    pub(super) source: String,
    /// Who verified it, unless the business itself.
    pub(super) verifier: Option<String>,
    /// The language of the text.
    pub(super) language: Option<String>,
    /// Its address there, where that may become a link.
    pub(super) source_url: Option<String>,
    pub(super) reply: Option<Reply>,
    /// People and services that it mentions, each with the search for it.
    pub(super) mentions: Vec<Mention>,
}

/// The owner's answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) date: String,
    pub(super) day: String,
}

/// Somebody or something that a review mentions.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) label: String,
    pub(super) href: String,
}

/// What is marked in the texts of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Sought<'q> {
    /// What the search asks for.
    terms: &'q [Term<'q>],
    /// Bytes at the beginning of the text where they are looked for.
    bytes_max: usize,
}

/// Marks of one term in one text; later places stay plain, so that a page does not grow by its marks alone.
const MARKS_MAX: usize = 64;

/// Bytes of all texts of a page together where words are looked for to be marked; what is beyond stays plain. Bounds
/// the time of a page: milliseconds where no text is ASCII, while a hundred texts may have megabytes.
const SOUGHT_BYTES_MAX: usize = 128 << 10;

/// Reads the reviews of `rows`, and marks `terms` and the code points that `evidence` tells of each.
///
/// Every text gets an equal share of [`SOUGHT_BYTES_MAX`]; what it does not need is for those that follow.
pub(super) fn read_all<E: Iterator<Item = Range<u32>>>(
    snapshot: &Snapshot,
    rows: &[Row],
    terms: &[Term<'_>],
    evidence: impl Fn(Row) -> E,
) -> Vec<Shown> {
    let mut left = SOUGHT_BYTES_MAX;
    let mut reviews = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let bytes_max = left / (rows.len() - place);
        let sought = Sought { terms, bytes_max };
        let shown = Shown::read(snapshot, *row, sought, evidence(*row));
        left -= shown.text.len().min(bytes_max);
        reviews.push(shown);
    }
    reviews
}

impl Shown {
    /// Reads the review of `row`, and marks what was sought and the code points `evidence`.
    fn read(
        snapshot: &Snapshot,
        row: Row,
        sought: Sought<'_>,
        evidence: impl Iterator<Item = Range<u32>>,
    ) -> Shown {
        // The bytes are our own rendering, so they are an object; anything else would show as an empty review.
        let mut object =
            serde_json::from_slice::<Map<String, Value>>(snapshot.review(row)).unwrap_or_default();
        let text = take(&mut object, "text");
        let mut marks: Vec<Range<usize>> = evidence
            .map(|points| bytes_of_points(&text, points))
            .collect();
        if !sought.terms.is_empty() {
            marks.extend(find_folded(
                &text,
                sought.terms,
                sought.bytes_max,
                MARKS_MAX,
            ));
        }
        let author = take(&mut object, "author");
        let date = take(&mut object, "date");
        let initial = author.chars().find(|character| character.is_alphanumeric());
        let source_url = object
            .get("source_url")
            .and_then(Value::as_str)
            .and_then(link)
            .map(str::to_owned);
        Shown {
            id: take(&mut object, "id"),
            initial: initial.map_or_else(String::new, |letter| letter.to_uppercase().collect()),
            author,
            stars: object.get("rating").and_then(Value::as_u64).unwrap_or(0),
            day: readable(&date),
            date,
            text: Marked::new(text, marks),
            source: publisher(&take(&mut object, "source")),
            verifier: verified_by(&object),
            language: object
                .get("language")
                .and_then(Value::as_str)
                .map(str::to_owned),
            source_url,
            reply: reply(&mut object),
            mentions: mentions(snapshot, &object),
        }
    }

    /// Reads the review of `row` without marks.
    pub(super) fn plain(snapshot: &Snapshot, row: Row) -> Shown {
        Shown::read(snapshot, row, Sought::default(), std::iter::empty())
    }
}

fn take(object: &mut Map<String, Value>, key: &str) -> String {
    match object.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

fn verified_by(object: &Map<String, Value>) -> Option<String> {
    let verification = object.get("verification")?;
    let method = verification["method"].as_str();
    Some(verifier(verification["by"].as_str()?, method))
}

fn reply(object: &mut Map<String, Value>) -> Option<Reply> {
    let reply = object.get_mut("owner_reply")?.as_object_mut()?;
    let date = take(reply, "date");
    Some(Reply {
        text: take(reply, "text"),
        day: readable(&date),
        date,
    })
}

fn mentions(snapshot: &Snapshot, object: &Map<String, Value>) -> Vec<Mention> {
    let values = |key: &str| {
        let list = object.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    };
    let mention = |parameter: &str, value: &str, label: &str| {
        let mut href = format!("/?{parameter}=");
        push_encoded(&mut href, value);
        Mention {
            label: label.to_owned(),
            href,
        }
    };
    let people =
        values("mentioned_technicians").map(|name| mention("mentions_technician", name, name));
    let services = values("mentioned_services")
        .map(|id| mention("mentions_service", id, service_label(snapshot, id)));
    people.chain(services).collect()
}

/// A date as people read it; one that is none stays as it is.
fn readable(date: &str) -> String {
    parse_date(date.as_bytes()).map_or_else(|_| date.to_owned(), day)
}

/// A source as readers know it: the name of a platform, else with a capital.
pub(super) fn publisher(word: &str) -> String {
    if let Some(label) = platform(word) {
        return label.to_owned();
    }
    let mut rest = word.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest.clone()).collect()
}
