//! `/` without parameters: the business and its rating, sentences of customers, the newest reviews, what they are about,
//! their number over time, and questions.

use std::collections::HashSet;

use super::filters::{Menus, OrderEntry, is_filter, orders};
use super::form::QueryParams;
use super::highlights::{quote, voices};
use super::layout::rendered;
use super::list_page::{AnsweredQuestion, AspectLine, ListPage, Sections};
use super::listing::{Listing, More, cards};
use super::messages::Messages;
use super::rating::{Chart, RATING_FROM, rounded};
use super::review::ReviewView;
use super::text::{encoded, newest, without_direction};
use super::{PageLanguage, Pages, mentioned};
use crate::model::insights::{Aspect, Polarity};
use crate::model::{Question, Row};
use crate::search::filter::{Query, Sort};
use crate::search::run::cursor_at;

/// Reviews on the page, besides pinned ones.
const NEWEST_MAX: u32 = 10;

/// Reviews from which filters and the search are shown.
pub(super) const TOOLS_FROM: u64 = 10;

/// Aspects shown at first; the others are in a `<details>` element.
const ASPECTS_SHOWN: usize = 6;
/// Mentions from which an aspect is shown.
const MENTIONS_MIN: u64 = 3;

/// Reviews that a question names.
const EVIDENCE_SHOWN: usize = 8;

impl Pages {
    /// Renders the front page.
    pub(crate) fn home(&self, language: PageLanguage) -> String {
        let t = language.chosen.messages();
        let snapshot = &self.snapshot;
        let mut params = QueryParams::of_language(language);
        params.is_single = self.layout.is_static;
        let count = t.counted(&t.review_count, self.stats.count);
        let mut description = without_direction(&snapshot.business.description);
        if let Some(tenths) = self.stats.mean_tenths() {
            let rating = t.stars_of_5.fill(&[("stars", &t.tenths(tenths))]);
            description = format!("{rating}, {count}. {description}");
        }
        rendered(&ListPage {
            title: t.reviews_of.fill(&[("name", &self.layout.title)]),
            description,
            canonical: Some("/".to_owned()),
            json_ld: Some(&self.json_ld),
            listing: self.newest_listing(t, &params),
            sections: self.sections(t),
            ..self.list_page(t, language, &params)
        })
    }

