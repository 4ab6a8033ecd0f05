//! `/` without parameters: the business, the insights, and the newest reviews.

use askama::Template;

use super::form::{Form, QueryParams};
use super::layout::{Layout, rendered};
use super::messages::{Language, Messages};
use super::rating::{Chart, rounded};
use super::review::{ReviewView, read_newest};
use super::text::{count, counted, encoded, without_direction};
use super::{Context, mentioned, text as filters};
use crate::model::Question;
use crate::model::insights::{Aspect, Quarter};

/// Reviews on the page.
const NEWEST_MAX: u32 = 10;

/// Aspects shown at first; the others are in a `<details>` element.
const ASPECTS_SHOWN: usize = 8;

pub(super) fn render(context: &Context<'_>) -> String {
    let (snapshot, stats) = (context.snapshot, context.stats);
    let given = QueryParams::default();
    let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let description = without_direction(&snapshot.business.description);
    let mut aspects = mentioned(context.insights).into_iter().map(AspectLine::of);
    let reviews = counted(stats.count, "review", "reviews");
    rendered(&Home {
        layout: context.layout,
        t: Language::DEFAULT.messages(),
        title: format!("Reviews of {}", context.layout.title),
        description: match stats.mean_short() {
            Some(mean) => format!("{mean} of 5 stars from {reviews}. {description}"),
            None => description,
        },
        json_ld: context.json_ld,
        form: Form::new(context.lists, &given),
        summary: context.insights.and_then(|one| text(&one.summary)),
        pull_quote: context.insights.and_then(|one| text(&one.pull_quote)),
        aspects: aspects.by_ref().take(ASPECTS_SHOWN).collect(),
        more_aspects: aspects.collect(),
        chart: Chart::of(stats),
        questions: context.insights.map_or(&[], |insights| &insights.faq),
        reviews: read_newest(snapshot, NEWEST_MAX),
        has_more: stats.count > u64::from(NEWEST_MAX),
        all: reviews,
        owner: &snapshot.business.name,
    })
}

/// One aspect: counts of favorable and critical mentions, and the link to their reviews.
struct AspectLine<'i> {
    aspect: &'i Aspect,
    href: String,
    bar: Bar,
    /// The newest quarters; empty if there are fewer than three.
    quarters: &'i [Quarter],
}

/// Shares of favorable and critical mentions in percent, drawn from opposite ends.
struct Bar {
    positive: u64,
    negative: u64,
}

impl<'i> AspectLine<'i> {
    fn of(aspect: &'i Aspect) -> AspectLine<'i> {
        let (positive, negative) = (aspect.positive_count, aspect.negative_count);
        let all = positive + aspect.neutral_count + negative;
        let quarters = &aspect.quarterly;
        let first = match quarters.len() {
            ..3 => quarters.len(),
            count => count.saturating_sub(QUARTERS_SHOWN),
        };
        AspectLine {
            aspect,
            href: encoded("/?aspect=", &aspect.id),
            bar: Bar::of(positive, negative, all),
            quarters: &quarters[first..],
        }
    }

    fn bars(&self) -> impl Iterator<Item = Bar> {
        let quarters = self.quarters.iter();
        quarters.map(|one| Bar::of(one.positive_count, one.negative_count, one.mention_count))
    }

    fn mentions(&self) -> String {
        counted(self.aspect.mention_count, "mention", "mentions")
    }

    fn positive(&self) -> String {
        count(self.aspect.positive_count)
    }

    fn negative(&self) -> String {
        count(self.aspect.negative_count)
    }
}

impl Bar {
    fn of(positive: u64, negative: u64, all: u64) -> Bar {
        let percent = |part: u64| rounded(part, all, 100).unwrap_or(0);
        Bar {
            positive: percent(positive),
            negative: percent(negative),
        }
    }
}

/// Largest number of quarters in a drawing: the newest ones.
const QUARTERS_SHOWN: usize = 12;

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'p> {
    layout: &'p Layout,
    t: &'static Messages,
    title: String,
    description: String,
    json_ld: &'p str,
    form: Form<'p>,
    summary: Option<String>,
    pull_quote: Option<String>,
    aspects: Vec<AspectLine<'p>>,
    more_aspects: Vec<AspectLine<'p>>,
    chart: Option<Chart>,
    questions: &'p [Question],
    reviews: Vec<ReviewView>,
    has_more: bool,
    all: String,
    owner: &'p str,
}
