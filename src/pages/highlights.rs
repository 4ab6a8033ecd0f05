//! Sentences of customers, chosen from the evidence of the insights: a few praises for the top of the front page, and one
//! of each side for an aspect.

use std::collections::HashSet;

use super::messages::Messages;
use super::review::ReviewView;
use super::text::encoded;
use crate::model::Row;
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::query::{Buffers, parse_query};
use crate::search::run::{self, Scratch};
use crate::snapshot::Snapshot;
use crate::wire::sentence::sentences;

/// Fewest characters of a sentence that is quoted: shorter ones say little.
const CHARS_MIN: usize = 24;
/// Most characters of a sentence that is quoted: longer ones are not read.
const CHARS_MAX: usize = 110;

/// Praises at the top of the page.
const VOICES: usize = 3;

/// Mentions of an aspect that are looked at, which limits the time that a page takes.
const LOOKED_AT_MAX: usize = 60;

/// Fewest stars of a review whose praise is quoted: a sentence that contradicts its review is often a mistake of the method.
const PRAISE_STARS_MIN: u64 = 4;
/// Most stars of a review whose complaint is quoted.
const COMPLAINT_STARS_MAX: u64 = 3;

/// A sentence of a review.
#[derive(Debug)]
pub(super) struct Quotation {
    pub(super) text: String,
    pub(super) review: ReviewView,
    /// The label of the aspect that it is about; "" if it is not known.
    pub(super) subject: String,
}

impl Quotation {
    /// "5 stars".
    pub(super) fn stars(&self, t: &Messages) -> String {
        t.counted(&t.star_count, self.review.rating)
    }
}

/// Returns three sentences of different people on different subjects, or none: the owner's own choice first, then the
/// aspects with most praise.
pub(super) fn voices(
    snapshot: &Snapshot,
    aspects: &[&Aspect],
    pull_quote: Option<&str>,
) -> Vec<Quotation> {
    let mut voices: Vec<Quotation> = Vec::new();
    let mut authors: HashSet<String> = HashSet::new();
    if let Some(quotation) = pull_quote.and_then(|quote| chosen(snapshot, quote)) {
        authors.insert(quotation.review.author.clone());
        voices.push(quotation);
    }
    let mut by_praise = aspects.to_vec();
    by_praise.sort_by_key(|aspect| std::cmp::Reverse(aspect.positive_count));
    for aspect in by_praise {
        if voices.len() == VOICES {
            break;
        }
        if let Some(quotation) = quote(snapshot, aspect, Polarity::Positive, &authors) {
            authors.insert(quotation.review.author.clone());
            voices.push(quotation);
        }
    }
    if voices.len() < VOICES {
        voices.clear();
    }
    voices
}

/// Finds the review that the owner quotes.
fn chosen(snapshot: &Snapshot, quote: &str) -> Option<Quotation> {
    let mut buffers = Buffers::default();
    let target = encoded("query=", quote);
    let query = parse_query(target.as_bytes(), &mut buffers).ok()?;
    let page = run::run(&snapshot.index, &query, &mut Scratch::default());
    let row = page.rows.first()?;
    Some(Quotation {
        text: quote.to_owned(),
        review: ReviewView::read(snapshot, *row),
        subject: String::new(),
    })
}

/// Returns the newest sentence of an aspect with this polarity that can be quoted and is not by one of the `authors`.
pub(super) fn quote(
    snapshot: &Snapshot,
    aspect: &Aspect,
    polarity: Polarity,
    authors: &HashSet<String>,
) -> Option<Quotation> {
    let evidence = aspect.evidence.iter().flatten();
    let of_side = evidence.filter(|one| one.polarity == polarity);
    for one in of_side.take(LOOKED_AT_MAX) {
        let Some(row) = snapshot.index.row_of_id(&one.review_id) else {
            continue;
        };
        let stars = u64::from(snapshot.index.rating(row).stars());
        let agrees = match polarity {
            Polarity::Positive => stars >= PRAISE_STARS_MIN,
            Polarity::Negative => stars <= COMPLAINT_STARS_MAX,
            Polarity::Neutral => true,
        };
        if !agrees {
            continue;
        }
        let found = quotable(snapshot, row, one, aspect);
        if let Some(quotation) = found.filter(|found| !authors.contains(&found.review.author)) {
            return Some(quotation);
        }
    }
    None
}

/// Returns the sentence around a mention, if it has the right length.
fn quotable(
    snapshot: &Snapshot,
    row: Row,
    evidence: &Evidence,
    aspect: &Aspect,
) -> Option<Quotation> {
    let review = ReviewView::read(snapshot, row);
    let text = &review.text.text;
    let (start, _) = text.char_indices().nth(evidence.start as usize)?;
    let range = sentences(text).find(|range| range.contains(&start))?;
    let sentence = &text[range];
    let length = sentence.chars().count();
    // A list or a line without an end is no sentence.
    let is_whole = sentence.ends_with(['.', '!', '?', '…', '。', '؟']);
    if !(CHARS_MIN..=CHARS_MAX).contains(&length) || !is_whole {
        return None;
    }
    Some(Quotation {
        text: sentence.to_owned(),
        subject: aspect.label.clone(),
        review,
    })
}
