//! `/` without parameters: the business, the insights, and the newest reviews.

use askama::Template;

use super::Context;
use super::chart;
use super::filters;
use super::form::{Field, Form};
use super::insights::{Aspect, Insights};
use super::layout::{Layout, rendered};
use super::query_params::QueryParams;
use super::rating_stats::rounded;
use super::review::ReviewView;
use super::text::{count, counted, newest, push_encoded, without_direction};
use crate::model::Question;
use crate::model::insights::Quarter;

/// Reviews on the page.
const NEWEST_MAX: u32 = 10;

/// Aspects shown at first; the others are in a `<details>` element.
const ASPECTS_SHOWN: usize = 8;

/// Renders the page.
pub(super) fn render(context: &Context<'_>) -> Vec<u8> {
    let Context {
        snapshot,
        stats,
        insights,
        lists,
        layout,
        json_ld,
        ..
    } = context;
    let given = QueryParams::default();
    let nothing = Insights::default();
    let insights = insights.unwrap_or(&nothing);
    let summary = insights.summary.as_deref();
    let description = without_direction(&snapshot.business.description);
    rendered(&Home {
        layout,
        title: format!("Reviews of {}", layout.title),
        description: match stats.mean_short() {
            Some(mean) => format!(
                "{mean} of 5 stars from {}. {description}",
                counted(stats.count, "review", "reviews")
            ),
            None => description,
        },
        json_ld: std::str::from_utf8(json_ld).unwrap_or_default(),
        form: Form::new(lists, &given),
        summary: summary.unwrap_or_default(),
        pull_quote: insights.pull_quote.as_deref().unwrap_or_default(),
        aspects: insights
            .aspects
            .iter()
            .take(ASPECTS_SHOWN)
            .map(AspectLine::of)
            .collect(),
        more_aspects: insights
            .aspects
            .iter()
            .skip(ASPECTS_SHOWN)
            .map(AspectLine::of)
            .collect(),
        chart: chart::render(stats),
        questions: &insights.faq,
        reviews: newest(snapshot, NEWEST_MAX)
            .map(|row| ReviewView::plain(snapshot, row))
            .collect(),
        has_more: stats.count > u64::from(NEWEST_MAX),
        all: counted(stats.count, "review", "reviews"),
        owner: &snapshot.business.name,
    })
    .into_bytes()
}

/// One aspect: counts of favorable and critical mentions, and the link to their reviews.
struct AspectLine<'i> {
    label: &'i str,
    href: String,
    mentions: String,
    positive: String,
    negative: String,
    has_positive: bool,
    has_negative: bool,
    positive_percent: u64,
    /// Left edge of the bar of critical mentions, in percent.
    negative_from: u64,
    negative_percent: u64,
    /// The shares by quarter as the inside of an `svg` of one unit for each quarter and one in height; empty with fewer
    /// than three quarters.
    quarters: String,
    quarter_count: usize,
    /// Text alternative of the drawing.
    quarters_label: String,
    change: &'i str,
}

impl<'i> AspectLine<'i> {
    fn of(aspect: &'i Aspect) -> AspectLine<'i> {
        let mut href = String::from("/?aspect=");
        push_encoded(&mut href, &aspect.id);
        let total = aspect.positive + aspect.neutral + aspect.negative;
        let percent = |part: u64| rounded(part, total, 100).unwrap_or(0);
        let (positive, negative) = (percent(aspect.positive), percent(aspect.negative));
        let old = aspect.quarterly.len().saturating_sub(QUARTERS_SHOWN);
        let shown = &aspect.quarterly[old..];
        AspectLine {
            label: &aspect.label,
            href,
            mentions: counted(aspect.mentions, "mention", "mentions"),
            positive: count(aspect.positive),
            negative: count(aspect.negative),
            has_positive: aspect.positive > 0,
            has_negative: aspect.negative > 0,
            positive_percent: positive,
            negative_from: 100_u64.saturating_sub(negative),
            negative_percent: negative,
            quarters: quarters(shown),
            quarter_count: shown.len(),
            quarters_label: match shown {
                [first, .., last] => format!(
                    "Favorable and critical mentions by quarter, {} to {}",
                    first.quarter, last.quarter
                ),
                _ => String::new(),
            },
            change: aspect.change.as_deref().unwrap_or_default(),
        }
    }
}

/// Draws the share of favorable mentions from below and of critical ones from above, for each quarter.
fn quarters(shown: &[Quarter]) -> String {
    let mut drawing = String::new();
    if shown.len() < 3 {
        return drawing;
    }
    for (at, quarter) in shown.iter().enumerate() {
        let percent = |part: u64| rounded(part, quarter.mention_count, 100).unwrap_or(0);
        let (good, bad) = (
            percent(quarter.positive_count),
            percent(quarter.negative_count),
        );
        let top = 100 - good.min(100);
        drawing.push_str(&format!(
            r#"<rect class="good" x="{at}.1" y="{top}" width=".8" height="{good}"/><rect class="bad" x="{at}.1" width=".8" height="{bad}"/>"#
        ));
    }
    drawing
}

/// Quarters in a drawing, the newest.
const QUARTERS_SHOWN: usize = 12;

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'p> {
    layout: &'p Layout,
    title: String,
    description: String,
    json_ld: &'p str,
    form: Form<'p>,
    summary: &'p str,
    pull_quote: &'p str,
    aspects: Vec<AspectLine<'p>>,
    more_aspects: Vec<AspectLine<'p>>,
    chart: Option<chart::Chart>,
    questions: &'p [Question],
    reviews: Vec<ReviewView>,
    has_more: bool,
    all: String,
    owner: &'p str,
}