    /// Returns the newest reviews after the pinned ones.
    fn newest_listing<'p>(&'p self, t: &'static Messages, params: &'p QueryParams) -> Listing<'p> {
        let snapshot = &self.snapshot;
        let mut rows: Vec<Row> = Vec::new();
        for id in &snapshot.editorial.featured {
            rows.extend(snapshot.index.row_of_id(id));
        }
        let pinned_count = rows.len();
        for row in newest(snapshot, NEWEST_MAX) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let reviews = rows.iter().map(|row| ReviewView::read(snapshot, *row));
        let last = Row(NEWEST_MAX - 1);
        let left = self.stats.count.saturating_sub(u64::from(NEWEST_MAX));
        let cursor = if left > 0 {
            cursor_at(&snapshot.index, last, Sort::Newest)
        } else {
            None
        };
        let shown = rows.len() as u64;
        Listing {
            cards: cards(snapshot, t, reviews.collect(), pinned_count),
            more: cursor.map(|cursor| More {
                href: params.href(None, Some(&cursor.render())),
                label: t.counted(&t.show_more, left.min(u64::from(Query::LIMIT_DEFAULT))),
                shown: self.shown(t, shown),
            }),
            ..self.listing(t, params)
        }
    }

    /// "10 of 207".
    pub(super) fn shown(&self, t: &Messages, shown: u64) -> String {
        let count = t.number(self.stats.count);
        t.shown_of
            .fill(&[("shown", &t.number(shown)), ("count", &count)])
    }

    /// Returns the list without reviews.
    pub(super) fn listing<'p>(
        &'p self,
        t: &'static Messages,
        params: &'p QueryParams,
    ) -> Listing<'p> {
        let has_tools = self.stats.count >= TOOLS_FROM;
        let mut menus = Menus::default();
        let mut order: Vec<OrderEntry> = Vec::new();
        if has_tools {
            menus = self.menus(t, params);
            // An order would replace a filter.
            if !params.is_single || !params.iter().any(|(name, _)| is_filter(name)) {
                order = orders(t, params);
            }
        }
        Listing {
            cards: Vec::new(),
            has_tools,
            has_search: has_tools && !self.layout.is_static,
            params,
            chips: if has_tools {
                self.chips(t, params, None)
            } else {
                Vec::new()
            },
            menus,
            orders: order,
            found: String::new(),
            note: String::new(),
            show_all: t.show_all.fill(&[("count", &t.number(self.stats.count))]),
            more: None,
            first: None,
        }
    }

    /// Returns the sections around the list.
    fn sections(&self, t: &'static Messages) -> Sections<'_> {
        let snapshot = &self.snapshot;
        let insights = snapshot.insights_value();
        let mut aspects = mentioned(insights);
        aspects.retain(|aspect| aspect.mention_count >= MENTIONS_MIN);
        let is_many = self.stats.count >= RATING_FROM;
        if !is_many {
            aspects.clear();
        }
        let pull_quote = insights
            .and_then(|one| one.pull_quote.as_deref())
            .filter(|quote| !quote.trim().is_empty());
        let voices = if is_many {
            voices(snapshot, &aspects, pull_quote)
        } else {
            Vec::new()
        };
        let most = aspects.first().map_or(0, |aspect| aspect.mention_count);
        let mut lines: Vec<AspectLine<'_>> = aspects
            .iter()
            .map(|aspect| self.aspect_line(t, aspect, most))
            .collect();
        let further = lines.split_off(lines.len().min(ASPECTS_SHOWN));
        let summary = insights.and_then(|one| one.summary.as_deref());
        let is_own = insights.is_some_and(|one| one.method.summary == "editorial");
        let questions = insights.map_or(&[][..], |insights| &insights.faq);
        Sections {
            voices,
            summary: summary.filter(|summary| is_own && !summary.trim().is_empty()),
            aspects: lines,
            further_aspects: further,
            chart: Chart::of(&self.stats, t, self.layout.updated),
            questions: if is_many {
                questions.iter().map(|one| self.answer(t, one)).collect()
            } else {
                Vec::new()
            },
        }
    }

    fn aspect_line<'p>(&'p self, t: &Messages, aspect: &'p Aspect, most: u64) -> AspectLine<'p> {
        let mut authors = HashSet::new();
        let mut quotations = Vec::new();
        for side in [Polarity::Positive, Polarity::Negative] {
            if let Some(quotation) = quote(&self.snapshot, aspect, side, &authors) {
                authors.insert(quotation.review.author.clone());
                quotations.push(quotation);
            }
        }
        let positive = percent(aspect.positive_count, most);
        let negative = percent(aspect.negative_count, most);
        let sum = aspect.positive_count + aspect.neutral_count + aspect.negative_count;
        let all = percent(sum, most);
        AspectLine {
            label: &aspect.label,
            href: encoded("/?aspect=", &aspect.id),
            mentions: t.counted(&t.mention_count, aspect.mention_count),
            favorable: of_side(t, Polarity::Positive, aspect.positive_count),
            neither: of_side(t, Polarity::Neutral, aspect.neutral_count),
            critical: of_side(t, Polarity::Negative, aspect.negative_count),
            all_width: all,
            positive_width: positive,
            negative_width: negative,
            negative_start: all - negative,
            quotations,
        }
    }

    fn answer<'p>(&'p self, t: &Messages, question: &'p Question) -> AnsweredQuestion<'p> {
        let mut reviews = Vec::new();
        for id in question.review_ids.iter().take(EVIDENCE_SHOWN) {
            if let Some(row) = self.snapshot.index.row_of_id(id) {
                reviews.push(ReviewView::read(&self.snapshot, row));
            }
        }
        AnsweredQuestion {
            question,
            evidence: t.counted(&t.from_reviews, question.review_ids.len() as u64),
            reviews,
        }
    }
}

/// `count` in percent of `most`, to a tenth.
fn percent(count: u64, most: u64) -> f64 {
    rounded(count, most, 1000).unwrap_or(0) as f64 / 10.0
}

/// "23 favorable"; "" if there is none.
fn of_side(t: &Messages, side: Polarity, count: u64) -> String {
    if count == 0 {
        return String::new();
    }
    let pattern = match side {
        Polarity::Positive => &t.favorable,
        Polarity::Neutral => &t.neither,
        Polarity::Negative => &t.critical,
    };
    pattern.fill(&[("count", &t.number(count))])
}
