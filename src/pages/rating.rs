//! Statistics of ratings, also over time, and their chart: a line for the means, columns for the numbers of reviews.
//! Horizontal positions are percentages, so the chart fills any width while its labels keep their size.

use super::text::{MONTHS, count};
use crate::model::Row;
use crate::snapshot::Snapshot;
use crate::wire::date::Date;

#[derive(Debug)]
pub(super) struct RatingStats {
    /// All published reviews.
    pub(super) count: u64,
    /// Reviews with a text.
    pub(super) with_text: u64,
    pub(super) sum: u64,
    /// Number of reviews with 1, 2, 3, 4 and 5 stars.
    pub(super) distribution: [u64; 5],
    /// Spans of equal length with their reviews, oldest first, including empty ones.
    pub(super) spans: Vec<Span>,
    /// Months in a span: 1, 3, or whole years.
    pub(super) span_months: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// First month, counted from January of year 0.
    pub(super) month: u32,
    pub(super) count: u64,
    pub(super) sum: u64,
}

/// Largest number of spans in the chart; with more months a span becomes longer.
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
        let places = (first..=newest / span_months).filter(|_| !snapshot.is_empty());
        let span = |place: u32| Span {
            month: place * span_months,
            ..Span::default()
        };
        let mut spans: Vec<Span> = places.map(span).collect();
        for (month, rating) in reviews() {
            if let Some(span) = spans.get_mut((month / span_months - first) as usize) {
                span.count += 1;
                span.sum += u64::from(rating.stars());
            }
        }
        let stars = (1..).zip(distribution).map(|(stars, count)| stars * count);
        RatingStats {
            count: u64::from(snapshot.len()),
            with_text: u64::from(snapshot.with_text),
            sum: stars.sum(),
            distribution,
            spans,
            span_months,
        }
    }

    /// Returns the mean in tenths, halves rounded up; `None` without reviews.
    pub(super) fn mean_tenths(&self) -> Option<u64> {
        rounded(self.sum, self.count, 10)
    }

    /// Returns the mean with one decimal, such as `4.1`.
    pub(super) fn mean_short(&self) -> Option<String> {
        let tenths = self.mean_tenths()?;
        Some(format!("{}.{}", tenths / 10, tenths % 10))
    }

    /// Returns the filled width of five stars, from 0 to 120: 24 for each star.
    pub(super) fn stars_width(&self) -> u64 {
        rounded(self.sum, self.count, 24).unwrap_or(0)
    }
}

/// `sum / count` in units of `1 / parts`, halves rounded up; `None` if `count` is 0.
pub(super) fn rounded(sum: u64, count: u64, parts: u64) -> Option<u64> {
    (2 * parts * sum + count).checked_div(2 * count)
}

fn month(date: Date) -> u32 {
    u32::from(date.year()) * 12 + u32::from(date.month()) - 1
}

/// The shortest length of a span with at most [`SPANS_MAX`] spans: a month, a quarter, or years.
fn span_months(oldest: u32, newest: u32) -> u32 {
    let fits = |months: &u32| newest / months - oldest / months < SPANS_MAX;
    let years = [1, 2, 5, 10, 50, 100].map(|years| 12 * years);
    [1, 3].into_iter().chain(years).find(fits).unwrap_or(12_000)
}

/// The chart; its numbers are also shown as a table.
pub(super) struct Chart {
    /// Length of a span: "month", "quarter", "year" or years.
    pub(super) span: String,
    /// Stars with their vertical position.
    pub(super) grid: Vec<(u8, f64)>,
    /// Number of reviews: left edge, top, width and height of each column.
    pub(super) columns: Vec<[f64; 4]>,
    pub(super) means: Vec<Mean>,
    pub(super) years: Vec<(f64, u32)>,
}

/// The mean of a span with reviews, and its position.
pub(super) struct Mean {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) label: String,
    pub(super) mean: f64,
    pub(super) count: String,
}

/// Vertical position of five stars and of one star, in pixels from the top.
const TOP: f64 = 12.0;
const BOTTOM: f64 = 124.0;
/// Base line of the columns, and height of the highest, in pixels.
const FLOOR: f64 = 176.0;
const COLUMN_MAX: f64 = 34.0;
/// Left edge and width of the plot area, in percent of the drawing.
const LEFT: f64 = 6.0;
const WIDTH: f64 = 93.0;
/// Most year labels, so that they do not overlap on a phone.
const LABELS_MAX: u32 = 8;

