//! The stats of a snapshot: how many stars, and how that went over time.

use crate::model::Row;
use crate::snapshot::Snapshot;
use crate::wire::date::Date;

/// Counted once per snapshot.
#[derive(Debug)]
pub(super) struct RatingStats {
    /// All published reviews.
    pub(super) count: u64,
    /// Reviews with a text.
    pub(super) with_text: u64,
    /// The sum of their stars.
    pub(super) sum: u64,
    /// How many have 1, 2, 3, 4 and 5 stars.
    pub(super) distribution: [u64; 5],
    /// Reviews by spans of equal length, oldest first; empty spans too.
    pub(super) spans: Vec<Span>,
    /// Months in a span: 1, 3, or whole years.
    pub(super) span_months: u32,
}

/// The reviews of some months.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// First month, counted from January of year 0.
    pub(super) month: u32,
    /// How many there are.
    pub(super) count: u64,
    /// The sum of their stars.
    pub(super) sum: u64,
}

/// Most spans of the chart; with more months a span becomes longer.
const SPANS_MAX: u32 = 36;

impl RatingStats {
    /// Counts the reviews of `snapshot`; O(reviews).
    pub(super) fn of(snapshot: &Snapshot) -> RatingStats {
        let mut distribution = [0; 5];
        let reviews = || {
            let rows = (0..snapshot.len()).map(Row);
            rows.map(|row| (month(snapshot.index.date(row)), snapshot.index.rating(row)))
        };
        for (_, rating) in reviews() {
            distribution[usize::from(rating.stars()) - 1] += 1;
        }
        let newest = reviews().next().map_or(0, |(month, _)| month);
        let oldest = reviews().next_back().map_or(0, |(month, _)| month);
        let span_months = span_months(oldest, newest);
        let first = oldest / span_months;
        let mut spans: Vec<Span> = match snapshot.is_empty() {
            true => Vec::new(),
            false => (first..=newest / span_months)
                .map(|place| Span {
                    month: place * span_months,
                    ..Span::default()
                })
                .collect(),
        };
        for (month, rating) in reviews() {
            if let Some(span) = spans.get_mut((month / span_months - first) as usize) {
                span.count += 1;
                span.sum += u64::from(rating.stars());
            }
        }
        RatingStats {
            count: u64::from(snapshot.len()),
            with_text: u64::from(snapshot.with_text),
            sum: distribution
                .iter()
                .zip(1..)
                .map(|(count, stars)| count * stars)
                .sum(),
            distribution,
            spans,
            span_months,
        }
    }

    /// Returns the mean in tenths, halves rounded up; `None` where there is no review.
    pub(super) fn mean_tenths(&self) -> Option<u64> {
        rounded(self.sum, self.count, 10)
    }

    /// Returns the mean as people read it, `4.1`.
    pub(super) fn mean_short(&self) -> Option<String> {
        let tenths = self.mean_tenths()?;
        Some(format!("{}.{}", tenths / 10, tenths % 10))
    }

    /// Returns the mean with the two decimals that the interface has.
    pub(super) fn mean(&self) -> Option<String> {
        let hundredths = rounded(self.sum, self.count, 100)?;
        Some(format!("{}.{:02}", hundredths / 100, hundredths % 100))
    }

    /// Returns how far five stars are filled, of 120: 24 for each star.
    pub(super) fn stars_width(&self) -> u64 {
        rounded(self.sum, self.count, 24).unwrap_or(0)
    }

    /// Returns how many per cent of the reviews `count` are, rounded.
    pub(super) fn percent(&self, count: u64) -> u64 {
        rounded(count, self.count, 100).unwrap_or(0)
    }
}

impl Span {
    /// Returns the mean of its stars in hundredths.
    pub(super) fn mean_hundredths(&self) -> Option<u64> {
        rounded(self.sum, self.count, 100)
    }
}

/// `sum / count`, in parts of one, halves rounded up.
pub(super) fn rounded(sum: u64, count: u64, parts: u64) -> Option<u64> {
    (2 * parts * sum + count).checked_div(2 * count)
}

fn month(date: Date) -> u32 {
    u32::from(date.year()) * 12 + u32::from(date.month()) - 1
}

/// The shortest span that leaves at most [`SPANS_MAX`]: a month, a quarter, or years.
fn span_months(oldest: u32, newest: u32) -> u32 {
    let fits = |months: &u32| newest / months - oldest / months < SPANS_MAX;
    let years = [1, 2, 5, 10, 50, 100].map(|years| 12 * years);
    [1, 3].into_iter().chain(years).find(fits).unwrap_or(12_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_grow_with_the_time_they_cover() {
        assert_eq!(span_months(100, 100), 1);
        assert_eq!(span_months(0, 35), 1);
        assert_eq!(span_months(0, 36), 3);
        assert_eq!(span_months(0, 107), 3);
        assert_eq!(span_months(0, 108), 12);
        assert_eq!(span_months(0, 12 * 9_999), 12_000);
    }

    #[test]
    fn means_are_rounded_halves_up() {
        assert_eq!(rounded(9, 2, 10), Some(45));
        assert_eq!(rounded(1, 8, 100), Some(13));
        assert_eq!(rounded(0, 0, 100), None);
    }
}
