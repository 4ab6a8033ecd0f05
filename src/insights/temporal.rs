//! How reviews change from month to month, and whether they get better or worse.

use std::collections::BTreeMap;

use super::count::Tally;
use super::derive::Derived;
use crate::model::{Dataset, Review};

/// The reviews of one month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Month {
    pub(super) tally: Tally,
    /// Reviews with a score, and the sum of their scores.
    pub(super) scored: u64,
    pub(super) score_sum: i64,
}

/// Months in which a review was written, by year and month, oldest first.
pub(super) fn months(dataset: &Dataset, derived: &Derived) -> BTreeMap<(u16, u8), Month> {
    let mut months: BTreeMap<(u16, u8), Month> = BTreeMap::new();
    for (review, outcome) in dataset.reviews.iter().zip(&derived.outcomes) {
        let month = months
            .entry((review.date.year(), review.date.month()))
            .or_default();
        month.tally.add(review);
        if let Some(score) = outcome.score() {
            month.scored += 1;
            month.score_sum += i64::from(score);
        }
    }
    months
}

/// How `trend` is found, as the document says it.
pub(super) const TREND_RULE: &str = "rising or falling if the mean rating of the twelve months up to the newest \
review differs from that of the twelve before by at least 0.1 and by at least two standard errors, else steady; null \
with fewer than ten reviews in either";

/// `rising`, `falling` or `steady` by [`TREND_RULE`].
pub(super) fn trend(reviews: &[Review]) -> Option<&'static str> {
    let number =
        |review: &Review| i32::from(review.date.year()) * 12 + i32::from(review.date.month());
    let newest = number(reviews.first()?);
    let ago = |months: i32| reviews.partition_point(|review| newest - number(review) < months);
    let (recent, before) = reviews[..ago(24)].split_at(ago(12));
    let (recent, before) = (Spread::of(recent)?, Spread::of(before)?);
    let change = recent.mean - before.mean;
    let error = (recent.error_squared + before.error_squared).sqrt();
    // A hair below the bound, as a mean of whole stars is not exact.
    Some(match change {
        change if change.abs() < CHANGE_MIN - 1e-9 || change.abs() < 2.0 * error => "steady",
        change if change > 0.0 => "rising",
        _ => "falling",
    })
}

/// Mean rating, and the square of its standard error.
struct Spread {
    mean: f64,
    error_squared: f64,
}

impl Spread {
    fn of(reviews: &[Review]) -> Option<Spread> {
        let stars = reviews
            .iter()
            .map(|review| u64::from(review.rating.stars()));
        let (count, sum, squares) = stars
            .fold((0u64, 0u64, 0u64), |(count, sum, squares), stars| {
                (count + 1, sum + stars, squares + stars * stars)
            });
        (count >= REVIEWS_MIN).then(|| {
            let count = count as f64;
            let mean = sum as f64 / count;
            let variance = (squares as f64 - mean * sum as f64) / (count - 1.0);
            Spread {
                mean,
                error_squared: variance.max(0.0) / count,
            }
        })
    }
}

/// Reviews that each of the two years needs.
const REVIEWS_MIN: u64 = 10;
/// The least change of the mean rating that counts.
const CHANGE_MIN: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{decode, embedded};
    use crate::model::Rating;
    use crate::wire::date::{Timestamp, parse_date};

    /// Reviews of the given stars: the first in November 2026, the second eleven or more months before.
    fn reviews(recent: &[u8], before: &[u8]) -> Vec<Review> {
        let sample =
            decode(embedded(), Timestamp::from_unix(4_000_000_000)).expect("the sample is valid");
        let review = |day: &[u8], stars: u8| {
            let mut review = sample.dataset.reviews[0].clone();
            review.date = parse_date(day).expect("a day");
            review.rating = Rating::new(stars).expect("1 to 5");
            review
        };
        let recent = recent.iter().map(|stars| review(b"2026-11-01", *stars));
        recent
            .chain(before.iter().map(|stars| review(b"2025-11-30", *stars)))
            .collect()
    }

    #[test]
    fn a_trend_needs_ten_reviews_in_each_year_and_a_clear_change() {
        assert_eq!(trend(&reviews(&[5; 10], &[4; 10])), Some("rising"));
        assert_eq!(trend(&reviews(&[4; 10], &[5; 10])), Some("falling"));
        assert_eq!(trend(&reviews(&[4; 10], &[4; 10])), Some("steady"));
        assert_eq!(trend(&reviews(&[5; 9], &[4; 10])), None);
        assert_eq!(trend(&reviews(&[5; 10], &[4; 9])), None);
        assert_eq!(trend(&[]), None);
        // A change of half a star that chance explains.
        assert_eq!(
            trend(&reviews(
                &[5, 1, 5, 1, 5, 1, 5, 1, 5, 5],
                &[5, 1, 5, 1, 5, 1, 5, 1, 5, 1]
            )),
            Some("steady")
        );
    }
}
