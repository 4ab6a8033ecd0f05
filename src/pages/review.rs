//! A review for a template, parsed from its bytes in the snapshot, with highlighted parts of its text: matches of a
//! search, and the evidence of the insights.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use super::text::{day, encoded, link, newest, service_label, verifier};
use crate::model::{Row, platform};
use crate::search::filter::Term;
use crate::search::fold::find_folded;
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;

/// One review, ready for a template.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReviewView {
    pub(super) id: String,
    pub(super) author: String,
    pub(super) rating: u64,
    /// `YYYY-MM-DD`.
    pub(super) date: String,
    pub(super) text: Highlighted,
    pub(super) source: String,
    pub(super) source_url: Option<String>,
    pub(super) language: Option<String>,
    pub(super) owner_reply: Option<Reply>,
    verified: bool,
    verification: Option<Verification>,
    mentioned_technicians: Vec<String>,
    mentioned_services: Vec<String>,
    /// The people and services that the review mentions, each with a search link.
    #[serde(skip)]
    pub(super) mentions: Vec<Mention>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) date: String,
}

#[derive(Debug, Deserialize)]
struct Verification {
    by: String,
    method: Option<String>,
}

/// A person or service that a review mentions.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) label: String,
    pub(super) href: String,
}

/// Largest number of highlights of one term in one text; limits the size of a page.
const MARKS_MAX: usize = 64;

/// Bytes of all texts of a page that are searched for matches to highlight. Limits the time of a page to milliseconds,
/// although a hundred texts may have megabytes.
const HIGHLIGHT_BYTES_MAX: usize = 128 << 10;

/// Reads the reviews of `rows`, and marks `terms` and the code points of `evidence`, whose keys are review ids.
///
/// Every text gets an equal share of [`HIGHLIGHT_BYTES_MAX`]; unused bytes are divided among the next texts.
pub(super) fn read_all(
    snapshot: &Snapshot,
    rows: &[Row],
    terms: &[Term<'_>],
    evidence: &HashMap<&str, Vec<Range<u32>>>,
) -> Vec<ReviewView> {
    let mut left = HIGHLIGHT_BYTES_MAX;
    let mut reviews = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut review = ReviewView::read(snapshot, *row);
        let text = &review.text.text;
        let bytes_max = left / (rows.len() - at);
        left -= text.len().min(bytes_max);
        let of_review = evidence.get(review.id.as_str()).into_iter().flatten();
        let bytes = |points: &Range<u32>| bytes_of_points(text, points.clone());
        let mut marks: Vec<Range<usize>> = of_review.map(bytes).collect();
        if !terms.is_empty() {
            marks.extend(find_folded(text, terms, bytes_max, MARKS_MAX));
        }
        review.text.mark(marks);
        reviews.push(review);
    }
    reviews
}

/// Reads the newest reviews, at most `count_max`.
pub(super) fn read_newest(snapshot: &Snapshot, count_max: u32) -> Vec<ReviewView> {
    let rows = newest(snapshot, count_max);
    rows.map(|row| ReviewView::read(snapshot, row)).collect()
}

impl ReviewView {
    /// Parses the review of `row`, without highlights.
    pub(super) fn read(snapshot: &Snapshot, row: Row) -> ReviewView {
        // The snapshot contains valid reviews only.
        let review = serde_json::from_slice(snapshot.review(row));
        let mut review: ReviewView = review.unwrap_or_default();
        let mention = |parameter: &str, value: &str, label: &str| Mention {
            label: label.to_owned(),
            href: encoded(&format!("/?{parameter}="), value),
        };
        let people = review.mentioned_technicians.iter();
        let people = people.map(|name| mention("mentions_technician", name, name));
        let service = |id: &String| mention("mentions_service", id, service_label(snapshot, id));
        let services = review.mentioned_services.iter().map(service);
        review.mentions = people.chain(services).collect();
        review
    }

    /// The first letter of the author's name, shown instead of a picture.
    pub(super) fn initial(&self) -> String {
        let letter = self.author.chars().find(|letter| letter.is_alphanumeric());
        letter.into_iter().flat_map(char::to_uppercase).collect()
    }

    pub(super) fn day(&self) -> String {
        readable(&self.date)
    }