impl Chart {
    /// Draws the chart; `None` if fewer than two spans have reviews.
    pub(super) fn of(stats: &RatingStats) -> Option<Chart> {
        let (spans, months) = (&stats.spans, stats.span_months);
        let level = |stars: f64| BOTTOM - (stars - 1.0) / 4.0 * (BOTTOM - TOP);
        let step = WIDTH / spans.len() as f64;
        let most = spans.iter().map(|span| span.count).max()?;
        let with_reviews = || spans.iter().enumerate().filter(|(_, span)| span.count > 0);
        let column = |(place, span): (usize, &Span)| {
            let height = (span.count as f64 / most as f64 * COLUMN_MAX).max(2.0);
            let x = LEFT + step * (place as f64 + 0.14);
            [x, FLOOR - height, step * 0.72, height]
        };
        let mean = |(place, span): (usize, &Span)| {
            let mean = rounded(span.sum, span.count, 100)? as f64 / 100.0;
            Some(Mean {
                x: LEFT + step * (place as f64 + 0.5),
                y: level(mean),
                label: span.label(months),
                mean,
                count: count(span.count),
            })
        };
        let means: Vec<Mean> = with_reviews().filter_map(mean).collect();
        let grid = (1..=5).map(|stars| (stars, level(f64::from(stars))));
        (means.len() >= 2).then(|| Chart {
            span: match months {
                1 => "month".to_owned(),
                3 => "quarter".to_owned(),
                12 => "year".to_owned(),
                months => format!("{} years", months / 12),
            },
            grid: grid.collect(),
            columns: with_reviews().map(column).collect(),
            means,
            years: years(spans, months, step),
        })
    }
}

/// Returns years and the position of each, as many as fit.
fn years(spans: &[Span], span_months: u32, step: f64) -> Vec<(f64, u32)> {
    let year = |span: &Span| span.month / 12;
    let (first, last) = (spans.first().map_or(0, year), spans.last().map_or(0, year));
    let every = (last - first + 1).div_ceil(LABELS_MAX).max(1);
    let mut years: Vec<(f64, u32)> = Vec::new();
    for (place, span) in spans.iter().enumerate() {
        let is_start = span.month % 12 < span_months && (year(span) - first).is_multiple_of(every);
        // A year that began before the first span is labelled there, unless the next label would be too near.
        let is_begun = place == 0 && span.month % 12 < 9;
        let is_new = years.last().is_none_or(|(_, last)| *last != year(span));
        if (is_start || is_begun) && is_new {
            years.push((LEFT + step * place as f64, year(span)));
        }
    }
    years
}

impl Span {
    fn label(&self, span_months: u32) -> String {
        let (year, month) = (self.month / 12, (self.month % 12) as usize);
        match span_months {
            1 => format!("{} {year}", MONTHS[month]),
            3 => format!("{} to {} {year}", MONTHS[month], MONTHS[month + 2]),
            12 => year.to_string(),
            months => format!("{year} to {}", year + months / 12 - 1),
        }
    }
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

    fn stats(spans: Vec<Span>, span_months: u32) -> RatingStats {
        RatingStats {
            count: 0,
            with_text: 0,
            sum: 0,
            distribution: [0; 5],
            spans,
            span_months,
        }
    }

    fn span(month: u32, count: u64, sum: u64) -> Span {
        Span { month, count, sum }
    }

    #[test]
    fn one_span_is_no_chart_and_two_are() {
        assert!(Chart::of(&stats(Vec::new(), 1)).is_none());
        assert!(Chart::of(&stats(vec![span(24_000, 3, 12)], 1)).is_none());
        let gap = vec![span(24_000, 3, 12), span(24_001, 0, 0), span(24_002, 1, 5)];
        let chart = Chart::of(&stats(gap, 1)).expect("two spans have reviews");
        let labels: Vec<&str> = chart.means.iter().map(|mean| mean.label.as_str()).collect();
        assert_eq!(labels, ["Jan 2000", "Mar 2000"]);
        assert_eq!((chart.means[0].mean, chart.columns.len()), (4.0, 2));
    }
}
