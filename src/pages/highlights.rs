//! Sentences of customers, chosen from the evidence of the insights: some praise for the top of the front page, and a
//! sentence of praise and one of criticism for each aspect.

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

/// Quotations at the top of the page.
const VOICES_COUNT: usize = 3;

/// Most mentions of an aspect that are tried for a quotation; this limits the time that a page takes.
const MENTIONS_TRIED_MAX: usize = 60;

/// Fewest stars of a review whose praise is quoted: a sentence that contradicts its review is often a mistake of the
/// method.
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

/// Returns three sentences of different people on different subjects, or none if there are fewer. The owner's own
/// choice is the first; the others are praise for the aspects that are praised most.
pub(super) fn voices(
    snapshot: &Snapshot,
    aspects: &[&Aspect],
    pull_quote: Option<&str>,
) -> Vec<Quotation> {
    let mut voices: Vec<Quotation> = Vec::new();
    let mut authors: HashSet<String> = HashSet::new();
    if let Some(text) = pull_quote
        && let Some(quotation) = owners_quotation(snapshot, text)
    {
        authors.insert(quotation.review.author.clone());
        voices.push(quotation);
    }
    let mut by_praise = aspects.to_vec();
    by_praise.sort_by_key(|aspect| std::cmp::Reverse(aspect.positive_count));
    for aspect in by_praise {
        if voices.len() == VOICES_COUNT {
            break;
        }
        let praise = newest_quotation(snapshot, aspect, Polarity::Positive, &authors);
        if let Some(quotation) = praise {
            authors.insert(quotation.review.author.clone());
            voices.push(quotation);
        }
    }
    if voices.len() < VOICES_COUNT {
        voices.clear();
    }
    voices
}

/// Returns the text that the owner quotes with the newest review that has it; `None` if no review has it, or if it is
/// longer than the text of a search may be.
fn owners_quotation(snapshot: &Snapshot, text: &str) -> Option<Quotation> {
    let mut buffers = Buffers::default();
    let target = encoded("query=", text);
    let query = parse_query(target.as_bytes(), &mut buffers).ok()?;
    let page = run::run(&snapshot.index, &query, &mut Scratch::default());
    let row = page.rows.first()?;
    Some(Quotation {
        text: text.to_owned(),
        review: ReviewView::read(snapshot, *row),
        subject: String::new(),
    })
}

/// Returns the newest sentence that mentions an aspect with this polarity, can be quoted, and is not by one of
/// `authors`.
pub(super) fn newest_quotation(
    snapshot: &Snapshot,
    aspect: &Aspect,
    polarity: Polarity,
    authors: &HashSet<String>,
) -> Option<Quotation> {
    let evidence = aspect.evidence.iter().flatten();
    let of_polarity = evidence.filter(|mention| mention.polarity == polarity);
    for mention in of_polarity.take(MENTIONS_TRIED_MAX) {
        let Some(row) = snapshot.index.row_of_id(&mention.review_id) else {
            continue;
        };
        let stars = u64::from(snapshot.index.rating(row).stars());
        let agrees_with_stars = match polarity {
            Polarity::Positive => stars >= PRAISE_STARS_MIN,
            Polarity::Negative => stars <= COMPLAINT_STARS_MAX,
            Polarity::Neutral => true,
        };
        if !agrees_with_stars {
            continue;
        }
        if let Some(quotation) = quotation_of(snapshot, row, mention, aspect)
            && !authors.contains(&quotation.review.author)
        {
            return Some(quotation);
        }
    }
    None
}

/// Returns the sentence around a mention; `None` if it is too short, too long or not whole.
fn quotation_of(
    snapshot: &Snapshot,
    row: Row,
    mention: &Evidence,
    aspect: &Aspect,
) -> Option<Quotation> {
    let review = ReviewView::read(snapshot, row);
    let text = &review.text.text;
    let (start, _) = text.char_indices().nth(mention.start as usize)?;
    let range = sentences(text).find(|range| range.contains(&start))?;
    let sentence = &text[range];
    let length = sentence.chars().count();
    // An item of a list and a heading are no sentences.
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