    /// The name of the platform, or any other source with its first letter in upper case.
    pub(super) fn publisher(&self) -> String {
        if let Some(label) = platform(&self.source) {
            return label.to_owned();
        }
        let mut rest = self.source.chars();
        let first = rest.next().into_iter().flat_map(char::to_uppercase);
        first.chain(rest.clone()).collect()
    }

    /// The URL of the review on the platform, if `text::link` allows it.
    pub(super) fn link(&self) -> Option<&str> {
        self.source_url.as_deref().and_then(link)
    }

    /// The platform that published the review with an account, if it is not verified.
    pub(super) fn account_platform(&self) -> Option<&str> {
        let by = &self.verification.as_ref()?.by;
        if self.verified {
            return None;
        }
        Some(platform(by).unwrap_or(by))
    }

    /// The verifier, if it is not the business.
    pub(super) fn verifier(&self) -> Option<String> {
        let verification = self.verification.as_ref()?;
        if !self.verified {
            return None;
        }
        Some(verifier(&verification.by, verification.method.as_deref()))
    }
}

impl Reply {
    pub(super) fn day(&self) -> String {
        readable(&self.date)
    }
}

/// Returns a date in words; text that is not a date stays as it is.
fn readable(date: &str) -> String {
    parse_date(date.as_bytes()).map_or_else(|_| date.to_owned(), day)
}

/// A text with highlighted ranges: ascending, disjoint, on character boundaries.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Highlighted {
    pub(super) text: String,
    marks: Vec<Range<usize>>,
}

impl From<String> for Highlighted {
    fn from(text: String) -> Highlighted {
        let marks = Vec::new();
        Highlighted { text, marks }
    }
}

impl Highlighted {
    /// Marks these ranges: overlapping or adjacent ones are merged, those outside of the text dropped.
    fn mark(&mut self, mut marks: Vec<Range<usize>>) {
        marks.retain(|mark| mark.start < mark.end && self.text.get(mark.clone()).is_some());
        marks.sort_unstable_by_key(|mark| mark.start);
        for mark in marks {
            match self.marks.last_mut() {
                Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
                _ => self.marks.push(mark),
            }
        }
    }

    /// Returns the segments of the text, each with whether it is marked.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut at = 0;
        let end = self.text.len();
        let marks = self.marks.iter().cloned().chain(std::iter::once(end..end));
        let stretches = marks.flat_map(move |mark| {
            let before = &self.text[at..mark.start];
            at = mark.end;
            [(before, false), (&self.text[mark], true)]
        });
        stretches.filter(|(text, _)| !text.is_empty())
    }
}

/// Returns the byte range of the code points `points` of `text`, cut at its end.
fn bytes_of_points(text: &str, points: Range<u32>) -> Range<usize> {
    if text.is_ascii() {
        return text.len().min(points.start as usize)..text.len().min(points.end as usize);
    }
    let at = |point: u32| {
        let found = text.char_indices().nth(point as usize);
        found.map_or(text.len(), |(at, _)| at)
    };
    at(points.start)..at(points.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marks: &[Range<usize>]) -> String {
        let mut marked = Highlighted::from(text.to_owned());
        marked.mark(marks.to_vec());
        let shown = marked.stretches().map(|(text, is_marked)| match is_marked {
            true => format!("[{text}]"),
            false => text.to_owned(),
        });
        shown.collect()
    }

    #[test]
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one mark is a list of one range"
    )]
    fn marks_are_joined_and_the_text_stays_whole() {
        assert_eq!(shown("abcdef", &[]), "abcdef");
        assert_eq!(shown("abcdef", &[0..6]), "[abcdef]");
        assert_eq!(shown("abcdef", &[4..5, 1..3, 2..4]), "a[bcde]f");
        assert_eq!(shown("abcdef", &[1..2, 4..6]), "a[b]cd[ef]");
        assert_eq!(shown("", &[0..0]), "");
    }

    #[test]
    fn code_points_become_bytes() {
        assert_eq!(bytes_of_points("abc", 1..2), 1..2);
        assert_eq!(bytes_of_points("éabc", 1..2), 2..3);
        assert_eq!(bytes_of_points("é", 0..9), 0..2);
        assert_eq!(bytes_of_points("abc", 5..9), 3..3);
    }
}
