//! Statistics of ratings, and the chart of the numbers of reviews over time.
//!
//! Horizontal positions are percentages, so the chart fills any width while its labels keep their size.

use std::collections::BTreeMap;

use super::messages::Messages;
use crate::model::Row;
use crate::snapshot::Snapshot;
use crate::wire::date::Date;

/// The least number of reviews with which the mean and the distribution are shown.
pub(super) const RATING_FROM: u64 = 3;

/// Most spans in the chart; if there were more, spans become longer.
const SPANS_MAX: u32 = 36;

/// Fewest spans of a chart; one with fewer tells nothing.
const SPANS_MIN: u32 = 8;
/// Fewest reviews of a chart.
const REVIEWS_MIN: u64 = 20;

/// Vertical position of the highest grid line, in pixels from the top.
const TOP: f64 = 8.0;
/// Vertical position of zero, in pixels from the top.
const FLOOR: f64 = 158.0;
/// Left edge of the plot area, in percent of the drawing.
const LEFT: f64 = 7.0;
/// Width of the plot area, in percent of the drawing.
const WIDTH: f64 = 93.0;
/// Share of a span that its column takes.
const COLUMN_SHARE: f64 = 0.72;
/// Most year labels, so that they do not overlap on a phone.
const LABELS_MAX: u32 = 8;
/// Most grid lines above zero.
const LINES_MAX: u64 = 4;

/// The ratings of one snapshot, in all and over time.
#[derive(Debug)]
pub(super) struct RatingStats {
    /// All published reviews.
    pub(super) count: u64,
    /// Reviews with a text.
    pub(super) with_text: u64,
    /// The stars of all reviews together.
    pub(super) sum: u64,
    /// Number of reviews with 1, 2, 3, 4 and 5 stars.
    pub(super) distribution: [u64; 5],
    /// The number of reviews in each span of time that has some, by the number of the span since year 0.
    spans: BTreeMap<u32, u64>,
    /// Months in a span: 1, 3, or whole years.
    span_months: u32,
}

impl RatingStats {
    /// Counts the reviews of `snapshot`; O(reviews).
    pub(super) fn of(snapshot: &Snapshot) -> RatingStats {
        let rows = (0..snapshot.len()).map(Row);
        // Rows are sorted by date, the newest first.
        let mut months = rows
            .clone()
            .map(|row| snapshot.index.date(row).month_number());
        let newest = months.next().unwrap_or(0);
        let oldest = months.next_back().unwrap_or(newest);
        let span_months = span_months(oldest, newest);
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
            let number = snapshot.index.date(row).month_number() / span_months;
            *stats.spans.entry(number).or_default() += 1;
        }
        stats
    }

    /// Returns the mean in tenths, halves rounded up; `None` without reviews.
    pub(super) fn mean_tenths(&self) -> Option<u64> {
        rounded_ratio(self.sum, self.count, 10)
    }

    /// Returns the mean with one decimal, such as `4.1`, for documents in English.
    pub(super) fn mean_short(&self) -> Option<String> {
        let tenths = self.mean_tenths()?;
        Some(format!("{}.{}", tenths / 10, tenths % 10))
    }

    /// Returns the filled width of five stars, from 0 to 120: 24 for each star.
    pub(super) fn stars_width(&self) -> u64 {
        rounded_ratio(self.sum, self.count, 24).unwrap_or(0)
    }

    /// Returns the number of reviews in a span.
    fn count_of(&self, span: u32) -> u64 {
        self.spans.get(&span).copied().unwrap_or(0)
    }
}

/// `sum / count` in units of `1 / parts`, halves rounded up; `None` if `count` is 0.
pub(super) fn rounded_ratio(sum: u64, count: u64, parts: u64) -> Option<u64> {
    // Counts of an owner's own insights may be as large as 2^53.
    let [sum, count, parts] = [sum, count, parts].map(u128::from);
    let rounded = (2 * parts * sum + count).checked_div(2 * count)?;
    u64::try_from(rounded).ok()
}

/// `count` in percent of `most`, to a tenth; 0 if `most` is 0.
pub(super) fn percent_of(count: u64, most: u64) -> f64 {
    rounded_ratio(count, most, 1000).unwrap_or(0) as f64 / 10.0
}

