//! The rating over time as SVG without a script: a line for the means, columns for the number of reviews.
//!
//! Horizontal positions are percentages, so the drawing fills any width while its labels keep their size. It contains
//! numbers only, nothing from the dataset that needs escaping.

use std::fmt::Write as _;

use super::rating_stats::{RatingStats, Span};
use super::text::{MONTHS, count};

/// A drawing, and the same figures as a table.
pub(super) struct Chart {
    /// The inside of the `svg` element.
    pub(super) drawing: String,
    pub(super) height: u32,
    pub(super) lines: Vec<Line>,
    /// What a span is: "month", "quarter", or years.
    pub(super) span: String,
}

/// One line of the table.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) mean: String,
    pub(super) count: String,
}

/// Vertical position of five stars and of one star, in pixels from the top.
const TOP: f64 = 12.0;
const BOTTOM: f64 = 124.0;
/// Base line of the columns, and height of the highest, in pixels.
const FLOOR: f64 = 176.0;
const COLUMN_MAX: f64 = 34.0;
const HEIGHT: u32 = 200;
/// Left edge and width of the plot area, in percent of the drawing.
const LEFT: f64 = 6.0;
const WIDTH: f64 = 93.0;
/// Year labels at most, so that they do not touch on a phone.
const LABELS_MAX: u32 = 8;

/// Draws the chart; `None` if fewer than two spans have reviews.
pub(super) fn render(stats: &RatingStats) -> Option<Chart> {
    let spans = &stats.spans;
    let means: Vec<(usize, f64)> = spans
        .iter()
        .enumerate()
        .filter_map(|(place, span)| Some((place, span.mean_hundredths()? as f64 / 100.0)))
        .collect();
    if means.len() < 2 {
        return None;
    }
    let step = WIDTH / spans.len() as f64;
    let mut drawing = String::with_capacity(8 * 1024);
    push_grid(&mut drawing);
    push_columns(&mut drawing, spans, step);
    push_curve(&mut drawing, stats, &means, step);
    push_years(&mut drawing, spans, stats.span_months, step);
    let line = |(place, mean): &(usize, f64)| Line {
        label: span_label(&spans[*place], stats.span_months),
        mean: format!("{mean:.2}"),
        count: count(spans[*place].count),
    };
    Some(Chart {
        drawing,
        height: HEIGHT,
        lines: means.iter().rev().map(line).collect(),
        span: match stats.span_months {
            1 => "month".to_owned(),
            3 => "quarter".to_owned(),
            12 => "year".to_owned(),
            months => format!("{} years", months / 12),
        },
    })
}

/// Returns the vertical position of a mean.
fn level(stars: f64) -> f64 {
    BOTTOM - (stars - 1.0) / 4.0 * (BOTTOM - TOP)
}

/// Draws a line for each number of stars.
fn push_grid(out: &mut String) {
    for stars in 1..=5 {
        let y = level(f64::from(stars));
        push(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT:.1}%\" x2=\"99%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"1%\" y=\"{:.1}\">{stars}</text>",
                y + 4.0
            ),
        );
    }
}

/// Draws a column with the number of reviews of each span.
fn push_columns(out: &mut String, spans: &[Span], step: f64) {
    let most = spans
        .iter()
        .map(|span| span.count)
        .max()
        .unwrap_or(1)
        .max(1);
    for (place, span) in spans.iter().enumerate().filter(|(_, span)| span.count > 0) {
        let height = (span.count as f64 / most as f64 * COLUMN_MAX).max(2.0);
        push(
            out,
            format_args!(
                "<rect class=\"column\" x=\"{:.2}%\" y=\"{:.1}\" width=\"{:.2}%\" height=\"{height:.1}\"/>",
                LEFT + step * (place as f64 + 0.14),
                FLOOR - height,
                step * 0.72
            ),
        );
    }
}

/// Draws the means, each a point, and lines between them.
fn push_curve(out: &mut String, stats: &RatingStats, means: &[(usize, f64)], step: f64) {
    let middle = |place: usize| LEFT + step * (place as f64 + 0.5);
    for pair in means.windows(2) {
        let [(from, before), (to, after)] = pair else {
            continue;
        };
        push(
            out,
            format_args!(
                "<line class=\"curve\" x1=\"{:.2}%\" y1=\"{:.1}\" x2=\"{:.2}%\" y2=\"{:.1}\"/>",
                middle(*from),
                level(*before),
                middle(*to),
                level(*after)
            ),
        );
    }
    for (place, mean) in means {
        let span = &stats.spans[*place];
        let label = span_label(span, stats.span_months);
        push(
            out,
            format_args!(
                "<circle class=\"point\" cx=\"{:.2}%\" cy=\"{:.1}\" r=\"3\"><title>{label}: {mean:.2} of 5, reviews: {}</title></circle>",
                middle(*place),
                level(*mean),
                count(span.count)
            ),
        );
    }
}

/// Writes the years below the columns, where each begins, as many as there is room for.
fn push_years(out: &mut String, spans: &[Span], span_months: u32, step: f64) {
    let year = |span: &Span| span.month / 12;
    let (Some(first), Some(last)) = (spans.first().map(year), spans.last().map(year)) else {
        return;
    };
    let every = (last - first + 1).div_ceil(LABELS_MAX).max(1);
    let mut labelled = None;
    for (place, span) in spans.iter().enumerate() {
        let is_start = span.month % 12 < span_months && (year(span) - first).is_multiple_of(every);
        // A year that began before the first span has its label all the same, unless the next one is too near.
        let is_begun = place == 0 && span.month % 12 < 9;
        if (is_start || is_begun) && labelled != Some(year(span)) {
            labelled = Some(year(span));
            push(
                out,
                format_args!(
                    "<text x=\"{:.2}%\" y=\"{}\">{}</text>",
                    LEFT + step * place as f64,
                    HEIGHT - 6,
                    year(span)
                ),
            );
        }
    }
}

fn span_label(span: &Span, span_months: u32) -> String {
    let (year, month) = (span.month / 12, span.month % 12);
    match span_months {
        1 => format!("{} {year}", MONTHS[month as usize]),
        3 => format!(
            "{} to {} {year}",
            MONTHS[month as usize],
            MONTHS[month as usize + 2]
        ),
        12 => year.to_string(),
        months => format!("{year} to {}", year + months / 12 - 1),
    }
}

fn push(out: &mut String, piece: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _never = out.write_fmt(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(render(&stats(Vec::new(), 1)).is_none());
        assert!(render(&stats(vec![span(24_000, 3, 12)], 1)).is_none());
        let gap = vec![span(24_000, 3, 12), span(24_001, 0, 0), span(24_002, 1, 5)];
        let chart = render(&stats(gap, 1)).expect("two spans have reviews");
        assert_eq!(chart.drawing.matches("class=\"curve\"").count(), 1);
        assert_eq!(chart.drawing.matches("class=\"point\"").count(), 2);
        let labels: Vec<&str> = chart.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["Mar 2000", "Jan 2000"]);
        assert_eq!(chart.lines[1].mean, "4.00");
    }

    #[test]
    fn years_are_labelled_as_many_as_there_is_room_for() {
        let quarters = (0..36).map(|at| span(24_000 + 3 * at, 1, 4)).collect();
        let chart = render(&stats(quarters, 3)).expect("many spans");
        // Nine years, every second one.
        for year in 2000..2009 {
            let label = format!(">{year}</text>");
            assert_eq!(chart.drawing.contains(&label), year % 2 == 0, "{year}");
        }
        assert_eq!(chart.lines[0].label, "Oct to Dec 2008");
    }
}
