//! A review for a template, parsed from the bytes that the snapshot holds of it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::highlight::{Highlighted, bytes_of_points};
use super::text::{day, link, push_encoded, service_label, verifier};
use crate::model::{Row, platform};
use crate::search::fold::find_folded;
use crate::search::words::Term;
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;

/// One review, ready for a template.
#[derive(Debug, Default)]
pub(super) struct ReviewView {
    pub(super) id: String,
    pub(super) author: String,
    /// The first letter of the author's name, shown instead of a picture.
    pub(super) initial: String,
    pub(super) stars: u64,
    /// `YYYY-MM-DD`.
    pub(super) date: String,
    /// The same in words.
    pub(super) day: String,
    pub(super) text: Highlighted,
    /// The platform on which it was written.
    pub(super) source: String,
    /// Who verified it, if not the business.
    pub(super) verifier: Option<String>,
    /// The language of the text.
    pub(super) language: Option<String>,
    /// Its address there, if that may become a link.
    pub(super) source_url: Option<String>,
    pub(super) reply: Option<Reply>,
    /// People and services that it mentions, each with a search link.
    pub(super) mentions: Vec<Mention>,
}

/// The owner's reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) date: String,
    pub(super) day: String,
}

/// A person or service that a review mentions.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) label: String,
    pub(super) href: String,
}

/// What is highlighted in a text.
#[derive(Clone, Copy, Debug, Default)]
struct Highlights<'q> {
    /// What the search asks for.
    terms: &'q [Term<'q>],
    /// Bytes at the beginning of the text that are searched.
    bytes_max: usize,
}

/// Marks of one term in one text; later places stay plain, so that a page does not grow by its marks alone.
const MARKS_MAX: usize = 64;

/// Bytes of all texts of a page that are searched for matches to highlight; later ones stay plain. Bounds the time of a
/// page to milliseconds, while a hundred texts may have megabytes.
const HIGHLIGHT_BYTES_MAX: usize = 128 << 10;

/// Reads the reviews of `rows`, and marks `terms` and the code points that `evidence` tells of each.
///
/// Every text gets an equal share of [`HIGHLIGHT_BYTES_MAX`]; what it leaves is shared by those that follow.
pub(super) fn read_all<E: Iterator<Item = Range<u32>>>(
    snapshot: &Snapshot,
    rows: &[Row],
    terms: &[Term<'_>],
    evidence: impl Fn(Row) -> E,
) -> Vec<ReviewView> {
    let mut left = HIGHLIGHT_BYTES_MAX;
    let mut reviews = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let bytes_max = left / (rows.len() - place);
        let highlights = Highlights { terms, bytes_max };
        let shown = ReviewView::read(snapshot, *row, highlights, evidence(*row));
        left -= shown.text.len().min(bytes_max);
        reviews.push(shown);
    }
    reviews
}

impl ReviewView {
    /// Parses the review of `row`, and highlights matches and the code points `evidence`.
    fn read(
        snapshot: &Snapshot,
        row: Row,
        highlights: Highlights<'_>,
        evidence: impl Iterator<Item = Range<u32>>,
    ) -> ReviewView {
        // The snapshot rendered these bytes, so they are an object.
        let mut object =
            serde_json::from_slice::<Map<String, Value>>(snapshot.review(row)).unwrap_or_default();
        let text = take(&mut object, "text");
        let mut marks: Vec<Range<usize>> = evidence
            .map(|points| bytes_of_points(&text, points))
            .collect();
        if !highlights.terms.is_empty() {
            marks.extend(find_folded(
                &text,
                highlights.terms,
                highlights.bytes_max,
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
        ReviewView {
            id: take(&mut object, "id"),
            initial: initial.map_or_else(String::new, |letter| letter.to_uppercase().collect()),
            author,
            stars: object.get("rating").and_then(Value::as_u64).unwrap_or(0),
            day: readable(&date),
            date,
            text: Highlighted::new(text, marks),
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

    /// Parses the review of `row`, without highlights.
    pub(super) fn plain(snapshot: &Snapshot, row: Row) -> ReviewView {
        ReviewView::read(snapshot, row, Highlights::default(), std::iter::empty())
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

/// Returns a date in words; text that is not a date stays as it is.
fn readable(date: &str) -> String {
    parse_date(date.as_bytes()).map_or_else(|_| date.to_owned(), day)
}

/// Returns the name of a platform, or any other source with a capital.
pub(super) fn publisher(word: &str) -> String {
    if let Some(label) = platform(word) {
        return label.to_owned();
    }
    let mut rest = word.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest.clone()).collect()
}