/// The months of the shortest span of which [`SPANS_MAX`] reach from the month `oldest` to `newest`: a month, a
/// quarter, or years.
fn span_months(oldest: u32, newest: u32) -> u32 {
    for months in [1, 3, 12, 24, 60, 120, 600, 1_200] {
        if newest / months - oldest / months < SPANS_MAX {
            return months;
        }
    }
    12_000
}

/// The chart: a column for each span, also without reviews, on one scale from zero; a table has the same numbers.
pub(super) struct Chart {
    /// Length of a span and what the columns are.
    pub(super) caption: String,
    /// "The dashed column …"; "" if the last span is complete.
    pub(super) running: String,
    /// The range of the numbers, in words.
    pub(super) range: String,
    pub(super) grid: Vec<GridLine>,
    pub(super) columns: Vec<Column>,
    pub(super) years: Vec<YearLabel>,
}

/// A horizontal line with its number.
pub(super) struct GridLine {
    pub(super) number: String,
    pub(super) y: f64,
}

/// The number of reviews of a span.
pub(super) struct Column {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) label: String,
    pub(super) count: String,
    /// The span is not over at the date of the data.
    pub(super) is_running: bool,
}

/// The label of a year, at the position where it begins.
pub(super) struct YearLabel {
    pub(super) year: u32,
    pub(super) x: f64,
}

/// The measures of a chart.
struct ChartScale {
    /// The numbers of the first span and of the last one.
    first: u32,
    last: u32,
    /// Width of a span, in percent of the drawing.
    step: f64,
    /// The number at the highest grid line.
    top: u64,
}

impl ChartScale {
    /// Returns where a span begins, in percent of the drawing.
    fn x(&self, span: u32) -> f64 {
        LEFT + self.step * f64::from(span - self.first)
    }

    /// Returns how high a number stands above zero, in pixels.
    fn height(&self, count: u64) -> f64 {
        count as f64 / self.top as f64 * (FLOOR - TOP)
    }
}

impl Chart {
    /// Draws the chart; `None` with fewer than eight spans or twenty reviews. `today` is the date of the data.
    pub(super) fn of(stats: &RatingStats, t: &Messages, today: Date) -> Option<Chart> {
        let first = *stats.spans.first_key_value()?.0;
        let last = *stats.spans.last_key_value()?.0;
        if last - first + 1 < SPANS_MIN || stats.count < REVIEWS_MIN {
            return None;
        }
        let counts: Vec<u64> = (first..=last).map(|span| stats.count_of(span)).collect();
        let least = counts.iter().min().copied()?;
        let most = counts.iter().max().copied()?;
        let unit = grid_unit(most);
        let scale = ChartScale {
            first,
            last,
            step: WIDTH / f64::from(last - first + 1),
            top: most.div_ceil(unit) * unit,
        };
        let mut grid = Vec::new();
        for line in 0..=scale.top / unit {
            grid.push(GridLine {
                number: t.number(line * unit),
                y: FLOOR - scale.height(line * unit),
            });
        }
        let columns = columns(stats, &scale, t, today);
        let mut running = String::new();
        if columns.last().is_some_and(|column| column.is_running) {
            running = t.chart_running.fill(&[("day", &t.long_day(today))]);
        }
        let caption = match stats.span_months {
            1 => &t.chart_month,
            3 => &t.chart_quarter,
            12 => &t.chart_year,
            _ => &t.chart_years,
        };
        Some(Chart {
            caption: caption.clone(),
            running,
            range: t.chart_range.fill(&[
                ("first", &columns[0].label),
                ("last", &columns[columns.len() - 1].label),
                ("least", &t.number(least)),
                ("most", &t.number(most)),
            ]),
            grid,
            years: years(&scale, stats.span_months),
            columns,
        })
    }
}

/// Returns a column for each span.
fn columns(stats: &RatingStats, scale: &ChartScale, t: &Messages, today: Date) -> Vec<Column> {
    let current = today.month_number() / stats.span_months;
    let mut columns = Vec::new();
    for span in scale.first..=scale.last {
        let count = stats.count_of(span);
        let height = scale.height(count);
        columns.push(Column {
            x: scale.x(span) + scale.step * (1.0 - COLUMN_SHARE) / 2.0,
            y: FLOOR - height,
            width: scale.step * COLUMN_SHARE,
            height,
            label: span_label(span, stats.span_months, t),
            count: t.number(count),
            is_running: span == current,
        });
    }
    columns
}

