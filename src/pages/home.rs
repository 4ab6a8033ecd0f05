//! `/` without parameters: the practice, what its reviews say, and the newest of them.

use askama::Template;

use super::Context;
use super::chart;
use super::figures::rounded;
use super::filters;
use super::form::{Field, Form};
use super::given::Given;
use super::insights::{Aspect, Insights};
use super::review::Shown;
use super::shell::{Shell, rendered};
use super::text::{count, counted, newest, push_encoded, without_direction};
use crate::model::Question;
use crate::model::insights::Quarter;

/// Reviews on the page.
const NEWEST_MAX: u32 = 10;

/// Aspects that are shown at once; the others are folded away.
const ASPECTS_SHOWN: usize = 8;

/// Renders the page.
pub(super) fn render(context: &Context<'_>) -> Vec<u8> {
    let Context {
        snapshot,
        figures,
        insights,
        lists,
        shell,
        json_ld,
        ..
    } = context;
    let given = Given::default();
    let nothing = Insights::default();
    let insights = insights.unwrap_or(&nothing);
    let summary = insights.summary.as_deref();
    let description = without_direction(&snapshot.business.description);
    rendered(&Home {
        shell,
        title: format!("Reviews of {}", shell.title),
        description: match figures.mean_short() {
            Some(mean) => format!(
                "{mean} of 5 stars from {}. {description}",
                counted(figures.count, "review", "reviews")
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
        chart: chart::render(figures),
        questions: &insights.faq,
        reviews: newest(snapshot, NEWEST_MAX)
            .map(|row| Shown::plain(snapshot, row))
            .collect(),
        has_more: figures.count > u64::from(NEWEST_MAX),
        all: counted(figures.count, "review", "reviews"),
        owner: &snapshot.business.name,
    })
    .into_bytes()
}

/// One aspect: how often it is praised and complained of, and the way to the words.
struct AspectLine<'i> {
    label: &'i str,
    href: String,
    mentions: String,
    positive: String,
    negative: String,
    has_positive: bool,
    has_negative: bool,
    positive_percent: u64,
    /// Where the bar of the critical ones begins.
    negative_from: u64,
    negative_percent: u64,
    /// The shares by quarter as the inside of an `svg` of one unit for each quarter and one in height; empty with fewer
    /// than three quarters.
    quarters: String,
    quarter_count: usize,
    /// What the drawing shows, for those who do not see it.
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

/// Draws the share of praise from below and of complaint from above, in each quarter with mentions.
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
    shell: &'p Shell,
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
    reviews: Vec<Shown>,
    has_more: bool,
    all: String,
    owner: &'p str,
}
