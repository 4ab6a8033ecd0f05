//! What notices need to know of a review after it was removed: enough for the filters, and nothing that it says.

use serde::{Deserialize, Serialize};

use crate::model::notices::NoticeFilter;
use crate::snapshot::StoredReview;
use crate::wire::date::{Date, parse_date};

/// The facts of a review; as JSON in the hub's store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReviewFacts {
    /// From 1 to 5.
    pub(crate) rating: u8,
    /// `YYYY-MM-DD`.
    pub(crate) date: String,
    /// A BCP 47 tag.
    pub(crate) language: Option<String>,
    /// The id of a location.
    pub(crate) location: Option<String>,
}

impl ReviewFacts {
    pub(crate) fn of(review: &StoredReview<'_>) -> ReviewFacts {
        ReviewFacts {
            rating: review.rating,
            date: review.date.to_owned(),
            language: review.language.map(str::to_owned),
            location: review.location.map(|location| location.to_text()),
        }
    }

    pub(crate) fn render(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are JSON")
    }

    /// Parses the output of [`ReviewFacts::render`]; facts that another version has written may be empty.
    pub(crate) fn parse(json: &str) -> ReviewFacts {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the day of the review; `None` if it is not known.
    pub(crate) fn day(&self) -> Option<Date> {
        parse_date(self.date.as_bytes()).ok()
    }

    /// Tells whether rating, language and location are those of a filter.
    pub(crate) fn match_filter(&self, filter: &NoticeFilter) -> bool {
        let is_rated = filter
            .min_rating
            .is_none_or(|least| self.rating >= least.stars())
            && filter
                .max_rating
                .is_none_or(|most| self.rating <= most.stars());
        let is_spoken = filter
            .language
            .as_ref()
            .is_none_or(|range| is_in_range(self.language.as_deref(), range));
        let is_there = filter.location.is_none() || filter.location == self.location;
        is_rated && is_spoken && is_there
    }
}

/// Tells whether a language tag is in a range such as `de`, without regard to case (RFC 4647 §3.3.1).
fn is_in_range(tag: Option<&str>, range: &str) -> bool {
    let Some(head) = tag.and_then(|tag| tag.get(..range.len())) else {
        return false;
    };
    let rest = &tag.unwrap_or_default()[range.len()..];
    head.eq_ignore_ascii_case(range) && (rest.is_empty() || rest.starts_with('-'))
}