/// Returns the distance of grid lines: 1, 2 or 5 times a power of ten.
fn grid_unit(most: u64) -> u64 {
    let mut power = 1;
    loop {
        for factor in [1, 2, 5] {
            let unit = factor * power;
            if most.div_ceil(unit) <= LINES_MAX {
                return unit;
            }
        }
        power *= 10;
    }
}

/// Returns the labels of years: of each year, or of every second, third and so on, so that there are at most
/// [`LABELS_MAX`].
fn years(scale: &ChartScale, span_months: u32) -> Vec<YearLabel> {
    let first_year = scale.first * span_months / 12;
    let last_year = scale.last * span_months / 12;
    let every = (last_year - first_year + 1).div_ceil(LABELS_MAX);
    let mut years: Vec<YearLabel> = Vec::new();
    for span in scale.first..=scale.last {
        let year = span * span_months / 12;
        let month = span * span_months % 12;
        let begins_here = month < span_months && (year - first_year).is_multiple_of(every);
        // The first year is labeled although it began before its span, unless the next label would be too near.
        let is_first = span == scale.first && month < 9;
        let is_new = years.last().is_none_or(|last| last.year != year);
        if (begins_here || is_first) && is_new {
            years.push(YearLabel {
                year,
                x: scale.x(span),
            });
        }
    }
    years
}

/// Returns the words for a span, such as "Jan 2020", "Jan–Mar 2020", "2020" or "2020–2024".
fn span_label(span: u32, span_months: u32, t: &Messages) -> String {
    let months_before = span * span_months;
    let year = months_before / 12;
    let month = (months_before % 12) as usize;
    let names = &t.months_short;
    match span_months {
        1 => format!("{} {year}", names[month]),
        3 => format!("{}–{} {year}", names[month], names[month + 2]),
        12 => year.to_string(),
        months => format!("{year}–{}", year + months / 12 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::messages::Language;
    use crate::wire::date::parse_date;

    #[test]
    fn spans_grow_with_the_time_they_cover() {
        assert_eq!(span_months(100, 100), 1);
        assert_eq!(span_months(0, 35), 1);
        assert_eq!(span_months(0, 36), 3);
        assert_eq!(span_months(0, 107), 3);
        assert_eq!(span_months(0, 108), 12);
        assert_eq!(span_months(0, 12 * 9_999), 12_000);
    }

    /// Statistics of months with these numbers of reviews, from January 2000.
    fn months_with(counts: &[u64]) -> RatingStats {
        let mut spans = BTreeMap::new();
        for (number, count) in (24_000..).zip(counts) {
            if *count > 0 {
                spans.insert(number, *count);
            }
        }
        RatingStats {
            count: counts.iter().sum(),
            with_text: 0,
            sum: 0,
            distribution: [0; 5],
            spans,
            span_months: 1,
        }
    }

    fn chart(counts: &[u64]) -> Option<Chart> {
        let t = Language::DEFAULT.messages();
        let today = parse_date(b"2000-08-15").expect("a day");
        Chart::of(&months_with(counts), t, today)
    }

    #[test]
    fn a_chart_needs_eight_spans_and_twenty_reviews() {
        assert!(chart(&[]).is_none());
        assert!(chart(&[9, 0, 0, 0, 0, 0, 11]).is_none());
        assert!(chart(&[9, 0, 0, 0, 0, 0, 0, 10]).is_none());
        assert!(chart(&[9, 0, 0, 0, 0, 0, 0, 11]).is_some());
    }

    #[test]
    fn spans_without_reviews_keep_their_columns_and_the_last_one_is_not_over() {
        let chart = chart(&[9, 0, 0, 0, 0, 0, 0, 11]).expect("a chart");
        let heights: Vec<bool> = chart
            .columns
            .iter()
            .map(|column| column.height > 0.0)
            .collect();
        assert_eq!(
            heights,
            [true, false, false, false, false, false, false, true]
        );
        let running = chart.columns.iter().map(|column| column.is_running);
        assert_eq!(running.filter(|is_running| *is_running).count(), 1);
        assert_eq!(chart.columns[7].label, "Aug 2000");
        let lines: Vec<&str> = chart.grid.iter().map(|line| &*line.number).collect();
        assert_eq!(lines, ["0", "5", "10", "15"]);
    }

    #[test]
    fn grid_lines_stand_at_round_numbers() {
        let units = [1, 4, 5, 8, 9, 20, 21, 1_000].map(grid_unit);
        assert_eq!(units, [1, 1, 2, 2, 5, 5, 10, 500]);
    }
}
