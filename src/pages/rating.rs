//! Statistics of ratings, also over time, and their chart: a line for the means, columns for the numbers of reviews.
//! Horizontal positions are percentages, so the chart fills any width while its labels keep their size.

use std::collections::BTreeMap;

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
    /// Spans of equal length with reviews, by their number since year 0.
    spans: BTreeMap<u32, Span>,
    /// Months in a span: 1, 3, or whole years.
    span_months: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    count: u64,
    sum: u64,
}

/// Largest number of spans in the chart; with more months a span becomes longer.
const SPANS_MAX: u32 = 36;

impl RatingStats {
    /// Counts the reviews of `snapshot`; O(reviews).
    pub(super) fn of(snapshot: &Snapshot) -> RatingStats {
        let rows = (0..snapshot.len()).map(Row);
        let mut months = rows.clone().map(|row| month(snapshot.index.date(row)));
        let newest = months.next().unwrap_or(0);
        let span_months = span_months(months.next_back().unwrap_or(newest), newest);
        let mut stats = RatingStats {
            count: u64::from(snapshot.len()),
            with_text: u64::from(snapshot.with_text),
            sum: 0,
            distribution: [0; 5],
            spans: BTreeMap::new(),
            span_months,
        };
        for row in rows {
            let stars = snapshot.index.rating(row).stars();
            stats.sum += u64::from(stars);
            stats.distribution[usize::from(stars) - 1] += 1;
            let number = month(snapshot.index.date(row)) / span_months;
            let span = stats.spans.entry(number).or_default();
            span.count += 1;
            span.sum += u64::from(stars);
        }
        stats
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
        let (first, last) = (*spans.first_key_value()?.0, *spans.last_key_value()?.0);
        let level = |stars: f64| BOTTOM - (stars - 1.0) / 4.0 * (BOTTOM - TOP);
        let step = WIDTH / f64::from(last - first + 1);
        let x = |number: u32, part: f64| LEFT + step * (f64::from(number - first) + part);
        let most = spans.values().map(|span| span.count).max()?;
        let column = |(number, span): (&u32, &Span)| {
            let height = (span.count as f64 / most as f64 * COLUMN_MAX).max(2.0);
            [x(*number, 0.14), FLOOR - height, step * 0.72, height]
        };
        let mean = |(number, span): (&u32, &Span)| {
            let mean = rounded(span.sum, span.count, 100)? as f64 / 100.0;
            Some(Mean {
                x: x(*number, 0.5),
                y: level(mean),
                label: span_label(*number, months),
                mean,
                count: count(span.count),
            })
        };
        let years = years(first, last, months).into_iter();
        let grid = (1..=5).map(|stars| (stars, level(f64::from(stars))));
        (spans.len() >= 2).then(|| Chart {
            span: match months {
                1 => "month".to_owned(),
                3 => "quarter".to_owned(),
                12 => "year".to_owned(),
                months => format!("{} years", months / 12),
            },
            grid: grid.collect(),
            columns: spans.iter().map(column).collect(),
            means: spans.iter().filter_map(mean).collect(),
            years: years.map(|(number, year)| (x(number, 0.0), year)).collect(),
        })
    }
}

/// Returns years, each with the span at which it is labelled, as many as fit.
fn years(first: u32, last: u32, span_months: u32) -> Vec<(u32, u32)> {
    let year = |number: u32| number * span_months / 12;
    let every = (year(last) - year(first) + 1).div_ceil(LABELS_MAX);
    let mut years: Vec<(u32, u32)> = Vec::new();
    for number in first..=last {
        let month = number * span_months % 12;
        let is_start = month < span_months && (year(number) - year(first)).is_multiple_of(every);
        // A year that began before the first span is labelled there, unless the next label would be too near.
        let is_begun = number == first && month < 9;
        let is_new = years.last().is_none_or(|(_, last)| *last != year(number));
        if (is_start || is_begun) && is_new {
            years.push((number, year(number)));
        }
    }
    years
}

fn span_label(number: u32, span_months: u32) -> String {
    let month = number * span_months;
    let (year, month) = (month / 12, (month % 12) as usize);
    match span_months {
        1 => format!("{} {year}", MONTHS[month]),
        3 => format!("{} to {} {year}", MONTHS[month], MONTHS[month + 2]),
        12 => year.to_string(),
        months => format!("{year} to {}", year + months / 12 - 1),
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

    #[test]
    fn one_span_is_no_chart_and_two_are() {
        let chart = |spans: &[(u32, Span)]| {
            Chart::of(&RatingStats {
                count: 0,
                with_text: 0,
                sum: 0,
                distribution: [0; 5],
                spans: spans.iter().copied().collect(),
                span_months: 1,
            })
        };
        let span = |count, sum| Span { count, sum };
        assert!(chart(&[]).is_none() && chart(&[(24_000, span(3, 12))]).is_none());
        let chart = chart(&[(24_000, span(3, 12)), (24_002, span(1, 5))]);
        let chart = chart.expect("two spans have reviews");
        let labels: Vec<&str> = chart.means.iter().map(|mean| mean.label.as_str()).collect();
        assert_eq!(labels, ["Jan 2000", "Mar 2000"]);
        assert_eq!((chart.means[0].mean, chart.columns.len()), (4.0, 2));
    }
}
