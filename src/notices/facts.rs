//! The facts of a review that are kept for notices after it was removed: those that filters and notices need, and
//! nothing of its text.

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

    /// Returns the facts as JSON.
    pub(crate) fn render(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are JSON")
    }

    /// Parses the output of [`ReviewFacts::render`]; returns empty facts for the output of a version that rendered
    /// others.
    pub(crate) fn parse(json: &str) -> ReviewFacts {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the day of the review; `None` if it is not known.
    pub(crate) fn day(&self) -> Option<Date> {
        parse_date(self.date.as_bytes()).ok()
    }

    /// Returns whether a filter accepts rating, language and location.
    pub(crate) fn match_filter(&self, filter: &NoticeFilter) -> bool {
        if let Some(least) = filter.min_rating
            && self.rating < least.stars()
        {
            return false;
        }
        if let Some(most) = filter.max_rating
            && self.rating > most.stars()
        {
            return false;
        }
        if let Some(range) = &filter.language
            && !is_in_range(self.language.as_deref().unwrap_or_default(), range)
        {
            return false;
        }
        filter.location.is_none() || filter.location == self.location
    }
}

/// Returns whether a language tag is in a range such as `de`, without regard to case (RFC 4647 §3.3.1).
fn is_in_range(tag: &str, range: &str) -> bool {
    let Some((head, rest)) = tag.split_at_checked(range.len()) else {
        return false;
    };
    head.eq_ignore_ascii_case(range) && (rest.is_empty() || rest.starts_with('-'))
}
