//! The short forms of reviews, which nearly all answers list.
//!
//! A search that lists ten reviews would spend half its time on parsing them and writing their short forms. So each
//! of the newest reviews has its short form kept once an answer has listed it.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::mcp::result::ResultJson;
use crate::mcp::short_form::push_short_form;
use crate::model::Row;
use crate::snapshot::Snapshot;

/// Largest number of short forms that are kept, about 1.5 kB each: those of the newest reviews. Our choice: nearly every
/// business has fewer reviews, and where there are more, most answers list the newest.
const KEPT_MAX: u32 = 4_096;

/// The short forms that are kept, by row; a row that was not listed yet has none.
#[derive(Debug)]
pub(super) struct ShortForms {
    kept: Box<[OnceLock<ResultJson>]>,
}

impl ShortForms {
    /// Starts with none, for a snapshot of `len` reviews.
    pub(super) fn new(len: u32) -> ShortForms {
        let rows = 0..len.min(KEPT_MAX);
        ShortForms {
            kept: rows.map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns the short form of the review at `row`.
    pub(super) fn of_row(&self, snapshot: &Snapshot, row: Row) -> Cow<'_, ResultJson> {
        match self.kept.get(row.0 as usize) {
            Some(kept) => Cow::Borrowed(kept.get_or_init(|| render(snapshot, row))),
            None => Cow::Owned(render(snapshot, row)),
        }
    }
}

/// Renders the short form of the review at `row`, with the address of its page.
fn render(snapshot: &Snapshot, row: Row) -> ResultJson {
    let review = snapshot.stored_review(row);
    let mut json = Vec::new();
    push_short_form(&mut json, &review, &snapshot.review_url(review.id));
    let mut short_form = ResultJson::of(&json);
    short_form.shrink_to_fit();
    short_form
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::catalog;

    #[test]
    fn the_short_forms_of_older_reviews_are_not_kept() {
        let snapshot = &catalog().snapshot;
        let newest = ShortForms::new(1);
        let first = newest.of_row(snapshot, Row(0));
        assert!(matches!(first, Cow::Borrowed(_)));
        let second = newest.of_row(snapshot, Row(1));
        assert!(matches!(second, Cow::Owned(_)));
        let all = ShortForms::new(snapshot.len());
        assert_eq!(second.json(), all.of_row(snapshot, Row(1)).json());
        assert_eq!(ShortForms::new(KEPT_MAX + 1).kept.len(), KEPT_MAX as usize);
    }
}
